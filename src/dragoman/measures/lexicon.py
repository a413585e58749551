"""A lexicon: how probable each target word is as the translation of a source word, learned from pairs by EM.

IBM's first model with the preference for the diagonal of Dyer, Chahuneau and Smith (2013): a target word comes from
nothing with a fixed probability, otherwise from a source word, the likelier the closer the two stand to the
diagonal. Words are ids. A whole block of sentences is worked on at once: its cells, one for each pair of a target
position with a source position (or with nothing, the first of each target's), lie in one flat array.

Legend of shapes: K pairs of words that occur together, C cells, N target tokens of a block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np

from dragoman.errors import DataError
from dragoman.measures.alignment import Alignment, Link
from dragoman.settings import Meta, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_CELLS_AT_ONCE = 1 << 20
"""Cells of a block: bounds the memory, some 60 bytes each."""


_CELLS_KEPT = 1 << 24
"""Cells whose places in the table are remembered from round to round, 8 bytes each; others are looked up anew."""


class LexiconSettings(Settings, frozen=True, kw_only=True):
    """How a lexicon is learned."""

    iterations: Annotated[int, Meta(ge=1)] = 5
    """Rounds of expectation and maximisation."""
    tension: Annotated[float, Meta(ge=0)] = 4.0
    """How strongly the diagonal is preferred; 0 is IBM's first model."""
    nothing: Annotated[float, Meta(gt=0, lt=1)] = 0.08
    """Probability that a target word comes from no source word."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Translation probabilities: those of source word s are at `offsets[s]:offsets[s + 1]`.

    The last source word stands for nothing.
    """

    offsets: NDArray[np.int64]
    targets: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    tension: float
    nothing: float

    @property
    def source_size(self) -> int:
        """The number of source words, without nothing."""
        return len(self.offsets) - 2

    def best(self, source: int, *, count: int, least: float = 0.0) -> tuple[int, ...]:
        """The most probable translations of a word, the best first; none that is less probable than `least`."""
        start, end = self.offsets[source], self.offsets[source + 1]
        probabilities = self.probabilities[start:end]
        order = np.argsort(-probabilities, kind="stable")[:count]
        return tuple(int(t) for t in self.targets[start:end][order[probabilities[order] >= least]])

    def probability(self, source: int, target: int) -> float:
        """How probable the target word is for the source word; 0 where they never met."""
        start, end = self.offsets[source], self.offsets[source + 1]
        at = start + np.searchsorted(self.targets[start:end], target)
        return float(self.probabilities[at]) if at < end and self.targets[at] == target else 0.0

    def _probabilities(self, source: int, targets: NDArray[np.int64]) -> NDArray[np.float64]:
        """As `probability`, for many target words."""
        start, end = self.offsets[source], self.offsets[source + 1]
        known = self.targets[start:end]
        at = np.minimum(np.searchsorted(known, targets), max(len(known) - 1, 0))
        if not len(known):
            return np.zeros(len(targets))
        return np.where(known[at] == targets, self.probabilities[start:end][at], 0.0)

    def align(self, source: Sequence[int], target: Sequence[int]) -> Alignment:
        """Each target position with its most probable source position, unless nothing is more probable."""
        if not source or not target:
            return frozenset()
        targets = np.asarray(target, dtype=np.int64)
        table = np.stack([self._probabilities(s, targets) for s in (self.source_size, *source)], axis=1)
        scores = table * _prior(len(source), len(target), tension=self.tension, nothing=self.nothing)
        best = scores.argmax(axis=1)
        return frozenset(Link(int(s) - 1, t) for t, s in enumerate(best) if s)


def learn_lexicon(
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    *,
    source_size: int,
    settings: LexiconSettings | None = None,
) -> Lexicon:
    """The lexicon that makes the targets most probable given the sources; ids of sources lie below `source_size`."""
    settings = settings or LexiconSettings()
    pairs = [(s, t) for s, t in zip(sources, targets, strict=True) if len(s) and len(t)]
    if not pairs:
        raise DataError("there is no pair of sentences with words", remedy="Give pairs that are not empty.")
    span = 1 + max(max(t) for _, t in pairs)
    assert all(0 <= word < source_size for s, _ in pairs for word in s), "source ids lie below source_size"
    keys_K = _meetings(pairs, span=span, nothing=source_size)
    sources_K, targets_K = np.divmod(keys_K, span)
    offsets = np.searchsorted(sources_K, np.arange(source_size + 2))
    probabilities_K = _shared_out(np.ones(len(keys_K)), offsets)
    places: list[NDArray[np.intp]] = []
    for _ in range(settings.iterations):
        counts_K = np.zeros(len(keys_K))
        for number, block in enumerate(_blocks(pairs, settings, span=span, nothing=source_size)):
            at_C = places[number] if number < len(places) else np.searchsorted(keys_K, block.keys_C)
            if number == len(places) and number < _CELLS_KEPT // _CELLS_AT_ONCE:
                places.append(at_C)
            weights_C = probabilities_K[at_C] * block.priors_C
            sums_N = np.add.reduceat(weights_C, block.starts_N)
            weights_C /= np.repeat(sums_N, np.diff(block.starts_N, append=len(weights_C)))
            counts_K += np.bincount(at_C, weights=weights_C, minlength=len(keys_K))
        probabilities_K = _shared_out(counts_K, offsets)
    return Lexicon(offsets, targets_K, probabilities_K, settings.tension, settings.nothing)


