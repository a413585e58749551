"""Statistics of a corpus, gathered in one pass and in bounded memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dragoman.data.fingerprints import Fingerprints, folded
from dragoman.data.scripts import scripts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dragoman.data.corpus import Pair

MOST_WORDS = 1_000_000
"""Distinct words that are told apart on each side; beyond, their number is a lower bound."""

_FIRST_POINT = 1000
_BINS = 12
_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Bin:
    """How many texts have a length from `least` to `most`."""

    least: int
    most: int
    count: int


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long the texts are."""

    total: int
    mean: float
    percentiles: dict[int, int]
    """The length that so many percent of the texts do not exceed."""
    longest: int
    histogram: tuple[Bin, ...]


@dataclass(frozen=True, slots=True)
class Growth:
    """How many distinct words the first so many pairs hold."""

    pairs: int
    words: int


@dataclass(frozen=True, slots=True)
class SideStats:
    """One side of a corpus."""

    words: Lengths
    characters: Lengths
    vocabulary: int
    """Distinct words; words are what white space separates."""
    vocabulary_is_bound: bool
    """Whether there are more distinct words than were told apart."""
    growth: tuple[Growth, ...]
    alphabet: int
    """Distinct characters."""
    scripts: dict[str, float]
    """Share of the letters in each script, the largest first."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """Sentences of this part that an earlier part has too, on the same side, but for case and white space."""

    part: str
    side: str
    sentences: int
    share: float
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PartStats:
    """One corpus, and what it shares with those before it."""

    name: str
    pairs: int
    repeated: int
    """Pairs that have come before in the same part."""
    source: SideStats | None
    target: SideStats
    overlaps: tuple[Overlap, ...]
    bounded: bool
    """Whether the memory for sentences was full, so that repetitions and overlaps are lower bounds."""


class Sentences:
    """The sentences of a part, for later parts to be compared with."""

    def __init__(self, name: str, *, mebibytes: int = 256) -> None:
        self.name = name
        self.source = Fingerprints(mebibytes=mebibytes)
        self.target = Fingerprints(mebibytes=mebibytes)

    @property
    def full(self) -> bool:
        """Whether some sentences could not be remembered."""
        return bool(self.source.forgotten or self.target.forgotten)


def measure(
    pairs: Iterable[Pair],
    part: Sentences,
    *,
    earlier: Sequence[Sentences] = (),
    source_is_text: bool = True,
    mebibytes: int = 256,
) -> PartStats:
    """The statistics of a part; its sentences are remembered in `part`."""
    seen = Fingerprints(mebibytes=mebibytes)
    source, target = _Side(), _Side()
    overlaps = [_Shared(other, side) for other in earlier for side in ("source", "target")]
    count = repeated = 0
    for pair in pairs:
        count += 1
        repeated += not seen.add(f"{pair.source}\n{pair.target}")
        target.add(pair.target)
        keys = {"target": folded(pair.target)}
        part.target.add(keys["target"])
        if pair.source:
            if source_is_text:
                source.add(pair.source)
            keys["source"] = folded(pair.source)
            part.source.add(keys["source"])
        for overlap in overlaps:
            overlap.add(pair, keys)
    return PartStats(
        name=part.name,
        pairs=count,
        repeated=repeated,
        source=source.result() if source.pairs else None,
        target=target.result(),
        overlaps=tuple(o.result(count) for o in overlaps if o.sentences),
        bounded=bool(seen.forgotten) or part.full or any(e.full for e in earlier),
    )


@dataclass(slots=True)
class _Shared:
    other: Sentences
    side: str
    sentences: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, pair: Pair, keys: dict[str, str]) -> None:
        key = keys.get(self.side)
        if key is None or key not in getattr(self.other, self.side):
            return
        self.sentences += 1
        if len(self.examples) < _EXAMPLES:
            self.examples.append(getattr(pair, self.side))

    def result(self, pairs: int) -> Overlap:
        share = self.sentences / pairs
        return Overlap(self.other.name, self.side, self.sentences, share, tuple(self.examples))


class _Side:
    """Counts one side, text by text."""

    def __init__(self) -> None:
        self.pairs = 0
        self._words: Counter[int] = Counter()
        self._lengths: Counter[int] = Counter()
        self._characters: Counter[str] = Counter()
        self._vocabulary: set[str] = set()
        self._growth: list[Growth] = []
        self._next = _FIRST_POINT
        self._bounded = False

    def add(self, text: str) -> None:
        words = text.split()
        self.pairs += 1
        self._words[len(words)] += 1
        self._lengths[len(text)] += 1
        self._characters.update(text)
        if len(self._vocabulary) < MOST_WORDS:
            self._vocabulary.update(words)
        else:
            self._bounded = self._bounded or not self._vocabulary.issuperset(words)
        if self.pairs == self._next:
            self._growth.append(Growth(self.pairs, len(self._vocabulary)))
            self._next *= 2

    def result(self) -> SideStats:
        found = scripts(self._characters)
        if not self._growth or self._growth[-1].pairs < self.pairs:
            self._growth.append(Growth(self.pairs, len(self._vocabulary)))
        return SideStats(
            words=lengths(self._words),
            characters=lengths(self._lengths),
            vocabulary=len(self._vocabulary),
            vocabulary_is_bound=self._bounded,
            growth=tuple(self._growth),
            alphabet=len(self._characters),
            scripts={name: count / found.total() for name, count in found.most_common()},
        )


def lengths(counts: Counter[int]) -> Lengths:
    """Mean, percentiles and histogram of lengths, given how often each occurs."""
    number, total = counts.total(), sum(length * count for length, count in counts.items())
    percentiles: dict[int, int] = {}
    below = 0
    for length in sorted(counts):
        below += counts[length]
        for percent in (5, 25, 50, 75, 95, 99):
            if percent not in percentiles and 100 * below >= percent * number:
                percentiles[percent] = length
    longest = max(counts, default=0)
    return Lengths(total, total / max(number, 1), percentiles, longest, _histogram(counts, percentiles.get(99, 0)))


def _histogram(counts: Counter[int], usual: int) -> tuple[Bin, ...]:
    """Bins of one width up to the 99th percentile, and one for what is longer."""
    least = min(counts, default=0)
    width = max(1, -(-(usual - least + 1) // _BINS))
    found: Counter[int] = Counter()
    for length, count in counts.items():
        found[min((length - least) // width, _BINS)] += count
    edges = [(least + i * width, least + (i + 1) * width - 1) for i in range(_BINS + 1)]
    edges[-1] = (edges[-1][0], max(counts, default=0))
    last = max(found, default=-1)
    return tuple(Bin(*edges[i], found[i]) for i in range(last + 1))
