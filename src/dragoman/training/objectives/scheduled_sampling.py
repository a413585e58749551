"""Scheduled sampling: the decoder reads some of its own tokens in place of the right ones, ever more as it learns.

Under teacher forcing a decoder never sees its own mistakes, and in use it does (Bengio et al. 2015). No gradient flows
through a token that was drawn, so the inputs are mixed first, without gradients, and teacher forcing runs on them.

    stepwise    step by step: each own token was drawn after all that stands before it, own ones included
    two_pass    all at once: each was drawn after the right ones before it (Mihaylova and Martins 2019)

The model draws as it is in use, without dropout.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal, assert_never

import torch

from dragoman.decoding.sample import uniform
from dragoman.models.recurrent_lm import RecurrentLM
from dragoman.models.rnn import RecurrentModel
from dragoman.settings import Meta, Settings
from dragoman.training.objectives import pieces
from dragoman.training.objectives.chance import drawn, example_seeds
from dragoman.training.objectives.cross_entropy import TeacherForcing
from dragoman.training.objectives.objective import Smoothing, source_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from dragoman.data.batch import Batch
    from dragoman.models.seq2seq import Model
    from dragoman.training.objectives.objective import Sums

Form = Literal["stepwise", "two_pass"]
Share = Annotated[float, Meta(ge=0, le=1)]

_MOST_EXPONENT = 700.0  # the exponential of more is infinite


class LinearDecay(Settings, frozen=True, kw_only=True, tag_field="kind", tag="linear"):
    """In a straight line: max(least, 1 - (1 - least) i / steps)."""

    steps: Annotated[int, Meta(ge=1)] = 20_000
    """Updates until the least share is reached."""
    least: Share = 0.0
    """Share of right tokens from then on."""


class ExponentialDecay(Settings, frozen=True, kw_only=True, tag_field="kind", tag="exponential"):
    """By the same factor at each update: baseⁱ."""

    base: Annotated[float, Meta(gt=0, lt=1)] = 0.9999
    """The factor."""


class InverseSigmoidDecay(Settings, frozen=True, kw_only=True, tag_field="kind", tag="inverse_sigmoid"):
    """Slowly, then quickly, then slowly: k / (k + exp(i / k))."""

    k: Annotated[float, Meta(ge=1)] = 2_000.0
    """How slowly; the share of right tokens is a half after k ln k updates."""


DecaySettings = LinearDecay | ExponentialDecay | InverseSigmoidDecay


class ScheduledSampling(Settings, frozen=True, kw_only=True, tag_field="kind", tag="scheduled_sampling"):
    """Teacher forcing in which the decoder reads some of its own tokens."""

    smoothing: Smoothing = 0.1
    """Share of the probability that is spread over the whole vocabulary."""
    decay: DecaySettings = InverseSigmoidDecay()
    """How the share of right tokens falls with the updates."""
    form: Literal["auto", "stepwise", "two_pass"] = "auto"
    """How own tokens come about: step by step, or all at once after the right ones; auto: step by step for recurrent
    models, at once for Transformers."""
    choice: Literal["sample", "best"] = "sample"
    """Whether an own token is drawn from the model's distribution or is the most probable one."""


def share_of_right_tokens(decay: DecaySettings, step: int) -> float:
    """The probability that the decoder reads a right token, after so many updates."""
    match decay:
        case LinearDecay(steps=steps, least=least):
            return max(least, 1 - (1 - least) * step / steps)
        case ExponentialDecay(base=base):
            return float(base**step)
        case InverseSigmoidDecay(k=k):
            return k / (k + math.exp(min(step / k, _MOST_EXPONENT)))
        case _:
            assert_never(decay)


class OwnTokens:
    """Scheduled sampling."""

    def __init__(self, settings: ScheduledSampling, *, seed: int) -> None:
        self._settings, self._seed = settings, seed
        self._forced = TeacherForcing(settings.smoothing)

    def __call__(self, model: Model, batch: Batch, *, scale: float, step: int = 0) -> Sums:
        return self._forced(model, replace(batch, inputs_BT=self.inputs(model, batch, step)), scale=scale)

    def inputs(self, model: Model, batch: Batch, step: int) -> Tensor:
        """What the decoder reads in this update; the begin token always stays."""
        share = share_of_right_tokens(self._settings.decay, step)
        if share >= 1:
            return batch.inputs_BT
        positions_T = torch.arange(batch.inputs_BT.shape[1], device=batch.inputs_BT.device)
        seeds_B1 = example_seeds(batch, seed=self._seed, step=step)[:, None]
        given_B1 = 0 if batch.prompt_lengths_B is None else batch.prompt_lengths_B[:, None]
        own_BT = (uniform(seeds_B1, 2 * positions_T) >= share) & (positions_T > given_B1)
        if not own_BT.any():
            return batch.inputs_BT
        chances_BT = uniform(seeds_B1, 2 * positions_T + 1)
        match self._form(model):
            case "stepwise":
                mix = self._step_by_step
            case "two_pass":
                mix = self._at_once
        with torch.no_grad(), in_use(model):
            return mix(model, batch, own_BT, chances_BT)

    def _form(self, model: Model) -> Form:
        if self._settings.form == "auto":
            return "stepwise" if isinstance(model, RecurrentModel | RecurrentLM) else "two_pass"
        return self._settings.form

    def _step_by_step(self, model: Model, batch: Batch, own_BT: Tensor, chances_BT: Tensor) -> Tensor:
        inputs_BT = batch.inputs_BT.clone()
        state = model.start(source_of(batch), rows=batch.rows)
        for place in range(inputs_BT.shape[1] - 1):
            logits_BV, state = model.step(inputs_BT[:, place], state)
            next_B = inputs_BT[:, place + 1]
            inputs_BT[:, place + 1] = torch.where(
                own_BT[:, place + 1], self._chosen(logits_BV, chances_BT[:, place]), next_B
            )
        return inputs_BT

    def _at_once(self, model: Model, batch: Batch, own_BT: Tensor, chances_BT: Tensor) -> Tensor:
        hidden = model.hidden(source_of(batch), batch.inputs_BT, batch.target_lengths_B)
        positions_T = torch.arange(batch.inputs_BT.shape[1], device=batch.inputs_BT.device)
        counts_BT = positions_T < batch.target_lengths_B[:, None]
        chances_N = chances_BT[counts_BT]
        chosen = [
            self._chosen(model.logits(hidden.rows(rows)), chances_N[rows])
            for rows in pieces.slices(chances_N.shape[0], pieces.ROWS_AT_ONCE)
        ]
        said_BT = torch.zeros_like(batch.inputs_BT)
        said_BT[counts_BT] = torch.cat(chosen)
        inputs_BT = batch.inputs_BT.clone()
        inputs_BT[:, 1:] = torch.where(own_BT[:, 1:] & counts_BT[:, 1:], said_BT[:, :-1], inputs_BT[:, 1:])
        return inputs_BT

    def _chosen(self, logits_RV: Tensor, chances_R: Tensor) -> Tensor:
        return logits_RV.argmax(-1) if self._settings.choice == "best" else drawn(logits_RV, chances_R)


@contextmanager
def in_use(model: Model) -> Iterator[None]:
    """A block in which the model is as in use, without dropout."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)
