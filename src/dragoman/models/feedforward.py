"""The feed-forward sub-layer: W₂ f(W₁x + b₁) + b₂, or its gated form W₂ (f(W₁x) ⊙ W₃x)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, assert_never

from torch import nn
from torch.nn import functional

from dragoman.models.dropout import Dropout
from dragoman.models.linear import Linear
from dragoman.settings import Meta, Settings

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Activation", "FeedForward", "FeedForwardSettings", "activate"]

Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]


class FeedForwardSettings(Settings, frozen=True, kw_only=True):
    """The feed-forward sub-layer."""

    size: Annotated[int, Meta(ge=1)] = 2048
    """Inner size."""
    activation: Activation = "relu"
    """ReLU, GELU (exact, or by tanh as T5 1.1 does) or SiLU, also called swish."""
    gated: bool = False
    """A second map multiplies the activation."""


class FeedForward(nn.Module):
    """Two linear maps with an activation between them, each position by itself."""

    def __init__(
        self,
        size: int,
        inner: int,
        *,
        activation: Activation = "relu",
        gated: bool = False,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.activation: Activation = activation
        self.gated = gated
        self.blocks = (inner, inner) if gated else (inner,)
        self.inputs = Linear(size, sum(self.blocks), bias=bias)
        self.output = Linear(inner, size, bias=bias)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """The sub-layer's output."""
        inner: Tensor = self.inputs(x)
        if self.gated:
            opened, passed = inner.chunk(2, dim=-1)
            inner = activate(self.activation, opened) * passed
        else:
            inner = activate(self.activation, inner)
        output: Tensor = self.output(self.dropout(inner))
        return output


def activate(activation: Activation, x: Tensor) -> Tensor:
    """The activation of each value."""
    match activation:
        case "relu":
            return functional.relu(x)
        case "gelu":
            return functional.gelu(x)
        case "gelu_tanh":
            return functional.gelu(x, approximate="tanh")
        case "silu":
            return functional.silu(x)
        case _:
            assert_never(activation)
