"""The loader: batches from a store, from any position on, the same ones whoever prepares them.

Examples are read (and, with sampling, cut anew) in this process or in workers, and padded here. What is drawn for an
example depends on (seed, epoch, example) alone, so the stream of batches is the same bit for bit with any number of
workers, and every rank sees its rows of the same stream.
"""

from __future__ import annotations

import contextlib
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.data.batch import Draw, collate
from dragoman.data.store import joined
from dragoman.data.workers import in_order
from dragoman.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from dragoman.data.alignments import Alignments
    from dragoman.data.batch import Batch, Prompts
    from dragoman.data.noise import Noise
    from dragoman.data.order import Order, PlannedBatch
    from dragoman.data.store import Sequences, Side, Store
    from dragoman.text.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Sampling:
    """The tokenizers that cut texts anew in every epoch; None leaves a side as it is stored."""

    source: Tokenizer | None = None
    target: Tokenizer | None = None


_AS_STORED = Sampling()


@dataclass(frozen=True, slots=True, kw_only=True)
class Loader:
    """Batches of a store in an order."""

    store: Store
    order: Order
    sampling: Sampling = _AS_STORED
    """What is cut anew in every epoch. The order goes by the lengths in the store, so such a batch can be somewhat
    larger than its budget; an example that becomes longer than the store allows is taken as it is stored."""
    noise: Noise | None = None
    """Makes a source and a target of each monolingual text."""
    prompts: Prompts = "none"
    """Whether sources are prompts, put before their targets in one sequence for a language model."""
    alignments: Alignments | None = None
    """Word alignments of the store's examples, for an objective that is guided by them."""
    workers: int = 0
    """Processes that prepare batches ahead of time; 0: each is prepared when it is asked for."""
    rank: int = 0
    ranks: int = 1
    """Rank r takes rows r, r + ranks, … of each batch, so that all get about as many tokens. Of a batch with fewer
    rows than there are ranks, some get none."""

    def __post_init__(self) -> None:
        assert 0 <= self.rank < self.ranks
        assert self.noise is None or self.store.source is None, "noise is for text without a source"
        for side, tokenizer in ((self.store.source, self.sampling.source), (self.store.target, self.sampling.target)):
            if tokenizer is not None and tokenizer.stochastic and (side is None or side.text is None):
                raise SettingError(
                    "texts cannot be cut anew, for the store does not keep them",
                    place=str(self.store.folder),
                    remedy="Prepare the store so that it keeps the text.",
                )

    def batches(self, position: int = 0, *, until: int | None = None) -> Generator[Batch, None, None]:
        """The batches from a position on: without end, or as far as the position `until`.

        Closing the generator ends its processes.
        """
        draws = in_order(
            _Drawing(self.store, self.sampling, self.noise), self._planned(position, until), workers=self.workers
        )
        with contextlib.closing(draws):
            for draw in draws:
                yield collate(draw, source_end=self.order.source_end, prompts=self.prompts)

    def epoch(self, number: int = 0) -> Generator[Batch, None, None]:
        """The batches of one epoch."""
        return self.batches(number * self.order.examples, until=(number + 1) * self.order.examples)

    def _planned(self, position: int, until: int | None) -> Iterator[PlannedBatch]:
        if until is not None and position >= until:
            return
        for planned in self.order.batches(position):
            mine = slice(self.rank, None, self.ranks)
            yield replace(planned, examples=planned.examples[mine], seeds=planned.seeds[mine])
            if until is not None and planned.position >= until:
                return


@dataclass(frozen=True, slots=True)
class _Drawing:
    """A function from a planned batch to its examples."""

    store: Store
    sampling: Sampling
    noise: Noise | None

    def __call__(self, planned: PlannedBatch) -> Draw:
        seeds = planned.seeds.tolist() if self.noise is not None or self.sampling != _AS_STORED else []
        generators = [random.Random(seed) for seed in seeds]
        side = self.store.source
        source = self._drawn(side, self.sampling.source, planned, generators) if side else None
        target = self._drawn(self.store.target, self.sampling.target, planned, generators)
        if self.noise is not None:
            source, target = _noised(target, self.noise, generators)
        return Draw(planned.epoch, planned.position, planned.examples, source=source, target=target)

    def _drawn(
        self, side: Side, tokenizer: Tokenizer | None, planned: PlannedBatch, generators: Sequence[random.Random]
    ) -> Sequences:
        stored = side.sequences.take(planned.examples)
        if tokenizer is None or not tokenizer.stochastic:
            return stored
        starts = np.cumsum(stored.lengths) - stored.lengths
        prefixes = [side.prefixes[c] for c in self.store.corpus_of(planned.examples)]
        rows: list[Any] = []
        for row, (text, prefix, generator) in enumerate(
            zip(side.texts(planned.examples), prefixes, generators, strict=True)
        ):
            ids = [*prefix, *tokenizer.sample(text, generator)]
            if len(ids) > side.longest:
                ids = stored.values[starts[row] : starts[row] + stored.lengths[row]].tolist()
            rows.append(ids)
        return joined(rows, dtype=stored.values.dtype)


def _noised(texts: Sequences, noise: Noise, generators: Sequence[random.Random]) -> tuple[Sequences, Sequences]:
    """Sources and targets made of texts."""
    ends = np.cumsum(texts.lengths).tolist()
    stretches = zip([0, *ends], ends, generators, strict=False)
    made = [noise(texts.values[begin:end].tolist(), generator) for begin, end, generator in stretches]
    dtype = texts.values.dtype
    return joined([m.source for m in made], dtype=dtype), joined([m.target for m in made], dtype=dtype)
