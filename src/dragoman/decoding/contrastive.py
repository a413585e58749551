"""Contrastive search: of the few most probable tokens, the one that does not lead back to where the model has been.

    score(v) = (1 - penalty) · p(v)  -  penalty · max over the past of cos(hidden after v, hidden then)

A model that begins to repeat itself stands where it stood before; the second term sees that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import torch
from torch.nn import functional

from dragoman.decoding.filters import SearchSettings
from dragoman.decoding.search import Choice
from dragoman.settings import Meta

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from dragoman.decoding.live import Live, Sentence
    from dragoman.decoding.search import Offer

__all__ = ["ContrastiveMemory", "ContrastiveSearch", "ContrastiveSettings"]


class ContrastiveSettings(SearchSettings, frozen=True, kw_only=True, tag_field="kind", tag="contrastive"):
    """Contrastive search."""

    candidates: Annotated[int, Meta(ge=1)] = 5
    """Most probable tokens that are compared at each step."""
    penalty: Annotated[float, Meta(ge=0, le=1)] = 0.6
    """Weight of the likeness to the past against the probability; 0 is greedy search."""


@dataclass(frozen=True, slots=True)
class ContrastiveMemory:
    """Directions of the hidden states so far, the newest last; zeros on the left of shorter ones."""

    past_RTD: Tensor | None

    def select(self, rows_R: Tensor, _sentences_B: Tensor) -> ContrastiveMemory:
        """The memory of these rows."""
        return ContrastiveMemory(None if self.past_RTD is None else self.past_RTD[rows_R])

    def join(self, other: ContrastiveMemory) -> ContrastiveMemory:
        """The memory with that of new sentences, who have no past yet."""
        assert other.past_RTD is not None
        if self.past_RTD is None or not self.past_RTD.shape[1]:
            return ContrastiveMemory(None)
        past, rows = self.past_RTD, other.past_RTD.shape[0]
        return ContrastiveMemory(torch.cat([past, past.new_zeros(rows, *past.shape[1:])]))


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastiveSearch:
    """Weighs the most probable tokens of each row against the row's past."""

    candidates: int
    penalty: float
    end: int
    width: int = 1
    traced: bool = True

    def start(self, sentences: Sequence[Sentence], device: torch.device) -> ContrastiveMemory:
        """No past."""
        return ContrastiveMemory(torch.zeros(len(sentences), 0, 0, device=device))

    def choose(self, offer: Offer, live: Live, memory: ContrastiveMemory) -> tuple[Choice, ContrastiveMemory]:
        """One token for each row."""
        assert offer.trace is not None
        past_RTD = _directions(offer.trace.hidden_RD)[:, None]
        if memory.past_RTD is not None and memory.past_RTD.shape[1]:
            past_RTD = torch.cat([memory.past_RTD, past_RTD], dim=1)
        best = offer.adjusted.best(self.candidates)
        weighed_RK = (1 - self.penalty) * best.log_probs_RK.exp() - self.penalty * _likeness(
            offer, best.tokens_RK, past_RTD
        )
        chosen_R1 = weighed_RK.masked_fill(best.log_probs_RK == -torch.inf, -torch.inf).argmax(1, keepdim=True)
        rows_N = (best.log_probs_RK[:, 0] > -torch.inf).nonzero().flatten()
        tokens_N = best.tokens_RK.gather(1, chosen_R1)[rows_N, 0]
        totals_N = live.totals_R[rows_N] + best.log_probs_RK.gather(1, chosen_R1)[rows_N, 0]
        log_probs_N = offer.scores.at(rows_N, tokens_N)
        choice = Choice(rows_N, tokens_N, log_probs_N, totals_N, totals_N, tokens_N == self.end)
        return choice, ContrastiveMemory(past_RTD)


def _likeness(offer: Offer, tokens_RK: Tensor, past_RTD: Tensor) -> Tensor:
    """The largest cosine between where each candidate leads and where its row has been."""
    rows, each = tokens_RK.shape
    ahead = offer.peek(tokens_RK.flatten(), torch.arange(rows, device=tokens_RK.device).repeat_interleave(each))
    ahead_RKD = _directions(ahead.hidden_RD).view(rows, each, -1)
    cosines_RKT = ahead_RKD @ past_RTD.transpose(1, 2)
    absent_RT = ~past_RTD.any(2)
    return cosines_RKT.masked_fill(absent_RT[:, None], -torch.inf).amax(2)


def _directions(hidden_RD: Tensor) -> Tensor:
    return functional.normalize(hidden_RD.float(), dim=1)
