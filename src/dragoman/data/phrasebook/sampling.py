"""Corpora drawn from the grammar: distinct phrases in a fixed order, and the look-up of a single sentence."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dragoman.data.phrasebook.draw import Chance, DeadEnd, Search
from dragoman.data.phrasebook.grammar import CONSTRUCTIONS, Derived, Phrase, derive
from dragoman.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

REACHABLE = 700_000
"""So many phrases, distinct on both sides, can be drawn with any seed; a slow test draws them."""
_PATIENCE = 50_000


def generate(seed: int, count: int) -> Iterator[Phrase]:
    """So many phrases, no sentence twice on either side; a function of the seed alone, on every Python version."""
    for _, derived in zip(range(count), stream(seed), strict=False):
        yield derived.phrase


def stream(seed: int) -> Iterator[Derived]:
    """Distinct phrases without end; refuses to go on when the grammar has nothing new left to say."""
    draw = Chance(seed)
    weighted = tuple(entry for entry in CONSTRUCTIONS for _ in range(entry.share))
    english: set[str] = set()
    french: set[str] = set()
    misses = 0
    while misses < _PATIENCE:
        misses += 1
        try:
            derived = derive(draw.pick(weighted), draw)
        except DeadEnd:
            continue
        phrase = derived.phrase
        if phrase.english not in english and phrase.french not in french:
            english.add(phrase.english)
            french.add(phrase.french)
            misses = 0
            yield derived
    raise DataError(
        f"the phrasebook gave {len(english):,} distinct phrases and found no new one in {_PATIENCE:,} attempts",
        place=f"phrasebook, seed {seed}",
        remedy=f"Ask for fewer phrases; {REACHABLE:,} are always to be had",
    )


def find(english: str, *, pattern: str | None = None) -> Phrase | None:
    """The phrase with this English side, from one construction or any; nothing if the grammar does not say it."""
    for construction in CONSTRUCTIONS:
        if pattern is None or construction.name == pattern:
            for derived in Search(english).all(partial(derive, construction)):
                if derived.phrase.english == english:
                    return derived.phrase
    return None
