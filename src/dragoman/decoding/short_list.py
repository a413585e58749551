"""Steps that look at some of the vocabulary only: at each sentence's own short-list.

The columns of such a step are the words of all sentences' lists together. In each row the words that are on other
lists alone are impossible, so no sentence sees what shares its batch:

    list of sentence 0    2 5 9         columns        2   5   7   9
    list of sentence 1    5 7           row of 0       x   x   .   x
                                        row of 1       .   x   x   .

Probabilities are those among the words of the list: what the others would have had is shared out.

Shapes beside those of step.py: U columns, L words of all lists one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

import torch

from dragoman.decoding.step import Scores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from dragoman.decoding.step import DecoderStep, Trace, TracedStep

__all__ = ["Allowed", "Listed", "NarrowStep", "ShortListed", "TracedShortListed", "short_listed"]

State = TypeVar("State")


class NarrowStep(Protocol[State]):
    """A step that can compute some columns of its scores alone."""

    def vectors(self, tokens_R: Tensor, state: State, /) -> tuple[Tensor, State]:
        """What the output layer reads after one more token in each row, and the state that remembers it."""
        ...

    def narrowed(self, ids_U: Tensor, /) -> Callable[[Tensor], Tensor]:
        """The part of the output layer that gives the logits of these words."""
        ...


@dataclass(frozen=True, slots=True)
class Allowed:
    """What the rows of each sentence may say."""

    lists: tuple[Tensor, ...]
    """The words of each sentence, ascending."""
    ids_U: Tensor
    """The words of all of them, ascending."""
    bias_BU: Tensor
    """Minus infinity for what is not on a sentence's list: added it is quicker than to fill in by a mask."""
    sentence_R: Tensor
    """The place in `lists` of each row."""

    @classmethod
    def of(cls, lists: Sequence[Tensor], sentence_R: Tensor) -> Allowed:
        """What these lists allow."""
        words_L = torch.cat(tuple(lists))
        marked_V = torch.zeros(int(words_L.max()) + 1, dtype=torch.bool, device=words_L.device)
        marked_V[words_L] = True
        ids_U = marked_V.nonzero().flatten()
        counts = torch.tensor([each.shape[0] for each in lists], device=words_L.device)
        owners_L = torch.arange(len(lists), device=words_L.device).repeat_interleave(counts)
        bias_BU = torch.full((len(lists), ids_U.shape[0]), -torch.inf, device=words_L.device)
        bias_BU[owners_L, torch.searchsorted(ids_U, words_L)] = 0.0
        return cls(tuple(lists), ids_U, bias_BU, sentence_R)

    def select(self, rows_R: Tensor) -> Allowed:
        """The same of these rows; made anew where at least half of the sentences have none."""
        sentence_R = self.sentence_R[rows_R]
        lists, renamed_R = _of_the_living(self.lists, sentence_R)
        if len(lists) * 2 <= len(self.lists):
            return Allowed.of(lists, renamed_R)
        return replace(self, sentence_R=sentence_R)

    def join(self, other: Allowed) -> Allowed:
        """These rows and those of other sentences after them."""
        lists, renamed_R = _of_the_living(self.lists, self.sentence_R)
        return Allowed.of((*lists, *other.lists), torch.cat([renamed_R, other.sentence_R + len(lists)]))

    def scores(self, logits_RU: Tensor) -> Scores:
        """The scores that the logits of the columns lead to, in which each row says what it may."""
        if len(self.lists) > 1:
            logits_RU = logits_RU + self.bias_BU.index_select(0, self.sentence_R)
        return Scores.of(logits_RU, self.ids_U)


@dataclass(frozen=True, slots=True)
class Listed(Generic[State]):
    """The state of a step, and what its rows may say."""

    inner: State
    allowed: Allowed
    output: Callable[[Tensor], Tensor] | None = None
    """The part of the output layer that is needed, where the step can compute it alone."""


class ShortListed(Generic[State]):
    """A step as it is with short-lists."""

    def __init__(self, step: DecoderStep[State]) -> None:
        self._step = step
        narrow = all(hasattr(step, name) for name in ("vectors", "narrowed"))
        self._narrow = cast("NarrowStep[State]", step) if narrow else None

    def start(self, inner: State, lists: Sequence[Tensor]) -> Listed[State]:
        """The state of new sentences, one row each, with the words that each may say."""
        device = lists[0].device
        return self._listed(inner, Allowed.of(lists, torch.arange(len(lists), device=device)))

    def __call__(self, tokens_R: Tensor, state: Listed[State], /) -> tuple[Scores, Listed[State]]:
        if self._narrow is not None and state.output is not None:
            vectors, after = self._narrow.vectors(tokens_R, state.inner)
            return state.allowed.scores(state.output(vectors)), replace(state, inner=after)
        scores, after = self._step(tokens_R, state.inner)
        return _cut(scores, state.allowed), replace(state, inner=after)

    def select(self, state: Listed[State], rows_R: Tensor, /) -> Listed[State]:
        inner, allowed = self._step.select(state.inner, rows_R), state.allowed.select(rows_R)
        if allowed.ids_U is state.allowed.ids_U:
            return Listed(inner, allowed, state.output)
        return self._listed(inner, allowed)

    def join(self, state: Listed[State], other: Listed[State], /) -> Listed[State]:
        return self._listed(self._step.join(state.inner, other.inner), state.allowed.join(other.allowed))

    def _listed(self, inner: State, allowed: Allowed) -> Listed[State]:
        return Listed(inner, allowed, None if self._narrow is None else self._narrow.narrowed(allowed.ids_U))


class TracedShortListed(ShortListed[State]):
    """The same of a step that can be traced."""

    def trace(self, tokens_R: Tensor, state: Listed[State], /) -> tuple[Scores, Listed[State], Trace]:
        """What a call gives, and its trace."""
        traced = cast("TracedStep[State]", self._step)
        scores, after, trace = traced.trace(tokens_R, state.inner)
        return _cut(scores, state.allowed), replace(state, inner=after), trace


def short_listed(step: DecoderStep[Any]) -> ShortListed[Any]:
    """The step with short-lists, traced if it is."""
    return TracedShortListed(step) if hasattr(step, "trace") else ShortListed(step)


def _of_the_living(lists: Sequence[Tensor], sentence_R: Tensor) -> tuple[list[Tensor], Tensor]:
    """The lists of the sentences that have rows, and the place among them of each row."""
    living = torch.bincount(sentence_R, minlength=len(lists)).nonzero().flatten()
    return [lists[i] for i in living.tolist()], torch.searchsorted(living, sentence_R)


def _cut(scores: Scores, allowed: Allowed) -> Scores:
    assert scores.ids is None, "a step with all of its vocabulary"
    return allowed.scores(scores.logits_RV[:, allowed.ids_U])
