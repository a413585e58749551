"""Linear maps. In float32 on a CPU they go through oneDNN, which there can be twice as fast as torch's own path."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["Linear", "linear", "weight_gradient"]


# Below this many rows oneDNN is no faster, and a decoder's step has another number of rows each time: oneDNN prepares
# a kernel for every new shape.
_FEWEST_ROWS = 48
# The gradient of a weight sums over rows. Whole pieces of this many go through oneDNN, the rest through torch's own
# path, so that few kernels serve batches of all sizes.
_PIECE = 256


class Linear(nn.Linear):
    """A linear map that computes through `linear`; otherwise torch's."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name
        """X Wᵀ + b."""
        return linear(input, self.weight, self.bias)


def linear(
    input_ND: Tensor, weight_VD: Tensor, bias_V: Tensor | None = None, *, fewest_rows: int = _FEWEST_ROWS
) -> Tensor:
    """X Wᵀ + b for any number of leading axes; with fewer rows than `fewest_rows` it goes by torch's own path.

    A loop that calls with the same shape again and again gains from the first row on.
    """
    if _goes_through_onednn(input_ND, weight_VD, fewest_rows):
        result: Tensor = _OneDnnLinear.apply(input_ND, weight_VD, bias_V)  # type: ignore[no-untyped-call]  # torch's
        return result
    return functional.linear(input_ND, weight_VD, bias_V)


def _goes_through_onednn(input_ND: Tensor, weight_VD: Tensor, fewest_rows: int) -> bool:
    # A compiler or exporter must see torch's own operator, and autocast has to choose the number format itself.
    return (
        input_ND.device.type == "cpu"
        and input_ND.dtype is torch.float32
        and weight_VD.dtype is torch.float32
        and input_ND.numel() >= max(1, fewest_rows * weight_VD.shape[1])
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
        and onednn_has_linear()
    )


def onednn_has_linear() -> bool:
    """Whether this build of torch can run a linear map through oneDNN."""
    return hasattr(torch.ops.mkldnn, "_linear_pointwise")


def _product(left_NK: Tensor, right_MK: Tensor, bias_M: Tensor | None = None) -> Tensor:
    """Left · rightᵀ + bias; the two may be transposed views."""
    left_NK, right_MK = _dense(left_NK), _dense(right_MK)
    result: Tensor = torch.ops.mkldnn._linear_pointwise(left_NK, right_MK, bias_M, "none", [], "")  # noqa: SLF001 - no public name
    return result


def _dense(matrix: Tensor) -> Tensor:
    # oneDNN is a thousand times slower on a slice of columns: it compiles anew for every call.
    dense = matrix.is_contiguous() or (matrix.dim() == 2 and matrix.t().is_contiguous())
    return matrix if dense else matrix.contiguous()


def weight_gradient(gradient_NV: Tensor, input_ND: Tensor) -> Tensor:
    """gradientᵀ · input."""
    whole = gradient_NV.shape[0] // _PIECE * _PIECE
    # A gradient that is itself differentiated keeps to torch's path.
    if torch.is_grad_enabled() or not _goes_through_onednn(gradient_NV[:whole], gradient_NV.t(), 1):
        return gradient_NV.t() @ input_ND
    result_VD = _transposed_product(gradient_NV[:whole], input_ND[:whole])
    if whole < gradient_NV.shape[0]:
        result_VD.addmm_(gradient_NV[whole:].t(), input_ND[whole:])
    return result_VD


def _transposed_product(left_NV: Tensor, right_ND: Tensor) -> Tensor:
    """leftᵀ · right. oneDNN copies its left factor where it is transposed, so the narrower one stands there."""
    if left_NV.shape[1] <= right_ND.shape[1]:
        return _product(left_NV.t(), right_ND.t())
    return _product(right_ND.t(), left_NV.t()).t().contiguous()


class _OneDnnLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input_ND: Tensor, weight_VD: Tensor, bias_V: Tensor | None) -> Tensor:
        ctx.save_for_backward(input_ND, weight_VD)
        return _product(input_ND, weight_VD, bias_V)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        input_ND, weight_VD = ctx.saved_tensors
        gradient_NV = gradients[0].reshape(-1, weight_VD.shape[0])
        for_input = for_weight = for_bias = None
        if ctx.needs_input_grad[0]:
            for_input = linear(gradient_NV, weight_VD.t()).view(input_ND.shape)
        if ctx.needs_input_grad[1]:
            for_weight = weight_gradient(gradient_NV, input_ND.reshape(-1, input_ND.shape[-1]))
        if ctx.needs_input_grad[2]:
            for_bias = gradient_NV.sum(0)
        return for_input, for_weight, for_bias
