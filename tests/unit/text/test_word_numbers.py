"""Words of ids, against those that the text itself shows."""

from __future__ import annotations

import random

import pytest

from dragoman.text.build import TextSettings, train_tokenizer
from dragoman.text.characters import CharacterSettings
from dragoman.text.subword import BpeSettings, UnigramSettings
from dragoman.text.symbols import SymbolSettings
from dragoman.text.tokenizer import words_of
from dragoman.text.vocabulary import EOS, PAD
from dragoman.text.word_numbers import WordNumbers
from dragoman.text.words import WordSettings

TEXTS = ["the lowest, newest widest lower one", "one: low!", "x", "a <tag> b", "newer <tag>", "<tag> first"] * 3
NEW = ["lowest new words: zürich 東京 x", "one", "the <tag>"]
KINDS = [BpeSettings(), UnigramSettings(), WordSettings(), CharacterSettings(), SymbolSettings()]


def tokenizer_of(kind):
    size = 330 if isinstance(kind, BpeSettings | UnigramSettings) else None
    return train_tokenizer(kind, TextSettings(symbols=("<tag>",)), texts=TEXTS, size=size)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__struct_config__.tag)
def test_they_are_the_words_of_the_text(kind):
    tokenizer = tokenizer_of(kind)
    numbers = WordNumbers(tokenizer)
    for text in [*TEXTS[:6], *(NEW if not isinstance(kind, WordSettings | CharacterSettings) else ())]:
        assert numbers(tokenizer.encode(text)) == words_of(tokenizer.normalizer(text), tokenizer.pieces(text)), text


def test_they_hold_for_every_way_of_cutting():
    tokenizer = tokenizer_of(BpeSettings(dropout=0.5))
    numbers = WordNumbers(tokenizer)
    draw = random.Random(1)
    for _ in range(50):
        ids = tokenizer.sample("the lowest, newest widest", draw)
        found = [number for number in numbers(ids) if number is not None]
        assert found == sorted(found)
        words = [tokenizer.decode([i for i, n in zip(ids, numbers(ids), strict=True) if n == w]) for w in range(4)]
        assert words == ["the", "lowest,", "newest", "widest"]


def test_ends_and_padding_are_no_words():
    tokenizer = tokenizer_of(SymbolSettings())
    assert WordNumbers(tokenizer)([*tokenizer.encode("one low!"), EOS, PAD]) == [0, 1, None, None]
