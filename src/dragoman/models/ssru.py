"""The simpler simple recurrent unit (Kim et al. 2019), which takes the place of self-attention in a quick decoder:

    f_t = sigmoid(W_f x_t + b_f)
    c_t = f_t ⊙ c_{t-1} + (1 - f_t) ⊙ W x_t
    h_t = ReLU(c_t)

Its past is one vector for each layer, however long the text is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from dragoman.models.linear import Linear

if TYPE_CHECKING:
    from collections.abc import Callable

    from dragoman.models.attention import Attend, Mask
    from dragoman.models.positions import Rotation

__all__ = ["SSRU", "Cells", "scan", "scan_plainly"]


class SSRU(nn.Module):
    """The recurrence over a sequence; both its maps are one product. There is no mask to heed: it only looks back."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.blocks = (size, size)
        self.inputs = Linear(size, 2 * size, bias=False)
        self.forget_bias = nn.Parameter(torch.zeros(size))

    def forward(
        self,
        x_BTD: Tensor,
        *,
        mask: Mask | None = None,
        rotation: Rotation | None = None,
        attend: Attend | None = None,
    ) -> Tensor:
        """The sub-layer's output at every position; what concerns attention is not looked at."""
        del mask, rotation, attend
        forget_BTD, candidate_BTD = self._projected(x_BTD)
        return scan(forget_BTD, candidate_BTD).relu()

    def step(self, x_RD: Tensor, past: Cells, layer: int, *, rotation: Rotation | None = None) -> Tensor:
        """The sub-layer's output for the newest position, whose cell replaces the last one."""
        del rotation
        forget_RD, candidate_RD = self._projected(x_RD)
        cell_RD = torch.lerp(candidate_RD, past.layers[layer], forget_RD)
        past.layers[layer] = cell_RD
        return cell_RD.relu()

    def _projected(self, x: Tensor) -> tuple[Tensor, Tensor]:
        forget, candidate = self.inputs(x).chunk(2, dim=-1)
        return torch.sigmoid(forget + self.forget_bias), candidate


def scan(forget_BTD: Tensor, candidate_BTD: Tensor) -> Tensor:
    """c_t = f_t c_{t-1} + (1 - f_t) z_t from c = 0, with one pass forward and one back."""
    result: Tensor = _Scan.apply(forget_BTD, candidate_BTD)  # type: ignore[no-untyped-call]  # torch's
    return result


def scan_plainly(forget_BTD: Tensor, candidate_BTD: Tensor) -> Tensor:
    """The same, step by step, for torch to differentiate."""
    cell = torch.zeros_like(candidate_BTD[:, 0])
    cells = []
    for forget, candidate in zip(forget_BTD.unbind(1), candidate_BTD.unbind(1), strict=True):
        cell = forget * cell + (1 - forget) * candidate
        cells.append(cell)
    return torch.stack(cells, dim=1)


class _Scan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, forget_BTD: Tensor, candidate_BTD: Tensor) -> Tensor:
        cells_BTD = (1 - forget_BTD) * candidate_BTD
        for t in range(1, cells_BTD.shape[1]):
            cells_BTD[:, t].addcmul_(forget_BTD[:, t], cells_BTD[:, t - 1])
        ctx.save_for_backward(forget_BTD, candidate_BTD, cells_BTD)
        return cells_BTD

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        forget_BTD, candidate_BTD, cells_BTD = ctx.saved_tensors
        for_cells_BTD = gradients[0].clone(memory_format=torch.contiguous_format)
        for t in range(for_cells_BTD.shape[1] - 1, 0, -1):
            for_cells_BTD[:, t - 1].addcmul_(forget_BTD[:, t], for_cells_BTD[:, t])
        before_BTD = torch.zeros_like(cells_BTD)
        before_BTD[:, 1:] = cells_BTD[:, :-1]
        return for_cells_BTD * (before_BTD - candidate_BTD), for_cells_BTD * (1 - forget_BTD)


@dataclass(frozen=True, slots=True)
class Cells:
    """The cell of each layer, [R, D], and how many tokens each row has seen."""

    layers: list[Tensor]
    positions: Tensor
    """The position of the next token of each row, [R]."""

    @classmethod
    def empty(cls, layers: int, rows: int, like_D: Tensor) -> Cells:
        """Cells at rest, of the number format and device of `like_D`."""
        cells = [like_D.new_zeros(rows, like_D.shape[-1]) for _ in range(layers)]
        return cls(cells, torch.zeros(rows, dtype=torch.long, device=like_D.device))

    def advanced(self, relative: Callable[[Tensor], Tensor] | None = None) -> Cells:
        """Cells one token later, which the layers then replace; distances mean nothing here."""
        del relative
        return Cells(list(self.layers), self.positions + 1)

    def select(self, rows_R: Tensor) -> Cells:
        """The cells whose row i was row `rows_R[i]`."""
        return Cells([cell.index_select(0, rows_R) for cell in self.layers], self.positions[rows_R])

    def join(self, other: Cells) -> Cells:
        """The cells with the rows of `other` below."""
        layers = [torch.cat(pair) for pair in zip(self.layers, other.layers, strict=True)]
        return Cells(layers, torch.cat([self.positions, other.positions]))
