"""What a decoder with self-attention keeps of its past: keys and values of every layer, one row for each hypothesis.

Rows end at the same column, so that one write serves all; a row that began later has unused columns on its left:

    row 0   a b c d
    row 1   . . x y      first = 2

States share buffers as long as each only appends: a state writes into the shared buffer if it is the newest one, and
into a copy otherwise. So every state stays as it was, and the usual case copies nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, Self

import torch
from torch import Tensor
from torch.nn import functional

from dragoman.models.attention import Heads, Mask, attend, blocked

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Cache", "Past", "is_identity"]

_SMALLEST = 16


class Past(Protocol):
    """A decoder's memory of what it has said so far, over all layers."""

    @property
    def positions(self) -> Tensor:
        """The position of the next token of each row, [R]."""
        ...

    def advanced(self, relative: Callable[[Tensor], Tensor] | None = None) -> Self:
        """The past with room for one more position, which the layers then fill; `relative` adds to the scores what
        belongs to each distance, heads last.
        """
        ...

    def select(self, rows_R: Tensor) -> Self: ...

    def join(self, other: Self) -> Self: ...


class Buffers:
    """Tensors [R, 2, G, C, K] of all layers; columns before `filled` are taken by some state."""

    def __init__(self, layers: list[Tensor], filled: int) -> None:
        self.layers = layers
        self.filled = filled

    @property
    def capacity(self) -> int:
        return self.layers[0].shape[3]

    def copied(self, length: int, capacity: int) -> Buffers:
        """The first `length` columns, with room for `capacity`."""
        return Buffers([_with_room(b[:, :, :, :length], capacity) for b in self.layers], length)


def _with_room(columns: Tensor, capacity: int) -> Tensor:
    return functional.pad(columns, (0, 0, 0, capacity - columns.shape[3]))


@dataclass(frozen=True, slots=True)
class Cache:
    """Keys and values of the positions so far."""

    buffers: Buffers
    length: int
    """Columns in use by this state."""
    first_R: Tensor
    """The column where each row begins."""
    ragged: bool = False
    """Whether any row begins later than column 0."""
    mask: Mask = field(default_factory=Mask)
    """For the newest position, [R or 1, H or 1, 1, length]."""

    @classmethod
    def empty(cls, layers: int, rows: int, heads: Heads, like: Tensor) -> Cache:
        """A cache of no columns, of the number format and device of `like`."""
        shape = (rows, 2, heads.keys, _SMALLEST, heads.size)
        buffers = Buffers([like.new_zeros(shape) for _ in range(layers)], 0)
        return cls(buffers, 0, torch.zeros(rows, dtype=torch.long, device=like.device))

    @property
    def positions(self) -> Tensor:
        """The position of the next token of each row, [R]."""
        return self.length - self.first_R

    def advanced(self, relative: Callable[[Tensor], Tensor] | None = None) -> Cache:
        """The cache with one more column, which the layers then fill; unused columns of late rows are hidden."""
        buffers, length = self.buffers, self.length
        # Gradients need every state's columns as they were.
        if buffers.filled != length or length == buffers.capacity or torch.is_grad_enabled():
            room = length + 1 if torch.is_grad_enabled() else max(_SMALLEST, 2 * length)
            buffers = buffers.copied(length, room)
        buffers.filled = length + 1
        places = torch.arange(length + 1, device=self.first_R.device)
        mask = Mask()
        if self.ragged:
            allowed_RC = places >= self.first_R[:, None]
            mask = Mask(blocked(allowed_RC, buffers.layers[0].dtype)[:, None, None])
        if relative is not None:
            mask = mask.plus(relative(places - length).t()[None, :, None])
        return replace(self, buffers=buffers, length=length + 1, mask=mask)

    def write(self, layer: int, keys_RG1K: Tensor, values_RG1K: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of a layer, the newest column included, [R, G, C, K]."""
        buffer = self.buffers.layers[layer]
        buffer[:, 0, :, self.length - 1] = keys_RG1K[:, :, 0]
        buffer[:, 1, :, self.length - 1] = values_RG1K[:, :, 0]
        return buffer[:, 0, :, : self.length], buffer[:, 1, :, : self.length]

    def attend(
        self, layer: int, queries_RH1K: Tensor, keys_RG1K: Tensor, values_RG1K: Tensor, *, scale: float
    ) -> Tensor:
        """Attention of the newest position to itself and the past, [R, H, K]."""
        keys_RGCK, values_RGCK = self.write(layer, keys_RG1K, values_RG1K)
        rows, heads, _, size = queries_RH1K.shape
        groups = keys_RGCK.shape[1]
        bias = self.mask.bias
        if groups != heads:  # the heads of a group are like further query positions
            queries_RH1K = queries_RH1K.reshape(rows, groups, heads // groups, size)
            if bias is not None and bias.shape[1] == heads:
                bias = bias.reshape(bias.shape[0], groups, heads // groups, -1)
        mixed = attend(queries_RH1K, keys_RGCK, values_RGCK, mask=Mask(bias), scale=scale)
        return mixed.reshape(rows, heads, size)

    def select(self, rows_R: Tensor) -> Cache:
        """The cache whose row i was row `rows_R[i]`; columns that no row uses any more are given up."""
        if is_identity(rows_R, self.first_R.shape[0]):
            return self
        first_R = self.first_R[rows_R]
        unused = int(first_R.min()) if self.ragged and first_R.numel() else 0
        length = self.length - unused
        layers = [_selected(b[:, :, :, unused : self.length], rows_R) for b in self.buffers.layers]
        first_R = first_R - unused
        return Cache(Buffers(layers, length), length, first_R, ragged=bool((first_R > 0).any()))

    def join(self, other: Cache) -> Cache:
        """The cache with the rows of `other` below; the younger one's rows begin later."""
        length = max(self.length, other.length)
        ours, theirs = length - self.length, length - other.length
        layers = [
            torch.cat([_pushed(a[:, :, :, : self.length], ours), _pushed(b[:, :, :, : other.length], theirs)])
            for a, b in zip(self.buffers.layers, other.buffers.layers, strict=True)
        ]
        first_R = torch.cat([self.first_R + ours, other.first_R + theirs])
        return Cache(Buffers(layers, length), length, first_R, ragged=bool((first_R > 0).any()))


def _selected(columns: Tensor, rows_R: Tensor) -> Tensor:
    """The columns of the rows, with room for more of them."""
    if torch.is_grad_enabled():
        return columns.index_select(0, rows_R)
    _, two, groups, length, size = columns.shape
    buffer = columns.new_empty(rows_R.shape[0], two, groups, max(_SMALLEST, length + length // 2), size)
    torch.index_select(columns, 0, rows_R, out=buffer[:, :, :, :length])
    return buffer


def _pushed(columns: Tensor, places: int) -> Tensor:
    """The columns with empty ones on their left."""
    return functional.pad(columns, (0, 0, places, 0))


def is_identity(rows_R: Tensor, rows: int) -> bool:
    """Whether a selection leaves everything as it is."""
    return rows_R.shape[0] == rows and torch.equal(rows_R, torch.arange(rows, device=rows_R.device))
