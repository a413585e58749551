"""Attention scores: how well a query matches a key. Five of them.

    name         score                        parameters
    dot          qᵀk                          none
    scaled_dot   qᵀk / √d                     none
    general      qᵀ W k                       W
    concat       vᵀ tanh(W [q; k])            v, W
    additive     vᵀ tanh(W₁ q + W₂ k)         v, W₁, W₂

Whatever of a score depends on the source alone is done once, in `keys`. What depends on the query alone is a product
with `query_weight`, where there is any; the call then compares projected queries with projected keys.

Shapes as in seq2seq.py, and: Q size of a query, Y size of a source vector, A size of a projected key.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, Protocol, assert_never, final

import torch
from torch import Tensor, nn

from dragoman.errors import ModelError
from dragoman.models.linear import Linear, linear

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "AdditiveScore",
    "ConcatScore",
    "DotScore",
    "GeneralScore",
    "ScaledDotScore",
    "Score",
    "ScoreName",
    "score",
]

ScoreName = Literal["dot", "scaled_dot", "general", "concat", "additive"]

MOST_ENERGIES = 1 << 22  # numbers inside one tanh: beyond a few megabytes the processor waits for memory


class Score(Protocol):
    """A score between queries and keys; a torch module."""

    @property
    def query_weight(self) -> Tensor | None:
        """The map of the queries; nothing where they are compared as they are."""
        ...

    def keys(self, memory_BSY: Tensor) -> Tensor:
        """The part of the score that depends on the source alone, one key for each source vector."""
        ...

    def __call__(self, queries_BTA: Tensor, keys_BSA: Tensor) -> Tensor:
        """Scores, [B, T, S]."""
        ...


@final
class DotScore(nn.Module):
    """`qᵀk`, without any parameter."""

    query_weight = None

    def keys(self, memory_BSY: Tensor) -> Tensor:
        return memory_BSY

    def forward(self, queries_BTA: Tensor, keys_BSA: Tensor) -> Tensor:
        return torch.bmm(queries_BTA, keys_BSA.transpose(1, 2))


@final
class ScaledDotScore(nn.Module):
    """`qᵀk / √d`, without any parameter."""

    query_weight = None

    def keys(self, memory_BSY: Tensor) -> Tensor:
        return memory_BSY / math.sqrt(memory_BSY.shape[-1])

    def forward(self, queries_BTA: Tensor, keys_BSA: Tensor) -> Tensor:
        return torch.bmm(queries_BTA, keys_BSA.transpose(1, 2))


@final
class GeneralScore(nn.Module):
    """`qᵀ W k`, a bilinear form: keys and queries may be of different size."""

    query_weight = None

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__()
        self.map = Linear(memory_size, query_size, bias=False)

    def keys(self, memory_BSY: Tensor) -> Tensor:
        projected: Tensor = self.map(memory_BSY)
        return projected

    def forward(self, queries_BTA: Tensor, keys_BSA: Tensor) -> Tensor:
        return torch.bmm(queries_BTA, keys_BSA.transpose(1, 2))


@final
class ConcatScore(nn.Module):
    """`vᵀ tanh(W [q; k])`, one map over query and key together."""

    def __init__(self, query_size: int, memory_size: int, size: int) -> None:
        super().__init__()
        self.query_size = query_size
        self.map = Linear(query_size + memory_size, size, bias=False)
        self.energy = Linear(size, 1, bias=False)

    @property
    def query_weight(self) -> Tensor:
        return self.map.weight[:, : self.query_size]

    def keys(self, memory_BSY: Tensor) -> Tensor:
        # W [q; k] is W's left part times q plus its right part times k, and only the first changes from step to step.
        return linear(memory_BSY, self.map.weight[:, self.query_size :])

    def forward(self, queries_BTA: Tensor, keys_BSA: Tensor) -> Tensor:
        return _energies(queries_BTA, keys_BSA, self.energy.weight)


@final
class AdditiveScore(nn.Module):
    """`vᵀ tanh(W₁ q + W₂ k)`, with a map for the query and another for the key."""

    def __init__(self, query_size: int, memory_size: int, size: int) -> None:
        super().__init__()
        self.query_map = Linear(query_size, size, bias=False)
        self.key_map = Linear(memory_size, size, bias=False)
        self.energy = Linear(size, 1, bias=False)

    @property
    def query_weight(self) -> Tensor:
        return self.query_map.weight

    def keys(self, memory_BSY: Tensor) -> Tensor:
        projected: Tensor = self.key_map(memory_BSY)
        return projected

    def forward(self, queries_BTA: Tensor, keys_BSA: Tensor) -> Tensor:
        return _energies(queries_BTA, keys_BSA, self.energy.weight)


def score(name: ScoreName, *, query_size: int, memory_size: int, size: int) -> Score:
    """The score of that name; `size` is that of the hidden layer of concat and additive."""
    match name:
        case "dot" | "scaled_dot":
            if query_size != memory_size:
                raise ModelError(
                    f"the {name} score needs queries and keys of one size, got {query_size} and {memory_size}",
                    place="model.score",
                    remedy="Make both the same (a bidirectional encoder yields twice its size), or use general.",
                )
            return DotScore() if name == "dot" else ScaledDotScore()
        case "general":
            return GeneralScore(query_size, memory_size)
        case "concat":
            return ConcatScore(query_size, memory_size, size)
        case "additive":
            return AdditiveScore(query_size, memory_size, size)
        case _:
            assert_never(name)


def _energies(queries_BTA: Tensor, keys_BSA: Tensor, energy_1A: Tensor) -> Tensor:
    """`vᵀ tanh(q + k)` of each query with each key, a piece of the queries at a time."""
    pieces = [
        torch.matmul((piece_BtA.unsqueeze(2) + keys_BSA.unsqueeze(1)).tanh_(), energy_1A[0])
        for piece_BtA in _pieces(queries_BTA, keys_BSA.numel())
    ]
    return pieces[0] if len(pieces) == 1 else torch.cat(pieces, dim=1)


def _pieces(queries_BTA: Tensor, each: int) -> Iterator[Tensor]:
    if queries_BTA.shape[1] <= 1 or not each:
        yield queries_BTA
    else:
        yield from torch.split(queries_BTA, max(1, MOST_ENERGIES // each), dim=1)
