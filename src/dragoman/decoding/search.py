"""The loop that every step-by-step search shares: step, adjust, choose, keep, and let new sentences in.

    arrivals ──► join ──► step ──► filters ──► strategy.choose ──► Beam (yielded)
                  ▲                                  │
                  └────── select: what is alive ◄────┘

A strategy only says which continuations are kept. Finished hypotheses and sentences leave the batch at once, and new
sentences take their places.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

import torch

from dragoman.decoding.hypothesis import Beam, Found, found
from dragoman.decoding.live import Live
from dragoman.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor

    from dragoman.decoding.live import Sentence
    from dragoman.decoding.step import DecoderStep, Scores, Trace, TracedStep

__all__ = [
    "Arrival",
    "Arrivals",
    "Choice",
    "Filter",
    "Memory",
    "NoMemory",
    "Offer",
    "Strategy",
    "batches",
    "search",
    "search_batch",
]

State = TypeVar("State")


@dataclass(frozen=True, slots=True)
class Arrival(Generic[State]):
    """New sentences with the decoder state that they start from, one row each."""

    sentences: Sequence[Sentence]
    state: State


class Arrivals(Protocol[State]):
    """Where new sentences come from."""

    def __call__(self, room: int, /) -> Arrival[State] | None:
        """At most `room` new sentences; nothing if there are none or it is better to wait until more places are free.

        The search is over when there is nothing although every place is free.
        """
        ...


@dataclass(frozen=True, slots=True)
class Offer:
    """What a strategy chooses from."""

    scores: Scores
    """What the model says."""
    adjusted: Scores
    """What the filters made of it: the search ranks by these."""
    trace: Trace | None
    peek: Callable[[Tensor, Tensor], Trace]
    """The trace after each of some tokens, given with the rows that they would continue."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The continuations that a strategy keeps, sentence after sentence; none of them impossible."""

    rows_N: Tensor
    """The row that each continues."""
    tokens_N: Tensor
    log_probs_N: Tensor
    """The model's log-probability of each token."""
    totals_N: Tensor
    """What has been added up for each, by which the search goes on."""
    scores_N: Tensor
    """What each would be worth if it ended here."""
    finished_N: Tensor
    over_B: Tensor | None = None
    """Sentences for which the strategy has seen enough."""


class Memory(Protocol):
    """What a strategy remembers beside the live rows. A memory is a value."""

    def select(self, rows_R: Tensor, sentences_B: Tensor, /) -> Memory:
        """The memory of these rows and of these sentences."""
        ...

    def join(self, other: Any, /) -> Memory:
        """The memory with that of new sentences after it."""
        ...


class NoMemory:
    """The memory of strategies that need none."""

    def select(self, _rows_R: Tensor, _sentences_B: Tensor, /) -> NoMemory:
        return self

    def join(self, _other: Any, /) -> NoMemory:
        return self


class Strategy(Protocol):
    """Which continuations a search keeps."""

    @property
    def width(self) -> int:
        """Rows that a sentence starts with."""
        ...

    @property
    def traced(self) -> bool:
        """Whether it reads traces."""
        ...

    def start(self, sentences: Sequence[Sentence], device: torch.device) -> Any:
        """The Memory with which new sentences begin."""
        ...

    def choose(self, offer: Offer, live: Live, memory: Any) -> tuple[Choice, Any]:
        """The continuations that it keeps, and its memory after this step, rows and sentences still as they were."""
        ...


class Filter(Protocol):
    """An adjustment of scores before a strategy sees them, the same whatever the strategy."""

    @property
    def reads_history(self) -> bool:
        """Whether it needs `Live.history_RT`."""
        ...

    @property
    def only_forbids(self) -> bool:
        """Whether all it writes is minus infinity, so that what remains keeps the model's score."""
        ...

    def __call__(self, scores: Scores, live: Live, /) -> None:
        """Write into the logits, which nobody else holds."""
        ...


def search(
    step: DecoderStep[State],
    strategy: Strategy,
    *,
    arrivals: Arrivals[State],
    begin: int,
    filters: Sequence[Filter] = (),
    places: int = 64,
    device: torch.device | None = None,
) -> Iterator[Beam]:
    """The beams of a search over all arriving sentences, at most `places` of them at a time."""
    crowd = _Crowd(step, strategy, filters=tuple(filters), begin=begin, device=device or torch.device("cpu"))
    while True:
        room = places - crowd.sentences
        arrival = arrivals(room) if room > 0 else None
        if arrival is not None and arrival.sentences:
            assert len(arrival.sentences) <= room, "no more sentences than there is room"
            crowd.admit(arrival)
        if not crowd.sentences:
            return
        yield crowd.advance()


def search_batch(
    step: DecoderStep[State],
    strategy: Strategy,
    *,
    batch: Arrival[State],
    begin: int,
    filters: Sequence[Filter] = (),
    nbest: int = 1,
    device: torch.device | None = None,
) -> list[Found]:
    """The outputs for one batch of sentences, in its order."""
    beams = search(
        step,
        strategy,
        arrivals=batches([batch]),
        begin=begin,
        filters=filters,
        places=len(batch.sentences),
        device=device,
    )
    by_key = {each.key: each for each in found(beams, nbest=nbest)}
    return [by_key[sentence.key] for sentence in batch.sentences]


