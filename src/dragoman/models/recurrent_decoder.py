"""The recurrent decoder: without attention, or with it in Bahdanau's or Luong's form.

    Bahdanau    a_t = read(s_{t-1})              s_t = cell([y_{t-1}; a_t], s_{t-1})
    Luong       s_t = cell(y_{t-1}, s_{t-1})     a_t = read(s_t)
      feeding   s_t = cell([y_{t-1}; v_{t-1}], s_{t-1}), where v is what the output layer saw a step before

Without attention and in Luong's plain form nothing of the attention enters the recurrence: teacher forcing then runs
each layer over the whole sequence, and attention over all steps at once. The other two need a loop; the embeddings'
share of the gates is one product for all steps even there, and so is each weight's gradient.

Shapes as in seq2seq.py, and: E size of an embedding, Z pre-activations, Y size of what attention reads, X size of v.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

import torch
from torch import Tensor, nn

from dragoman.models.attention import counted
from dragoman.models.linear import linear
from dragoman.models.recurrence import fixed_dropout
from dragoman.models.unrolled import linear_map

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dragoman.models.cells import Carry
    from dragoman.models.memory import Memory
    from dragoman.models.reading import Reading
    from dragoman.models.readout import Readout
    from dragoman.models.recurrence import RecurrentStack, Steps

__all__ = ["Form", "RecurrentDecoder", "RecurrentState", "Taught", "Turn", "fed_size"]

Form = Literal["none", "bahdanau", "luong", "luong_feeding"]


@dataclass(frozen=True, slots=True)
class RecurrentState:
    """What a recurrent decoder remembers, one row for each hypothesis; the source's side once for each sentence."""

    carries: tuple[Carry, ...]
    fed_RX: Tensor | None = None
    """With input feeding: what the output layer saw last."""
    memory: Memory | None = None

    def each(self, change: Callable[[Tensor], Tensor]) -> RecurrentState:
        """The same with each tensor through which gradients flow changed, the source's among them."""
        fed_RX = None if self.fed_RX is None else change(self.fed_RX)
        return RecurrentState(
            tuple(carry.each(change) for carry in self.carries), fed_RX, self.memory and self.memory.each(change)
        )

    def select(self, rows_R: Tensor) -> RecurrentState:
        """The state whose row i was row `rows_R[i]`."""
        fed_RX = None if self.fed_RX is None else self.fed_RX.index_select(0, rows_R)
        carries = tuple(carry.select(rows_R) for carry in self.carries)
        return RecurrentState(carries, fed_RX, self.memory and self.memory.select(rows_R))

    def join(self, other: RecurrentState) -> RecurrentState:
        """The state with the rows of `other` after its own."""
        carries = tuple(one.join(two) for one, two in zip(self.carries, other.carries, strict=True))
        fed_RX = None if self.fed_RX is None or other.fed_RX is None else torch.cat((self.fed_RX, other.fed_RX))
        memory = None if self.memory is None or other.memory is None else self.memory.join(other.memory)
        return RecurrentState(carries, fed_RX, memory)


@dataclass(frozen=True, slots=True)
class Taught:
    """What teacher forcing yields."""

    vectors_ND: Tensor
    """What the output layer will see, at the positions that count."""
    weights_BTS: Tensor | None
    """Attention of each step, where there is any."""
    state: RecurrentState
    """After the last step, padding included."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What one step yields, one row for each hypothesis."""

    vectors_RX: Tensor
    weights_RS: Tensor | None
    state: RecurrentState


@dataclass(frozen=True, slots=True)
class _Loop:
    """Maps and masks that stay the same from step to step."""

    steps: Steps
    enter: Callable[[Tensor, Tensor | None], Tensor]
    """From a step's embeddings, or their share of the gates, and what is fed, to the lowest layer's gates."""
    ask: Callable[[Tensor], Tensor]
    read_out: Callable[[Tensor], Tensor]
    drop: Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class _Moment:
    """One step, before the readout."""

    carries: tuple[Carry, ...]
    states_RD: Tensor
    contexts_RY: Tensor | None
    weights_RS: Tensor | None


