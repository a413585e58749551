"""Reading through attention with any of the five scores: softmax over positions, weighted sum of values.

Shapes as in seq2seq.py, and: Q size of a state that asks, A size of query and key, Y size of a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import torch
from torch import Tensor, nn

from dragoman.models.memory import Memory
from dragoman.models.unrolled import linear_map

if TYPE_CHECKING:
    from collections.abc import Callable

    from dragoman.models.attention import Mask
    from dragoman.models.score import Score
    from dragoman.models.seq2seq import Vectors

__all__ = ["Reading"]


@final
class Reading(nn.Module):
    """Attention of one head; values are the vectors that are read, or a learned map of them."""

    def __init__(self, score: Score, value_map: nn.Module | None = None) -> None:
        super().__init__()
        self.score = score
        self.value_map = value_map or nn.Identity()

    def memory(self, source: Vectors, ids_MS: Tensor | None = None) -> Memory:
        """What is read of a source, projected once for all steps."""
        keys_MSA, values_MSY = self.keys_and_values(source.vectors_BSD)
        return Memory.of([(keys_MSA.unsqueeze(1), values_MSY.unsqueeze(1))], source.lengths_B, ids_MS=ids_MS)

    def keys_and_values(self, vectors_MSY: Tensor) -> tuple[Tensor, Tensor]:
        """A key and a value for each vector."""
        return self.score.keys(vectors_MSY), self.value_map(vectors_MSY)

    def asking(self, *, unrolled: bool) -> Callable[[Tensor], Tensor]:
        """The map from states to queries: for a loop that will be differentiated, or plainly."""
        weight_AQ = self.score.query_weight
        return _same if weight_AQ is None else linear_map(weight_AQ, unrolled=unrolled)

    def read(self, queries_MTA: Tensor, keys_MSA: Tensor, values_MSY: Tensor, mask: Mask) -> tuple[Tensor, Tensor]:
        """What each query reads, [M, T, Y], and its attention, [M, T, S]."""
        scores_MTS = self.score(queries_MTA, keys_MSA)
        if mask.bias is not None:
            scores_MTS = scores_MTS + mask.bias[:, 0]
        weights_MTS = torch.softmax(scores_MTS, dim=-1)
        return torch.bmm(weights_MTS, values_MSY), weights_MTS

    def of(self, memory: Memory, queries_MTA: Tensor) -> tuple[Tensor, Tensor]:
        """As `read`, of a source; the hypotheses of one sentence may stand beside each other on the axis T."""
        ((keys_M1SA, values_M1SY),) = memory.layers
        return self.read(queries_MTA, keys_M1SA.squeeze(1), values_M1SY.squeeze(1), memory.mask)


def _same(states_MTQ: Tensor) -> Tensor:
    return states_MTQ
