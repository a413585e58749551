"""Exhaustive search: every sequence there is, for models and lengths tiny enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import torch

from dragoman.decoding.filters import SearchSettings
from dragoman.decoding.scores import Kind, LengthNormalization
from dragoman.decoding.search import Choice, NoMemory
from dragoman.errors import SettingError
from dragoman.settings import Meta

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.decoding.live import Live, Sentence
    from dragoman.decoding.search import Offer

__all__ = ["Exhaustive", "ExhaustiveSettings"]


class ExhaustiveSettings(SearchSettings, frozen=True, kw_only=True, tag_field="kind", tag="exhaustive"):
    """Exhaustive search."""

    alpha: Annotated[float, Meta(ge=0)] = 1.0
    """Exponent of the length in the score."""
    normalization: Kind = "mean"
    """`mean` divides by length^alpha, `gnmt` by ((5 + length) / 6)^alpha."""
    most: Annotated[int, Meta(ge=1)] = 1_000_000
    """Hypotheses of one step at which the search is given up as too large."""
    nbest: Annotated[int, Meta(ge=1)] = 1
    """Outputs wanted for each sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhaustive:
    """Keeps every continuation."""

    end: int
    normalization: LengthNormalization
    most: int = 1_000_000
    width: int = 1
    traced: bool = False

    def start(self, _sentences: Sequence[Sentence], _device: torch.device) -> NoMemory:
        """Nothing: there is nothing to remember."""
        return NoMemory()

    def choose(self, offer: Offer, live: Live, memory: NoMemory) -> tuple[Choice, NoMemory]:
        """All possible tokens of each row."""
        log_probs_RV = offer.adjusted.log_probs()
        if log_probs_RV.numel() > self.most:
            raise SettingError(
                f"exhaustive search has come to {log_probs_RV.numel():,} hypotheses",
                place="most",
                remedy="Shorten the longest output, or take the exact search, which need not see them all.",
            )
        rows_N, columns_N = (log_probs_RV > -torch.inf).nonzero(as_tuple=True)
        tokens_N = offer.adjusted.tokens(columns_N)
        totals_N = live.totals_R[rows_N] + log_probs_RV[rows_N, columns_N]
        divisors_B = self.normalization.divisors(live.lengths_B + 1)
        choice = Choice(
            rows_N=rows_N,
            tokens_N=tokens_N,
            log_probs_N=offer.scores.at(rows_N, tokens_N),
            totals_N=totals_N,
            scores_N=totals_N / divisors_B[live.sentence_R[rows_N]],
            finished_N=tokens_N == self.end,
        )
        return choice, memory
