"""Small models of every architecture with random weights, whose tokenizers have read the phrasebook."""

from __future__ import annotations

import functools

import msgspec
import torch

from dragoman.bundle import Bundle, Description, build_model
from dragoman.data import phrasebook
from dragoman.models.attention import AttentionSettings
from dragoman.models.feedforward import FeedForwardSettings
from dragoman.models.transformer import TransformerSettings
from dragoman.text.build import TextSettings, train_tokenizers
from dragoman.text.subword import BpeSettings
from dragoman.text.vocabulary import EOS

SUBWORDS = TextSettings(source=BpeSettings(), vocabulary_size=420)
PLAIN = TransformerSettings(
    size=16,
    encoder_layers=2,
    decoder_layers=2,
    attention=AttentionSettings(heads=2),
    feedforward=FeedForwardSettings(size=24),
)


@functools.cache
def phrases(count=120):
    return tuple(phrasebook.generate(5, count))


def sentences(count=16):
    return [phrase.english for phrase in phrases()[:count]]


@functools.cache
def tokenizers(text=SUBWORDS):
    return train_tokenizers(text, sources=[p.english for p in phrases()], targets=[p.french for p in phrases()])


def small(settings, **more):
    """The settings of a preset at the size of a test."""
    replace = msgspec.structs.replace
    return replace(
        settings,
        size=16,
        encoder_layers=2,
        decoder_layers=2,
        attention=replace(settings.attention, heads=2, head_size=6 if settings.attention.head_size else None),
        feedforward=replace(settings.feedforward, size=24),
        **more,
    )


def bundle(settings=PLAIN, *, text=SUBWORDS, sharpness=1.6, end=0.0, seed=0, **description):
    """A model sharp enough to prefer something; `end` makes a model with an output bias come to its end sooner."""
    both = tokenizers(text)
    told = Description(
        model=settings,
        source_vocabulary=None if both.joint else len(both.source.vocabulary),
        target_vocabulary=len(both.target.vocabulary),
        source_language="en",
        target_language="fr",
        **description,
    )
    torch.manual_seed(seed)
    model = build_model(told).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05).mul_(sharpness)
        if end:
            model.output.bias[EOS] += end
    return Bundle(told, model, both)
