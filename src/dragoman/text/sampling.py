"""Cutting a word at random: byte-pair encoding with dropout, and sampling from a unigram model's lattice.

The library that trains our subword models draws from a generator of its own that cannot be set for a single
sentence. These do the same from a generator that is handed in, so that a cut depends on nothing else. What can be
computed before the draw is kept per word: a draw is then a few look-ups.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

Cut: TypeAlias = tuple[str, ...]

_MOST_KEPT = 400_000
"""Entries kept between draws; past that the memory is cleared and filled anew."""


class MergeDropout:
    """Byte-pair encoding in which each possible merge is passed over with a probability, at every step anew."""

    def __init__(self, ranks: Mapping[str, float], *, dropout: float) -> None:
        self._ranks = ranks
        self._dropout = dropout
        self._next: dict[Cut, tuple[Cut, ...]] = {}

    def cut(self, start: Cut, generator: random.Random) -> Cut:
        """The word, given as its characters, after random merges; without dropout, after all of them."""
        draw, dropout = generator.random, self._dropout
        now = start
        while True:
            reachable = self._next.get(now)
            if reachable is None:
                reachable = self._merges(now)
            for following in reachable:
                if draw() >= dropout:
                    now = following
                    break
            else:
                return now

    def _merges(self, cut: Cut) -> tuple[Cut, ...]:
        """What one merge leads to, the best first, the leftmost of equals."""
        ranked = sorted(
            (-self._ranks[left + right], i)
            for i, (left, right) in enumerate(pairwise(cut))
            if left + right in self._ranks
        )
        reachable = tuple((*cut[:i], cut[i] + cut[i + 1], *cut[i + 2 :]) for _, i in ranked)
        if len(self._next) >= _MOST_KEPT:
            self._next.clear()
        self._next[cut] = reachable
        return reachable


class LatticeSampling:
    """Cuts with a probability that grows with the product of their pieces' probabilities to the power of alpha."""

    def __init__(self, scores: Mapping[str, float], *, alpha: float) -> None:
        self._scores = scores
        self._alpha = alpha
        self._longest = max(map(len, scores))
        self._unknown = min(scores.values()) - 10.0  # as the library scores a character it does not know
        self._lattices: dict[str, list[tuple[list[float], list[int]]]] = {}

    def cut(self, word: str, generator: random.Random) -> Cut:
        """One way of cutting the word."""
        lattice = self._lattices.get(word)
        if lattice is None:
            if len(self._lattices) >= _MOST_KEPT // 10:
                self._lattices.clear()
            lattice = self._lattices[word] = self._lattice(word)
        pieces, position = [], 0
        while position < len(word):
            cumulative, ends = lattice[position]
            end = ends[bisect_right(cumulative, generator.random() * cumulative[-1], hi=len(ends) - 1)]
            pieces.append(word[position:end])
            position = end
        return tuple(pieces)

    def _lattice(self, word: str) -> list[tuple[list[float], list[int]]]:
        """For each position, the ends that a piece may have with their cumulative weights, summed from the right."""
        length = len(word)
        tail = [0.0] * (length + 1)  # log of the weight of all ways to cut the rest
        lattice: list[tuple[list[float], list[int]]] = [([], [])] * length
        for start in reversed(range(length)):
            ends, logs = [], []
            for end in range(start + 1, min(length, start + self._longest) + 1):
                score = self._scores.get(word[start:end], self._unknown if end == start + 1 else None)
                if score is not None:
                    ends.append(end)
                    logs.append(self._alpha * score + tail[end])
            top = max(logs)
            weights = [math.exp(value - top) for value in logs]
            tail[start] = top + math.log(sum(weights))
            lattice[start] = (list(accumulate(weights)), ends)
        return lattice
