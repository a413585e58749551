"""Models written for transformers.

An imported model goes back into the folder that it came from: its own configuration and tokenizer, with the weights as
they are now. A model that was trained here goes into the class whose layers are arranged as its own are; positions are
stored as a table in all of them, so that every kind of added positions will do:

                     normalised after     normalised before
    embeddings plain    Marian               Pegasus
    … normalised        BART                 mBART
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import msgspec
import torch
from safetensors.torch import save_file

from dragoman.bundle import Frame, Origin
from dragoman.errors import MissingExtra, ModelError
from dragoman.files import disk_errors, write_atomically
from dragoman.interop.bart import bart_names
from dragoman.interop.huggingface.configuration import FAMILIES
from dragoman.interop.huggingface.original import Ids, TransformersModel, available
from dragoman.interop.numbering import NEVER, Numbering
from dragoman.interop.t5 import t5_names
from dragoman.interop.weights import give
from dragoman.models.adapters import plain_weights
from dragoman.models.positions import Learned
from dragoman.models.transformer import Transformer, TransformerSettings
from dragoman.text.bytepairs import BytePairs
from dragoman.text.sentencepieces import SentencePieces
from dragoman.text.subword import Subword
from dragoman.text.vocabulary import BOS, EOS, PAD
from dragoman.translator.reader import framing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from torch import Tensor, nn

    from dragoman.bundle import Bundle
    from dragoman.interop.weights import WeightNames
    from dragoman.models.stack import Stack

__all__ = ["HuggingFaceModel", "write_huggingface"]

_TABLE, _BIAS = "encoder.embedding.embedding.weight", "output.bias"
_LONGEST = 1024
_SMALL = 1e-6
_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_new", "silu": "silu"}
_CLASSES = {
    ("post", False): ("marian", "MarianMTModel"),
    ("pre", False): ("pegasus", "PegasusForConditionalGeneration"),
    ("post", True): ("bart", "BartForConditionalGeneration"),
    ("pre", True): ("mbart", "MBartForConditionalGeneration"),
}
_OFFSET = 2
"""Rows before the first position in the tables of BART and mBART."""


def write_huggingface(bundle: Bundle, folder: Path) -> None:
    """Write the model, its tokenizer and how it searches into an existing folder."""
    if not available():
        raise MissingExtra("transformers", extra="export", purpose="an export to huggingface")
    origin = bundle.description.origin
    with torch.no_grad():
        if isinstance(origin, Origin) and origin.library == "transformers":
            files, tensors = _back(bundle, origin)
        else:
            files, tensors = _ours(bundle)
    for name, value in files.items():
        write_atomically(folder / name, value if isinstance(value, bytes) else _json(value))
    with disk_errors(folder, "write"):
        plain = {name: value.float().contiguous().clone() for name, value in tensors.items()}
        save_file(plain, folder / "model.safetensors", metadata={"format": "pt"})


def _json(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2)


# ---- back to where it came from ------------------------------------------------------------------------------------


def _back(bundle: Bundle, origin: Origin) -> tuple[dict[str, Any], dict[str, Tensor]]:
    tokenizer = bundle.tokenizers.source
    originals = tokenizer.originals if isinstance(tokenizer, SentencePieces | BytePairs) else {}
    if "config.json" not in originals:
        raise _refusal("its vocabulary has grown since it was imported, and the original tokenizer does not know it")
    numbering = msgspec.convert(origin.special, Numbering)
    weights = plain_weights(cast("nn.Module", bundle.model))
    table_VD, bias_V = weights[_TABLE], weights[_BIAS]
    is_t5 = FAMILIES[str(msgspec.json.decode(originals["config.json"])["model_type"])].is_t5
    config: dict[str, Any] = msgspec.json.decode(originals["config.json"])
    files: dict[str, Any] = {**originals}
    given = _given(bundle, weights, _names_of(bundle, is_t5=is_t5), rows=numbering.rows_back)
    if is_t5:
        if float(bias_V[[i for i in range(len(bias_V)) if bias_V[i] > NEVER / 2]].abs().max()) > _SMALL:
            raise _refusal("its output layer has learned a bias, and T5 has none: freeze output.bias when you train it")
    else:
        given["final_logits_bias"] = numbering.rows_back(bias_V)[None]
    table = next(name for name in ("model.shared.weight", "shared.weight") if name in given)
    begin_D, row = table_VD[BOS], numbering.begin
    config.setdefault("decoder_start_token_id", row)
    if numbering.begin == numbering.pad:  # padding is read by nobody: its row is that of the begin
        given[table][row] = begin_D
    elif not torch.equal(given[table][row], begin_D):  # the begin has become another one: it gets a row of its own
        given[table] = torch.cat([given[table], begin_D[None]])
        given["final_logits_bias"] = torch.cat([given["final_logits_bias"], torch.full((1, 1), NEVER)], dim=1)
        config["vocab_size"] = len(given[table])
        config["decoder_start_token_id"] = numbering.size
    files["config.json"] = config | {"dtype": "float32"}
    told = msgspec.json.decode(originals.get("generation_config.json", b"{}"))
    kept = {key: told[key] for key in ("bad_words_ids", "forced_bos_token_id", "forced_eos_token_id") if key in told}
    begin = int(config["decoder_start_token_id"])
    files["generation_config.json"] = _generation(bundle, begin=begin, numbering=numbering) | kept
    return files, given


def _names_of(bundle: Bundle, *, is_t5: bool) -> WeightNames:
    settings = cast("TransformerSettings", bundle.description.model)
    if is_t5:
        return t5_names(gated=settings.feedforward.gated, tied=settings.embedding.tied_output)
    return bart_names()


# ---- models that were trained here ---------------------------------------------------------------------------------


def _ours(bundle: Bundle) -> tuple[dict[str, Any], dict[str, Tensor]]:
    settings = _check(bundle)
    kind, name = _CLASSES[settings.norm.place, settings.embedding.normalised]
    model = cast("Transformer", bundle.model)
    weights = plain_weights(cast("nn.Module", bundle.model))
    given = _given(bundle, weights, bart_names(), rows=lambda table: table)
    offset = _OFFSET if settings.embedding.normalised else 0
    for side, stack in (("encoder", model.encoder.stack), ("decoder", model.decoder)):
        given[f"model.{side}.embed_positions.weight"] = _positions(stack, settings.size, offset)
    vocabulary = len(bundle.tokenizers.target.vocabulary)
    bias = weights.get(_BIAS)
    given["final_logits_bias"] = (torch.zeros(vocabulary) if bias is None else bias)[None]
    numbering = Numbering(pad=PAD, unknown=1, begin=BOS, end=EOS, size=vocabulary)
    longest = len(given["model.encoder.embed_positions.weight"]) - offset
    config = {
        "model_type": kind,
        "architectures": [name],
        "vocab_size": vocabulary,
        "decoder_vocab_size": vocabulary,
        "d_model": settings.size,
        "encoder_layers": settings.encoder_layers,
        "decoder_layers": settings.decoder_layers,
        "encoder_attention_heads": settings.attention.heads,
        "decoder_attention_heads": settings.attention.heads,
        "encoder_ffn_dim": settings.feedforward.size,
        "decoder_ffn_dim": settings.feedforward.size,
        "activation_function": _ACTIVATIONS[settings.feedforward.activation],
        "dropout": settings.dropout.hidden,
        "attention_dropout": settings.dropout.attention,
        "activation_dropout": settings.dropout.feedforward,
        "max_position_embeddings": longest,
        "scale_embedding": settings.embedding.scaled,
        "static_position_embeddings": True,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        "is_encoder_decoder": True,
        "pad_token_id": PAD,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "decoder_start_token_id": BOS,
        "forced_eos_token_id": None,
        "dtype": "float32",
    }
    files = {
        "config.json": config,
        "generation_config.json": _generation(bundle, begin=BOS, numbering=numbering),
        **_tokenizer(bundle, longest),
    }
    return files, given


def _check(bundle: Bundle) -> TransformerSettings:
    """The settings; ModelError with the reason where transformers has no class for such a model."""
    settings, tokenizers = bundle.description.model, bundle.tokenizers
    if not isinstance(settings, TransformerSettings):
        kind = settings.__struct_config__.tag
        raise _refusal(
            f"its classes are Transformers with an encoder and a decoder, and this model is of kind {kind!r}"
        )
    heads, embedding, positions = settings.attention, settings.embedding, settings.positions.__struct_config__.tag
    obstacles = {
        "its decoders have self-attention, and this one has the recurrence SSRU": settings.decoder == "ssru",
        "it has no pointer that copies words from the source": settings.copying,
        "it reads tokens, and this model reads feature vectors": settings.features is not None,
        "its encoder-decoders have no rotary positions": positions == "rotary",
        "relative positions are those of T5, which goes back only where it came from": positions == "relative",
        "its encoder-decoders have as many heads of keys as of queries": heads.key_heads not in (None, heads.heads),
        "the size of its heads is that of the model divided by their number": heads.head_size
        not in (None, settings.size // heads.heads),
        "it divides scores by the root of a head's size": not heads.scaled,
        "it has LayerNorm there, and with an epsilon of 1e-5": settings.norm.formula != "layer"
        or settings.norm.epsilon != 1e-5,
        "its feed-forward sub-layers are not gated there": settings.feedforward.gated,
        "its linear maps have biases there": not settings.bias,
        "it has one table for both sides and the output": not (embedding.shared and embedding.tied_output),
        "it has no further map and no scale before the output layer": embedding.output_transformed
        or embedding.output_scaled,
        "it reads sources with an end": not bundle.description.source_end,
        "its tokenizer is a sentencepiece model for each side, of one vocabulary: words and characters have none": not (
            isinstance(tokenizers.source, Subword) and tokenizers.joint
        ),
    }
    for reason, stands_in_the_way in obstacles.items():
        if stands_in_the_way:
            raise _refusal(reason)
    return settings


def _refusal(reason: str) -> ModelError:
    return ModelError(
        f"transformers cannot run this model: {reason}",
        place="model",
        remedy="Translate with dragoman, export it to onnx, or train a plain Transformer on subwords.",
    )


def _given(bundle: Bundle, weights: Mapping[str, Tensor], names: WeightNames, *, rows: Any) -> dict[str, Tensor]:
    """The weights under foreign names; the bias of the output is left to the caller."""
    del bundle
    kept = {name: value for name, value in weights.items() if name != _BIAS}
    shapes: dict[str, tuple[int, ...]] = {}
    for ours, value in kept.items():
        if ours not in names.tables:
            theirs = names.theirs(ours)
            shapes |= {name: (value.shape[0] // len(theirs),) for name in theirs}
    return give(names, kept, shapes=shapes, rows=lambda _name, table: rows(table))


def _positions(stack: Stack, size: int, offset: int) -> Tensor:
    """A row for each position, zeros where there are none."""
    added = stack.entry.positions
    longest = added.longest if isinstance(added, Learned) else _LONGEST
    table = torch.zeros(longest, size) if added is None else added(torch.arange(longest))
    return torch.cat([torch.zeros(offset, size), table.detach()])


def _tokenizer(bundle: Bundle, longest: int) -> dict[str, Any]:
    """Marian's tokenizer: a sentencepiece model for each side, and the numbers of their pieces."""
    both = cast("Subword", bundle.tokenizers.source)
    return {
        "source.spm": both.model,
        "target.spm": both.model,
        "vocab.json": {piece: number for number, piece in enumerate(both.vocabulary)},
        "tokenizer_config.json": {
            "tokenizer_class": "MarianTokenizer",
            "source_lang": bundle.description.source_language or None,
            "target_lang": bundle.description.target_language or None,
            "unk_token": "<unk>",
            "pad_token": "<pad>",
            "eos_token": "</s>",
            "model_max_length": longest,
            "separate_vocabs": False,
        },
    }


