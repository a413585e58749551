"""Steps made of steps: ensembles of models, and a language model that has a say. A search cannot tell them apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, assert_never, cast

import torch

from dragoman.decoding.step import Scores, Trace
from dragoman.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from dragoman.decoding.step import DecoderStep, TracedStep

__all__ = ["Average", "Ensemble", "Fusion"]

Average = Literal["probability", "log"]


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Models that share a vocabulary, asked together."""

    steps: tuple[DecoderStep[Any], ...]
    weights: tuple[float, ...] | None = None
    """Each model's share; equal when not given."""
    average: Average = "probability"
    """`probability`: the mean of their distributions. `log`: the normalised product of them, which asks for
    agreement."""

    def __post_init__(self) -> None:
        assert self.steps, "no model"
        assert self.weights is None or len(self.weights) == len(self.steps), "a weight for each model"
        assert self.weights is None or min(self.weights) > 0, "a model without weight is left out instead"

    def __call__(self, tokens_R: Tensor, states: tuple[Any, ...]) -> tuple[Scores, tuple[Any, ...]]:
        """The average of what all models say."""
        said = [step(tokens_R, state) for step, state in zip(self.steps, states, strict=True)]
        return self._averaged([scores for scores, _ in said]), tuple(state for _, state in said)

    def trace(self, tokens_R: Tensor, states: tuple[Any, ...]) -> tuple[Scores, tuple[Any, ...], Trace]:
        """The average, with hidden states side by side and the mean of the attention."""
        steps = [cast("TracedStep[Any]", step) for step in self.steps]
        said = [step.trace(tokens_R, state) for step, state in zip(steps, states, strict=True)]
        traces = [trace for _, _, trace in said]
        maps = [trace.attention_RS for trace in traces if trace.attention_RS is not None]
        together = Trace(
            torch.cat([trace.hidden_RD for trace in traces], dim=1),
            torch.stack(maps).mean(0) if len(maps) == len(traces) else None,
            traces[0].source_lengths_R,
        )
        return self._averaged([scores for scores, _, _ in said]), tuple(state for _, state, _ in said), together

    def select(self, states: tuple[Any, ...], rows_R: Tensor) -> tuple[Any, ...]:
        """The rows of each model's state."""
        return tuple(step.select(state, rows_R) for step, state in zip(self.steps, states, strict=True))

    def join(self, states: tuple[Any, ...], others: tuple[Any, ...]) -> tuple[Any, ...]:
        """New rows in each model's state."""
        pairs = zip(self.steps, states, others, strict=True)
        return tuple(step.join(state, other) for step, state, other in pairs)

    def _averaged(self, scores: Sequence[Scores]) -> Scores:
        if len(scores) == 1:
            return scores[0]
        _check_same(scores)
        shares = self.weights or (1.0,) * len(scores)
        logs = [math.log(share / sum(shares)) for share in shares]
        match self.average:
            case "probability":
                weighed = [each.log_probs() + log for each, log in zip(scores, logs, strict=True)]
                mixed_RV = torch.stack(weighed).logsumexp(0)
                return Scores(mixed_RV, mixed_RV.new_zeros(mixed_RV.shape[0]), scores[0].ids)
            case "log":
                parts = [each.log_probs() * math.exp(log) for each, log in zip(scores, logs, strict=True)]
                return Scores.of(torch.stack(parts).sum(0), scores[0].ids)
            case _:
                assert_never(self.average)


@dataclass(frozen=True, slots=True)
class Fusion:
    """A model whose words a language model weighs too: log p(y|x) + weight · log q(y).

    What comes out is a score by which to search, not the logarithm of a probability: it is not normalised again.
    """

    step: DecoderStep[Any]
    language_model: DecoderStep[Any]
    weight: float

    def __post_init__(self) -> None:
        assert self.weight > 0, "a language model without weight is left out instead"

    def __call__(self, tokens_R: Tensor, states: tuple[Any, Any]) -> tuple[Scores, tuple[Any, Any]]:
        """The sum of both models' log-probabilities."""
        scores, state = self.step(tokens_R, states[0])
        said, language_state = self.language_model(tokens_R, states[1])
        return self._fused(scores, said), (state, language_state)

    def trace(self, tokens_R: Tensor, states: tuple[Any, Any]) -> tuple[Scores, tuple[Any, Any], Trace]:
        """The sum, with the trace of the model that reads the source."""
        scores, state, trace = cast("TracedStep[Any]", self.step).trace(tokens_R, states[0])
        said, language_state = self.language_model(tokens_R, states[1])
        return self._fused(scores, said), (state, language_state), trace

    def select(self, states: tuple[Any, Any], rows_R: Tensor) -> tuple[Any, Any]:
        """The rows of both states."""
        return self.step.select(states[0], rows_R), self.language_model.select(states[1], rows_R)

    def join(self, states: tuple[Any, Any], others: tuple[Any, Any]) -> tuple[Any, Any]:
        """New rows in both states."""
        return self.step.join(states[0], others[0]), self.language_model.join(states[1], others[1])

    def _fused(self, scores: Scores, said: Scores) -> Scores:
        _check_same([scores, said])
        fused_RV = scores.log_probs() + self.weight * said.log_probs()
        return Scores(fused_RV, fused_RV.new_zeros(fused_RV.shape[0]), scores.ids)


def _check_same(scores: Sequence[Scores]) -> None:
    """Refuse models that do not speak of the same tokens."""
    first, *others = scores
    for each in others:
        sizes = (first.logits_RV.shape[1], each.logits_RV.shape[1])
        same_ids = each.ids is first.ids or (
            each.ids is not None and first.ids is not None and torch.equal(each.ids, first.ids)
        )
        if sizes[0] != sizes[1] or not same_ids:
            raise ModelError(
                f"vocabularies of {sizes[0]} and {sizes[1]} tokens do not go together"
                if sizes[0] != sizes[1]
                else "the models speak of different short-lists",
                place="models",
                remedy="Combine models that were trained with the same target vocabulary.",
            )
