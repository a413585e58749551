"""Train, dev and test parts that share no sentence; test holds combinations of words never seen in train.

A *combination* is a pair of content words that meet in a tree: a verb and its object, an adjective and its noun, a
place and the thing that lies there. A fixed share of all combinations is held out. Train and dev contain none of them;
every test phrase contains at least one, and both words of it occur in train, each with other partners.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

from dragoman.data.phrasebook.sampling import stream

if TYPE_CHECKING:
    from dragoman.data.phrasebook.grammar import Derived, Phrase

HELD_OUT = 0.08
"""The share of all combinations that only the test part may use."""


@dataclass(frozen=True, slots=True)
class Splits:
    """Three parts of one corpus."""

    train: tuple[Phrase, ...]
    dev: tuple[Phrase, ...]
    test: tuple[Phrase, ...]
    held_out: frozenset[tuple[str, str]]
    """The combinations in test that train never shows."""


def splits(*, seed: int = 1, train: int = 50_000, dev: int = 1_000, test: int = 1_000) -> Splits:
    """The three parts, in these sizes; a function of the seed and the sizes alone."""
    source = stream(seed)
    known: list[Derived] = []
    novel: list[Derived] = []
    while len(known) < train + dev:
        derived = next(source)
        (novel if _novel(derived, seed) else known).append(derived)
    seen = Seen(known[:train])
    kept = [derived for derived in novel if seen.covers(derived, seed)][:test]
    while len(kept) < test:
        derived = next(source)
        if _novel(derived, seed) and seen.covers(derived, seed):
            kept.append(derived)
    phrases = [derived.phrase for derived in known]
    return Splits(
        tuple(phrases[:train]),
        tuple(phrases[train:]),
        tuple(derived.phrase for derived in kept),
        frozenset(pair for derived in kept for pair in derived.combinations if held_out(pair, seed)),
    )


def held_out(combination: tuple[str, str], seed: int) -> bool:
    """True for the combinations that train must not show."""
    return crc32(f"{seed}\t{combination[0]}\t{combination[1]}".encode()) < HELD_OUT * 2**32


class Seen:
    """The words that train shows, by the side of the combination on which they stand."""

    def __init__(self, train: list[Derived]) -> None:
        self._first = {first for derived in train for first, _ in derived.combinations}
        self._second = {second for derived in train for _, second in derived.combinations}

    def covers(self, derived: Derived, seed: int) -> bool:
        """True when both words of every held-out combination occur in train."""
        return all(
            first in self._first and second in self._second
            for first, second in derived.combinations
            if held_out((first, second), seed)
        )


def _novel(derived: Derived, seed: int) -> bool:
    return any(held_out(pair, seed) for pair in derived.combinations)