def _generation(bundle: Bundle, *, begin: int, numbering: Numbering) -> dict[str, Any]:
    """How the library searches as the bundle does, as nearly as it can."""
    settings = bundle.description.decoding
    beams = getattr(settings, "beam", 1)
    told = {
        "num_beams": beams,
        "max_length": settings.filters.lengths.most,
        "no_repeat_ngram_size": settings.filters.no_repeat,
        "decoder_start_token_id": begin,
        "pad_token_id": numbering.pad,
        "eos_token_id": numbering.end,
    }
    if beams > 1:
        told |= {"length_penalty": getattr(settings, "alpha", 1.0), "early_stopping": True}
    return told


# ---- asked as its users ask it -------------------------------------------------------------------------------------


class HuggingFaceModel:
    """An exported folder, opened by the library; numbers of pieces are ours."""

    def __init__(self, folder: Path, bundle: Bundle) -> None:
        description = bundle.description
        origin, frame = description.origin, description.frame
        tokenizers = bundle.tokenizers
        is_back = isinstance(origin, Origin) and origin.library == "transformers"
        size = len(tokenizers.target.vocabulary)
        numbering = msgspec.convert(origin.special, Numbering) if is_back and isinstance(origin, Origin) else None
        self._theirs = list(range(size)) if numbering is None else numbering.theirs()
        self._ours = list(range(size)) if numbering is None else [*numbering.ours(), BOS]
        config = msgspec.json.decode((folder / "config.json").read_bytes())
        framed = frame if isinstance(frame, Frame) else Frame()

        def numbers(pieces: Sequence[str]) -> tuple[int, ...]:
            ids = framing(pieces, description, tokenizers.source.vocabulary, source_language="", target_language="")
            return tuple(self._theirs[number] for number in ids)

        tagged = bool(framed.languages)
        self._model = TransformersModel(
            folder,
            ids=Ids(
                before=() if tagged or config["model_type"] == "bart" else numbers(framed.before),
                begin=int(config["decoder_start_token_id"]),
                first=numbers(framed.first),
                pad=int(config["pad_token_id"]),
                end=self._theirs[EOS],
            ),
            source_language=description.source_language if tagged else "",
            target_language=description.target_language if tagged else "",
        )
        self._normalizer = tokenizers.source.normalizer
        self._target = tokenizers.target
        silent = getattr(tokenizers.target.settings, "silent", ())
        symbols = tokenizers.target.vocabulary.symbols if is_back else ()
        self._unwritten = {tokenizers.target.vocabulary[piece] for piece in (*silent, *symbols)}

    def read(self, source: str) -> list[int]:
        """What the encoder reads of the tidied text."""
        return [self._ours[number] for number in self._model.source_ids(self._normalizer(source))]

    def greedy(self, sources: Sequence[Sequence[int]], *, most: Sequence[int]) -> list[list[int]]:
        """The greedy output for each source."""
        outputs = []
        for ids, longest in zip(sources, most, strict=True):
            found, _ = self._model.search([self._theirs[i] for i in ids], beam=1, most=longest)
            outputs.append([self._ours[number] for number in found])
        return outputs

    def log_probs(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[list[float]]:
        """The log-probability of each token of each target."""
        found = []
        for source, target in zip(sources, targets, strict=True):
            labels = [self._theirs[i] for i in target]
            values_TV = self._model.logits([self._theirs[i] for i in source], labels).log_softmax(-1)
            found.append([float(values_TV[n, label]) for n, label in enumerate(labels)])
        return found

    def text(self, ids: Sequence[int]) -> str:
        """The text of an output; pieces that are no text there or here are left to the original."""
        if not self._unwritten.isdisjoint(ids):
            return self._target.decode(ids)
        return self._model.text([self._theirs[i] for i in ids])
