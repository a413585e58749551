"""The past of a decoder-only model: a prefix, kept once for each sentence, and what each row has said since."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import torch

from dragoman.models.attention import Mask

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from dragoman.models.cache import Cache
    from dragoman.models.memory import Memory

__all__ = ["PrefixPast"]


@dataclass(frozen=True, slots=True)
class PrefixPast:
    """Keys and values of the prefix and of the positions after it, under one softmax."""

    prefix: Memory
    cache: Cache
    mask: Mask = field(default_factory=Mask)
    """For the newest position and the prefix, [R or 1, H or 1, 1, S]."""

    @property
    def positions(self) -> Tensor:
        """The position of the next token of each row, [R]."""
        return self.prefix.lengths_M[self.prefix.sentence_R] + self.cache.positions

    def advanced(self, relative: Callable[[Tensor], Tensor] | None = None) -> PrefixPast:
        """The past with room for one more position, which the layers then fill."""
        prefix = self.prefix
        mask = prefix.mask
        if mask.bias is not None:
            mask = Mask(mask.bias[prefix.sentence_R])
        if relative is not None:
            places_S = torch.arange(prefix.size, device=prefix.lengths_M.device)
            bias_RSH = relative(places_S - self.positions[:, None])
            mask = mask.plus(bias_RSH.transpose(1, 2)[:, :, None])
        return replace(self, cache=self.cache.advanced(relative), mask=mask)

    def attend(
        self, layer: int, queries_RH1K: Tensor, keys_RG1K: Tensor, values_RG1K: Tensor, *, scale: float
    ) -> Tensor:
        """Attention of the newest position to the prefix, to itself and to what lies between, [R, H, K]."""
        keys_RGCK, values_RGCK = self.cache.write(layer, keys_RG1K, values_RG1K)
        keys_MGSK, values_MGSK = self.prefix.layers[layer]
        rows, heads, _, size = queries_RH1K.shape
        groups = keys_RGCK.shape[1]
        # The query heads of a group, and the rows of a sentence, are like further query positions.
        queries_RGQK = (queries_RH1K * scale).reshape(rows, groups, heads // groups, size)
        own_RHC = torch.matmul(queries_RGQK, keys_RGCK.transpose(-1, -2)).reshape(rows, heads, -1)
        prefix_RHS = self._product(queries_RGQK, keys_MGSK.transpose(-1, -2)).reshape(rows, heads, -1)
        if self.mask.bias is not None:
            prefix_RHS = prefix_RHS + self.mask.bias[:, :, 0]
        if self.cache.mask.bias is not None:
            own_RHC = own_RHC + self.cache.mask.bias[:, :, 0]
        weights_RGQX = torch.cat([prefix_RHS, own_RHC], dim=-1).softmax(-1).view(rows, groups, heads // groups, -1)
        length = prefix_RHS.shape[-1]
        looked_RGQK = self._product(weights_RGQX[..., :length], values_MGSK)
        looked_RGQK = looked_RGQK + torch.matmul(weights_RGQX[..., length:], values_RGCK)
        return looked_RGQK.reshape(rows, heads, size)

    def _product(self, left_RGQX: Tensor, right_MGXY: Tensor) -> Tensor:
        """The product of each row with the matrix of its sentence, [R, G, Q, Y]."""
        packing = self.prefix.packing
        packed_MPGQX = packing.pack(left_RGQX)
        result_MGQY = torch.matmul(packed_MPGQX.transpose(1, 2).flatten(2, 3), right_MGXY)
        sentences, widest, groups, queries, _ = packed_MPGQX.shape
        return packing.unpack(result_MGQY.view(sentences, groups, widest, queries, -1).transpose(1, 2))

    def select(self, rows_R: Tensor) -> PrefixPast:
        """The past whose row i was row `rows_R[i]`."""
        return PrefixPast(self.prefix.select(rows_R), self.cache.select(rows_R))

    def join(self, other: PrefixPast) -> PrefixPast:
        """The past with the sentences and rows of `other` below."""
        return PrefixPast(self.prefix.join(other.prefix), self.cache.join(other.cache))
