"""A tiny random model, and texts it knows the words of."""

from __future__ import annotations

import pytest
import torch

from dragoman.bundle import Bundle, Description, build_model
from dragoman.models.rnn import RecurrentSettings
from dragoman.text.build import TextSettings, Tokenizers, train_tokenizer
from dragoman.text.words import WordSettings
from dragoman.translator import Translator

SENTENCE = "the cat sat on my dog ate red pie 7 . nobody"


def bundle(seed=0, *, sharpness=2.0, size=12):
    """A model with random weights, sharp enough to prefer something."""
    text = TextSettings(source=WordSettings())
    one = train_tokenizer(text.source, text, texts=[SENTENCE], size=None)
    told = Description(
        model=RecurrentSettings(size=size),
        source_vocabulary=None,
        target_vocabulary=len(one.vocabulary),
        length_ratio=1.0,
    )
    torch.manual_seed(seed)
    model = build_model(told).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(sharpness)
    return Bundle(told, model, Tokenizers(one, one))


@pytest.fixture(scope="session")
def fresh_bundle():
    """The function that makes a tiny model."""
    return bundle


@pytest.fixture
def model():
    """A tiny translator."""
    torch.set_num_threads(1)
    return Translator(bundle(), device=torch.device("cpu"))


@pytest.fixture(scope="session")
def sources():
    """Texts of words that the tiny model knows."""
    words = SENTENCE.split()
    return [" ".join(words[(i * 5 + n) % len(words)] for i in range(2 + n % 5)) for n in range(6)]
