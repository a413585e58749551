"""The vocabulary: order, sizes, symbols, and what its file must hold."""

from __future__ import annotations

import pytest

from dragoman.errors import TextError
from dragoman.text.vocabulary import BOS, EOS, PAD, SPECIAL, UNK, Vocabulary, count_pieces, suggested_size


def test_special_pieces_have_the_first_ids():
    assert (PAD, UNK, BOS, EOS) == (0, 1, 2, 3)
    vocabulary = Vocabulary([*SPECIAL, "a"])
    assert vocabulary["<pad>"] == PAD
    assert vocabulary["</s>"] == EOS
    assert vocabulary["never seen"] == UNK


def test_frequent_pieces_come_first_and_ties_are_settled():
    texts = [["b", "a"], ["c", "c"], ["<ph>", "</s>"]]
    vocabulary = count_pieces(texts, symbols=["<ph>"], size=None, min_count=1)
    assert vocabulary.pieces == (*SPECIAL, "<ph>", "c", "a", "b")
    assert count_pieces(texts, symbols=[], size=6, min_count=1).pieces == (*SPECIAL, "c", "<ph>")
    assert count_pieces(texts, symbols=[], size=None, min_count=2).pieces == (*SPECIAL, "c")


def test_no_text_is_said():
    with pytest.raises(TextError, match="not empty"):
        count_pieces([[]], symbols=[], size=None, min_count=1)


def test_an_unknown_symbol_names_the_known_ones():
    with pytest.raises(TextError, match=r"'<2de>' is not a symbol.*<2fr>"):
        Vocabulary([*SPECIAL, "<2fr>"], ["<2fr>"]).symbol("<2de>")


@pytest.mark.parametrize(
    "text",
    ["", "{}", '{"pieces":["a"],"symbols":[]}', '{"pieces":["<pad>","<unk>","<s>","</s>","a","a"],"symbols":[]}', "[1"],
)
def test_a_damaged_file_is_refused(tmp_path, text):
    path = tmp_path / "vocabulary.json"
    path.write_text(text)
    with pytest.raises(TextError, match="damaged"):
        Vocabulary.load(path)


@pytest.mark.parametrize(
    ("words", "least", "most"),
    [
        (0, 500, 500),
        (60_000, 2_000, 2_000),
        (750_000, 6_000, 7_000),
        (25_000_000, 31_000, 32_000),
        (10**10, 32_000, 32_000),
    ],
)
def test_suggested_size_grows_with_the_data(words, least, most):
    assert least <= suggested_size(words) <= most
