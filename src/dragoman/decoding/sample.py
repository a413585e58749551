"""Sampling: tokens drawn from the model's distribution, or from what is left of it after its tail is cut.

The random number of each draw is a function of seed, sentence, sample and position alone, so what else is in the batch
does not matter, and nothing has to be remembered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import torch

from dragoman.decoding.filters import SearchSettings
from dragoman.decoding.search import Choice
from dragoman.decoding.step import best_columns
from dragoman.settings import Meta

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from dragoman.decoding.live import Live, Sentence
    from dragoman.decoding.search import Offer

__all__ = ["Cut", "Sample", "SampleMemory", "SampleSettings", "truncated", "uniform"]


class SampleSettings(SearchSettings, frozen=True, kw_only=True, tag_field="kind", tag="sample"):
    """Sampling."""

    temperature: Annotated[float, Meta(gt=0)] = 1.0
    """Logits are divided by it: below 1 the probable becomes more probable, above 1 less."""
    top_k: Annotated[int, Meta(ge=0)] = 0
    """Draw from this many most probable tokens; 0 draws from all."""
    top_p: Annotated[float, Meta(gt=0, le=1)] = 1.0
    """Draw from the smallest set of most probable tokens that together reach this probability."""
    min_p: Annotated[float, Meta(ge=0, le=1)] = 0.0
    """Leave out tokens less probable than this part of the most probable one."""
    typical: Annotated[float, Meta(gt=0, le=1)] = 1.0
    """Draw from the tokens whose surprise is closest to the expected one and that together reach this probability."""
    seed: int = 0
    """The same seed draws the same outputs."""
    nbest: Annotated[int, Meta(ge=1)] = 1
    """Outputs drawn for each sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """What is done to a distribution before it is drawn from, in this order."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    typical: float = 1.0


@dataclass(frozen=True, slots=True)
class SampleMemory:
    """A number for each row that no other sample shares."""

    seeds_R: Tensor

    def select(self, rows_R: Tensor, _sentences_B: Tensor) -> SampleMemory:
        """The memory of these rows."""
        return SampleMemory(self.seeds_R[rows_R])

    def join(self, other: SampleMemory) -> SampleMemory:
        """The memory with that of new sentences after it."""
        return SampleMemory(torch.cat([self.seeds_R, other.seeds_R]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Draws `width` outputs of each sentence, independent of each other."""

    end: int
    cut: Cut = field(default_factory=Cut)
    seed: int = 0
    width: int = 1
    traced: bool = False

    def start(self, sentences: Sequence[Sentence], device: torch.device) -> SampleMemory:
        """A seed for each row, from the sentence's own."""
        own = torch.tensor([sentence.seed for sentence in sentences], dtype=torch.long, device=device)
        draws = torch.arange(self.width, device=device).repeat(len(sentences))
        mixed = _mixed(_mixed(torch.full_like(own, self.seed)) + own).repeat_interleave(self.width)
        return SampleMemory(_mixed(mixed + draws))

    def choose(self, offer: Offer, live: Live, memory: SampleMemory) -> tuple[Choice, SampleMemory]:
        """One token for each row."""
        possible_R = offer.adjusted.logits_RV.amax(1) > -torch.inf
        log_probs_RK, columns_RK = truncated(offer.adjusted.logits_RV, self.cut)
        uniform_R = uniform(memory.seeds_R, live.lengths_B[live.sentence_R])
        mass_RK = log_probs_RK.exp().cumsum(1, dtype=torch.float64)
        target_R1 = uniform_R[:, None] * mass_RK[:, -1:]
        drawn_R1 = torch.searchsorted(mass_RK, target_R1, right=True).clamp(max=mass_RK.shape[1] - 1)
        rows_N = possible_R.nonzero().flatten()
        tokens_N = offer.adjusted.tokens(columns_RK.gather(1, drawn_R1)[rows_N, 0])
        log_probs_N = offer.scores.at(rows_N, tokens_N)
        totals_N = live.totals_R[rows_N] + log_probs_N
        return Choice(rows_N, tokens_N, log_probs_N, totals_N, totals_N, tokens_N == self.end), memory


def truncated(logits_RV: Tensor, cut: Cut) -> tuple[Tensor, Tensor]:
    """Log-probabilities of what is left of each row, minus infinity for what is cut; and the columns they stand for."""
    width = logits_RV.shape[1]
    logits_RV = logits_RV / cut.temperature
    if 0 < cut.top_k < width:
        columns_RK = best_columns(logits_RV, cut.top_k)
        logits_RK = logits_RV.gather(1, columns_RK)
    elif cut.top_p < 1:
        logits_RK, columns_RK = logits_RV.sort(dim=1, descending=True)
    else:
        logits_RK, columns_RK = logits_RV, torch.arange(width, device=logits_RV.device).expand(logits_RV.shape)
    log_probs_RK = logits_RK.log_softmax(1)
    if cut.top_p < 1:
        log_probs_RK = _reaching(log_probs_RK, cut.top_p)
    if cut.min_p > 0:
        log_probs_RK = log_probs_RK.log_softmax(1)
        least_R1 = log_probs_RK.amax(1, keepdim=True) + torch.tensor(cut.min_p).log()
        log_probs_RK = log_probs_RK.masked_fill(log_probs_RK < least_R1, -torch.inf)
    if cut.typical < 1:
        log_probs_RK, columns_RK = _typical(log_probs_RK.log_softmax(1), columns_RK, cut.typical)
    return log_probs_RK.log_softmax(1), columns_RK


def _reaching(log_probs_RK: Tensor, mass: float) -> Tensor:
    """The first columns of each row whose probabilities together reach `mass`; the others impossible."""
    probs_RK = log_probs_RK.exp().double()
    before_RK = probs_RK.cumsum(1) - probs_RK
    kept_RK = before_RK < mass
    kept_RK[:, 0] = True
    return log_probs_RK.masked_fill(~kept_RK, -torch.inf)


def _typical(log_probs_RK: Tensor, columns_RK: Tensor, mass: float) -> tuple[Tensor, Tensor]:
    """The columns whose surprise is closest to the entropy, as many as reach `mass`."""
    surprise_RK = -log_probs_RK
    entropy_R1 = (log_probs_RK.exp() * surprise_RK.nan_to_num(posinf=0.0)).sum(1, keepdim=True)
    order_RK = (surprise_RK - entropy_R1).abs().argsort(dim=1, stable=True)
    return _reaching(log_probs_RK.gather(1, order_RK), mass), columns_RK.gather(1, order_RK)


def uniform(seeds_R: Tensor, positions_R: Tensor) -> Tensor:
    """A number in [0, 1) for each row, the same for the same seed and position."""
    bits_R = _mixed(seeds_R + _mixed(positions_R + 1))
    return (bits_R >> 11 & (1 << 53) - 1).double() / 2**53


def _mixed(numbers: Tensor) -> Tensor:
    """64 well stirred bits of each number: the finaliser of splitmix64, with torch's signed integers."""
    numbers = numbers + _signed(0x9E3779B97F4A7C15)
    numbers = (numbers ^ _shifted(numbers, 30)) * _signed(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ _shifted(numbers, 27)) * _signed(0x94D049BB133111EB)
    return numbers ^ _shifted(numbers, 31)


def _signed(bits: int) -> int:
    return bits - (1 << 64) if bits >> 63 else bits


def _shifted(numbers: Tensor, places: int) -> Tensor:
    """Shifted to the right, zeros coming in from the left."""
    return numbers >> places & (1 << 64 - places) - 1
