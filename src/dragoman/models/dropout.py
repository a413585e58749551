"""Dropout: of single values, of whole words, of attention weights, of whole layers.

On a CPU torch draws one random number for each value, on one thread; here each 64-bit draw serves four values, and is
compared straight into the format that multiplies. The draws come from torch's default generator, so that a saved
random state brings the same masks back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.settings import Meta, Settings

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Dropout",
    "DropoutSettings",
    "VariationalDropout",
    "WordDropout",
    "draw",
    "drop",
    "drop_onto",
    "keep",
    "skips",
]

Rate = Annotated[float, Meta(ge=0, lt=1)]
_LEVELS = 1 << 16


class DropoutSettings(Settings, frozen=True, kw_only=True):
    """How often each kind of dropout strikes in training. In use, nothing is dropped."""

    hidden: Rate = 0.1
    """Share of values set to zero after embedding and in each sub-layer's output."""
    attention: Rate = 0.0
    """Share of attention weights set to zero."""
    feedforward: Rate = 0.0
    """Share of values set to zero inside the feed-forward layer, after its activation."""
    source_words: Rate = 0.0
    """Share of source positions whose embedding is set to zero."""
    target_words: Rate = 0.0
    """Share of decoder inputs whose embedding is set to zero."""
    layers: Rate = 0.0
    """Share of layers skipped (LayerDrop)."""


class Dropout(nn.Module):
    """Each value is zero with probability `rate` in training; the others grow, so that the mean stays."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, values: Tensor) -> Tensor:
        return drop(values, self.rate) if self.training else values

    def onto(self, x: Tensor, values: Tensor) -> Tensor:
        """The sum of x and the values after dropout."""
        return drop_onto(x, values, self.rate) if self.training else x + values

    def extra_repr(self) -> str:
        return f"{self.rate:g}"


class WordDropout(nn.Module):
    """Whole positions are zero with probability `rate` in training; the others stay as they are."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, vectors_BTD: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return vectors_BTD
        mask_BT1 = torch.rand(*vectors_BTD.shape[:-1], 1, device=vectors_BTD.device) >= self.rate
        return vectors_BTD * mask_BT1

    def extra_repr(self) -> str:
        return f"{self.rate:g}"


class VariationalDropout(nn.Module):
    """The same values of every step are zero in training, a choice made once a sentence: dropout for recurrence."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, vectors_BTD: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return vectors_BTD
        return vectors_BTD * drop(torch.ones_like(vectors_BTD[:, 0]), self.rate).unsqueeze(1)

    def fixed(self, like_RD: Tensor) -> Callable[[Tensor], Tensor]:
        """The dropout of one loop over steps: a map of each step's vectors, which are shaped as `like_RD`."""
        if not self.training or self.rate == 0:
            return _unchanged
        mask_RD = drop(torch.ones_like(like_RD), self.rate)
        return lambda vectors_RD: vectors_RD * mask_RD

    def extra_repr(self) -> str:
        return f"{self.rate:g}"


def drop(values: Tensor, rate: float) -> Tensor:
    """The values with a share of them set to zero, and the others divided by the share kept."""
    if rate == 0:
        return values
    if not _draws_itself(values):
        return functional.dropout(values, rate)
    result: Tensor = _Drop.apply(values, rate)  # type: ignore[no-untyped-call]  # torch's
    return result


def drop_onto(x: Tensor, values: Tensor, rate: float) -> Tensor:
    """The sum of x and the values after dropout, in one pass."""
    alike = x.dtype == values.dtype and x.shape == values.shape
    if rate == 0 or not alike or not _draws_itself(values):
        return x + drop(values, rate)
    result: Tensor = _DropOnto.apply(x, values, rate)  # type: ignore[no-untyped-call]  # torch's
    return result


def _draws_itself(values: Tensor) -> bool:
    return values.device.type == "cpu" and not torch.compiler.is_compiling()


def _unchanged(values: Tensor) -> Tensor:
    return values


def skips(rate: float) -> bool:
    """Whether to skip a layer this time: true with probability `rate`."""
    return rate > 0 and bool(torch.rand(()) < rate)


def draw(shape: torch.Size) -> Tensor:
    """A random number of 16 bits for each value."""
    count = shape.numel()
    draws = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    numbers: Tensor = draws.view(torch.int16)[:count].view(shape)
    return numbers


def keep(numbers: Tensor, rate: float, dtype: torch.dtype) -> tuple[Tensor, float]:
    """One for each value to keep and zero for the others; and the exact share kept: the rate rounded to 1/65,536."""
    threshold = min(round(rate * _LEVELS), _LEVELS - 1)
    ones = torch.empty(numbers.shape, dtype=dtype)
    return torch.ge(numbers, threshold - _LEVELS // 2, out=ones), 1 - threshold / _LEVELS


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, rate: float) -> Tensor:
        numbers = draw(values.shape)
        ctx.save_for_backward(numbers)  # a float mask would take twice the memory, and hardly less time
        ctx.rate = rate
        ones, share = keep(numbers, rate, values.dtype)
        return ones.mul_(values).mul_(1 / share)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (numbers,) = ctx.saved_tensors
        ones, share = keep(numbers, ctx.rate, gradients[0].dtype)
        return ones.mul_(gradients[0]).mul_(1 / share), None


class _DropOnto(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, values: Tensor, rate: float) -> Tensor:
        numbers = draw(values.shape)
        ctx.save_for_backward(numbers)
        ctx.rate = rate
        ones, share = keep(numbers, rate, values.dtype)
        return torch.addcmul(x, values, ones, value=1 / share)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        (numbers,) = ctx.saved_tensors
        ones, share = keep(numbers, ctx.rate, gradients[0].dtype)
        return gradients[0], ones.mul_(gradients[0]).mul_(1 / share), None
