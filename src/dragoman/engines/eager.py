"""The engine that runs a model's own steps in torch.

Shapes: R rows of a state, M source sentences, P most rows that share one, H heads, S source positions, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dragoman.decoding.step import Scores, Trace
from dragoman.models.attention import Recorder
from dragoman.models.rnn import RecurrentModel
from dragoman.models.seq2seq import Copying, Hidden
from dragoman.models.transformer import Transformer, TransformerState
from dragoman.models.transformer_lm import PrefixLM, StackState, TransformerLM

if TYPE_CHECKING:
    from torch import Tensor

    from dragoman.models.recurrent_decoder import RecurrentState
    from dragoman.models.seq2seq import Model, Source

__all__ = ["EagerStep", "TracedEagerStep", "eager_step"]


class EagerStep:
    """A model as search sees it."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def start(self, source: Source | None, *, rows: int = 1) -> Any:
        """The state from which sentences start, one row for each."""
        return self._model.start(source, rows=rows)

    def __call__(self, tokens_R: Tensor, state: Any, /) -> tuple[Scores, Any]:
        logits_RV, after = self._model.step(tokens_R, state)
        return Scores.of(logits_RV), after

    def select(self, state: Any, rows_R: Tensor, /) -> Any:
        return state.select(rows_R)

    def join(self, state: Any, other: Any, /) -> Any:
        return state.join(other)


class TracedEagerStep(EagerStep):
    """A model that also shows, step by step, where it stands and where it looks."""

    def trace(self, tokens_R: Tensor, state: Any, /) -> tuple[Scores, Any, Trace]:
        """What a call gives, and its trace; attention is that of the last layer, the mean of its heads."""
        match self._model:
            case RecurrentModel() as model:
                return _recurrent(model, tokens_R, state)
            case Transformer() as model:
                return _transformer(model, tokens_R, state)
            case TransformerLM() | PrefixLM() as model:
                vectors_RD, past = model.stack.step(_embedded(model, tokens_R), state.past)
                return Scores.of(model.logits(Hidden(vectors_RD))), StackState(past), Trace(vectors_RD)
            case _:
                raise AssertionError("only models that can be traced are wrapped")


def eager_step(model: Model) -> EagerStep:
    """The step of a model, traced where the model allows it; searches refuse one that they need to be and is not."""
    traceable = isinstance(model, RecurrentModel | Transformer | TransformerLM | PrefixLM)
    return TracedEagerStep(model) if traceable else EagerStep(model)


def _recurrent(model: RecurrentModel, tokens_R: Tensor, state: RecurrentState) -> tuple[Scores, RecurrentState, Trace]:
    turn = model.decoder.step(tokens_R, state)
    memory, copying, lengths_R = state.memory, None, None
    if memory is not None and turn.weights_RS is not None:
        lengths_R = memory.lengths_M[memory.sentence_R]
        if memory.ids_MS is not None:
            copying = Copying(turn.weights_RS, memory.ids_MS, memory.sentence_R)
    scores = Scores.of(model.logits(Hidden(turn.vectors_RX, copying)))
    return scores, turn.state, Trace(turn.vectors_RX, turn.weights_RS, lengths_R)


def _transformer(
    model: Transformer, tokens_R: Tensor, state: TransformerState
) -> tuple[Scores, TransformerState, Trace]:
    memory, pointer, recorder = state.memory, model.pointer, Recorder()
    vectors_RD, past = model.decoder.step(model.embedding(tokens_R), state.past, memory=memory, attend_across=recorder)
    last_MPS = recorder.weights_LBHTS[-1].mean(1)
    attention_RS = memory.packing.unpack(last_MPS)
    copying = None
    if pointer is not None and memory.ids_MS is not None:
        pointed_RS = memory.beside(vectors_RD, lambda x_MPD: pointer(x_MPD, memory))
        copying = Copying(pointed_RS, memory.ids_MS, memory.sentence_R)
    scores = Scores.of(model.logits(Hidden(vectors_RD, copying)))
    trace = Trace(vectors_RD, attention_RS, memory.lengths_M[memory.sentence_R])
    return scores, TransformerState(past, memory), trace


def _embedded(model: TransformerLM | PrefixLM, tokens_R: Tensor) -> Tensor:
    embedded_RD: Tensor = model.embedding(tokens_R)
    segments = model.segments if isinstance(model, PrefixLM) else None
    return embedded_RD if segments is None else embedded_RD + segments[1]
