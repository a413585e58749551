"""Greedy search: the most probable token at each step, until the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from dragoman.decoding.filters import SearchSettings
from dragoman.decoding.search import Choice, NoMemory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.decoding.live import Live, Sentence
    from dragoman.decoding.search import Offer

__all__ = ["Greedy", "GreedySettings"]


class GreedySettings(SearchSettings, frozen=True, kw_only=True, tag_field="kind", tag="greedy"):
    """Greedy search has nothing to set."""


@dataclass(frozen=True, slots=True)
class Greedy:
    """Takes the most probable token and never goes back."""

    end: int
    width: int = 1
    traced: bool = False

    def start(self, _sentences: Sequence[Sentence], _device: torch.device) -> NoMemory:
        """Nothing: there is nothing to remember."""
        return NoMemory()

    def choose(self, offer: Offer, live: Live, memory: NoMemory) -> tuple[Choice, NoMemory]:
        """The best token of each row."""
        best = offer.adjusted.best(1)
        rows_N = (best.log_probs_RK[:, 0] > -torch.inf).nonzero().flatten()
        tokens_N = best.tokens_RK[rows_N, 0]
        totals_N = live.totals_R[rows_N] + best.log_probs_RK[rows_N, 0]
        log_probs_N = offer.scores.at(rows_N, tokens_N)
        return Choice(rows_N, tokens_N, log_probs_N, totals_N, totals_N, tokens_N == self.end), memory