def batches(ready: Sequence[Arrival[State]]) -> Arrivals[State]:
    """Arrivals that let ready-made batches in, each as soon as it fits whole; none may be larger than the places."""
    waiting = list(reversed(ready))

    def next_batch(room: int) -> Arrival[State] | None:
        return waiting.pop() if waiting and len(waiting[-1].sentences) <= room else None

    return next_batch


class _Crowd(Generic[State]):
    """Everything that is alive in a search: rows, the model's state and the strategy's memory of them."""

    def __init__(
        self,
        step: DecoderStep[State],
        strategy: Strategy,
        *,
        filters: tuple[Filter, ...],
        begin: int,
        device: torch.device,
    ) -> None:
        self.step, self.strategy, self.filters = step, strategy, filters
        self.begin, self.device = begin, device
        if strategy.traced and not hasattr(step, "trace"):
            raise ModelError(
                "this search needs hidden states and attention, which this model does not show step by step",
                place="decoding",
                remedy="Choose another search, or leave out the coverage penalty.",
            )
        self.keeps_history = any(each.reads_history for each in filters)
        self.live: Live | None = None
        self.state: State | None = None
        self.memory: Any = None

    @property
    def sentences(self) -> int:
        return len(self.live.sentences) if self.live is not None else 0

    def admit(self, arrival: Arrival[State]) -> None:
        """Let new sentences in."""
        keys = [each.key for each in (*arrival.sentences, *(self.live.sentences if self.live else ()))]
        assert len(keys) == len(set(keys)), "no two sentences in search share a key"
        width = self.strategy.width
        live = Live.starting(
            arrival.sentences,
            width=width,
            begin=self.begin,
            history=self.keeps_history,
            device=self.device,
        )
        state = arrival.state if width == 1 else self.step.select(arrival.state, live.sentence_R)
        memory = self.strategy.start(arrival.sentences, self.device)
        if self.live is None:
            self.live, self.state, self.memory = live, state, memory
        else:
            self.live = self.live.join(live)
            self.state = self.step.join(cast("State", self.state), state)
            self.memory = self.memory.join(memory)

    def advance(self) -> Beam:
        """Go one step with everything that is alive."""
        assert self.live is not None
        live = self.live
        offer, state = self._offer(live, cast("State", self.state))
        choice, memory = self.strategy.choose(offer, live, self.memory)
        sentence_N = live.sentence_R[choice.rows_N]
        lengths_B = live.lengths_B + 1
        over_B = lengths_B >= live.limits_B
        if choice.over_B is not None:
            over_B = over_B | choice.over_B
        kept = (~(choice.finished_N | over_B[sentence_N])).nonzero().flatten()
        ended_B = torch.bincount(sentence_N[kept], minlength=len(live.sentences)) == 0
        ended = tuple(live.sentences[i].key for i in ended_B.nonzero().flatten().tolist())
        keys_B = torch.tensor([sentence.key for sentence in live.sentences], device=self.device)
        beam = Beam(
            sentences_N=keys_B[sentence_N],
            parents_N=live.entry_R[choice.rows_N],
            tokens_N=choice.tokens_N,
            log_probs_N=choice.log_probs_N,
            scores_N=choice.scores_N,
            finished_N=choice.finished_N,
            ended=ended,
        )
        if not kept.numel():  # nothing lives: no state has to cope with having no rows
            self.live = self.state = self.memory = None
            return beam
        self._keep(choice, kept, lengths_B)
        rows_R = choice.rows_N[kept]
        if ended or not _is_all(rows_R, live.rows):
            state = self.step.select(state, rows_R)
            memory = memory.select(rows_R, (~ended_B).nonzero().flatten())
        if ended:
            self.live = self.live.without(ended_B)
        self.state, self.memory = state, memory
        return beam

    def _offer(self, live: Live, state: State) -> tuple[Offer, State]:
        trace = None
        if self.strategy.traced:
            scores, after, trace = cast("TracedStep[State]", self.step).trace(live.last_R, state)
        else:
            scores, after = self.step(live.last_R, state)
        adjusted = scores
        if not all(each.only_forbids for each in self.filters):
            adjusted = scores.copied()  # the model's own scores are still needed
        for each in self.filters:
            each(adjusted, live)

        def peek(tokens_N: Tensor, rows_N: Tensor) -> Trace:
            traced = cast("TracedStep[State]", self.step)
            return traced.trace(tokens_N, traced.select(after, rows_N))[2]

        return Offer(scores, adjusted, trace, peek), after

    def _keep(self, choice: Choice, kept: Tensor, lengths_B: Tensor) -> None:
        live = self.live
        assert live is not None
        rows_R, tokens_R = choice.rows_N[kept], choice.tokens_N[kept]
        history = live.history_RT
        if history is not None:
            history = torch.cat([history[rows_R], tokens_R[:, None]], dim=1)
        self.live = replace(
            live,
            lengths_B=lengths_B,
            sentence_R=live.sentence_R[rows_R],
            last_R=tokens_R,
            totals_R=choice.totals_N[kept],
            entry_R=kept,
            history_RT=history,
        )


def _is_all(rows_R: Tensor, rows: int) -> bool:
    return rows_R.shape[0] == rows and bool((rows_R == torch.arange(rows, device=rows_R.device)).all())