# ---- blocks of sentences ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Block:
    keys_C: NDArray[np.int64]
    """Source word times span plus target word."""
    priors_C: NDArray[np.float64]
    starts_N: NDArray[np.int64]
    """Where the cells of each target token start."""


def _blocks(
    pairs: Sequence[tuple[Sequence[int], Sequence[int]]], settings: LexiconSettings, *, span: int, nothing: int
) -> Iterator[_Block]:
    priors: dict[tuple[int, int], NDArray[np.float64]] = {}
    keys, weights, widths, cells = [], [], [], 0
    for source, target in pairs:
        shape = len(source), len(target)
        if shape not in priors:
            priors[shape] = _prior(*shape, tension=settings.tension, nothing=settings.nothing).ravel()
        keys.append(_keys(source, target, span=span, nothing=nothing))
        weights.append(priors[shape])
        widths.append(np.full(len(target), len(source) + 1, dtype=np.int64))
        cells += len(keys[-1])
        if cells >= _CELLS_AT_ONCE:
            yield _block(keys, weights, widths)
            keys, weights, widths, cells = [], [], [], 0
    if keys:
        yield _block(keys, weights, widths)


def _block(
    keys: list[NDArray[np.int64]], weights: list[NDArray[np.float64]], widths: list[NDArray[np.int64]]
) -> _Block:
    ends_N = np.cumsum(np.concatenate(widths))
    return _Block(np.concatenate(keys), np.concatenate(weights), np.concatenate([[0], ends_N[:-1]]))


def _keys(source: Sequence[int], target: Sequence[int], *, span: int, nothing: int) -> NDArray[np.int64]:
    words = np.array([nothing, *source], dtype=np.int64)
    return (words[None, :] * span + np.asarray(target, dtype=np.int64)[:, None]).ravel()


def _meetings(pairs: Sequence[tuple[Sequence[int], Sequence[int]]], *, span: int, nothing: int) -> NDArray[np.int64]:
    """The keys of all words that occur in one pair, sorted."""
    found, waiting, cells = np.empty(0, dtype=np.int64), [], 0
    for source, target in pairs:
        waiting.append(_keys(source, target, span=span, nothing=nothing))
        cells += len(waiting[-1])
        if cells >= _CELLS_AT_ONCE:
            found, waiting, cells = _distinct(np.concatenate([found, *waiting])), [], 0
    return _distinct(np.concatenate([found, *waiting]))


def _distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """The keys sorted, each once. NumPy's own `unique` hashes them, which is far slower for keys like these."""
    keys.sort()
    first_ones: NDArray[np.bool_] = np.concatenate([[True], keys[1:] != keys[:-1]])
    return keys[first_ones]


def _prior(source_length: int, target_length: int, *, tension: float, nothing: float) -> NDArray[np.float64]:
    """For each target position (rows) how probable nothing (first) and each source position are, words unseen."""
    sources = np.arange(1, source_length + 1) / source_length
    targets = np.arange(1, target_length + 1)[:, None] / target_length
    closeness: NDArray[np.float64] = np.exp(-tension * np.abs(sources - targets))
    closeness *= (1 - nothing) / closeness.sum(axis=1, keepdims=True)
    return np.concatenate([np.full((target_length, 1), nothing), closeness], axis=1)


def _shared_out(counts_K: NDArray[np.float64], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """The counts divided by the sum of their source word's."""
    lengths = np.diff(offsets)
    known = lengths > 0
    sums = np.add.reduceat(counts_K, offsets[:-1][known])
    shares_K: NDArray[np.float64] = counts_K / np.repeat(np.maximum(sums, np.finfo(np.float64).tiny), lengths[known])
    return shares_K
