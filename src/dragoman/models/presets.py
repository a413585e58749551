"""Presets: functions that return settings. What a preset leaves open, a keyword or `msgspec.structs.replace` fills."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from dragoman.models.attention import AttentionSettings
from dragoman.models.dropout import DropoutSettings
from dragoman.models.embedding import EmbeddingSettings
from dragoman.models.feedforward import FeedForwardSettings
from dragoman.models.initialization import NormalInitial, T5Initial
from dragoman.models.norm import NormSettings
from dragoman.models.positions import LearnedSettings, RelativeSettings, SinusoidalSettings
from dragoman.models.recurrence import RecurrentDropoutSettings
from dragoman.models.recurrent_initialization import RecurrentInitialSettings
from dragoman.models.rnn import RecurrentAttentionSettings, RecurrentSettings
from dragoman.models.transformer import TransformerSettings
from dragoman.models.transformer_lm import PrefixLMSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from dragoman.models.build import ModelSettings

__all__ = [
    "Preset",
    "bahdanau",
    "bart",
    "base",
    "big",
    "deep_shallow",
    "gru_tiny",
    "luong",
    "marian",
    "mbart",
    "named",
    "nllb",
    "small",
    "sutskever",
    "t5",
    "t5_v1_1",
    "tiny",
    "unilm",
    "vaswani_base",
]


# ---- Transformers of our own: pre-norm, shared embeddings -------------------------------------------------------


def tiny() -> TransformerSettings:
    """4+4 layers of 128: minutes on a laptop; 2.6 million weights with a vocabulary of 10,000."""
    return _ours(size=128, heads=4, inner=256, layers=4)


def small() -> TransformerSettings:
    """6+6 layers of 256: 13.6 million weights with 10,000 words."""
    return _ours(size=256, heads=4, inner=1024, layers=6)


def base() -> TransformerSettings:
    """6+6 layers of 512, the default size of the literature: 49.3 million weights with 10,000 words."""
    return _ours(size=512, heads=8, inner=2048, layers=6)


def big() -> TransformerSettings:
    """6+6 layers of 1024: 186.6 million weights with 10,000 words."""
    return _ours(size=1024, heads=16, inner=4096, layers=6, dropout=0.3)


def deep_shallow() -> TransformerSettings:
    """12 encoder layers and a single SSRU decoder layer: as good as `base`, and quick to decode."""
    return _ours(size=512, heads=8, inner=2048, layers=12, decoder_layers=1, ssru=True)


def _ours(
    *,
    size: int,
    heads: int,
    inner: int,
    layers: int,
    decoder_layers: int | None = None,
    dropout: float = 0.1,
    ssru: bool = False,
) -> TransformerSettings:
    return TransformerSettings(
        size=size,
        attention=AttentionSettings(heads=heads),
        feedforward=FeedForwardSettings(size=inner),
        encoder_layers=layers,
        decoder_layers=decoder_layers or layers,
        decoder="ssru" if ssru else "attention",
        dropout=DropoutSettings(hidden=dropout),
    )


# ---- published Transformers --------------------------------------------------------------------------------------


def vaswani_base() -> TransformerSettings:
    """The base model of "Attention Is All You Need": post-norm, interleaved sinusoids."""
    return TransformerSettings(norm=NormSettings(place="post"))


def marian() -> TransformerSettings:
    """Marian's base model as the OPUS-MT family uses it."""
    return TransformerSettings(
        positions=SinusoidalSettings(interleaved=False),
        norm=NormSettings(place="post"),
        feedforward=FeedForwardSettings(activation="silu"),
        embedding=EmbeddingSettings(output_bias=True),
    )


def bart() -> TransformerSettings:
    """BART base. BART large has 12+12 layers of 1024, 16 heads and an inner size of 4096."""
    return TransformerSettings(
        size=768,
        encoder_layers=6,
        decoder_layers=6,
        positions=LearnedSettings(longest=1024, offset=2),
        norm=NormSettings(place="post"),
        attention=AttentionSettings(heads=12),
        feedforward=FeedForwardSettings(size=3072, activation="gelu"),
        embedding=EmbeddingSettings(scaled=False, normalised=True),
        initial=NormalInitial(),
    )


def mbart() -> TransformerSettings:
    """MBART large: BART with normalisation before sub-layers, and scaled embeddings."""
    return TransformerSettings(
        size=1024,
        encoder_layers=12,
        decoder_layers=12,
        positions=LearnedSettings(longest=1024, offset=2),
        attention=AttentionSettings(heads=16),
        feedforward=FeedForwardSettings(size=4096, activation="gelu"),
        embedding=EmbeddingSettings(normalised=True),
        initial=NormalInitial(),
    )


def nllb() -> TransformerSettings:
    """NLLB-200 (600M), the architecture of M2M-100."""
    return TransformerSettings(
        size=1024,
        encoder_layers=12,
        decoder_layers=12,
        positions=SinusoidalSettings(interleaved=False, endpoint=True, offset=2),
        attention=AttentionSettings(heads=16),
        feedforward=FeedForwardSettings(size=4096),
    )


