"""A linear map inside a loop over time, whose weight's gradient is one product after the loop's backward pass.

Autograd by itself would add a whole weight matrix to the gradient at every step: a thin product, and three trips
through memory for a matrix that is larger than the batch. Here each step notes its input and its output's gradient;
when the last of them is through, all notes together make one thick product.

    weight ──▶ _Gather ──▶ token ──▶ _Step(x₁) ──▶ y₁
                             └─────▶ _Step(x₂) ──▶ y₂        backward: each _Step notes (x, ∂y) and returns ∂x;
                             └─────▶ …                       _Gather runs after all of them: ∂W = Σ ∂yᵀ x

Shapes: R rows, I size of the input, O size of the output.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from dragoman.models.linear import linear, weight_gradient

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["UnrolledLinear", "linear_map"]


@final
class UnrolledLinear:
    """`x ↦ W x + b` for every step of one loop; made afresh for each loop. Has no second derivative."""

    def __init__(self, weight_OI: Tensor, bias_O: Tensor | None = None) -> None:
        device = weight_OI.device.type
        if torch.is_autocast_enabled(device):
            weight_OI = weight_OI.to(torch.get_autocast_dtype(device))
        weight_OI = weight_OI.contiguous()
        self._notes = _Notes(weight_OI.detach())
        self._bias_O = bias_O
        self._token: Tensor = _Gather.apply(weight_OI, self._notes)  # type: ignore[no-untyped-call]  # torch's

    def __call__(self, inputs_RI: Tensor) -> Tensor:
        """The map of one step's inputs."""
        typed_RI = inputs_RI.to(self._notes.weight_OI.dtype)
        outputs_RO: Tensor = _Step.apply(typed_RI, self._token, self._notes)  # type: ignore[no-untyped-call]  # torch's
        return outputs_RO if self._bias_O is None else outputs_RO + self._bias_O


def linear_map(weight_OI: Tensor, bias_O: Tensor | None = None, *, unrolled: bool) -> Callable[[Tensor], Tensor]:
    """`x ↦ W x + b`: for a loop that will be differentiated, or plainly."""
    if unrolled and torch.is_grad_enabled() and weight_OI.requires_grad:
        return UnrolledLinear(weight_OI, bias_O)
    return lambda inputs_RI: linear(inputs_RI, weight_OI, bias_O)


@dataclass(slots=True)
class _Notes:
    """What the steps of one backward pass leave for the weight."""

    weight_OI: Tensor
    inputs: list[Tensor] = field(default_factory=list)
    gradients: list[Tensor] = field(default_factory=list)
    passing: int = -1

    def add(self, inputs_RI: Tensor, gradient_RO: Tensor) -> None:
        """Note one step. What an earlier pass left, which never asked for the weight, is thrown away."""
        passing = torch._C._current_graph_task_id()  # noqa: SLF001 - no public name for the pass that is running
        if passing != self.passing:
            self.inputs.clear()
            self.gradients.clear()
            self.passing = passing
        self.inputs.append(inputs_RI)
        self.gradients.append(gradient_RO)

    def take(self) -> Tensor:
        """The weight's gradient; the notes are empty afterwards."""
        gradient_OI = weight_gradient(torch.cat(self.gradients), torch.cat(self.inputs))
        self.inputs.clear()
        self.gradients.clear()
        return gradient_OI


class _Gather(torch.autograd.Function):
    """The token that ties each step to the weight."""

    @staticmethod
    def forward(ctx: Any, weight_OI: Tensor, notes: _Notes) -> Tensor:
        ctx.notes = notes
        return weight_OI.new_zeros(())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, _token: Tensor) -> tuple[Tensor | None, None]:
        return (ctx.notes.take() if ctx.notes.inputs else None), None


class _Step(torch.autograd.Function):
    """One step's product, which leaves its part of the weight's gradient in the notes."""

    @staticmethod
    def forward(ctx: Any, inputs_RI: Tensor, token: Tensor, notes: _Notes) -> Tensor:
        ctx.save_for_backward(inputs_RI, notes.weight_OI, token)
        ctx.notes = notes
        return linear(inputs_RI, notes.weight_OI, fewest_rows=1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient_RO: Tensor) -> tuple[Tensor | None, Tensor, None]:
        inputs_RI, weight_OI, token = ctx.saved_tensors
        ctx.notes.add(inputs_RI, gradient_RO)
        wanted = ctx.needs_input_grad[0]
        return (linear(gradient_RO, weight_OI.t(), fewest_rows=1) if wanted else None), torch.zeros_like(token), None