@final
class RecurrentDecoder(nn.Module):
    """A stack of recurrent layers over an embedding, with a form of attention and a readout."""

    def __init__(
        self,
        embedding: nn.Module,
        stack: RecurrentStack,
        *,
        form: Form,
        reading: Reading | None,
        readout: Readout,
        dropout: nn.Module | None = None,
    ) -> None:
        super().__init__()
        assert (form == "none") == (reading is None)
        self.embedding = embedding
        self.stack = stack
        self.form: Form = form
        self.reading = reading
        self.readout = readout
        self.dropout = dropout or nn.Identity()

    def start(self, carries: tuple[Carry, ...], memory: Memory | None) -> RecurrentState:
        """The state before the first token."""
        first_RD = carries[-1].hidden_RD
        fed_RX = first_RD.new_zeros(first_RD.shape[0], self.readout.size) if self.form == "luong_feeding" else None
        return RecurrentState(carries, fed_RX, memory)

    def forward(self, inputs_BT: Tensor, lengths_B: Tensor, state: RecurrentState, *, stepwise: bool = False) -> Taught:
        """Teacher forcing, from a state of one row a sentence; `stepwise` loops even where it need not."""
        embedded_BTE = self.embedding(inputs_BT)
        if not stepwise and self.form in ("none", "luong"):
            return self._at_once(embedded_BTE, lengths_B, state)
        return self._in_a_loop(embedded_BTE, lengths_B, state)

    def step(self, tokens_R: Tensor, state: RecurrentState) -> Turn:
        """One token further."""
        embedded_RE = self.embedding(tokens_R.unsqueeze(1)).squeeze(1)
        loop = self._loop(state, self._entrance, unrolled=False)
        moment = self._advanced(loop, embedded_RE, state)
        vectors_RX = self.readout(moment.states_RD, moment.contexts_RY, embedded_RE)
        return Turn(vectors_RX, moment.weights_RS, self._after(state, moment, vectors_RX))

    def _at_once(self, embedded_BTE: Tensor, lengths_B: Tensor, state: RecurrentState) -> Taught:
        outputs_BTD, carries = self.stack.sequence(embedded_BTE, state.carries)
        states_BTD = self.dropout(outputs_BTD)
        contexts_NY = weights_BTS = None
        if self.reading is not None and state.memory is not None:
            contexts_BTY, weights_BTS = self.reading.of(state.memory, self.reading.asking(unrolled=False)(states_BTD))
            contexts_NY = counted(contexts_BTY, lengths_B)
        embedded_NE = counted(embedded_BTE, lengths_B)
        vectors_ND = self.readout(counted(states_BTD, lengths_B), contexts_NY, embedded_NE)
        return Taught(vectors_ND, weights_BTS, RecurrentState(carries, None, state.memory))

    def _in_a_loop(self, embedded_BTE: Tensor, lengths_B: Tensor, state: RecurrentState) -> Taught:
        gates_BTZ, enter = self._split_entrance(embedded_BTE)
        loop = self._loop(state, enter, unrolled=True)
        moments, vectors = [], []
        for gates_BZ, embedded_BE in zip(gates_BTZ.unbind(1), embedded_BTE.unbind(1), strict=True):
            moment = self._advanced(loop, gates_BZ, state)
            vectors_BX = None
            if self.form == "luong_feeding":
                vectors_BX = self.readout.applied(loop.read_out, moment.states_RD, moment.contexts_RY, embedded_BE)
                vectors.append(vectors_BX)
            state = self._after(state, moment, vectors_BX)
            moments.append(moment)
        weights_BTS = _stacked([moment.weights_RS for moment in moments])
        if vectors:
            return Taught(counted(torch.stack(vectors, dim=1), lengths_B), weights_BTS, state)
        states_BTD = torch.stack([moment.states_RD for moment in moments], dim=1)
        contexts_BTY = _stacked([moment.contexts_RY for moment in moments])
        contexts_NY = None if contexts_BTY is None else counted(contexts_BTY, lengths_B)
        embedded_NE = counted(embedded_BTE, lengths_B)
        vectors_ND = self.readout(counted(states_BTD, lengths_B), contexts_NY, embedded_NE)
        return Taught(vectors_ND, weights_BTS, state)

    def _advanced(self, loop: _Loop, entering_RI: Tensor, state: RecurrentState) -> _Moment:
        contexts_RY = weights_RS = None
        fed_RX = state.fed_RX
        if self.form == "bahdanau":
            contexts_RY, weights_RS = self._read(loop, state.carries[-1].hidden_RD, state.memory)
            fed_RX = contexts_RY
        gates_RZ = loop.enter(entering_RI, fed_RX)
        carries = loop.steps.advance(gates_RZ, state.carries)
        states_RD = loop.drop(carries[-1].hidden_RD)
        if self.form in ("luong", "luong_feeding"):
            contexts_RY, weights_RS = self._read(loop, states_RD, state.memory)
        return _Moment(carries, states_RD, contexts_RY, weights_RS)

    def _read(self, loop: _Loop, asking_RD: Tensor, memory: Memory | None) -> tuple[Tensor, Tensor]:
        assert self.reading is not None
        assert memory is not None
        packing = memory.packing
        contexts_MPY, weights_MPS = self.reading.of(memory, packing.pack(loop.ask(asking_RD)))
        return packing.unpack(contexts_MPY), packing.unpack(weights_MPS)

    def _after(self, state: RecurrentState, moment: _Moment, vectors_RX: Tensor | None) -> RecurrentState:
        return RecurrentState(moment.carries, vectors_RX if self.form == "luong_feeding" else None, state.memory)

    def _entrance(self, embedded_RE: Tensor, fed_RX: Tensor | None) -> Tensor:
        """The lowest layer's gates for one step."""
        return self.stack.first.gates(embedded_RE if fed_RX is None else torch.cat((embedded_RE, fed_RX), dim=-1))

    def _split_entrance(self, embedded_BTE: Tensor) -> tuple[Tensor, Callable[[Tensor, Tensor | None], Tensor]]:
        """The embeddings' share of the gates of all steps, and how what is fed enters each step."""
        first, size = self.stack.first, embedded_BTE.shape[-1]
        gates_BTZ = linear(embedded_BTE, first.weight_ih[:, :size], first.bias_ih)
        if first.input_size == size:
            return gates_BTZ, lambda gates_RZ, _: gates_RZ
        feed = linear_map(first.weight_ih[:, size:], unrolled=True)
        return gates_BTZ, lambda gates_RZ, fed_RX: gates_RZ if fed_RX is None else gates_RZ + feed(fed_RX)

    def _loop(
        self, state: RecurrentState, enter: Callable[[Tensor, Tensor | None], Tensor], *, unrolled: bool
    ) -> _Loop:
        like_RD = state.carries[-1].hidden_RD
        return _Loop(
            steps=self.stack.steps(like_RD, unrolled=unrolled),
            enter=enter,
            ask=_same if self.reading is None else self.reading.asking(unrolled=unrolled),
            read_out=self.readout.product(unrolled=unrolled),
            drop=fixed_dropout(self.dropout, like_RD),
        )


def fed_size(form: Form, context_size: int, vector_size: int) -> int:
    """How much longer than an embedding the input of the lowest layer is."""
    match form:
        case "none" | "luong":
            return 0
        case "bahdanau":
            return context_size
        case "luong_feeding":
            return vector_size


def _stacked(each: Sequence[Tensor | None]) -> Tensor | None:
    there = [tensor for tensor in each if tensor is not None]
    return torch.stack(there, dim=1) if there else None


def _same(asking_RD: Tensor) -> Tensor:
    return asking_RD