def t5() -> TransformerSettings:
    """T5 small."""
    return _t5(
        encoder_layers=6,
        heads=8,
        feedforward=FeedForwardSettings(size=2048),
        embedding=EmbeddingSettings(scaled=False, output_scaled=True),
    )


def t5_v1_1() -> TransformerSettings:
    """T5 1.1 small: gated GELU, and an output layer of its own."""
    return _t5(
        encoder_layers=8,
        heads=6,
        feedforward=FeedForwardSettings(size=1024, activation="gelu_tanh", gated=True),
        embedding=EmbeddingSettings(scaled=False, tied_output=False),
    )


def unilm() -> PrefixLMSettings:
    """UniLM base: BERT's layers under a mask that lets the source look both ways, and the target back."""
    return PrefixLMSettings(
        size=768,
        layers=12,
        positions=LearnedSettings(longest=512),
        norm=NormSettings(place="post", epsilon=1e-12),
        attention=AttentionSettings(heads=12),
        feedforward=FeedForwardSettings(size=3072, activation="gelu"),
        embedding=EmbeddingSettings(scaled=False, normalised=True, output_bias=True, output_transformed=True),
        dropout=DropoutSettings(attention=0.1),
        initial=NormalInitial(),
    )


def _t5(
    *, encoder_layers: int, heads: int, feedforward: FeedForwardSettings, embedding: EmbeddingSettings
) -> TransformerSettings:
    return TransformerSettings(
        encoder_layers=encoder_layers,
        decoder_layers=encoder_layers,
        bias=False,
        positions=RelativeSettings(),
        norm=NormSettings(formula="rms", epsilon=1e-6),
        attention=AttentionSettings(heads=heads, head_size=64, scaled=False),
        feedforward=feedforward,
        embedding=embedding,
        initial=T5Initial(),
    )


# ---- recurrent models --------------------------------------------------------------------------------------------


def gru_tiny() -> RecurrentSettings:
    """One GRU layer of 128 each way, with attention: minutes on a laptop."""
    return RecurrentSettings(cell="gru", size=128)


def bahdanau() -> RecurrentSettings:
    """RNNsearch of Bahdanau et al. 2015: GRU, additive attention asked by the previous state, a maxout readout."""
    return RecurrentSettings(
        cell="gru",
        size=1000,
        embedding_size=620,
        attention=RecurrentAttentionSettings(score="additive", form="bahdanau"),
        bridge="project_backward",
        readout="maxout",
        readout_size=500,
        initial=RecurrentInitialSettings(weights="bahdanau"),
        dropout=RecurrentDropoutSettings(hidden=0.0),
    )


def luong() -> RecurrentSettings:
    """Luong et al. 2015: four LSTM layers of 1000, the general score, input feeding, a reversed source."""
    return RecurrentSettings(
        cell="lstm",
        size=1000,
        layers=4,
        direction="backward",
        bridge="copy",
        attention=RecurrentAttentionSettings(score="general", input_feeding=True),
        initial=RecurrentInitialSettings(weights="uniform", range=0.1),
        dropout=RecurrentDropoutSettings(hidden=0.2),
    )


def sutskever() -> RecurrentSettings:
    """Sutskever et al. 2014: four LSTM layers of 1000, no attention, a reversed source."""
    return RecurrentSettings(
        cell="lstm",
        size=1000,
        layers=4,
        direction="backward",
        bridge="copy",
        attention=None,
        readout="joined",
        initial=RecurrentInitialSettings(weights="uniform", range=0.08),
        dropout=RecurrentDropoutSettings(hidden=0.0),
    )


# ---- by name -----------------------------------------------------------------------------------------------------

Preset = Literal[
    "tiny",
    "small",
    "base",
    "big",
    "deep_shallow",
    "vaswani_base",
    "marian",
    "bart",
    "mbart",
    "nllb",
    "t5",
    "t5_v1_1",
    "unilm",
    "gru_tiny",
    "bahdanau",
    "luong",
    "sutskever",
]

_PRESETS: dict[Preset, Callable[[], ModelSettings]] = {
    "tiny": tiny,
    "small": small,
    "base": base,
    "big": big,
    "deep_shallow": deep_shallow,
    "vaswani_base": vaswani_base,
    "marian": marian,
    "bart": bart,
    "mbart": mbart,
    "nllb": nllb,
    "t5": t5,
    "t5_v1_1": t5_v1_1,
    "unilm": unilm,
    "gru_tiny": gru_tiny,
    "bahdanau": bahdanau,
    "luong": luong,
    "sutskever": sutskever,
}


def named(name: Preset) -> ModelSettings:
    """The settings of the preset of this name, which is how a run file says it."""
    return _PRESETS[name]()
