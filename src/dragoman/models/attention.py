"""Attention: softmax(QKᵀ·scale + mask) V in several heads, its masks, and what a decoder keeps of its past.

Two paths compute the same: `fused` (torch's one operator) and `plain` (the formula, product by product). `attend`
takes the one that is faster. Groups of query heads may share one head of keys and values (grouped-query attention).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.models.dropout import drop
from dragoman.models.linear import Linear
from dragoman.settings import Meta, Settings

if TYPE_CHECKING:
    from dragoman.models.positions import Rotation

__all__ = [
    "Attend",
    "AttentionSettings",
    "AttentivePast",
    "CrossAttention",
    "Heads",
    "Keeper",
    "Mask",
    "Recorder",
    "SelfAttention",
    "Watcher",
    "attend",
    "blocked",
    "counted",
    "earlier_mask",
    "fused",
    "padding_mask",
    "plain",
    "prefix_mask",
    "weights",
    "within",
]


class AttentionSettings(Settings, frozen=True, kw_only=True):
    """Multi-head attention."""

    heads: Annotated[int, Meta(ge=1)] = 8
    """Heads of queries."""
    key_heads: Annotated[int, Meta(ge=1)] | None = None
    """Heads of keys and values: fewer than `heads` for grouped-query attention; nothing means as many."""
    head_size: Annotated[int, Meta(ge=1)] | None = None
    """Size of a head; nothing means the model's size divided by the heads."""
    scaled: bool = True
    """Divide scores by the root of the head's size. T5 does not."""


