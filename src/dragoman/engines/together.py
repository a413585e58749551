"""One step for one model or several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dragoman.decoding.combine import Ensemble, Fusion
from dragoman.decoding.short_list import TracedShortListed
from dragoman.engines.eager import TracedEagerStep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from dragoman.decoding.step import DecoderStep, Scores

__all__ = ["together"]


def together(
    steps: Sequence[DecoderStep[Any]], *, language_model: DecoderStep[Any] | None = None, weight: float = 0.0
) -> DecoderStep[Any]:
    """The step of all models, whose state is a tuple with a state of each; traced where all of them are.

    With a language model the state is the tuple of that and the language model's own.
    """
    ensemble = Ensemble(tuple(steps))
    step = ensemble if language_model is None else Fusion(ensemble, language_model, weight)
    return step if all(isinstance(step, TracedEagerStep | TracedShortListed) for step in steps) else _Untraced(step)


class _Untraced:
    """A step without its trace, so that a search which needs one says so before it begins."""

    def __init__(self, step: DecoderStep[Any]) -> None:
        self._step = step

    def __call__(self, tokens_R: Tensor, state: Any, /) -> tuple[Scores, Any]:
        return self._step(tokens_R, state)

    def select(self, state: Any, rows_R: Tensor, /) -> Any:
        return self._step.select(state, rows_R)

    def join(self, state: Any, other: Any, /) -> Any:
        return self._step.join(state, other)
