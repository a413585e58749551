"""Characters: each code point is a piece, spaces too; user-defined symbols stay whole."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Annotated

from dragoman.settings import Meta, Settings
from dragoman.text.markup import SymbolSplitter

if TYPE_CHECKING:
    from collections.abc import Sequence


class CharacterSettings(Settings, frozen=True, kw_only=True, tag_field="kind", tag="characters"):
    """Single characters: for spelling, small alphabets and very little data."""

    min_count: Annotated[int, Meta(ge=1)] = 1
    """How often a character must occur in the training text to be known."""


class CharacterCutting:
    """Cuts between all characters."""

    def __init__(self, symbols: Sequence[str] = ()) -> None:
        self._split = SymbolSplitter(symbols)

    def cut(self, text: str) -> list[str]:
        pieces: list[str] = []
        for stretch, is_symbol in self._split(text):
            pieces += [stretch] if is_symbol else stretch
        return pieces

    def join(self, pieces: Sequence[str]) -> str:
        return "".join(pieces)

    def spans(self, text: str) -> list[tuple[int, int]]:
        ends = list(itertools.accumulate(map(len, self.cut(text)), initial=0))
        return list(itertools.pairwise(ends))