@dataclass(frozen=True, slots=True)
class Heads:
    """The shape of multi-head attention."""

    queries: int
    keys: int
    size: int
    scale: float

    @classmethod
    def of(cls, size: int, heads: int) -> Heads:
        """Heads that share `size` evenly, scores divided by the root of their size."""
        return cls(heads, heads, size // heads, (size // heads) ** -0.5)


# ---- masks -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mask:
    """What a query may look at."""

    bias: Tensor | None = None
    """Added to the scores; its axes are those of BHTS, or 1."""
    causal: bool = False
    """Query t sees keys up to t. Queries and keys are of the same sequence, from its begin."""

    def plus(self, bias_1HTS: Tensor) -> Mask:
        """The mask with something more added to the scores, as one bias."""
        if self.causal:
            allowed_TS = _causal(bias_1HTS.shape[2], bias_1HTS.shape[3], bias_1HTS.device)
            bias_1HTS = bias_1HTS.masked_fill(~allowed_TS, torch.finfo(bias_1HTS.dtype).min)
        if self.bias is not None:
            bias_1HTS = (bias_1HTS + self.bias).clamp_min(torch.finfo(bias_1HTS.dtype).min)
        return Mask(bias_1HTS)


def within(lengths_B: Tensor, size: int) -> Tensor:
    """True at the positions that are not padding, [B, size]."""
    return torch.arange(size, device=lengths_B.device) < lengths_B[:, None]


def counted(vectors_BTD: Tensor, lengths_B: Tensor) -> Tensor:
    """The vectors at positions that are not padding, sentence after sentence, [N, D]."""
    size = vectors_BTD.shape[1]
    if bool((lengths_B >= size).all()):
        return vectors_BTD.reshape(-1, vectors_BTD.shape[-1])
    rows_N = within(lengths_B, size).view(-1).nonzero().squeeze(1)
    return vectors_BTD.reshape(-1, vectors_BTD.shape[-1]).index_select(0, rows_N)


def blocked(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    """Zero where allowed; elsewhere the least finite number, which leaves a row without any allowed key finite."""
    return torch.zeros(allowed.shape, dtype=dtype, device=allowed.device).masked_fill_(~allowed, torch.finfo(dtype).min)


def _causal(queries: int, keys: int, device: torch.device) -> Tensor:
    places = torch.arange(max(queries, keys), device=device)
    return places[None, :keys] <= places[:queries, None]


def padding_mask(lengths_B: Tensor, size: int, dtype: torch.dtype) -> Mask:
    """A mask that hides padding; empty where there is none."""
    if bool((lengths_B >= size).all()):
        return Mask()
    return Mask(blocked(within(lengths_B, size), dtype)[:, None, None])


def prefix_mask(prefix_B: Tensor, *, prefix_size: int, size: int, causal_prefix: bool, dtype: torch.dtype) -> Mask:
    """The mask of a padded prefix followed by `size` further positions.

            prefix  pad  target
    prefix    full   0     0       (or causal)
    target    full   0   causal
    """
    total = prefix_size + size
    places = torch.arange(total, device=prefix_B.device)
    causal_TS = _causal(total, total, prefix_B.device)
    in_prefix_BS = functional.pad(within(prefix_B, prefix_size), (0, size))
    if causal_prefix:
        real_BS = in_prefix_BS | (places >= prefix_size)
        return Mask(blocked(causal_TS & real_BS[:, None], dtype)[:, None])
    target_TS = causal_TS & (places >= prefix_size)
    return Mask(blocked(target_TS | in_prefix_BS[:, None], dtype)[:, None])


def earlier_mask(first_B: Tensor, size: int, *, dtype: torch.dtype, newest_only: bool = False) -> Mask:
    """A mask under which each position sees those before it, from `first_B` on; the first sees itself.

    It serves a recurrent state, which knows itself already. `newest_only` yields the last position's row alone.
    """
    places = torch.arange(size, device=first_B.device)
    asking_T = places[-1:] if newest_only else places
    first_B11 = first_B[:, None, None]
    before_BTS = (places < asking_T[:, None]) | (asking_T[:, None] == first_B11)
    return Mask(blocked(before_BTS & (places >= first_B11) & (places <= asking_T[:, None]), dtype)[:, None])


# ---- the formula, twice ----------------------------------------------------------------------------------------


class Attend(Protocol):
    """A way to compute attention."""

    def __call__(
        self,
        queries_BHTK: Tensor,
        keys_BGSK: Tensor,
        values_BGSK: Tensor,
        *,
        mask: Mask,
        scale: float,
        dropout: float = 0.0,
    ) -> Tensor: ...


def attend(
    queries_BHTK: Tensor,
    keys_BGSK: Tensor,
    values_BGSK: Tensor,
    *,
    mask: Mask,
    scale: float,
    dropout: float = 0.0,
) -> Tensor:
    """Attention by the faster path, [B, H, T, K]."""
    # On a CPU the fused operator is slow backwards below float32, and has no dropout of its own.
    half = queries_BHTK.dtype in (torch.bfloat16, torch.float16)
    on_cpu = queries_BHTK.device.type == "cpu"
    path = plain if on_cpu and (half or dropout > 0) else fused
    return path(queries_BHTK, keys_BGSK, values_BGSK, mask=mask, scale=scale, dropout=dropout)


def fused(
    queries_BHTK: Tensor,
    keys_BGSK: Tensor,
    values_BGSK: Tensor,
    *,
    mask: Mask,
    scale: float,
    dropout: float = 0.0,
) -> Tensor:
    """Attention in one operator."""
    bias = mask.bias
    if bias is not None:
        bias = _joined(mask, queries_BHTK, keys_BGSK)
        bias = bias.expand(*bias.shape[:2], queries_BHTK.shape[2], keys_BGSK.shape[2])
    return functional.scaled_dot_product_attention(
        queries_BHTK,
        keys_BGSK,
        values_BGSK,
        attn_mask=bias,
        dropout_p=dropout,
        is_causal=mask.causal and bias is None,
        scale=scale,
        enable_gqa=queries_BHTK.shape[1] != keys_BGSK.shape[1],
    )


def plain(
    queries_BHTK: Tensor,
    keys_BGSK: Tensor,
    values_BGSK: Tensor,
    *,
    mask: Mask,
    scale: float,
    dropout: float = 0.0,
) -> Tensor:
    """Attention product by product."""
    weights_BHTS = drop(weights(queries_BHTK, keys_BGSK, mask=mask, scale=scale), dropout)
    return torch.matmul(weights_BHTS, _repeated(values_BGSK, queries_BHTK.shape[1]))


def weights(queries_BHTK: Tensor, keys_BGSK: Tensor, *, mask: Mask, scale: float) -> Tensor:
    """softmax(QKᵀ·scale + mask), [B, H, T, S]."""
    keys_BHSK = _repeated(keys_BGSK, queries_BHTK.shape[1])
    scores_BHTS = torch.matmul(queries_BHTK * scale, keys_BHSK.transpose(-1, -2))
    if mask.bias is not None or mask.causal:
        scores_BHTS = scores_BHTS + _joined(mask, queries_BHTK, keys_BGSK)
    return scores_BHTS.softmax(-1)


class Recorder:
    """The plain path, which keeps the weights of every call without their gradients."""

    def __init__(self) -> None:
        self.weights_LBHTS: list[Tensor] = []

    def __call__(
        self,
        queries_BHTK: Tensor,
        keys_BGSK: Tensor,
        values_BGSK: Tensor,
        *,
        mask: Mask,
        scale: float,
        dropout: float = 0.0,
    ) -> Tensor:
        """Attention product by product."""
        weights_BHTS = weights(queries_BHTK, keys_BGSK, mask=mask, scale=scale)
        self.weights_LBHTS.append(weights_BHTS.detach())
        return torch.matmul(drop(weights_BHTS, dropout), _repeated(values_BGSK, queries_BHTK.shape[1]))

    def stacked(self) -> Tensor | None:
        """The weights of all calls, layers first; nothing where there was no attention."""
        return torch.stack(self.weights_LBHTS) if self.weights_LBHTS else None


class Watcher:
    """The faster path, but the plain one over certain keys, whose weights it keeps with their gradients."""

    def __init__(self, keys_BGSK: Tensor) -> None:
        self._keys_BGSK = keys_BGSK
        self.weights_BHTS: Tensor | None = None
        """Before dropout; nothing until the keys have been asked."""

    def __call__(
        self,
        queries_BHTK: Tensor,
        keys_BGSK: Tensor,
        values_BGSK: Tensor,
        *,
        mask: Mask,
        scale: float,
        dropout: float = 0.0,
    ) -> Tensor:
        """Attention by the faster path, or product by product."""
        if keys_BGSK is not self._keys_BGSK:
            return attend(queries_BHTK, keys_BGSK, values_BGSK, mask=mask, scale=scale, dropout=dropout)
        self.weights_BHTS = weights(queries_BHTK, keys_BGSK, mask=mask, scale=scale)
        return torch.matmul(drop(self.weights_BHTS, dropout), _repeated(values_BGSK, queries_BHTK.shape[1]))


class Keeper:
    """The faster path, which keeps the keys and values of every call: what a prefix leaves behind."""

    def __init__(self) -> None:
        self.layers: list[tuple[Tensor, Tensor]] = []

    def __call__(
        self,
        queries_BHTK: Tensor,
        keys_BGSK: Tensor,
        values_BGSK: Tensor,
        *,
        mask: Mask,
        scale: float,
        dropout: float = 0.0,
    ) -> Tensor:
        """Attention by the faster path."""
        self.layers.append((keys_BGSK, values_BGSK))
        return attend(queries_BHTK, keys_BGSK, values_BGSK, mask=mask, scale=scale, dropout=dropout)


def _joined(mask: Mask, queries_BHTK: Tensor, keys_BGSK: Tensor) -> Tensor:
    """The mask as one bias."""
    if mask.causal and mask.bias is None:
        allowed_TS = _causal(queries_BHTK.shape[2], keys_BGSK.shape[2], queries_BHTK.device)
        return blocked(allowed_TS, queries_BHTK.dtype)[None, None]
    assert mask.bias is not None
    if not mask.causal:
        return mask.bias
    joined = mask.plus(mask.bias.new_zeros(1, 1, queries_BHTK.shape[2], keys_BGSK.shape[2])).bias
    assert joined is not None
    return joined


def _repeated(heads_BGSK: Tensor, heads: int) -> Tensor:
    """Each head of keys or values once for each query head that uses it."""
    groups = heads_BGSK.shape[1]
    return heads_BGSK if groups == heads else heads_BGSK.repeat_interleave(heads // groups, dim=1)


class AttentivePast(Protocol):
    """The past of a decoder that attends to it."""

    def attend(
        self, layer: int, queries_RH1K: Tensor, keys_RG1K: Tensor, values_RG1K: Tensor, *, scale: float
    ) -> Tensor:
        """Attention of the newest position to itself and the past, [R, H, K]."""
        ...


# ---- the sub-layers --------------------------------------------------------------------------------------------


class SelfAttention(nn.Module):
    """Attention of a sequence to itself; queries, keys and values come out of one product."""

    def __init__(self, size: int, *, heads: Heads, bias: bool = True, dropout: float = 0.0) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.blocks = (heads.queries * heads.size, heads.keys * heads.size, heads.keys * heads.size)
        self.inputs = Linear(size, sum(self.blocks), bias=bias)
        self.output = Linear(heads.queries * heads.size, size, bias=bias)

    def forward(
        self, x_BTD: Tensor, *, mask: Mask, rotation: Rotation | None = None, attend: Attend = attend
    ) -> Tensor:
        """The sub-layer's output at every position."""
        queries_BHTK, keys_BGSK, values_BGSK = self._projected(x_BTD)
        if rotation is not None:
            queries_BHTK, keys_BGSK = rotation.turn(queries_BHTK), rotation.turn(keys_BGSK)
        dropout = self.dropout if self.training else 0.0
        mixed = attend(queries_BHTK, keys_BGSK, values_BGSK, mask=mask, scale=self.heads.scale, dropout=dropout)
        output: Tensor = self.output(mixed.transpose(1, 2).flatten(2))
        return output

    def step(self, x_RD: Tensor, past: AttentivePast, layer: int, *, rotation: Rotation | None = None) -> Tensor:
        """The sub-layer's output for the newest position, whose keys and values join the past."""
        queries_RH1K, keys_RG1K, values_RG1K = self._projected(x_RD[:, None])
        if rotation is not None:
            queries_RH1K, keys_RG1K = rotation.turn(queries_RH1K), rotation.turn(keys_RG1K)
        mixed_RHK = past.attend(layer, queries_RH1K, keys_RG1K, values_RG1K, scale=self.heads.scale)
        output: Tensor = self.output(mixed_RHK.flatten(1))
        return output

    def _projected(self, x_BTD: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        heads = self.heads
        rows, length = x_BTD.shape[:2]
        joint = self.inputs(x_BTD)
        if heads.queries == heads.keys:
            queries, keys, values = joint.view(rows, length, 3, heads.queries, heads.size).unbind(2)
        else:
            queries, keys, values = (
                piece.view(rows, length, -1, heads.size) for piece in joint.split(self.blocks, dim=-1)
            )
        return queries.transpose(1, 2), keys.transpose(1, 2), values.transpose(1, 2)


class CrossAttention(nn.Module):
    """Attention of a decoder to the source; keys and values come out of one product, once for each sentence."""

    def __init__(
        self, size: int, *, heads: Heads, memory_size: int | None = None, bias: bool = True, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.blocks = (heads.keys * heads.size, heads.keys * heads.size)
        self.queries = Linear(size, heads.queries * heads.size, bias=bias)
        self.memory = Linear(memory_size or size, sum(self.blocks), bias=bias)
        self.output = Linear(heads.queries * heads.size, size, bias=bias)

    def project(self, memory_MSD: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of the source."""
        rows, length = memory_MSD.shape[:2]
        joint = self.memory(memory_MSD).view(rows, length, 2, self.heads.keys, self.heads.size)
        keys, values = joint.unbind(2)
        return keys.transpose(1, 2), values.transpose(1, 2)

    def forward(
        self, x_MTD: Tensor, keys_MGSK: Tensor, values_MGSK: Tensor, *, mask: Mask, attend: Attend = attend
    ) -> Tensor:
        """The sub-layer's output; hypotheses of one sentence may stand beside each other on the axis T."""
        rows, length = x_MTD.shape[:2]
        queries_MHTK = self.queries(x_MTD).view(rows, length, -1, self.heads.size).transpose(1, 2)
        dropout = self.dropout if self.training else 0.0
        mixed = attend(queries_MHTK, keys_MGSK, values_MGSK, mask=mask, scale=self.heads.scale, dropout=dropout)
        output: Tensor = self.output(mixed.transpose(1, 2).flatten(2))
        return output
