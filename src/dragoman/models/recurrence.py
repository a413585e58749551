"""Recurrent layers: one over a whole sequence through a fused kernel, or step by step, and several in a stack.

The weights are shaped and ordered as torch's. Over a whole sequence there are three paths, which agree:

    packed     torch's kernel on packed sequences: the plain way to keep padding out
    held       the LSTM on a CPU: its fast kernel takes no packed sequences, so padding closes the gate that writes
               and opens the one that keeps, and the last state is carried to the end
    unrolled   a loop over the steps: where a state is dropped between steps, no kernel can help; and in training on a
               CPU it is the fastest for large GRUs, since each weight's gradient is one product

Shapes as in seq2seq.py, and: E size of an input, Z pre-activations of the gates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, assert_never, final

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from dragoman.models.attention import within
from dragoman.models.cells import GATES, Carry, CellName, advance
from dragoman.models.dropout import Dropout, VariationalDropout
from dragoman.models.linear import linear
from dragoman.models.unrolled import linear_map
from dragoman.settings import Meta, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "RecurrentDropoutSettings",
    "RecurrentLayer",
    "RecurrentStack",
    "Steps",
    "between_layers",
    "fixed_dropout",
    "reversed_within",
]

Rate = Annotated[float, Meta(ge=0, lt=1)]

LOOPS_FROM = 256  # the size of a state from which a loop with one gradient at its end trains faster than a kernel
CLOSED, OPEN = -1e4, 1e4  # far beyond where the logistic function is exactly 0 or 1


class RecurrentDropoutSettings(Settings, frozen=True, kw_only=True):
    """How often each kind of dropout strikes in training. In use, nothing is dropped."""

    hidden: Rate = 0.2
    """Share of values set to zero after embedding, between layers and in outputs."""
    variational: bool = False
    """The same values are dropped at every step of a sentence, rather than fresh ones."""
    recurrent: Rate = 0.0
    """Share of each state set to zero on its way to the next step, the same at every step. Costs the fused kernels."""
    source_words: Rate = 0.0
    """Share of source positions whose embedding is set to zero."""
    target_words: Rate = 0.0
    """Share of decoder inputs whose embedding is set to zero."""


@final
class RecurrentLayer(nn.Module):
    """One recurrent layer, reading forward."""

    def __init__(self, cell: CellName, input_size: int, size: int, *, recurrent_dropout: float = 0.0) -> None:
        super().__init__()
        self.cell: CellName = cell
        self.input_size, self.size = input_size, size
        self.weight_ih = nn.Parameter(torch.empty(GATES[cell] * size, input_size))
        self.weight_hh = nn.Parameter(torch.empty(GATES[cell] * size, size))
        self.bias_ih = nn.Parameter(torch.empty(GATES[cell] * size))
        self.bias_hh = nn.Parameter(torch.empty(GATES[cell] * size))
        self.recurrent_dropout = VariationalDropout(recurrent_dropout)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(size**-0.5), size**-0.5)

    def start(self, rows: int) -> Carry:
        """A state of zeros."""
        zeros_RD = self.weight_hh.new_zeros(rows, self.size)
        return Carry(zeros_RD, zeros_RD if self.cell == "lstm" else None)

    def gates(self, inputs_BTE: Tensor) -> Tensor:
        """The inputs' half of the gates, for all steps at once."""
        return linear(inputs_BTE, self.weight_ih, self.bias_ih)

    def sequence(
        self,
        inputs_BTE: Tensor,
        carry: Carry | None = None,
        *,
        lengths_B: Tensor | None = None,
    ) -> tuple[Tensor, Carry]:
        """The state at each step, and what each sentence carries on from its last token that counts."""
        carry = carry or self.start(inputs_BTE.shape[0])
        if (self.training and self.recurrent_dropout.rate) or self._loops_faster(inputs_BTE):
            return self.unrolled(inputs_BTE, carry, lengths_B)
        if lengths_B is None:
            return self._fused(inputs_BTE, carry, self._weights())
        if self.cell == "lstm" and inputs_BTE.device.type == "cpu":
            return self.held(inputs_BTE, carry, lengths_B)
        return self.packed(inputs_BTE, carry, lengths_B)

    def packed(self, inputs_BTE: Tensor, carry: Carry, lengths_B: Tensor) -> tuple[Tensor, Carry]:
        """As `sequence`, on packed sequences."""
        packed = pack_padded_sequence(inputs_BTE, lengths_B.cpu(), batch_first=True, enforce_sorted=False)
        assert packed.sorted_indices is not None
        assert packed.unsorted_indices is not None
        hidden_1BD, cell_1BD = _initial(carry.select(packed.sorted_indices))
        arguments = (self._weights(), True, 1, 0.0, self.training, False)
        match self.cell:
            case "vanilla":
                outputs_ND, hidden_1BD = torch.rnn_tanh(packed.data, packed.batch_sizes, hidden_1BD, *arguments)
            case "gru":
                outputs_ND, hidden_1BD = torch.gru(packed.data, packed.batch_sizes, hidden_1BD, *arguments)
            case "lstm":
                outputs_ND, hidden_1BD, cell_1BD = torch.lstm(
                    packed.data, packed.batch_sizes, (hidden_1BD, cell_1BD), *arguments
                )
            case _:
                assert_never(self.cell)
        outputs_BTD, _ = pad_packed_sequence(
            packed._replace(data=outputs_ND), batch_first=True, total_length=inputs_BTE.shape[1]
        )
        return outputs_BTD, self._carried(hidden_1BD, cell_1BD).select(packed.unsorted_indices)

    def held(self, inputs_BTE: Tensor, carry: Carry, lengths_B: Tensor) -> tuple[Tensor, Carry]:
        """As `sequence` for an LSTM: one more input, which is one on padding, holds the cell there."""
        padding_BT1 = (~within(lengths_B, inputs_BTE.shape[1])).unsqueeze(2).to(inputs_BTE.dtype)
        hold_Z = torch.cat([self.weight_ih.new_full((self.size,), value) for value in (CLOSED, OPEN, 0.0, 0.0)])
        weight_ZE, *others = self._weights()
        outputs_BTD, last = self._fused(
            torch.cat((inputs_BTE, padding_BT1), dim=2),
            carry,
            [torch.cat((weight_ZE, hold_Z.unsqueeze(1)), dim=1), *others],
        )
        return outputs_BTD, Carry(_at(outputs_BTD, lengths_B - 1), last.cell_RD)

    def unrolled(self, inputs_BTE: Tensor, carry: Carry, lengths_B: Tensor | None = None) -> tuple[Tensor, Carry]:
        """As `sequence`, as a loop; the same units of the state are dropped before every step."""
        product = linear_map(self.weight_hh, self.bias_hh, unrolled=True)
        drop = self.recurrent_dropout.fixed(carry.hidden_RD)
        carries = []
        for gates_BZ in self.gates(inputs_BTE).unbind(1):
            carry = advance(self.cell, gates_BZ, product(drop(carry.hidden_RD)), carry)
            carries.append(carry)
        outputs_BTD = torch.stack([each.hidden_RD for each in carries], dim=1)
        if lengths_B is None:
            return outputs_BTD, carry
        cells = [each.cell_RD for each in carries if each.cell_RD is not None]
        last_BD = _at(torch.stack(cells, dim=1), lengths_B - 1) if cells else None
        return outputs_BTD, Carry(_at(outputs_BTD, lengths_B - 1), last_BD)

    def _loops_faster(self, inputs_BTE: Tensor) -> bool:
        # On a CPU torch's kernels for GRU and vanilla cells add up the weights' gradient step by step.
        training = torch.is_grad_enabled() and self.weight_hh.requires_grad
        return training and self.cell != "lstm" and inputs_BTE.device.type == "cpu" and self.size >= LOOPS_FROM

    def _weights(self) -> list[Tensor]:
        return [self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh]

    def _fused(self, inputs_BTE: Tensor, carry: Carry, weights: list[Tensor]) -> tuple[Tensor, Carry]:
        """Whole sequences of one length."""
        hidden_1BD, cell_1BD = _initial(carry)
        arguments = (weights, True, 1, 0.0, self.training, False, True)
        match self.cell:
            case "vanilla":
                outputs_BTD, hidden_1BD = torch.rnn_tanh(inputs_BTE, hidden_1BD, *arguments)
            case "gru":
                outputs_BTD, hidden_1BD = torch.gru(inputs_BTE, hidden_1BD, *arguments)
            case "lstm":
                outputs_BTD, hidden_1BD, cell_1BD = torch.lstm(inputs_BTE, (hidden_1BD, cell_1BD), *arguments)
            case _:
                assert_never(self.cell)
        return outputs_BTD, self._carried(hidden_1BD, cell_1BD)

    def _carried(self, hidden_1BD: Tensor, cell_1BD: Tensor) -> Carry:
        return Carry(hidden_1BD[0], cell_1BD[0] if self.cell == "lstm" else None)


