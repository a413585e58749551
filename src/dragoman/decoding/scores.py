"""How hypotheses of different length are compared: the score of a log-probability and a length.

A score divides the log-probability by something that grows with the length, so it can still rise as a hypothesis
gets longer. Because log-probabilities only fall, the score that the longest allowed length would give is a bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, assert_never

import torch

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Kind", "LengthNormalization", "coverage_penalty"]

Kind = Literal["mean", "gnmt"]


@dataclass(frozen=True, slots=True)
class LengthNormalization:
    """Log-probability over a power of the length: 0 leaves it as it is, 1 with `mean` is the mean per token."""

    alpha: float = 0.0
    kind: Kind = "mean"

    def divisor(self, length: float) -> float:
        """What the log-probability of an output of `length` tokens, its end included, is divided by."""
        match self.kind:
            case "mean":
                return math.pow(max(length, 1), self.alpha)
            case "gnmt":
                return math.pow((5 + length) / 6, self.alpha)
            case _:
                assert_never(self.kind)

    def divisors(self, lengths: Tensor) -> Tensor:
        """The divisor of each length."""
        match self.kind:
            case "mean":
                return lengths.clamp(min=1).float() ** self.alpha
            case "gnmt":
                return ((5 + lengths) / 6) ** self.alpha
            case _:
                assert_never(self.kind)

    def score(self, log_prob: float, length: int) -> float:
        """The score of a finished output."""
        return log_prob / self.divisor(length)

    def bound(self, log_prob: float, max_length: int) -> float:
        """No continuation that ends by `max_length` scores better than this."""
        return log_prob / self.divisor(max_length)


def coverage_penalty(coverage_RS: Tensor, lengths_R: Tensor) -> Tensor:
    """Sum over source positions of log min(coverage, 1): never above zero, and far below where much was overlooked."""
    places = torch.arange(coverage_RS.shape[1], device=coverage_RS.device)
    logs_RS = coverage_RS.clamp(min=1e-4, max=1.0).log()  # a floor: one overlooked word must not weigh without end
    return logs_RS.masked_fill(places >= lengths_R[:, None], 0.0).sum(1)
