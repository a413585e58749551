"""Chance that is a function of seed, update and example: nothing has to be remembered to go on exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from dragoman.data.order import noise

if TYPE_CHECKING:
    from torch import Tensor

    from dragoman.data.batch import Batch

__all__ = ["drawn", "example_seeds"]


def example_seeds(batch: Batch, *, seed: int, step: int) -> Tensor:
    """A seed for each row of a batch, its own in this update, whatever else is in the batch."""
    numbers = noise(batch.examples_B.cpu().numpy(), seed, step)
    return torch.from_numpy(numbers.view(np.int64)).to(batch.examples_B.device)


def drawn(logits_RV: Tensor, uniform_R: Tensor) -> Tensor:
    """The token of each row whose stretch of the cumulated probabilities holds the row's number."""
    mass_RV = logits_RV.float().softmax(-1).cumsum(-1, dtype=torch.float64)
    wanted_R1 = uniform_R[:, None] * mass_RV[:, -1:]
    return torch.searchsorted(mass_RV, wanted_R1, right=True)[:, 0].clamp(max=mass_RV.shape[1] - 1)
