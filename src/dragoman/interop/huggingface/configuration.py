"""What `config.json` and `generation_config.json` say, as settings of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.filters import FilterSettings, LengthLimits
from dragoman.decoding.greedy import GreedySettings
from dragoman.errors import ModelError, SettingError
from dragoman.interop.bart import bart_names
from dragoman.interop.t5 import t5_names
from dragoman.models import presets
from dragoman.models.positions import LearnedSettings, RelativeSettings

if TYPE_CHECKING:
    from dragoman.decoding.build import DecodingSettings
    from dragoman.interop.weights import WeightNames
    from dragoman.models.feedforward import Activation
    from dragoman.models.transformer import TransformerSettings

__all__ = ["FAMILIES", "Architecture", "Family", "architecture", "search"]

T = TypeVar("T")
Document = Mapping[str, Any]

_ACTIVATIONS: dict[str, Activation] = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "silu": "silu",
    "swish": "silu",
}
_LONGEST = 512


@dataclass(frozen=True, slots=True)
class Family:
    """A class of models of transformers."""

    name: str
    is_t5: bool = False


FAMILIES = {
    "marian": Family("MarianMTModel"),
    "bart": Family("BartForConditionalGeneration"),
    "mbart": Family("MBartForConditionalGeneration"),
    "m2m_100": Family("M2M100ForConditionalGeneration"),
    "t5": Family("T5ForConditionalGeneration", is_t5=True),
    "mt5": Family("MT5ForConditionalGeneration", is_t5=True),
}


@dataclass(frozen=True, slots=True)
class Architecture:
    """A model of transformers, as it is built here."""

    family: Family
    kind: str
    """`model_type` in config.json."""
    settings: TransformerSettings
    names: WeightNames
    vocabulary: int
    pad: int
    end: int
    begin: int


def architecture(config: Document, *, place: str, has_head: bool) -> Architecture:
    """The architecture that a config.json describes; `has_head`: the output layer has a table of its own."""
    kind = config.get("model_type")
    if kind not in FAMILIES:
        raise ModelError(
            f"models of type {kind!r} are not known here",
            place=place,
            remedy=f"What can be imported: {', '.join(FAMILIES)}.",
        )
    family = FAMILIES[str(kind)]
    read = _Reading(config, place)
    try:
        settings = _t5(read, has_head=has_head) if family.is_t5 else _bart(read, str(kind))
    except SettingError as error:
        raise ModelError(
            f"{error.place}: {error.problem}", place=place, remedy="This variant is not known here."
        ) from None
    feedforward = settings.feedforward
    names = t5_names(gated=feedforward.gated, tied=settings.embedding.tied_output) if family.is_t5 else bart_names()
    return Architecture(
        family=family,
        kind=str(kind),
        settings=settings,
        names=names,
        vocabulary=read("vocab_size", int),
        pad=read("pad_token_id", int),
        end=_first(read("eos_token_id", (int, list))),
        begin=read("decoder_start_token_id", int, config.get("pad_token_id") if family.is_t5 else None),
    )


def search(config: Document, generation: Document) -> DecodingSettings:
    """How the model searches where nothing is said, as far as it is known here."""
    # old folders keep these in config.json
    said = {
        **{key: config[key] for key in _SEARCH if key in config},
        **{k: v for k, v in generation.items() if v is not None},
    }
    beams = _whole(said.get("num_beams"), 1)
    most = max(
        2, _whole(said.get("max_length"), 0) if _whole(said.get("max_length"), 0) > 20 else _LONGEST
    )  # 20 is what nobody chose
    least = min(_whole(said.get("min_length"), 0), most - 1)
    filters = FilterSettings(
        lengths=LengthLimits(most=most, least=max(0, least - 1)),
        no_repeat=max(0, _whole(said.get("no_repeat_ngram_size"), 0)),
    )
    if beams <= 1:
        return GreedySettings(filters=filters)
    alpha = said.get("length_penalty", 1.0)
    return BeamSettings(
        beam=min(beams, 64),
        alpha=float(alpha) if isinstance(alpha, int | float) and alpha >= 0 else 1.0,
        stop="count" if said.get("early_stopping") else "early",
        refill=True,
        filters=filters,
    )


_SEARCH = ("num_beams", "max_length", "min_length", "no_repeat_ngram_size", "length_penalty", "early_stopping")


class _Reading:
    """Values of a configuration, each of its type."""

    def __init__(self, config: Document, place: str) -> None:
        self._config, self._place = config, place

    def __call__(self, key: str, kind: Any, default: Any = None) -> Any:
        value = self._config.get(key, default)
        if value is None:
            value = default
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise ModelError(f"{key} is {value!r}", place=self._place, remedy="Fetch the model again.")
        return value

    def activation(self, key: str, default: str) -> Activation:
        """The activation of this name."""
        name = self(key, str, default)
        if name not in _ACTIVATIONS:
            raise ModelError(f"the activation {name!r} is not known here", place=self._place, remedy="There is no way.")
        return _ACTIVATIONS[name]

    def same(self, *keys: str) -> int:
        """The one value that several keys must have."""
        values = {key: self(key, int) for key in keys}
        if len(set(values.values())) > 1:
            raise ModelError(
                f"{values} differ, and here both stacks have the same", place=self._place, remedy="There is no way."
            )
        return cast("int", values[keys[0]])


def _bart(read: _Reading, kind: str) -> TransformerSettings:
    presets_of = {"marian": presets.marian, "bart": presets.bart, "mbart": presets.mbart, "m2m_100": presets.nllb}
    preset = presets_of[kind]()
    replace = msgspec.structs.replace
    positions = preset.positions
    if isinstance(positions, LearnedSettings):
        positions = replace(positions, longest=read("max_position_embeddings", int, 1024))
    return replace(
        preset,
        size=read("d_model", int),
        encoder_layers=read("encoder_layers", int),
        decoder_layers=read("decoder_layers", int),
        positions=positions,
        attention=replace(preset.attention, heads=read.same("encoder_attention_heads", "decoder_attention_heads")),
        feedforward=replace(
            preset.feedforward,
            size=read.same("encoder_ffn_dim", "decoder_ffn_dim"),
            activation=read.activation("activation_function", "gelu"),
        ),
        embedding=replace(
            preset.embedding,
            scaled=read("scale_embedding", bool, default=False),
            output_bias=True,  # under which the begin is never said
        ),
        dropout=replace(
            preset.dropout,
            hidden=float(read("dropout", int | float, 0.1)),
            attention=float(read("attention_dropout", int | float, 0.0)),
            feedforward=float(read("activation_dropout", int | float, 0.0)),
        ),
    )


def _t5(read: _Reading, *, has_head: bool) -> TransformerSettings:
    written = read("feed_forward_proj", str, "relu")
    gated = written.startswith("gated-")
    inner = "gelu_new" if written == "gated-gelu" else written.removeprefix("gated-")
    preset = presets.t5()
    replace = msgspec.structs.replace
    layers = read("num_layers", int)
    tied = read("tie_word_embeddings", bool, default=True)
    # mT5 never scales; newer configurations of T5 say it apart from what is tied
    scaled = read("scale_decoder_outputs", bool, default=tied) and read("model_type", str) == "t5"
    if scaled and has_head:
        raise ModelError(
            "outputs are scaled before an output layer of their own", place="config.json", remedy="There is no way."
        )
    if inner not in _ACTIVATIONS:
        raise ModelError(f"the activation {inner!r} is not known here", place="config.json", remedy="There is no way.")
    rate = float(read("dropout_rate", int | float, 0.1))
    return replace(
        preset,
        size=read("d_model", int),
        encoder_layers=layers,
        decoder_layers=read("num_decoder_layers", int, layers),
        positions=RelativeSettings(
            buckets=read("relative_attention_num_buckets", int, 32),
            farthest=read("relative_attention_max_distance", int, 128),
        ),
        norm=replace(preset.norm, epsilon=float(read("layer_norm_epsilon", int | float, 1e-6))),
        attention=replace(preset.attention, heads=read("num_heads", int), head_size=read("d_kv", int)),
        feedforward=replace(
            preset.feedforward,
            size=read("d_ff", int),
            activation=_ACTIVATIONS[inner],
            gated=gated,
        ),
        embedding=replace(preset.embedding, output_bias=True, output_scaled=scaled, tied_output=not has_head),
        dropout=replace(preset.dropout, hidden=rate, attention=rate, feedforward=rate),
    )


def _first(value: Any) -> int:
    return int(value[0]) if isinstance(value, list) else int(value)


def _whole(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default
