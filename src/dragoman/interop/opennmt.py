"""Checkpoints of OpenNMT-py 3 (`.pt`): weights, options and vocabularies in one pickle. Its Transformers are read."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import torch

from dragoman.decoding.beam import BeamSettings
from dragoman.errors import FileError, ModelError, SettingError
from dragoman.files import disk_errors
from dragoman.interop.checkpoints import Checkpoint, Options, Side, brought, tables
from dragoman.interop.numbering import Numbering
from dragoman.interop.safe_tensors import SafeTensors
from dragoman.interop.unpickling import unpickled
from dragoman.interop.weights import Stack, WeightNames
from dragoman.models.attention import AttentionSettings
from dragoman.models.dropout import DropoutSettings
from dragoman.models.embedding import EmbeddingSettings
from dragoman.models.feedforward import FeedForwardSettings
from dragoman.models.norm import NormSettings
from dragoman.models.transformer import TransformerSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch import Tensor

    from dragoman.bundle import Bundle
    from dragoman.interop.checkpoints import Cut
    from dragoman.models.feedforward import Activation

__all__ = ["opennmt_names", "read_opennmt"]

_OPTIONS, _VOCABULARY = "opt", "vocab"
_PARTS = "model,generator"
_ACTIVATIONS: dict[str, tuple[Activation, bool]] = {
    "relu": ("relu", False),
    "gelu": ("gelu", False),
    "silu": ("silu", True),
    "gated-gelu": ("gelu", True),
}
"""What each activation is here, and whether a second map is multiplied with it."""
_SPECIAL = (("<blank>", "<pad>"), ("<unk>",), ("<s>",), ("</s>",))
_REMEDY = "Check that the file is a checkpoint of OpenNMT-py 3, and fetch it again."


# ---- names ---------------------------------------------------------------------------------------------------------


_SELF = {
    "mixer.inputs": ("self_attn.linear_query", "self_attn.linear_keys", "self_attn.linear_values"),
    "mixer.output": ("self_attn.final_linear",),
}
_ACROSS = {
    "cross.queries": ("context_attn.linear_query",),
    "cross.memory": ("context_attn.linear_keys", "context_attn.linear_values"),
    "cross.output": ("context_attn.final_linear",),
    "mixer_residual.norm": ("layer_norm_1",),
    "cross_residual.norm": ("layer_norm_2",),
}
_ENDS = {"norm": "layer_norm"}


def opennmt_names(settings: TransformerSettings) -> WeightNames:
    """The names of a model with these settings."""
    inner = ("feed_forward.w_1", "feed_forward.w_3") if settings.feedforward.gated else ("feed_forward.w_1",)
    forward = {
        "feedforward.inputs": inner,
        "feedforward.output": ("feed_forward.w_2",),
        "feedforward_residual.norm": ("feed_forward.layer_norm",),
    }
    encoder = _SELF | {"mixer_residual.norm": ("layer_norm",)} | forward
    return WeightNames(
        stacks=(
            Stack("encoder.stack", "model.encoder", "transformer", encoder, _ENDS),
            Stack("decoder", "model.decoder", "transformer_layers", _SELF | _ACROSS | forward, _ENDS),
        ),
        tables=tables(
            settings,
            source=("model.encoder.embeddings.make_embedding.emb_luts.0.weight",),
            target=("model.decoder.embeddings.make_embedding.emb_luts.0.weight",),
            output=("generator.weight", "generator.0.weight"),
            bias=("generator.bias", "generator.0.bias"),
        ),
        computed=(".pe.pe",),
    )


class WithBiases:
    """Weights with a bias of zeros for each linear map that has none: there each kind of map has them or not."""

    def __init__(self, tensors: SafeTensors) -> None:
        self._tensors, self.place = tensors, tensors.place
        shapes = dict(tensors.shapes())
        self._made = {
            bias: shape[:1]
            for name, shape in shapes.items()
            if len(shape) == 2 and ("_attn." in name or ".feed_forward." in name)
            if (bias := f"{name.removesuffix('.weight')}.bias") not in shapes
        }
        self._shapes = shapes | self._made

    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The shape of each, by name."""
        return self._shapes

    def read(self, name: str) -> Tensor:
        """One of them."""
        return torch.zeros(self._made[name]) if name in self._made else self._tensors.read(name)


# ---- options -------------------------------------------------------------------------------------------------------


def _settings(read: Options) -> TransformerSettings:
    """The architecture; ModelError with the reason where there is none like it here."""
    for side in ("encoder_type", "decoder_type"):
        read.demand(side, "transformer", why="is no Transformer with an encoder and a decoder")
        read(side, str)
    read.demand("self_attn_type", "scaled-dot", "scaled-dot-flash")
    read.demand("position_encoding", True, why="leaves positions to something that is not known here")
    read.demand("position_encoding_type", "SinusoidalInterleaved")
    read.demand("max_relative_positions", 0, why="means relative positions of another kind than here")
    for key in ("copy_attn", "parallel_residual", "shared_layer_norm", "multiquery"):
        read.demand(key, False)
    heads, size = read("heads", int, 8), _hidden(read, "enc")
    read.demand("num_kv", 0, heads, why="means fewer heads of keys")
    read.demand("num_experts", 0)
    read.demand("pos_ffn_activation_fn", *_ACTIVATIONS)
    read.demand("layer_norm", "standard", "rms")
    if _hidden(read, "dec") != size:
        raise ModelError("encoder and decoder differ in size", place=read.place, remedy="There is no way.")
    activation, gated = _ACTIVATIONS[read("pos_ffn_activation_fn", str, "relu")]
    return TransformerSettings(
        size=size,
        encoder_layers=read("enc_layers", int),
        decoder_layers=read("dec_layers", int),
        norm=NormSettings(
            formula="rms" if read("layer_norm", str, "standard") == "rms" else "layer",
            epsilon=float(read("norm_eps", float, 1e-6)),
        ),
        attention=AttentionSettings(heads=heads),
        feedforward=FeedForwardSettings(size=read("transformer_ff", int), activation=activation, gated=gated),
        embedding=EmbeddingSettings(
            shared=read("share_embeddings", bool, default=False),
            tied_output=read("share_decoder_embeddings", bool, default=False),
            output_bias=True,  # under which the begin is never said
        ),
        dropout=DropoutSettings(hidden=_first(read, "dropout"), attention=_first(read, "attention_dropout")),
    )


