"""Linear maps prepared once, for inference on a processor: weights packed in float32, bfloat16 or int8.

In int8 each row of weights has a scale of its own, and so has each row of what comes in, taken from its largest
value. What a row becomes therefore does not depend on the rows beside it:

    x = s · q,  s = max|x| / 127        x Wᵀ + b = s · (q Qᵀ) ⊙ scales + b,  where q Qᵀ is exact in int32

Shapes: N rows, D size of what comes in, V size of what comes out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, assert_never

import torch
from torch.nn import functional

from dragoman.models.linear import onednn_has_linear

if TYPE_CHECKING:
    from torch import Tensor

    from dragoman.devices import NumberFormat

__all__ = ["Product", "Rows", "product", "quantized"]

_LEVELS = 127
_MIDDLE = 128
"""What zero is called where int8 is stored without a sign."""
_LEAST = torch.tensor(1e-30)
"""Added to a step, so that a row of zeros can be divided by it."""
_SMALL = 1 << 18
"""Multiplications below which oneDNN's call costs more than the product."""
_LARGE = 1 << 19
"""Weights from this number on are packed; for smaller ones an operator that packs costs more than it saves."""


class Product(Protocol):
    """X Wᵀ + b of float32 rows, [N, D] to [N, V]."""

    def __call__(self, x_ND: Tensor, /) -> Tensor: ...


def product(weight_VD: Tensor, bias_V: Tensor | None = None, *, precision: NumberFormat) -> Product:
    """The linear map with these weights, computed in a number format."""
    return Rows(weight_VD, bias_V, precision=precision).product()


class Rows:
    """Weights in a number format, of which some rows can be taken for a map to fewer columns."""

    def __init__(self, weight_VD: Tensor, bias_V: Tensor | None = None, *, precision: NumberFormat) -> None:
        self._precision: NumberFormat = precision
        self._weight_VD = weight_VD.detach()
        self._scales_V: Tensor | None = None
        self._bias_V = None if bias_V is None else bias_V.detach()
        match precision:
            case "float32":
                return
            case "bfloat16":
                self._weight_VD = self._weight_VD.bfloat16()
                self._bias_V = None if self._bias_V is None else self._bias_V.bfloat16()
            case "int8":
                whole_VD, scales_V1 = quantized(self._weight_VD.float())
                self._weight_VD, self._scales_V = whole_VD.to(torch.int8), scales_V1[:, 0].contiguous()
                self._bias_V = None if self._bias_V is None else self._bias_V.float()
            case _:
                assert_never(precision)

    def product(self, rows_N: Tensor | None = None) -> Product:
        """The linear map with these rows of weights, or with all."""

        def chosen(values: Tensor | None) -> Tensor | None:
            return values if values is None or rows_N is None else values[rows_N]

        weight_VD = self._weight_VD if rows_N is None else self._weight_VD[rows_N]
        bias_V, scales_V = chosen(self._bias_V), chosen(self._scales_V)
        if scales_V is not None:
            large = weight_VD.numel() >= _LARGE and hasattr(torch.ops.onednn, "qlinear_pointwise")
            return (_PackedInt8 if large else _Int8)(weight_VD, scales_V, bias_V)
        inner: Product = (_Packed if onednn_has_linear() else _Plain)(weight_VD, bias_V)
        return inner if self._precision == "float32" else _Half(inner)


def quantized(x_ND: Tensor) -> tuple[Tensor, Tensor]:
    """Rows as whole numbers from -127 to 127, still floats, and what one of them is worth in each row, [N, 1]."""
    steps_N1 = torch.add(_LEAST, x_ND.abs().amax(1, keepdim=True), alpha=1 / _LEVELS)
    return torch.div(x_ND, steps_N1).round_(), steps_N1


class _Plain:
    """torch's own path."""

    def __init__(self, weight_VD: Tensor, bias_V: Tensor | None) -> None:
        self._weight_VD, self._bias_V = weight_VD, bias_V

    def __call__(self, x_ND: Tensor) -> Tensor:
        return functional.linear(x_ND, self._weight_VD, self._bias_V)


class _Packed:
    """float32 or bfloat16 weights in the order in which oneDNN reads them; torch's own path where that is quicker."""

    def __init__(self, weight_VD: Tensor, bias_V: Tensor | None) -> None:
        reordered = getattr(torch.ops.mkldnn, "_reorder_linear_weight", None)
        self._plain = _Plain(weight_VD, bias_V)
        self._weight = weight_VD if reordered is None else reordered(weight_VD.contiguous())
        self._bias_V = bias_V
        self._size = weight_VD.numel()

    def __call__(self, x_ND: Tensor) -> Tensor:
        if x_ND.shape[0] * self._size < _SMALL:
            return self._plain(x_ND)
        result: Tensor = torch.ops.mkldnn._linear_pointwise(x_ND, self._weight, self._bias_V, "none", [], "")  # noqa: SLF001 - no public name
        return result


class _Half:
    """bfloat16 products; what comes in and goes out is float32."""

    def __init__(self, inner: Product) -> None:
        self._inner = inner

    def __call__(self, x_ND: Tensor) -> Tensor:
        return self._inner(x_ND.bfloat16()).float()


class _Int8:
    """int8 weights, multiplied as they are."""

    def __init__(self, whole_VD: Tensor, scales_V: Tensor, bias_V: Tensor | None) -> None:
        self._weight_DV = whole_VD.t()
        self._scales_V, self._bias_V = scales_V, bias_V

    def __call__(self, x_ND: Tensor) -> Tensor:
        whole_ND, steps_N1 = quantized(x_ND)
        sums_NV = torch._int_mm(whole_ND.to(torch.int8), self._weight_DV)  # noqa: SLF001 - no public name
        result = sums_NV.float().mul_(steps_N1)
        if self._bias_V is None:
            return result.mul_(self._scales_V)
        return torch.addcmul(self._bias_V, result, self._scales_V, out=result)


class _PackedInt8:
    """int8 weights in the order in which oneDNN reads them; the product comes out in float32, scaled by column."""

    def __init__(self, whole_VD: Tensor, scales_V: Tensor, bias_V: Tensor | None) -> None:
        self._weight = torch.ops.onednn.qlinear_prepack(whole_VD, None)
        self._scales_V, self._bias_V = scales_V, bias_V
        self._zeros_V = torch.zeros(whole_VD.shape[0], dtype=torch.int32)

    def __call__(self, x_ND: Tensor) -> Tensor:
        whole_ND, steps_N1 = quantized(x_ND)
        shifted_ND = whole_ND.add_(_MIDDLE).to(torch.uint8)  # without a sign the operator is quick, with one it is not
        result: Tensor = torch.ops.onednn.qlinear_pointwise(
            shifted_ND,
            1.0,
            _MIDDLE,
            self._weight,
            self._scales_V,
            self._zeros_V,
            None,
            1.0,
            0,
            torch.float32,
            "none",
            [],
            "",
        )
        if self._bias_V is None:
            return result.mul_(steps_N1)
        return torch.addcmul(self._bias_V, result, steps_N1, out=result)