@final
class RecurrentStack(nn.Module):
    """Layers one above the other, with dropout between them."""

    def __init__(self, layers: Sequence[RecurrentLayer], dropout: nn.Module | None = None) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.dropout = dropout or nn.Identity()

    @property
    def first(self) -> RecurrentLayer:
        """The layer that reads the input."""
        return next(iter(self.each()))

    def each(self) -> list[RecurrentLayer]:
        """The layers, lowest first."""
        return [layer for layer in self.layers if isinstance(layer, RecurrentLayer)]

    def start(self, rows: int) -> tuple[Carry, ...]:
        """A state of zeros for each layer."""
        return tuple(layer.start(rows) for layer in self.each())

    def sequence(self, inputs_BTE: Tensor, carries: Sequence[Carry]) -> tuple[Tensor, tuple[Carry, ...]]:
        """The highest layer's state at each step, and what each layer carries on from the last step."""
        last, outputs_BTD = [], inputs_BTE
        for index, (layer, carry) in enumerate(zip(self.each(), carries, strict=True)):
            inputs_BTE = self.dropout(outputs_BTD) if index else outputs_BTD
            outputs_BTD, end = layer.sequence(inputs_BTE, carry)
            last.append(end)
        return outputs_BTD, tuple(last)

    def steps(self, like_RD: Tensor, *, unrolled: bool) -> Steps:
        """The stack as something to call once a step; `unrolled` prepares for a loop that is differentiated."""
        layers = self.each()
        return Steps(
            cells=tuple(layer.cell for layer in layers),
            inputs=tuple(linear_map(layer.weight_ih, layer.bias_ih, unrolled=unrolled) for layer in layers[1:]),
            recurrent=tuple(linear_map(layer.weight_hh, layer.bias_hh, unrolled=unrolled) for layer in layers),
            between=tuple(fixed_dropout(self.dropout, like_RD) for _ in layers[1:]),
            forgotten=tuple(layer.recurrent_dropout.fixed(like_RD) for layer in layers),
        )


