"""Embedding: token ids to vectors, positions, and the output layer that may share the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.models.dropout import Dropout, WordDropout
from dragoman.models.linear import Linear, linear
from dragoman.models.seq2seq import Hidden, Source, Vectors
from dragoman.settings import Settings

if TYPE_CHECKING:
    from dragoman.models.norm import Norm
    from dragoman.models.positions import Learned, Sinusoidal

__all__ = ["EmbeddingSettings", "Entry", "Output", "TextSource", "TokenEmbedding", "Transform"]


class EmbeddingSettings(Settings, frozen=True, kw_only=True):
    """Embeddings and the output layer."""

    shared: bool = True
    """One table for source and target: needs a joint vocabulary."""
    tied_output: bool = True
    """The output layer uses the target's table."""
    scaled: bool = True
    """Multiply embeddings by the root of the model's size."""
    normalised: bool = False
    """LayerNorm after embeddings and positions, as in BART."""
    output_bias: bool = False
    """A bias for each word in the output layer, as in Marian."""
    output_scaled: bool = False
    """Divide decoder outputs by the root of the model's size before a tied output layer, as in T5."""
    output_transformed: bool = False
    """One more map, GELU and LayerNorm before the output layer, as in BERT and UniLM."""


class TokenEmbedding(nn.Module):
    """A table with one vector for each token."""

    def __init__(self, vocabulary: int, size: int, *, scale: float = 1.0) -> None:
        super().__init__()
        self.scale = scale
        self.weight = nn.Parameter(torch.empty(vocabulary, size))
        nn.init.normal_(self.weight, std=size**-0.5)

    def forward(self, ids: Tensor) -> Tensor:
        """A vector for each id, times the scale."""
        vectors = functional.embedding(ids, self.weight)
        return vectors if self.scale == 1.0 else vectors * self.scale


class TextSource(nn.Module):
    """The vectors of a source of token ids."""

    def __init__(self, embedding: TokenEmbedding) -> None:
        super().__init__()
        self.embedding = embedding

    def forward(self, source: Source) -> Vectors:
        """One vector for each token."""
        assert source.ids_BS is not None, "a text model reads token ids"
        return Vectors(self.embedding(source.ids_BS), source.lengths_B)


class Entry(nn.Module):
    """The way into a stack of layers: word dropout, positions, normalisation, dropout."""

    def __init__(
        self,
        *,
        positions: Sinusoidal | Learned | None = None,
        norm: Norm | None = None,
        dropout: float = 0.0,
        words: float = 0.0,
    ) -> None:
        super().__init__()
        self.positions = positions
        self.norm = norm
        self.dropout = Dropout(dropout)
        self.words = WordDropout(words)

    def forward(self, vectors_BTD: Tensor, positions_BT: Tensor) -> Tensor:
        """The vectors, ready for the first layer; the positions' axes must fit those of the vectors."""
        x_BTD: Tensor = self.words(vectors_BTD)
        if self.positions is not None:
            x_BTD = x_BTD + self.positions(positions_BT, x_BTD.dtype)
        if self.norm is not None:
            x_BTD = self.norm(x_BTD)
        result: Tensor = self.dropout(x_BTD)
        return result


class Transform(nn.Module):
    """A map, GELU and a norm between a stack and its output layer."""

    def __init__(self, size: int, norm: Norm) -> None:
        super().__init__()
        self.map = Linear(size, size)
        self.norm = norm

    def forward(self, x_ND: Tensor) -> Tensor:
        """The vectors that the output layer sees."""
        result: Tensor = self.norm(functional.gelu(self.map(x_ND)))
        return result


class Output(nn.Module):
    """A linear map from decoder outputs to logits, with a table of its own or an embedding's."""

    def __init__(
        self,
        weight_VD: nn.Parameter,
        *,
        bias: bool = False,
        scale: float = 1.0,
        transform: Transform | None = None,
    ) -> None:
        super().__init__()
        self.weight = weight_VD
        self.bias = nn.Parameter(torch.zeros(weight_VD.shape[0])) if bias else None
        self.scale = scale
        self.transform = transform

    @classmethod
    def separate(cls, vocabulary: int, size: int, *, bias: bool = False, transform: Transform | None = None) -> Output:
        """An output layer with a table of its own."""
        weight_VD = nn.Parameter(torch.empty(vocabulary, size))
        nn.init.normal_(weight_VD, std=size**-0.5)
        return cls(weight_VD, bias=bias, transform=transform)

    def forward(self, hidden: Hidden) -> Tensor:
        """Logits, [N, V]."""
        x_ND = hidden.vectors_ND if self.transform is None else self.transform(hidden.vectors_ND)
        return linear(x_ND if self.scale == 1.0 else x_ND * self.scale, self.weight, self.bias)
