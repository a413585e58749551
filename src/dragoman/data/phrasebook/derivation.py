"""One derivation: gives out marks for the alignment, and remembers who is spoken to and which words were combined."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dragoman.data.phrasebook.words import Bitext, Pair, bitext

if TYPE_CHECKING:
    from dragoman.data.phrasebook.draw import Draw


@dataclass(frozen=True, slots=True)
class Address:
    """Who is spoken to. English says *you* to all; a vocative at the end of the sentence tells which French one."""

    vocative: Bitext | None
    familiar: bool = False
    feminine: bool = False
    plural: bool = False
    cues: tuple[str, ...] = ()


POLITE = Address(None)


@dataclass(slots=True)
class Derivation:
    """What one sentence collects while its two sides are built."""

    draw: Draw
    address: Address = POLITE
    combinations: list[tuple[str, str]] = field(default_factory=list)
    _next: int = 1

    def mark(self) -> int:
        """A fresh mark."""
        bit = self._next
        self._next = bit << 1
        return bit

    def place(self, piece: Bitext) -> Pair:
        """The piece, with marks of its own."""
        base = self._next
        self._next = base << piece.width
        return Pair(
            [(word, marks * base) for word, marks in piece.english],
            [(word, marks * base) for word, marks in piece.french],
        )

    def fill(self, english: str, french: str, **slots: Pair) -> Pair:
        """The template with its `{slots}` filled."""
        piece = self.place(bitext(english, french))
        return Pair(_filled(piece.english, slots, 0), _filled(piece.french, slots, 1))

    def combine(self, first: str, second: str) -> None:
        """Remember that two content words met."""
        self.combinations.append((first, second))


def _filled(tokens: list[tuple[str, int]], slots: dict[str, Pair], side: int) -> list[tuple[str, int]]:
    filled: list[tuple[str, int]] = []
    for token in tokens:
        if token[0].startswith("{"):
            filled += slots[token[0][1:-1]][side]
        else:
            filled.append(token)
    return filled
