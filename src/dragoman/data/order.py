"""The order of training: which examples come when, and which share a batch.

The order is a function of (seed, epoch, index) alone. Nothing is drawn from a stateful generator: wherever chance is
needed, the index is hashed with the key, so that every process and every later release finds the same order.

How far a run has come is one integer, the position: how many examples it has taken since its start. An epoch always
has the same number of examples, hence position // examples is the epoch, and its plan tells the rest.

An epoch's examples are known by slots: slot s is example s % n of a store with n examples, at its occurrence s // n.
(An example occurs more than once in an epoch if its corpus has a weight above 1.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from dragoman.data.store import spread
from dragoman.errors import DataError, SettingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from dragoman.data.store import Store

MadeOf = Literal["sides", "text", "joined"]
"""Of what rows are made: sources and targets; both from a text alone; or each source and its target in one sequence."""

JITTER = 0.0625
"""Share of the examples that are sorted as if they were a token longer, so that batches differ between epochs."""

FULL = 0.875
"""Share of the rows that a batch has room for which it has at least; the rest is given up for less padding."""

_TIES, _SOURCE_JITTER, _TARGET_JITTER, _BATCHES, _SHARE, _SAMPLE = range(6)
"""What chance decides; each is a key of its own."""


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """Which examples make up the next batch."""

    epoch: int
    examples: NDArray[np.int64]
    seeds: NDArray[np.uint64]
    """For each example, the seed of whatever is drawn for it in this epoch."""
    position: int
    """The position after it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One epoch: its slots in the order in which they come, cut into batches."""

    slots: NDArray[np.int64]
    starts: NDArray[np.int64]
    """Where each batch begins; at last, the number of slots."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    def batch(self, number: int) -> NDArray[np.int64]:
        """The slots of one batch."""
        return self.slots[self.starts[number] : self.starts[number + 1]]


@dataclass(frozen=True, slots=True)
class Order:
    """The order in which a run takes the examples of a store."""

    source_lengths: NDArray[np.int32]
    """Of each example, with its end token if it gets one; 0 for monolingual text."""
    target_lengths: NDArray[np.int32]
    """Of each example, with its end token."""
    corpus_ends: NDArray[np.int64]
    weights: tuple[float, ...]
    seed: int
    batch_tokens: int
    source_end: bool = True
    """Whether sources of token ids get an end token."""

    @classmethod
    def of(
        cls,
        store: Store,
        *,
        batch_tokens: int,
        seed: int,
        weights: Sequence[float] = (),
        source_end: bool = True,
        made_of: MadeOf = "sides",
    ) -> Order:
        """The order of a store's examples, with a weight for each corpus (1 unless given)."""
        count = len(store.facts.corpora)
        assert len(weights) in (0, count), "a weight for each corpus"
        sources, targets = _source_lengths(store, source_end=source_end), store.target.sequences.lengths() + 1
        match made_of:
            case "sides":
                pass
            case "text":  # noise makes hardly more of a text than there is
                sources = targets
            case "joined":
                sources, targets = np.zeros_like(sources), targets + _source_lengths(store, source_end=False)
        return cls(
            source_lengths=sources,
            target_lengths=targets,
            corpus_ends=store.corpus_ends(),
            weights=tuple(weights) or (1.0,) * count,
            seed=seed,
            batch_tokens=batch_tokens,
            source_end=source_end,
        )

    def __post_init__(self) -> None:
        longest = np.maximum(self.source_lengths, self.target_lengths).max()
        if longest > self.batch_tokens:
            raise SettingError(
                f"an example of {longest} tokens does not fit into a batch of {self.batch_tokens}",
                place="batch_tokens",
                remedy=f"Give {longest} or more, or leave out such examples with a smaller longest length.",
            )
        if self.examples == 0:
            raise SettingError("no corpus has a weight above 0", place="weight", remedy="Give one a weight.")

    @property
    def examples(self) -> int:
        """Examples taken in an epoch."""
        return sum(_times(n, w) for n, w in zip(self._sizes(), self.weights, strict=True))

    def batches(self, position: int = 0) -> Iterator[PlannedBatch]:
        """The batches from a position on, epoch after epoch, without end."""
        epoch, taken = divmod(position, self.examples)
        while True:
            plan = self.plan(epoch)
            number = int(np.searchsorted(plan.starts, taken))
            if plan.starts[number] != taken:
                raise DataError(
                    f"position {position} lies inside a batch",
                    place=f"epoch {epoch}",
                    remedy="The data, batch_tokens, seed or weights are not those of the run that saved it: "
                    "restore them, or start afresh.",
                )
            for each in range(number, len(plan)):
                slots = plan.batch(each)
                examples, seeds = slots % len(self.target_lengths), noise(slots, self.seed, _SAMPLE, epoch)
                yield PlannedBatch(epoch, examples, seeds, epoch * self.examples + int(plan.starts[each + 1]))
            epoch, taken = epoch + 1, 0

    def plan(self, epoch: int) -> Plan:
        """The plan of one epoch: sorted by length, cut by the token budget, the batches shuffled."""
        slots = self._slots(epoch)
        examples = slots % len(self.target_lengths)
        sources, targets = self.source_lengths[examples], self.target_lengths[examples]
        order = np.argsort(self._sorting_key(epoch, slots, sources, targets), kind="stable")
        starts = cut(sources[order], targets[order], self.batch_tokens)
        sizes = np.diff(starts)
        shuffled = np.argsort(noise(np.arange(len(sizes)), self.seed, _BATCHES, epoch), kind="stable")
        slots = slots[order][spread(starts[shuffled], sizes[shuffled])]
        return Plan(slots, np.concatenate([[0], np.cumsum(sizes[shuffled])]))

    def padding(self, epoch: int = 0) -> float:
        """The share of an epoch's places, over both sides, that hold padding."""
        plan = self.plan(epoch)
        examples = plan.slots % len(self.target_lengths)
        rows = np.diff(plan.starts)
        places = used = 0
        for lengths in (self.source_lengths[examples], self.target_lengths[examples]):
            places += int(np.maximum.reduceat(lengths, plan.starts[:-1]).astype(np.int64) @ rows)
            used += int(lengths.sum())
        return 1 - used / places

    def _sizes(self) -> list[int]:
        return [int(n) for n in np.diff(self.corpus_ends, prepend=0)]

    def _slots(self, epoch: int) -> NDArray[np.int64]:
        """The slots of an epoch: each example of a corpus as often as its weight says, some of them once more.

        Who these are moves on through one shuffled list from epoch to epoch, so all get their turn equally often.
        """
        total = len(self.target_lengths)
        parts = []
        for corpus, (size, weight) in enumerate(zip(self._sizes(), self.weights, strict=True)):
            members = np.arange(size) + (self.corpus_ends[corpus] - size)
            whole, share = divmod(_times(size, weight), max(size, 1))
            parts += [members + occurrence * total for occurrence in range(whole)]
            if share:
                turn = np.argsort(noise(members, self.seed, _SHARE, corpus), kind="stable")
                chosen = (epoch * share + np.arange(share)) % size
                parts.append(members[turn[chosen]] + whole * total)
        return np.concatenate(parts)

    def _sorting_key(
        self, epoch: int, slots: NDArray[np.int64], sources: NDArray[np.int32], targets: NDArray[np.int32]
    ) -> NDArray[np.uint64]:
        """By target length, then by source length in snake order (rising, falling, rising…), then by chance.

        In snake order the sources do not jump from long to short where the target length steps up.
        """
        most = np.iinfo(np.uint16).max
        columns = np.minimum(targets + self._lengthened(slots, _TARGET_JITTER, epoch), most).astype(np.uint64)
        rising = np.minimum(sources + self._lengthened(slots, _SOURCE_JITTER, epoch), most).astype(np.uint64)
        snake = np.where(columns % 2 == 0, rising, most - rising)
        ties = noise(slots, self.seed, _TIES, epoch) >> np.uint64(32)
        key: NDArray[np.uint64] = columns << np.uint64(48) | snake << np.uint64(32) | ties
        return key

    def _lengthened(self, slots: NDArray[np.int64], purpose: int, epoch: int) -> NDArray[np.int32]:
        return (noise(slots, self.seed, purpose, epoch) < np.uint64(int(JITTER * 2**64))).astype(np.int32)


