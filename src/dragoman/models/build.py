"""From settings to a model: the one place of this room where a name becomes an object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from dragoman.errors import ModelError
from dragoman.models.attention import CrossAttention, Heads, SelfAttention
from dragoman.models.copying import Pointer
from dragoman.models.embedding import Entry, Output, TextSource, TokenEmbedding, Transform
from dragoman.models.features import FeatureSettings, FeatureSource
from dragoman.models.feedforward import FeedForward
from dragoman.models.initialization import initialize
from dragoman.models.norm import Residual, norm
from dragoman.models.positions import (
    Learned,
    LearnedSettings,
    NoPositions,
    Relative,
    RelativeSettings,
    Rotary,
    RotarySettings,
    Sinusoidal,
    SinusoidalSettings,
)
from dragoman.models.recurrent_lm import RecurrentLMSettings, recurrent_lm
from dragoman.models.rnn import RecurrentSettings, recurrent
from dragoman.models.ssru import SSRU
from dragoman.models.stack import Layer, LayerSettings, Stack
from dragoman.models.transformer import SourcePointer, Transformer, TransformerEncoder, TransformerSettings
from dragoman.models.transformer_lm import PrefixLM, PrefixLMSettings, TransformerLM, TransformerLMSettings

if TYPE_CHECKING:
    from torch import Tensor

    from dragoman.models.seq2seq import Model

__all__ = ["ModelSettings", "build"]

ModelSettings = TransformerSettings | RecurrentSettings | TransformerLMSettings | RecurrentLMSettings | PrefixLMSettings


def build(
    settings: ModelSettings,
    *,
    target_vocabulary: int,
    source_vocabulary: int | None = None,
    copied_ids: Tensor | None = None,
) -> Model:
    """A model with fresh weights.

    A source vocabulary of nothing means a joint one; `copied_ids` gives a pointer the target id of each source id.
    """
    source = target_vocabulary if source_vocabulary is None else source_vocabulary
    model: Transformer | TransformerLM | PrefixLM
    match settings:
        case RecurrentSettings():
            return recurrent(
                settings, source_vocabulary=source, target_vocabulary=target_vocabulary, copied_ids=copied_ids
            )
        case RecurrentLMSettings():
            return recurrent_lm(settings, vocabulary=target_vocabulary)
        case TransformerSettings():
            model = _transformer(settings, Vocabularies(source, target_vocabulary), copied_ids)
        case TransformerLMSettings():
            model = _transformer_lm(settings, target_vocabulary)
        case PrefixLMSettings():
            model = _prefix_lm(settings, Vocabularies(source, target_vocabulary))
        case _:
            assert_never(settings)
    initialize(model, settings.initial)
    return model


@dataclass(frozen=True, slots=True)
class Vocabularies:
    """Numbers of words."""

    source: int
    target: int


# ---- whole models ----------------------------------------------------------------------------------------------


def _transformer(settings: TransformerSettings, vocabularies: Vocabularies, copied_ids: Tensor | None) -> Transformer:
    target = _embedding(settings, vocabularies.target)
    source = _source(settings, settings.features, vocabularies, target)
    output: Output | Pointer = _output(settings, target)
    if settings.copying:
        if copied_ids is None and vocabularies.source != vocabularies.target:
            raise ModelError(
                f"copying between vocabularies of {vocabularies.source} and {vocabularies.target} words needs a map",
                place="model.copying",
                remedy="Use a joint vocabulary, or give the target id of each source id.",
            )
        output = Pointer(output, settings.size, copied_ids)
    encoder = [_layer(settings, SelfAttention) for _ in range(settings.encoder_layers)]
    mixer: type[SelfAttention | SSRU] = SSRU if settings.decoder == "ssru" else SelfAttention
    decoder = [_layer(settings, mixer, cross=True) for _ in range(settings.decoder_layers)]
    drops = settings.dropout
    return Transformer(
        encoder=TransformerEncoder(source, _stack(settings, encoder, words=drops.source_words, both_ways=True)),
        embedding=target,
        decoder=_stack(settings, decoder, words=drops.target_words, both_ways=False),
        output=output,
        pointer=SourcePointer(settings.size) if settings.copying else None,
    )


def _transformer_lm(settings: TransformerLMSettings, vocabulary: int) -> TransformerLM:
    embedding = _embedding(settings, vocabulary)
    layers = [_layer(settings, SelfAttention) for _ in range(settings.layers)]
    stack = _stack(settings, layers, words=settings.dropout.target_words, both_ways=False)
    return TransformerLM(embedding, stack, _output(settings, embedding))


def _prefix_lm(settings: PrefixLMSettings, vocabularies: Vocabularies) -> PrefixLM:
    target = _embedding(settings, vocabularies.target)
    layers = [_layer(settings, SelfAttention) for _ in range(settings.layers)]
    both_ways = not settings.causal_source
    return PrefixLM(
        source=_source(settings, settings.features, vocabularies, target),
        embedding=target,
        stack=_stack(settings, layers, words=0.0, both_ways=both_ways),
        output=_output(settings, target),
        causal_source=settings.causal_source,
        segments=settings.segments,
        word_dropout=(settings.dropout.source_words, settings.dropout.target_words),
    )


# ---- parts -----------------------------------------------------------------------------------------------------


def _embedding(settings: LayerSettings, vocabulary: int) -> TokenEmbedding:
    scale = settings.size**0.5 if settings.embedding.scaled else 1.0
    return TokenEmbedding(vocabulary, settings.size, scale=scale)


def _source(
    settings: LayerSettings,
    features: FeatureSettings | None,
    vocabularies: Vocabularies,
    target: TokenEmbedding,
) -> TextSource | FeatureSource:
    if features is not None:
        return FeatureSource.of(features, settings.size)
    if not settings.embedding.shared:
        return TextSource(_embedding(settings, vocabularies.source))
    if vocabularies.source != vocabularies.target:
        raise ModelError(
            f"a shared embedding needs a joint vocabulary, got {vocabularies.source} and {vocabularies.target} words",
            place="model.embedding.shared",
            remedy="Train one vocabulary on both languages, or set embedding.shared to false.",
        )
    return TextSource(target)


def _output(settings: LayerSettings, target: TokenEmbedding) -> Output:
    how = settings.embedding
    transform = None
    if how.output_transformed:
        last = norm(settings.norm.formula, settings.size, epsilon=settings.norm.epsilon)
        transform = Transform(settings.size, last)
    if not how.tied_output:
        return Output.separate(target.weight.shape[0], settings.size, bias=how.output_bias, transform=transform)
    scale = settings.size**-0.5 if how.output_scaled else 1.0
    return Output(target.weight, bias=how.output_bias, scale=scale, transform=transform)


def _heads(settings: LayerSettings) -> Heads:
    how = settings.attention
    size = how.head_size or settings.size // how.heads
    return Heads(how.heads, how.key_heads or how.heads, size, size**-0.5 if how.scaled else 1.0)


def _layer(settings: LayerSettings, mixer: type[SelfAttention | SSRU], *, cross: bool = False) -> Layer:
    size, bias, drops = settings.size, settings.bias, settings.dropout
    heads = _heads(settings)
    how = settings.feedforward
    feedforward = FeedForward(
        size, how.size, activation=how.activation, gated=how.gated, bias=bias, dropout=drops.feedforward
    )
    residuals = [
        Residual(
            norm(settings.norm.formula, size, epsilon=settings.norm.epsilon),
            before=settings.norm.place == "pre",
            dropout=drops.hidden,
        )
        for _ in range(3 if cross else 2)
    ]
    return Layer(
        SSRU(size) if issubclass(mixer, SSRU) else SelfAttention(size, heads=heads, bias=bias, dropout=drops.attention),
        feedforward,
        residuals=residuals,
        cross=CrossAttention(size, heads=heads, bias=bias, dropout=drops.attention) if cross else None,
    )


def _stack(settings: LayerSettings, layers: list[Layer], *, words: float, both_ways: bool) -> Stack:
    size, heads = settings.size, _heads(settings)
    added: Sinusoidal | Learned | None = None
    rotary: Rotary | None = None
    relative: Relative | None = None
    match settings.positions:
        case SinusoidalSettings(interleaved=interleaved, endpoint=endpoint, offset=offset):
            added = Sinusoidal(size, interleaved=interleaved, endpoint=endpoint, offset=offset)
        case LearnedSettings(longest=longest, offset=offset):
            added = Learned(longest, size, offset=offset)
        case RotarySettings(wavelength=wavelength):
            rotary = Rotary(heads.size, wavelength=wavelength)
        case RelativeSettings(buckets=buckets, farthest=farthest):
            relative = Relative(heads.queries, buckets=buckets, farthest=farthest, both_ways=both_ways)
        case NoPositions():
            pass
        case _:
            assert_never(settings.positions)
    how, drops = settings.norm, settings.dropout
    entry = Entry(
        positions=added,
        norm=norm(how.formula, size, epsilon=how.epsilon) if settings.embedding.normalised else None,
        dropout=drops.hidden,
        words=words,
    )
    last = norm(how.formula, size, epsilon=how.epsilon) if how.place == "pre" else None
    return Stack(layers, entry=entry, norm=last, rotary=rotary, relative=relative, layer_drop=drops.layers)
