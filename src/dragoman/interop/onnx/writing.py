"""Export to ONNX: both graphs, the pieces, how to search, and a decoder beside them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec
import torch

from dragoman.bundle import TARGET_TAG, Frame
from dragoman.decoding.beam import BeamSettings
from dragoman.errors import MissingExtra, ModelError
from dragoman.files import disk_errors, write_atomically
from dragoman.interop.onnx.graph import decoder_graph, encoder_graph, onnx
from dragoman.interop.onnx.texts import cuts, write_cuts
from dragoman.models.adapters import merged
from dragoman.models.transformer import Transformer, TransformerSettings
from dragoman.text.markup import language_of
from dragoman.text.vocabulary import BOS, EOS
from dragoman.translator.reader import framing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.bundle import Bundle
    from dragoman.models.attention import SelfAttention

__all__ = ["ExportedOnnx", "write_onnx"]


def write_onnx(bundle: Bundle, folder: Path) -> None:
    """Write all that one needs into an existing folder."""
    _check(bundle)
    model = cast("Transformer", bundle.model)
    package = onnx()
    with torch.no_grad(), merged(model), disk_errors(folder, "write"):
        for name, graph in (("encoder", encoder_graph), ("decoder", decoder_graph)):
            package.save_model(graph(model), str(folder / f"{name}.onnx"))
    tokenizers = bundle.tokenizers
    write_cuts(tokenizers.source, folder, side="source")
    write_cuts(tokenizers.target, folder, side="target")
    write_atomically(folder / "search.json", msgspec.json.format(msgspec.json.encode(_search(bundle)), indent=1))
    write_atomically(folder / "translate.py", Path(__file__).with_name("decoder.py").read_bytes())


def _check(bundle: Bundle) -> None:
    """Raise ModelError with the reason where the model is no Transformer that is written here, or cuts otherwise."""
    settings = bundle.description.model
    if not isinstance(settings, TransformerSettings):
        raise _refusal(f"Transformers with an encoder and a decoder are, not kind {settings.__struct_config__.tag!r}")
    heads = settings.attention
    obstacles = {
        "decoders of self-attention are, not the recurrence SSRU": settings.decoder == "ssru",
        "a pointer that copies words from the source is not": settings.copying,
        "sources of tokens are, not of feature vectors": settings.features is not None,
        "added and relative positions are, not rotary ones": settings.positions.__struct_config__.tag == "rotary",
        "as many heads of keys as of queries are, not fewer": heads.key_heads not in (None, heads.heads),
        "a further map before the output layer is not": settings.embedding.output_transformed,
    }
    for reason, stands_in_the_way in obstacles.items():
        if stands_in_the_way:
            raise _refusal(reason)
    for tokenizer in (bundle.tokenizers.source, bundle.tokenizers.target):
        cuts(tokenizer)


def _refusal(reason: str) -> ModelError:
    return ModelError(
        f"this model cannot be written as ONNX: {reason}",
        place="model",
        remedy="Translate with dragoman, or train a plain Transformer (`model.kind` = 'transformer').",
    )


def _search(bundle: Bundle) -> dict[str, Any]:
    """What the decoder has to know; its beam search is the bundle's own, without what that has beyond the plain one."""
    description, source = bundle.description, bundle.tokenizers.source.vocabulary
    frame = description.frame if isinstance(description.frame, Frame) else Frame()
    decoding, limits = description.decoding, description.decoding.filters.lengths

    def numbers(pieces: Sequence[str]) -> list[int]:
        return framing(pieces, description, source, source_language="", target_language="")

    heads = cast("SelfAttention", next(cast("Transformer", bundle.model).decoder.each()).mixer).heads
    return {
        "before": numbers(frame.before),
        "tags": [source[tag] for tag in frame.languages.values()] if frame.before == (TARGET_TAG,) else [],
        "languages": [source[symbol] for symbol in source.symbols if language_of(symbol)],
        "after": [*([EOS] if description.source_end else []), *numbers(frame.after)],
        "begin": [BOS, *numbers(frame.first)],
        "layers": len(cast("Transformer", bundle.model).decoder.layers),
        "heads": heads.queries,
        "head_size": heads.size,
        "beam": decoding.beam if isinstance(decoding, BeamSettings) else 1,
        "alpha": decoding.alpha if isinstance(decoding, BeamSettings) else 1.0,
        "most": limits.most,
        "most_extra": limits.most_extra,
        "length_ratio": limits.most_per_source or description.length_ratio,
    }


class ExportedOnnx:
    """An exported folder, asked through the decoder that was written beside it."""

    def __init__(self, folder: Path) -> None:
        try:
            import onnxruntime  # noqa: F401 - asked for by name alone
        except ImportError:
            raise MissingExtra("onnxruntime", extra="export", purpose="checking an export to ONNX") from None
        from dragoman.interop.onnx.decoder import OnnxModel

        self.model = OnnxModel(folder)

    def read(self, source: str) -> list[int]:
        """What the encoder reads of a text."""
        return self.model.read(source)

    def greedy(self, sources: Sequence[Sequence[int]], *, most: Sequence[int]) -> list[list[int]]:
        """The greedy output for each source."""
        pairs = zip(sources, most, strict=True)
        return [self.model.beam(list(ids), beam=1, most=longest)[0] for ids, longest in pairs]

    def log_probs(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[list[float]]:
        """The log-probability of each token of each target."""
        return [self.model.log_probs(list(ids), list(target)) for ids, target in zip(sources, targets, strict=True)]

    def text(self, ids: Sequence[int]) -> str:
        """The text of an output."""
        return self.model.text(list(ids))
