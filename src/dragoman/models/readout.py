"""Readouts: from a decoder's state and what attention read to the vector that the output layer sees.

    joined   [a; s]                                nothing to learn
    tanh     tanh(W [a; s])                        Luong's attentional vector
    maxout   max of each pair in U [a; s; e] + b   Bahdanau's, with e the embedding of the previous word

Bahdanau's text gives the word's distribution as a function of the state s_i, its appendix of s_{i-1}: here it is s_i.
Without attention there is no `a`.

Shapes as in seq2seq.py, and: Y size of what attention reads, E size of an embedding, X size of the vector.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, assert_never, final

import torch
from torch import Tensor, nn

from dragoman.errors import ModelError
from dragoman.models.embedding import Output
from dragoman.models.linear import Linear
from dragoman.models.unrolled import linear_map

if TYPE_CHECKING:
    from collections.abc import Callable

    from dragoman.models.embedding import TokenEmbedding

__all__ = ["Readout", "ReadoutName", "output_layer"]

ReadoutName = Literal["joined", "tanh", "maxout"]


@final
class Readout(nn.Module):
    """The readout of that name."""

    def __init__(
        self, name: ReadoutName, *, state_size: int, context_size: int, embedding_size: int, size: int
    ) -> None:
        super().__init__()
        joined = state_size + context_size
        self.name: ReadoutName = name
        self.size = joined if name == "joined" else size
        self.map: Linear | None
        match name:
            case "joined":
                self.map = None
            case "tanh":
                self.map = Linear(joined, size, bias=False)
            case "maxout":
                self.map = Linear(joined + embedding_size, 2 * size)
            case _:
                assert_never(name)

    def forward(self, states_ND: Tensor, contexts_NY: Tensor | None, embedded_NE: Tensor) -> Tensor:
        """The vectors, one for each state."""
        return self.applied(self.product(unrolled=False), states_ND, contexts_NY, embedded_NE)

    def product(self, *, unrolled: bool) -> Callable[[Tensor], Tensor]:
        """The readout's map: for a loop that will be differentiated, or plainly."""
        return _same if self.map is None else linear_map(self.map.weight, self.map.bias, unrolled=unrolled)

    def applied(
        self,
        product: Callable[[Tensor], Tensor],
        states_ND: Tensor,
        contexts_NY: Tensor | None,
        embedded_NE: Tensor,
    ) -> Tensor:
        """The vectors, by a map that `product` gave."""
        parts = [states_ND] if contexts_NY is None else [contexts_NY, states_ND]
        match self.name:
            case "joined":
                return product(torch.cat(parts, dim=-1))
            case "tanh":
                return torch.tanh(product(torch.cat(parts, dim=-1)))
            case "maxout":
                doubled_NX = product(torch.cat([*parts, embedded_NE], dim=-1))
                return torch.maximum(doubled_NX[..., 0::2], doubled_NX[..., 1::2])
            case _:
                assert_never(self.name)


def output_layer(target: TokenEmbedding, size: int, *, tied: bool) -> Output:
    """A linear map from vectors of `size` to the target's words, with a bias and a table of its own or the target's."""
    vocabulary, embedding_size = target.weight.shape
    if not tied:
        return Output.separate(vocabulary, size, bias=True)
    if size != embedding_size:
        raise ModelError(
            f"a tied output layer sees vectors of the embeddings' size {embedding_size}, got {size}",
            place="model.tied_output",
            remedy="Set readout to tanh or maxout and readout_size to the embeddings' size.",
        )
    return Output(target.weight, bias=True)


def _same(joined_NX: Tensor) -> Tensor:
    return joined_NX
