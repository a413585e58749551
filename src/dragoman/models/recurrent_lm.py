"""The recurrent language model, with or without attention over its own past.

    s_t = cell(y_{t-1}, s_{t-1})    a_t = read(s_1 … s_{t-1} with query s_t)    the output layer sees [a_t; s_t]

The first state has no past; it reads itself.

Shapes as in seq2seq.py, and: E size of an embedding, X size of what the output layer sees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, final

import torch
from torch import Tensor, nn

from dragoman.models.attention import Heads, counted, earlier_mask
from dragoman.models.cache import Cache
from dragoman.models.cells import CellName
from dragoman.models.dropout import WordDropout
from dragoman.models.embedding import TokenEmbedding
from dragoman.models.reading import Reading
from dragoman.models.readout import Readout, ReadoutName, output_layer
from dragoman.models.recurrence import RecurrentDropoutSettings, RecurrentLayer, RecurrentStack, between_layers
from dragoman.models.recurrent_initialization import RecurrentInitialSettings, initialize
from dragoman.models.score import ScoreName, score
from dragoman.models.seq2seq import AttentionMaps, Hidden
from dragoman.settings import Meta, Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from dragoman.models.cells import Carry
    from dragoman.models.seq2seq import OutputLayer, Source

__all__ = [
    "PastAttentionSettings",
    "PastState",
    "RecurrentLM",
    "RecurrentLMSettings",
    "recurrent_lm",
]

Size = Annotated[int, Meta(ge=1)]


class PastAttentionSettings(Settings, frozen=True, kw_only=True):
    """Attention of a recurrent language model to its own past."""

    score: ScoreName = "general"
    """How well the current state matches an earlier one."""


class RecurrentLMSettings(Settings, frozen=True, kw_only=True, tag_field="kind", tag="recurrent_lm"):
    """A recurrent language model."""

    cell: CellName = "lstm"
    """Vanilla (tanh), GRU or LSTM."""
    size: Size = 512
    """Size of a state."""
    embedding_size: Size | None = None
    """Size of the embeddings; nothing means `size`."""
    layers: Size = 1
    """Layers."""
    attention: PastAttentionSettings | None = None
    """Attention of each state to the earlier ones; nothing leaves it out."""
    readout: ReadoutName = "joined"
    """What the output layer sees: [a; s] itself, or through a tanh or a maxout layer."""
    readout_size: Size | None = None
    """Size of the tanh or maxout layer; nothing means `size`."""
    tied_output: bool = False
    """The output layer uses the embeddings' table: needs a readout of the embeddings' size."""
    dropout: RecurrentDropoutSettings = RecurrentDropoutSettings()
    """Dropout in training; `source_words` has no effect."""
    initial: RecurrentInitialSettings = RecurrentInitialSettings(forget_bias=1.0)
    """How weights start."""


@dataclass(frozen=True, slots=True)
class PastState:
    """What a recurrent language model remembers, one row for each hypothesis."""

    carries: tuple[Carry, ...]
    past: Cache | None = None
    """Keys and values of the earlier states, where there is attention to them."""

    def each(self, change: Callable[[Tensor], Tensor]) -> PastState:
        """The same with each tensor through which gradients flow changed."""
        assert self.past is None, "a past that is attended to is not carried over"
        return PastState(tuple(carry.each(change) for carry in self.carries))

    def select(self, rows_R: Tensor) -> PastState:
        """The state whose row i was row `rows_R[i]`."""
        return PastState(tuple(carry.select(rows_R) for carry in self.carries), self.past and self.past.select(rows_R))

    def join(self, other: PastState) -> PastState:
        """The state with the rows of `other` after its own."""
        carries = tuple(one.join(two) for one, two in zip(self.carries, other.carries, strict=True))
        past = None if self.past is None or other.past is None else self.past.join(other.past)
        return PastState(carries, past)


@final
class RecurrentLM(nn.Module):
    """A stack of recurrent layers over an embedding, behind the seam of all models."""

    def __init__(
        self,
        embedding: nn.Module,
        stack: RecurrentStack,
        *,
        readout: Readout,
        output: OutputLayer,
        reading: Reading | None = None,
        dropout: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.stack = stack
        self.readout = readout
        self.output = output
        self.reading = reading
        self.dropout = dropout or nn.Identity()

    def hidden(self, source: Source | None, inputs_BT: Tensor, lengths_B: Tensor) -> Hidden:
        """Outputs at the positions that count, each from the tokens up to its own."""
        assert source is None, "a language model reads no source"
        embedded_BTE, states_BTD, _ = self._states(inputs_BT)
        contexts_NY = None
        if self.reading is not None:
            contexts_BTY, _ = self._looked_back(self.reading, states_BTD)
            contexts_NY = counted(contexts_BTY, lengths_B)
        return Hidden(self.readout(counted(states_BTD, lengths_B), contexts_NY, counted(embedded_BTE, lengths_B)))

    def resumed(self, inputs_BT: Tensor, lengths_B: Tensor, state: PastState) -> tuple[Hidden, PastState]:
        """As `hidden`, from a state on, and the state after the last input; without attention to the past."""
        assert self.reading is None, "what is before the state cannot be attended to"
        embedded_BTE, states_BTD, carries = self._states(inputs_BT, state.carries)
        vectors_ND = self.readout(counted(states_BTD, lengths_B), None, counted(embedded_BTE, lengths_B))
        return Hidden(vectors_ND), PastState(carries)

    def logits(self, hidden: Hidden) -> Tensor:
        """Logits of the next token."""
        return self.output(hidden)

    def start(self, source: Source | None = None, *, rows: int = 1) -> PastState:
        """A state before any token."""
        assert source is None, "a language model reads no source"
        carries = self.stack.start(rows)
        if self.reading is None:
            return PastState(carries)
        like_RD = carries[-1].hidden_RD
        return PastState(carries, Cache.empty(1, rows, Heads.of(like_RD.shape[1], 1), like_RD))

    def step(self, tokens_R: Tensor, state: PastState) -> tuple[Tensor, PastState]:
        """Logits after one more token in each row, and the state that remembers it."""
        embedded_RE = self.embedding(tokens_R.unsqueeze(1)).squeeze(1)
        steps = self.stack.steps(state.carries[-1].hidden_RD, unrolled=False)
        carries = steps.advance(self.stack.first.gates(embedded_RE), state.carries)
        states_RD = self.dropout(carries[-1].hidden_RD.unsqueeze(1)).squeeze(1)
        contexts_RY, past = None, None
        if self.reading is not None and state.past is not None:
            contexts_RY, past = _stepped_back(self.reading, states_RD, state.past)
        vectors_RX = self.readout(states_RD, contexts_RY, embedded_RE)
        return self.logits(Hidden(vectors_RX)), PastState(carries, past)

    def attention_weights(self, source: Source | None, inputs_BT: Tensor, lengths_B: Tensor) -> AttentionMaps:
        """Attention of each state to the earlier ones, one layer and one head."""
        assert source is None, "a language model reads no source"
        del lengths_B
        if self.reading is None:
            return AttentionMaps()
        _, weights_BTT = self._looked_back(self.reading, self._states(inputs_BT)[1])
        return AttentionMaps(decoder_self_LBHTT=weights_BTT[None, :, None])

    def _states(
        self, inputs_BT: Tensor, carries: tuple[Carry, ...] | None = None
    ) -> tuple[Tensor, Tensor, tuple[Carry, ...]]:
        """Embeddings and states, and what is carried on after the last of them."""
        embedded_BTE = self.embedding(inputs_BT)
        outputs_BTD, after = self.stack.sequence(embedded_BTE, carries or self.stack.start(inputs_BT.shape[0]))
        return embedded_BTE, self.dropout(outputs_BTD), after

    def _looked_back(self, reading: Reading, states_BTD: Tensor) -> tuple[Tensor, Tensor]:
        """What each state reads of the earlier ones, and its attention."""
        first_1 = torch.zeros(1, dtype=torch.long, device=states_BTD.device)
        mask = earlier_mask(first_1, states_BTD.shape[1], dtype=states_BTD.dtype)
        keys_BTA, values_BTY = reading.keys_and_values(states_BTD)
        return reading.read(reading.asking(unrolled=False)(states_BTD), keys_BTA, values_BTY, mask)


def _stepped_back(reading: Reading, states_RD: Tensor, past: Cache) -> tuple[Tensor, Cache]:
    """What the newest state of each row reads of the earlier ones, and the past with that state in it."""
    keys_R1A, values_R1Y = reading.keys_and_values(states_RD.unsqueeze(1))
    past = past.advanced()
    keys_R1CA, values_R1CY = past.write(0, keys_R1A.unsqueeze(1), values_R1Y.unsqueeze(1))
    mask = earlier_mask(past.first_R, past.length, dtype=states_RD.dtype, newest_only=True)
    queries_R1A = reading.asking(unrolled=False)(states_RD.unsqueeze(1))
    contexts_R1Y, _ = reading.read(queries_R1A, keys_R1CA[:, 0], values_R1CY[:, 0], mask)
    return contexts_R1Y.squeeze(1), past


def recurrent_lm(settings: RecurrentLMSettings, *, vocabulary: int) -> RecurrentLM:
    """The model that the settings describe."""
    size = settings.size
    embedding = TokenEmbedding(vocabulary, settings.embedding_size or size)
    embedding_size = embedding.weight.shape[1]
    dropout = settings.dropout
    layers = [
        RecurrentLayer(settings.cell, size if index else embedding_size, size, recurrent_dropout=dropout.recurrent)
        for index in range(settings.layers)
    ]
    reading = None
    if settings.attention is not None:
        reading = Reading(score(settings.attention.score, query_size=size, memory_size=size, size=size))
    readout = Readout(
        settings.readout,
        state_size=size,
        context_size=size if reading else 0,
        embedding_size=embedding_size,
        size=settings.readout_size or size,
    )
    model = RecurrentLM(
        nn.Sequential(embedding, WordDropout(dropout.target_words), between_layers(dropout)),
        RecurrentStack(layers, between_layers(dropout)),
        readout=readout,
        output=output_layer(embedding, readout.size, tied=settings.tied_output),
        reading=reading,
        dropout=between_layers(dropout),
    )
    initialize(model, settings.initial)
    return model
