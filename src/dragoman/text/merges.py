"""Byte-pair merges, step by step: the algorithm as it is taught, and the trace of a trained vocabulary.

Start from characters; count neighbouring pairs; merge the most frequent one; repeat. `learn` does just that. `replay`
walks through the merges of a vocabulary that a library trained and counts each pair as it stood at that moment.
Both keep, for every pair, the words that hold it, so that a merge touches only those.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from dragoman.errors import TextError
from dragoman.files import disk_errors, replacing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

END_OF_WORD = "_"


@dataclass(frozen=True, slots=True)
class Merge:
    """A pair of pieces that became one, and how often they stood side by side at that moment."""

    left: str
    right: str
    count: int

    @property
    def piece(self) -> str:
        """The piece that the two became."""
        return self.left + self.right


def learn(words: Mapping[str, int], *, merges: int) -> Iterator[Merge]:
    """The first merges of words with counts, each word closed by `_`; of equal pairs the smaller goes first."""
    cut = _CutWords({(*word, END_OF_WORD): count for word, count in words.items()})
    for _ in range(merges):
        best = cut.most_frequent()
        if best is None:
            return
        yield best
        cut.merge(best.left, best.right)


def replay(words: Mapping[str, int], pieces: Iterable[str]) -> Iterator[Merge]:
    """The merge behind each piece, in the order given, with its count in the words."""
    cut = _CutWords({tuple(word): count for word, count in words.items()})
    for piece in pieces:
        splits = [(piece[:i], piece[i:]) for i in range(1, len(piece))]
        counted = [(cut.counts[pair], pair) for pair in splits if cut.counts[pair]]
        if not counted:
            yield Merge(piece[:-1], piece[-1], 0)
            continue
        _, (left, right) = max(counted)
        yield Merge(left, right, sum(count for count, _ in counted))
        for _, pair in counted:
            cut.merge(*pair)


class _CutWords:
    """Words as they are cut at present, with the count of every neighbouring pair."""

    def __init__(self, words: Mapping[tuple[str, ...], int]) -> None:
        self._words = list(words)
        self._frequency = list(words.values())
        self.counts: Counter[tuple[str, str]] = Counter()
        self._where: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        for index in range(len(self._words)):
            self._count(index, 1)

    def most_frequent(self) -> Merge | None:
        """The pair with the highest count, the smallest of several; nothing when no pair is left."""
        if not self.counts:
            return None
        (left, right), count = min(self.counts.items(), key=lambda item: (-item[1], item[0]))
        return Merge(left, right, count)

    def merge(self, left: str, right: str) -> None:
        """Join the pair wherever it stands."""
        for index in self._where.pop((left, right), set()):
            self._count(index, -1)
            self._words[index] = _merged(self._words[index], left, right)
            self._count(index, 1)
        self.counts.pop((left, right), None)

    def _count(self, index: int, sign: int) -> None:
        for pair in pairwise(self._words[index]):
            self.counts[pair] += sign * self._frequency[index]
            if sign > 0:
                self._where[pair].add(index)
            elif not self.counts[pair]:
                del self.counts[pair]


def _merged(word: tuple[str, ...], left: str, right: str) -> tuple[str, ...]:
    result: list[str] = []
    position = 0
    while position < len(word):
        if word[position : position + 2] == (left, right):
            result.append(left + right)
            position += 2
        else:
            result.append(word[position])
            position += 1
    return tuple(result)


def write(path: Path, merges: Iterable[Merge]) -> None:
    """Write a trace, one merge a line: left, right and count as JSON."""
    with replacing(path) as stream:
        for merge in merges:
            stream.write(msgspec.json.encode((merge.left, merge.right, merge.count)) + b"\n")


def read(path: Path) -> list[Merge]:
    """The trace that `write` wrote."""
    with disk_errors(path, "read"):
        rows = path.read_bytes().splitlines()
    try:
        return [Merge(*msgspec.json.decode(row, type=tuple[str, str, int])) for row in rows]
    except msgspec.MsgspecError as error:
        raise TextError(f"not a trace of merges: {error}", place=str(path), remedy="Use another copy.") from None
