"""Tiny random models with tokenizers, made in memory."""

from __future__ import annotations

import types

import pytest
import torch

from dragoman.bundle import Bundle, Description, build_model
from dragoman.models.attention import AttentionSettings
from dragoman.models.recurrent_lm import RecurrentLMSettings
from dragoman.models.rnn import RecurrentSettings
from dragoman.models.transformer import TransformerSettings
from dragoman.models.transformer_lm import PrefixLMSettings, TransformerLMSettings
from dragoman.text.build import TextSettings, Tokenizers, train_tokenizer
from dragoman.text.words import WordSettings
from dragoman.translator import Translator

_TEXT = "the cat sat on a mat while my dog ate red pie and nobody saw it . ? Ann met 7 1984"
WORDS = tuple(_TEXT.split())
SENTENCES = [
    " ".join(WORDS[(i * step) % len(WORDS)] for i in range(1, 2 + n % 9)) for n in range(40) for step in (1, 3, 7)
]
HEADS = AttentionSettings(heads=2)
FAMILIES = {
    "recurrent": RecurrentSettings(size=12),
    "transformer": TransformerSettings(size=8, encoder_layers=1, decoder_layers=2, attention=HEADS),
    "prefix_lm": PrefixLMSettings(size=8, layers=1, attention=HEADS),
    "transformer_lm": TransformerLMSettings(size=8, layers=1, attention=HEADS),
    "recurrent_lm": RecurrentLMSettings(size=8),
}


def tokenizers(kind=None, symbols=()):
    settings = TextSettings(source=kind or WordSettings(), symbols=symbols)
    one = train_tokenizer(settings.source, settings, texts=[" ".join(WORDS), "cat"], size=None)
    return Tokenizers(one, one)


def bundle(family="recurrent", *, seed=0, settings=None, sharpness=2.0, symbols=(), **description):
    """A model with random weights, sharp enough to prefer something."""
    both = tokenizers(symbols=symbols)
    size = len(both.target.vocabulary)
    told = Description(
        model=settings or FAMILIES[family],
        source_vocabulary=None,
        target_vocabulary=size,
        length_ratio=2.0,
        **description,
    )
    torch.manual_seed(seed)
    model = build_model(told).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(sharpness)
    return Bundle(told, model, both)


def translator(*arguments, batching=None, **options):
    return Translator(bundle(*arguments, **options), device=torch.device("cpu"), batching=batching)


@pytest.fixture(scope="session")
def tiny():
    """The names of this module, for tests."""
    return types.SimpleNamespace(
        words=WORDS, sentences=SENTENCES, families=FAMILIES, tokenizers=tokenizers, bundle=bundle, translator=translator
    )


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    torch.set_num_threads(1)