@dataclass(frozen=True, slots=True)
class Steps:
    """The maps and masks of one loop over a stack."""

    cells: tuple[CellName, ...]
    inputs: tuple[Callable[[Tensor], Tensor], ...]
    """From each layer's state to the gates of the layer above."""
    recurrent: tuple[Callable[[Tensor], Tensor], ...]
    between: tuple[Callable[[Tensor], Tensor], ...]
    forgotten: tuple[Callable[[Tensor], Tensor], ...]

    def advance(self, gates_RZ: Tensor, carries: Sequence[Carry]) -> tuple[Carry, ...]:
        """What the layers carry after one more step, from the input's half of the lowest layer's gates."""
        after: list[Carry] = []
        for index, (cell, carry) in enumerate(zip(self.cells, carries, strict=True)):
            if index:
                gates_RZ = self.inputs[index - 1](self.between[index - 1](after[-1].hidden_RD))
            product_RZ = self.recurrent[index](self.forgotten[index](carry.hidden_RD))
            after.append(advance(cell, gates_RZ, product_RZ, carry))
        return tuple(after)


def reversed_within(vectors_BTD: Tensor, lengths_B: Tensor) -> Tensor:
    """Each sentence backwards, its padding still on the right."""
    places_T = torch.arange(vectors_BTD.shape[1], device=vectors_BTD.device)
    backward_BT = lengths_B.unsqueeze(1) - 1 - places_T
    index_BT = torch.where(backward_BT >= 0, backward_BT, places_T)
    return vectors_BTD.gather(1, index_BT.unsqueeze(2).expand_as(vectors_BTD))


def between_layers(settings: RecurrentDropoutSettings) -> nn.Module:
    """The dropout after embedding, between layers and in outputs."""
    return VariationalDropout(settings.hidden) if settings.variational else Dropout(settings.hidden)


def fixed_dropout(dropout: nn.Module, like_RD: Tensor) -> Callable[[Tensor], Tensor]:
    """The dropout for one loop: variational dropout with a mask that stays, any other as it is."""
    return dropout.fixed(like_RD) if isinstance(dropout, VariationalDropout) else dropout


def _initial(carry: Carry) -> tuple[Tensor, Tensor]:
    cell_RD = carry.hidden_RD if carry.cell_RD is None else carry.cell_RD
    return carry.hidden_RD.unsqueeze(0), cell_RD.unsqueeze(0)


def _at(vectors_BTD: Tensor, places_B: Tensor) -> Tensor:
    """The vector of each sentence at its place."""
    index_B1D = places_B.view(-1, 1, 1).expand(-1, 1, vectors_BTD.shape[2])
    return vectors_BTD.gather(1, index_B1D).squeeze(1)
