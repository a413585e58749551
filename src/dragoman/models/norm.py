"""Normalisation: LayerNorm a·(x-μ)/√(σ²+ε)+b and RMSNorm a·x/√(mean x²+ε), and the residual around each sub-layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, assert_never

from torch import nn

from dragoman.models.dropout import Dropout
from dragoman.settings import Meta, Settings

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Norm", "NormKind", "NormSettings", "Residual", "norm"]

NormKind = Literal["layer", "rms"]
Norm = nn.LayerNorm | nn.RMSNorm


class NormSettings(Settings, frozen=True, kw_only=True):
    """Which normalisation, and where."""

    formula: NormKind = "layer"
    """LayerNorm (mean and variance, with a bias) or RMSNorm (the root mean square alone, without one)."""
    place: Literal["pre", "post"] = "pre"
    """Before each sub-layer, with one more at the end of the stack; or after each residual sum, as Vaswani 2017."""
    epsilon: Annotated[float, Meta(gt=0, lt=1)] = 1e-5
    """What is added to the variance."""


def norm(formula: NormKind, size: int, *, epsilon: float = 1e-5) -> Norm:
    """A normalisation of the last axis."""
    match formula:
        case "layer":
            return nn.LayerNorm(size, eps=epsilon)
        case "rms":
            return nn.RMSNorm(size, eps=epsilon)
        case _:
            assert_never(formula)


class Residual(nn.Module):
    """The path around a sub-layer: where its input is normalised, and how its output joins."""

    def __init__(self, norm: Norm, *, before: bool, dropout: float) -> None:
        super().__init__()
        self.norm = norm
        self.before = before
        self.dropout = Dropout(dropout)

    def enter(self, x: Tensor) -> Tensor:
        """What the sub-layer reads."""
        normalised: Tensor = self.norm(x) if self.before else x
        return normalised

    def leave(self, x: Tensor, result: Tensor) -> Tensor:
        """What the layer goes on with."""
        total = self.dropout.onto(x, result)
        return total if self.before else self.norm(total)
