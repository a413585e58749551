"""Small texts, and one tokenizer of each kind trained on them."""

from __future__ import annotations

import pytest

from dragoman.text.build import TextSettings, train_tokenizer
from dragoman.text.characters import CharacterSettings
from dragoman.text.normalize import Normalization
from dragoman.text.subword import BpeSettings, UnigramSettings
from dragoman.text.symbols import SymbolSettings
from dragoman.text.words import WordSettings

TEXTS = (
    "He hit me with a pie.",
    "Il m'a entarté.",
    "the lowest and the widest of the newest pies, lower and wider than the low ones",
    "Zwei junge Männer sitzen im Freien, in der Nähe vieler Büsche.",
    "une tarte, deux tartes, trois tartes <ph> et une crème brûlée à 4,50 €",
    "नमस्ते दुनिया",
    "日本語のテキスト",
)
KEEP = Normalization(unicode="none", spaces="keep", control="keep", zero_width="keep", bidi="keep")
KINDS = {
    "bpe": BpeSettings(),
    "bpe-dropout": BpeSettings(dropout=0.3),
    "unigram": UnigramSettings(),
    "unigram-sampled": UnigramSettings(alpha=0.3),
    "words": WordSettings(),
    "characters": CharacterSettings(),
    "symbols": SymbolSettings(),
}


@pytest.fixture(scope="session")
def texts():
    return TEXTS


@pytest.fixture(scope="session", params=KINDS)
def tokenizer(request):
    """A tokenizer of each kind, with the default normalisation and one symbol."""
    settings = TextSettings(symbols=("<ph>",))
    return train_tokenizer(KINDS[request.param], settings, texts=TEXTS, size=400)


@pytest.fixture(scope="session", params=["bpe", "unigram"])
def verbatim_subword(request):
    """A subword tokenizer that keeps a text just as it is."""
    settings = TextSettings(symbols=("<ph>",), normalization=KEEP)
    return train_tokenizer(KINDS[request.param], settings, texts=TEXTS, size=400)
