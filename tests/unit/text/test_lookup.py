"""Words, characters and symbols: how they cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.characters import CharacterCutting
from dragoman.text.symbols import SymbolCutting
from dragoman.text.words import WordCutting


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        ("Hello, world!", ["▁Hello", ",", "▁world", "!"]),
        ("  a", ["▁", "▁", "▁a"]),
        ("l'eau", ["▁l", "'", "eau"]),
        ("4,50 €", ["▁4", ",", "50", "▁€"]),
        ("नमस्ते", ["▁नमस्ते"]),
        ("<ph>.", ["▁", "<ph>", "."]),
    ],
)
def test_words(text, pieces):
    assert WordCutting(["<ph>"]).cut(text) == pieces


def test_an_unknown_word_stands_apart_when_read_back():
    assert WordCutting().join(["▁He", "<unk>", "▁me", "."]) == "He <unk> me."
    assert WordCutting().join(["<unk>", "▁hit"]) == "<unk> hit"


def test_characters_keep_symbols_whole():
    assert CharacterCutting(["<ph>", "<p"]).cut("a <ph>") == ["a", " ", "<ph>"]


def test_symbols():
    assert SymbolCutting().cut("h ə l əʊ") == ["h", "ə", "l", "əʊ"]


@given(st.text(st.one_of(st.characters(), st.sampled_from(" \u2581\U0010fffd01"))))
def test_words_and_characters_join_to_what_was_cut(text):
    for cutting in (WordCutting(["<ph>"]), CharacterCutting(["<ph>"])):
        pieces = cutting.cut(text)
        assert cutting.join(pieces) == text
        assert len(cutting.spans(text)) == len(pieces)
