"""What a decoder knows of its sources: keys and values of each layer, once for each sentence, however many
hypotheses share it.

The hypotheses of one sentence are laid beside each other like further query positions:

    sentence_R = 0 0 0 1 2 2      packed, P = 3:   sentence 0:  r0 r1 r2
                                                   sentence 1:  r3  .  .
                                                   sentence 2:  r4 r5  .
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from dragoman.models.attention import Mask, padding_mask
from dragoman.models.cache import is_identity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Memory", "Packing"]


@dataclass(frozen=True)
class Packing:
    """Where each row stands when the rows of a sentence are side by side."""

    sentence_R: Tensor
    sentences: int

    @cached_property
    def widest(self) -> int:
        """Most rows that share a sentence."""
        return int(self.counts.max()) if self.sentence_R.numel() else 1

    @cached_property
    def counts(self) -> Tensor:
        """Rows of each sentence."""
        return torch.bincount(self.sentence_R, minlength=self.sentences)

    @cached_property
    def _places(self) -> Tensor | None:
        """The place of each row; nothing where the rows are in place already."""
        rows, width = self.sentence_R.shape[0], self.widest
        in_order_R = torch.arange(rows, device=self.sentence_R.device)
        if rows == self.sentences * width and torch.equal(self.sentence_R, in_order_R // width):
            return None
        order_R = self.sentence_R.argsort(stable=True)
        begins_M = self.counts.cumsum(0) - self.counts
        rank_R = torch.empty_like(order_R)
        rank_R[order_R] = in_order_R - begins_M[self.sentence_R[order_R]]
        return self.sentence_R * width + rank_R

    @cached_property
    def ranks(self) -> Tensor:
        """The place of each row among those of its sentence."""
        if self._places is None:
            return torch.arange(self.widest, device=self.sentence_R.device).repeat(self.sentences)
        return self._places - self.sentence_R * self.widest

    def pack(self, rows: Tensor) -> Tensor:
        """[R, …] as [M, P, …]; empty places hold zeros."""
        if self._places is None:
            return rows.reshape(self.sentences, self.widest, *rows.shape[1:])
        packed = rows.new_zeros(self.sentences * self.widest, *rows.shape[1:])
        return packed.index_copy(0, self._places, rows).view(self.sentences, self.widest, *rows.shape[1:])

    def unpack(self, packed: Tensor) -> Tensor:
        """[M, P, …] as [R, …]."""
        flat = packed.flatten(0, 1)
        return flat if self._places is None else flat.index_select(0, self._places)


@dataclass(frozen=True)
class Memory:
    """Tensors of source sentences, and which sentence each decoder row belongs to."""

    layers: tuple[tuple[Tensor, Tensor], ...]
    """Keys and values of each layer, [M, G, S, K]."""
    lengths_M: Tensor
    sentence_R: Tensor
    ids_MS: Tensor | None = None
    """Token ids, for a decoder that copies."""

    @classmethod
    def of(cls, layers: Sequence[tuple[Tensor, Tensor]], lengths_M: Tensor, *, ids_MS: Tensor | None = None) -> Memory:
        """A memory with one row for each sentence."""
        sentence_R = torch.arange(lengths_M.shape[0], device=lengths_M.device)
        return cls(tuple(layers), lengths_M, sentence_R, ids_MS)

    @property
    def size(self) -> int:
        """Positions of the longest sentence, padding included."""
        return self.layers[0][0].shape[2] if self.layers else 0

    @cached_property
    def packing(self) -> Packing:
        """Where the rows stand."""
        return Packing(self.sentence_R, self.lengths_M.shape[0])

    @cached_property
    def mask(self) -> Mask:
        """Hides padding, [M, 1, 1, S]."""
        keys = self.layers[0][0]
        return padding_mask(self.lengths_M, keys.shape[2], keys.dtype)

    def each(self, change: Callable[[Tensor], Tensor]) -> Memory:
        """The same with each of its keys and values changed."""
        return replace(self, layers=tuple((change(keys), change(values)) for keys, values in self.layers))

    def select(self, rows_R: Tensor) -> Memory:
        """The memory for the rows `rows_R`; sentences without a row go, once half of them have none."""
        if is_identity(rows_R, self.sentence_R.shape[0]):
            return self
        sentence_R = self.sentence_R[rows_R]
        used_M, renamed_R = sentence_R.unique(return_inverse=True)  # type: ignore[no-untyped-call]  # torch's
        if used_M.shape[0] * 2 > self.lengths_M.shape[0]:
            return replace(self, sentence_R=sentence_R)
        lengths_M = self.lengths_M[used_M]
        longest = int(lengths_M.max()) if lengths_M.numel() else 0

        def kept(tensor: Tensor) -> Tensor:
            return tensor.index_select(0, used_M)[:, :, :longest]

        return Memory(
            tuple((kept(keys), kept(values)) for keys, values in self.layers),
            lengths_M,
            renamed_R,
            None if self.ids_MS is None else self.ids_MS[used_M, :longest],
        )

    def join(self, other: Memory) -> Memory:
        """The memory with the sentences and rows of `other` after its own."""
        size = max(self.size, other.size)

        def joined(a: Tensor, b: Tensor) -> Tensor:
            return torch.cat([functional.pad(t, (0, 0, 0, size - t.shape[2])) for t in (a, b)])

        ids_MS = None
        if self.ids_MS is not None and other.ids_MS is not None:
            ids_MS = torch.cat([functional.pad(t, (0, size - t.shape[1])) for t in (self.ids_MS, other.ids_MS)])
        return Memory(
            tuple((joined(a[0], b[0]), joined(a[1], b[1])) for a, b in zip(self.layers, other.layers, strict=True)),
            torch.cat([self.lengths_M, other.lengths_M]),
            torch.cat([self.sentence_R, other.sentence_R + self.lengths_M.shape[0]]),
            ids_MS,
        )

    def beside(self, x_RD: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """A sub-layer applied to the rows, laid beside each other by sentence."""
        return self.packing.unpack(sublayer(self.packing.pack(x_RD)))