def _hidden(read: Options, side: str) -> int:
    return int(read(f"{side}_hid_size", int, read.values.get("hidden_size")))


def _first(read: Options, key: str) -> float:
    """A rate, or the first of those that a training goes through."""
    value = read(key, int | float | list, 0.0)
    first = (value or [0.0])[0] if isinstance(value, list) else value
    return float(first) if isinstance(first, int | float) else 0.0


# ---- files ---------------------------------------------------------------------------------------------------------


def read_opennmt(path: Path, *, name: str, languages: tuple[str, str]) -> tuple[Bundle, str]:
    """The bundle of a checkpoint, or of the one in a folder, and what is to be known of its texts."""
    file = _chosen(path)
    with _unpickled(file) as tensors:
        told = tensors.metadata()
        options = Options(_document(told, _OPTIONS, file), f"{file}, {_OPTIONS}")
        vocabulary = Options(_document(told, _VOCABULARY, file), f"{file}, {_VOCABULARY}")
        vocabulary.demand("src_feats", {}, why="means words with features")
        try:
            settings = _settings(options)
        except SettingError as error:
            raise ModelError(f"{error.place}: {error.problem}", place=options.place, remedy=_REMEDY) from None
        begin = vocabulary("decoder_start_token", str, "<s>")
        cuts = [_cut(file.parent, options, side) for side in ("src", "tgt")]
        checkpoint = Checkpoint(
            library="opennmt-py",
            architecture="Transformer",
            settings=settings,
            names=opennmt_names(settings),
            source=_side(vocabulary, "src", begin, cuts[0]),
            target=_side(vocabulary, "tgt", begin, cuts[1]),
            decoding=BeamSettings(beam=5),
            source_end=False,
        )
        said = "texts are cut at spaces alone: cut them into the model's pieces" if "spaces" in cuts else ""
        return brought(checkpoint, WithBiases(tensors), name=name, languages=languages), said


def _chosen(path: Path) -> Path:
    if path.is_file():
        return path
    found = sorted(path.glob("*.pt"))
    if len(found) != 1:
        raise ModelError(f"there are {len(found)} checkpoints", place=str(path), remedy="Name the file of one of them.")
    return found[0]


@contextlib.contextmanager
def _unpickled(checkpoint: Path) -> Iterator[SafeTensors]:
    """The weights of a checkpoint and what it says of itself, for as long as it is open."""
    with tempfile.TemporaryDirectory(prefix="dragoman-") as place:
        written = Path(place) / "weights.safetensors"
        unpickled(checkpoint, written, key=_PARTS, facts=(_OPTIONS, _VOCABULARY))
        yield SafeTensors([written], place=str(checkpoint))


def _document(told: Mapping[str, str], key: str, file: Path) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(told.get(key, "null"))
    except msgspec.MsgspecError as error:
        raise FileError(f"{key} cannot be read: {error}", place=str(file), remedy=_REMEDY) from None
    if not isinstance(found, dict):
        raise FileError(f"holds no {key} that is known here", place=str(file), remedy=_REMEDY)
    return found


def _cut(folder: Path, options: Options, side: str) -> Cut:
    """The sentencepiece model beside the checkpoint that its options name; else spaces."""
    steps, named = options("transforms", list, []), options(f"{side}_subword_model", str, "")
    model = folder / Path(named).name
    if "sentencepiece" not in steps or not named or not model.is_file():
        return "spaces"
    with disk_errors(model, "read"):
        return model.read_bytes()


def _side(vocabulary: Options, side: str, begin: str, cut: Cut) -> Side:
    listed = vocabulary(side, list)
    if not all(isinstance(piece, str) for piece in listed):
        raise ModelError("is no list of pieces", place=vocabulary.place, remedy=_REMEDY)
    numbers = {piece: number for number, piece in enumerate(listed)}
    size = len(listed)
    found: list[int] = []
    for names in (*_SPECIAL[:2], (begin,), _SPECIAL[3]):
        number = next((numbers[name] for name in names if name in numbers), size)
        size += number == size  # a source has no use for some of them
        found.append(number)
    pad, unknown, first, end = found
    if len({pad, unknown, end}) < 3:
        raise ModelError("special pieces are the same", place=vocabulary.place, remedy=_REMEDY)
    return Side(tuple(listed), Numbering(pad=pad, unknown=unknown, begin=first, end=end, size=size), cut)
