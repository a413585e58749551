"""Words: a run of letters, marks and digits is a piece, as is every other character; `▁` is the space before it."""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from typing import TYPE_CHECKING, Annotated

from dragoman.settings import Meta, Settings
from dragoman.text.character_class import inside
from dragoman.text.markup import SymbolSplitter
from dragoman.text.spaces import MARK, Positions, escape, unescape
from dragoman.text.vocabulary import SPECIAL, UNK

if TYPE_CHECKING:
    from collections.abc import Sequence


class WordSettings(Settings, frozen=True, kw_only=True, tag_field="kind", tag="words"):
    """Words and punctuation marks, with every other word unknown."""

    min_count: Annotated[int, Meta(ge=1)] = 1
    """How often a word must occur in the training text to be known."""


def always_known(symbols: Sequence[str]) -> tuple[str, ...]:
    """The pieces that texts with these symbols need, whether or not training showed them: the space before a symbol."""
    return (MARK,) if symbols else ()


class WordCutting:
    """Cuts at the edges of words and keeps every space, as a mark on the piece that follows it."""

    def __init__(self, symbols: Sequence[str] = ()) -> None:
        self._split = SymbolSplitter(symbols)

    def cut(self, text: str) -> list[str]:
        return self._cut_escaped(escape(text))

    def join(self, pieces: Sequence[str]) -> str:
        unknown = SPECIAL[UNK]  # it stands for words with the space before them, mostly
        joined = "".join(MARK + p if p == unknown else p for p in pieces).replace(MARK, " ")
        return unescape(joined.removeprefix(" "))

    def spans(self, text: str) -> list[tuple[int, int]]:
        covered = Positions(text)
        found, end = [], -1  # the space before the first word is none of the text's
        for piece in self._cut_escaped(escape(text)):
            start, end = end, end + len(piece)
            found.append(covered(max(start, 0), max(end, 0)))
        return found

    def _cut_escaped(self, escaped: str) -> list[str]:
        if not escaped:
            return []
        pieces: list[str] = []
        for stretch, is_symbol in self._split(f" {escaped}"):
            if is_symbol:
                pieces.append(stretch)
            else:
                pieces += [p.replace(" ", MARK) for p in _pattern().findall(stretch)]
        return pieces


@functools.cache
def _pattern() -> re.Pattern[str]:
    """A word, other character or space, with the space before it. Marks (vowel signs, accents) belong to words."""
    marks = [c for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c))[0] == "M"]
    word = rf"(?:\w|[{inside([*marks, 0x200C, 0x200D])}])+"
    return re.compile(rf" ?{word}| ?[^\w ]| ", re.DOTALL)
