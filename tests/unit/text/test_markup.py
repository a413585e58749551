"""Symbols in a text, and language tags."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.markup import SymbolSplitter, language_tag


def test_the_longest_symbol_wins():
    assert list(SymbolSplitter(["<a", "<a>"])("x<a>y<a")) == [("x", False), ("<a>", True), ("y", False), ("<a", True)]


def test_language_tags():
    assert language_tag("fr") == "<2fr>"


@given(st.text("<a>b"))
def test_nothing_is_lost(text):
    assert "".join(stretch for stretch, _ in SymbolSplitter(["<a>", "<b>"])(text)) == text
