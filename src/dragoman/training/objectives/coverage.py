"""Coverage: attention pays for looking again at what it has looked at before.

    c_t = Σ_{t' < t} a_{t'}        loss = cross-entropy + w · Σ_t Σ_s min(a_t(s), c_t(s))

(See, Liu and Manning 2017). Against repetition, in outputs about as long as their sources or shorter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from dragoman.settings import Settings
from dragoman.training.objectives.looking import Looking, looked
from dragoman.training.objectives.objective import Smoothing, Sums, Weight, counting

if TYPE_CHECKING:
    from torch import Tensor

    from dragoman.data.batch import Batch
    from dragoman.models.seq2seq import Model


class Coverage(Settings, frozen=True, kw_only=True, tag_field="kind", tag="coverage"):
    """Cross-entropy, and a price for looking at a source position again and again."""

    smoothing: Smoothing = 0.1
    """Share of the probability that is spread over the whole vocabulary."""
    weight: Weight = 1.0
    """Weight of what is looked at again."""
    layer: int = -1
    """Layer of attention to the source, counted from 0, or from the end with -1 the last."""
    head: int | None = None
    """Head of that layer, counted likewise; nothing: the mean of its heads."""


class Covering:
    """Cross-entropy with the coverage penalty."""

    def __init__(self, settings: Coverage) -> None:
        self._looking = Looking(settings.layer, settings.head, settings.smoothing)
        self._weight = settings.weight

    def __call__(self, model: Model, batch: Batch, *, scale: float, step: int = 0) -> Sums:  # noqa: ARG002 - the same at every step
        def again(weights_BTS: Tensor) -> Tensor:
            return self._weight * looked_at_again(weights_BTS, counting(batch))

        return looked(model, batch, self._looking, again, scale=scale)


def looked_at_again(weights_BTS: Tensor, counting_BT: Tensor) -> Tensor:
    """The sum of min(a_t, c_t) over the positions that count."""
    covered_BTS = weights_BTS.cumsum(1) - weights_BTS
    return (torch.minimum(weights_BTS, covered_BTS).sum(2) * counting_BT).sum()
