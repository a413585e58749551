"""Recurrent cells: vanilla, GRU and LSTM, from the pre-activations of their gates to what a layer carries on.

    vanilla   h' = tanh(x + h)
    GRU       r = sig(x_r + h_r)   z = sig(x_z + h_z)   n = tanh(x_n + r ∘ h_n)   h' = (1 - z) ∘ n + z ∘ h
    LSTM      i, f, o = sig(x + h)   g = tanh(x_g + h_g)   c' = f ∘ c + i ∘ g   h' = o ∘ tanh(c')

`sig` is the logistic function; `x` stands for the input's product with the input weights and `h` for the state's with
the recurrent ones, biases included. Both are computed elsewhere, the first of them for all steps at once. The reset
gate of the GRU works on the product, as in every fused kernel, and not on the state before it as in the first paper.

Shapes as in seq2seq.py, and: Z pre-activations, the gates of one cell side by side (in torch's order).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, assert_never

import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["GATES", "Carry", "CellName", "advance"]

CellName = Literal["vanilla", "gru", "lstm"]

GATES: dict[CellName, int] = {"vanilla": 1, "gru": 3, "lstm": 4}
"""Blocks of pre-activations of each cell."""


@dataclass(frozen=True, slots=True)
class Carry:
    """What one layer carries from step to step."""

    hidden_RD: Tensor
    cell_RD: Tensor | None = None
    """The inner memory of an LSTM."""

    def each(self, change: Callable[[Tensor], Tensor]) -> Carry:
        """The same with each of its tensors changed."""
        return Carry(change(self.hidden_RD), None if self.cell_RD is None else change(self.cell_RD))

    def select(self, rows_R: Tensor) -> Carry:
        """The rows at `rows_R`, in their order."""
        cell = None if self.cell_RD is None else self.cell_RD.index_select(0, rows_R)
        return Carry(self.hidden_RD.index_select(0, rows_R), cell)

    def join(self, other: Carry) -> Carry:
        """These rows, then those of `other`."""
        hidden = torch.cat((self.hidden_RD, other.hidden_RD))
        if self.cell_RD is None or other.cell_RD is None:
            return Carry(hidden)
        return Carry(hidden, torch.cat((self.cell_RD, other.cell_RD)))


def advance(cell: CellName, inputs_RZ: Tensor, recurrent_RZ: Tensor, carry: Carry) -> Carry:
    """What is carried after one more step."""
    match cell:
        case "vanilla":
            return Carry(torch.tanh(inputs_RZ + recurrent_RZ))
        case "gru":
            return _gru(inputs_RZ, recurrent_RZ, carry)
        case "lstm":
            return _lstm(inputs_RZ, recurrent_RZ, carry)
        case _:
            assert_never(cell)


def _gru(inputs_RZ: Tensor, recurrent_RZ: Tensor, carry: Carry) -> Carry:
    size = carry.hidden_RD.shape[-1]
    inputs_R2, inputs_RD = torch.split(inputs_RZ, [2 * size, size], dim=-1)
    recurrent_R2, recurrent_RD = torch.split(recurrent_RZ, [2 * size, size], dim=-1)
    reset_RD, keep_RD = torch.sigmoid(inputs_R2 + recurrent_R2).chunk(2, dim=-1)
    new_RD = torch.tanh(inputs_RD + reset_RD * recurrent_RD)
    return Carry(new_RD + keep_RD * (carry.hidden_RD - new_RD))


def _lstm(inputs_RZ: Tensor, recurrent_RZ: Tensor, carry: Carry) -> Carry:
    assert carry.cell_RD is not None
    size = carry.hidden_RD.shape[-1]
    gates_RZ = inputs_RZ + recurrent_RZ
    write_keep_R2, new_RD, show_RD = torch.split(gates_RZ, [2 * size, size, size], dim=-1)
    write_RD, keep_RD = torch.sigmoid(write_keep_R2).chunk(2, dim=-1)
    cell_RD = keep_RD * carry.cell_RD + write_RD * torch.tanh(new_RD)
    return Carry(torch.sigmoid(show_RD) * torch.tanh(cell_RD), cell_RD)
