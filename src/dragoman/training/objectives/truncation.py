"""Truncated back-propagation through time: a recurrent decoder is taught stretch by stretch.

    y₁ … y_N ──state──▶ y_{N+1} … y_{2N} ──state──▶ …        each arrow carries the state, and no gradient

Only one stretch is held for its backward pass. The source is encoded once; what the stretches ask of it is added up.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import torch

from dragoman.errors import ModelError
from dragoman.models.recurrent_lm import RecurrentLMSettings
from dragoman.models.rnn import RecurrentSettings
from dragoman.training.objectives import pieces
from dragoman.training.objectives.cross_entropy import smoothed
from dragoman.training.objectives.objective import Sums, labels_of, source_of, without_prompts

if TYPE_CHECKING:
    from torch import Tensor

    from dragoman.data.batch import Batch
    from dragoman.models.build import ModelSettings
    from dragoman.models.seq2seq import CarriedState, Model, Resumable


class Truncated:
    """Cross-entropy, whose gradient goes back over so many steps at most."""

    def __init__(self, smoothing: float, *, steps: int) -> None:
        self._smoothing, self._steps = smoothing, steps

    def __call__(self, model: Model, batch: Batch, *, scale: float, step: int = 0) -> Sums:  # noqa: ARG002 - the same at every step
        whole: list[Tensor] = []
        leaves: list[Tensor] = []

        def cut_off(tensor: Tensor) -> Tensor:
            whole.append(tensor)
            leaves.append(tensor.detach().requires_grad_(torch.is_grad_enabled() and tensor.requires_grad))
            return leaves[-1]

        state: CarriedState = model.start(source_of(batch), rows=batch.rows).each(cut_off)
        objective = nll = 0.0
        tokens = 0
        for stretch in stretches(batch, self._steps):
            sums, state = taught_from(model, stretch, state, smoothing=self._smoothing, scale=scale)
            objective, nll, tokens = objective + sums.objective, nll + sums.nll, tokens + sums.tokens
        reached = [(t, leaf.grad) for t, leaf in zip(whole, leaves, strict=True) if leaf.grad is not None]
        if reached:
            torch.autograd.backward([t for t, _ in reached], [g for _, g in reached])
        return Sums(objective, nll, tokens)


def taught_from(
    model: Model, batch: Batch, state: CarriedState, *, smoothing: float, scale: float
) -> tuple[Sums, CarriedState]:
    """The sums over a batch that goes on from a state, and the state after it, cut off."""
    hidden, after = cast("Resumable", model).resumed(batch.inputs_BT, batch.target_lengths_B, state)
    labels_N = labels_of(batch)
    loss = smoothed(model, labels_N, smoothing)
    objective, nll = pieces.in_pieces(without_prompts(hidden, batch), loss, rows=pieces.ROWS_AT_ONCE, scale=scale)
    # The source's share is a leaf and stays; what the recurrence made is not.
    return Sums(objective, nll, labels_N.shape[0]), after.each(lambda t: t if t.is_leaf else t.detach())


def stretches(batch: Batch, steps: int) -> list[Batch]:
    """The target positions of a batch, so many at a time."""
    found = []
    for start in range(0, batch.inputs_BT.shape[1], steps):
        places = slice(start, start + steps)
        prompts = batch.prompt_lengths_B
        found.append(
            replace(
                batch,
                inputs_BT=batch.inputs_BT[:, places],
                labels_BT=batch.labels_BT[:, places],
                target_lengths_B=(batch.target_lengths_B - start).clamp(0, steps),
                prompt_lengths_B=None if prompts is None else (prompts - start).clamp(0, steps),
            )
        )
    return found


def refuse_unresumable(model: ModelSettings, *, place: str) -> None:
    """Raise ModelError unless models of these settings carry a state of fixed size from step to step."""
    match model:
        case RecurrentSettings():
            return
        case RecurrentLMSettings(attention=None):
            return
        case RecurrentLMSettings():
            problem = "attention to its own past"
        case _:
            problem = f"a model of kind {model.__struct_config__.tag!r}, which attends to its past"
    raise ModelError(
        f"no state of fixed size is carried from step to step by {problem}",
        place=place,
        remedy="Leave it out, or use a recurrent model without attention to its own past.",
    )
