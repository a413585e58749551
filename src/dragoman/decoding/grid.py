"""Candidates of each sentence side by side, although sentences have different numbers of live rows.

    rows          grid, with k columns for each place
    a1            a1 a1 a2 a2
    a2       ►    b1 b1 -∞ -∞
    b1

The best of a sentence are then the best of one line, and a column leads back to the row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from dragoman.decoding.live import Live

__all__ = ["Grid", "Picked"]


@dataclass(frozen=True, slots=True)
class Picked:
    """The candidates picked, sentence after sentence and best first."""

    rows_N: Tensor
    tokens_N: Tensor
    totals_N: Tensor


@dataclass(frozen=True, slots=True)
class Grid:
    """All candidates, one line for each sentence."""

    totals_BC: Tensor
    """Minus infinity where there is no candidate."""
    tokens_BC: Tensor
    firsts_B: Tensor
    """The first row of each sentence."""
    each: int
    """Candidates of a row."""

    @classmethod
    def of(cls, live: Live, totals_RK: Tensor, tokens_RK: Tensor) -> Grid:
        """The grid of the candidates of each row."""
        sentences, each = len(live.sentences), totals_RK.shape[1]
        firsts_B = torch.searchsorted(live.sentence_R, torch.arange(sentences, device=totals_RK.device))
        places_R = torch.arange(live.rows, device=totals_RK.device) - firsts_B[live.sentence_R]
        most = int(places_R.max()) + 1
        if most == 1 and live.rows == sentences:  # one row each
            return cls(totals_RK, tokens_RK, firsts_B, each)
        at_R = live.sentence_R * most + places_R
        totals = totals_RK.new_full((sentences * most, each), -torch.inf).index_copy_(0, at_R, totals_RK)
        tokens = tokens_RK.new_zeros((sentences * most, each)).index_copy_(0, at_R, tokens_RK)
        return cls(totals.view(sentences, -1), tokens.view(sentences, -1), firsts_B, each)

    def best(self, k: int) -> Picked:
        """The `k` best candidates of each sentence, without impossible ones.

        Sorted stably, so that of equals the same one is taken however wide the grid is.
        """
        totals_BC, columns_BC = self.totals_BC.sort(dim=1, descending=True, stable=True)
        sentences_N, places_N = (totals_BC[:, :k] > -torch.inf).nonzero(as_tuple=True)
        return self.picked(sentences_N, columns_BC[sentences_N, places_N])

    def picked(self, sentences_N: Tensor, columns_N: Tensor) -> Picked:
        """The candidates at some places of the grid."""
        rows_N = self.firsts_B[sentences_N] + torch.div(columns_N, self.each, rounding_mode="floor")
        return Picked(rows_N, self.tokens_BC[sentences_N, columns_N], self.totals_BC[sentences_N, columns_N])