def cut(source_lengths: NDArray[np.int32], target_lengths: NDArray[np.int32], batch_tokens: int) -> NDArray[np.int64]:
    """Where each batch begins, and at last the number of examples.

    Rows times the longest source, and rows times the longest target, both stay within `batch_tokens`. Of the most
    rows for which that holds, at least `FULL` are taken: as many as leave the smallest share of padding.
    """
    sources, targets = source_lengths.astype(np.int64), target_lengths.astype(np.int64)
    longer = np.maximum(sources, targets)
    starts = [0]
    while starts[-1] < len(longer):
        window = slice(starts[-1], starts[-1] + batch_tokens // int(longer[starts[-1]]))
        fitting = np.arange(1, len(longer[window]) + 1) * np.maximum.accumulate(longer[window]) <= batch_tokens
        most = len(fitting) if fitting.all() else int(fitting.argmin())
        window = slice(starts[-1], starts[-1] + most)
        rest = len(longer) - window.stop
        starts.append(starts[-1] + (_least_padded(sources[window], targets[window]) if rest else most))
    return np.array(starts)


def _least_padded(sources: NDArray[np.int64], targets: NDArray[np.int64]) -> int:
    """How many of the rows to take; of two numbers that are as good as each other, the larger."""
    fewest = math.ceil(FULL * len(targets))
    widths = np.maximum.accumulate(sources) + np.maximum.accumulate(targets)
    used = np.cumsum(sources + targets) / (np.arange(1, len(targets) + 1) * widths)
    return len(used) - int(used[fewest - 1 :][::-1].argmax())


def noise(indices: NDArray[np.int64], *key: int) -> NDArray[np.uint64]:
    """A random 64-bit number for each index: a function of the key and the index, and of nothing else."""
    state = np.zeros(1, np.uint64)
    for number in key:
        state = _mixed(state ^ np.array([number % 2**64], np.uint64))
    return _mixed(state ^ _mixed(indices.astype(np.uint64)))


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The numbers stirred by the SplitMix64 generator: one to one, each bit depending on all."""
    z = numbers + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _times(size: int, weight: float) -> int:
    """How many examples an epoch takes from a corpus of this size; one at least, if it has any weight."""
    return max(1, round(size * weight)) if size and weight else 0


def _source_lengths(store: Store, *, source_end: bool) -> NDArray[np.int32]:
    if store.source is None:
        return np.zeros(len(store), np.int32)
    ends = source_end and store.source.sequences.values.ndim == 1  # no end token after feature vectors
    return store.source.sequences.lengths() + np.int32(ends)
