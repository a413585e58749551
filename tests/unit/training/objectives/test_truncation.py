"""Truncated back-propagation through time against whole sequences, and against single steps that are cut by hand."""

from __future__ import annotations

import pytest
import torch
from msgspec.structs import replace

from dragoman.bundle import Bundle, Description
from dragoman.errors import ModelError
from dragoman.models.build import build
from dragoman.models.recurrence import RecurrentDropoutSettings
from dragoman.models.recurrent_lm import PastAttentionSettings, RecurrentLMSettings
from dragoman.training.objectives.build import build_objective
from dragoman.training.objectives.cross_entropy import CrossEntropy, TeacherForcing
from dragoman.training.objectives.objective import source_of
from dragoman.training.objectives.truncation import Truncated
from reference.objectives import ATTENTIVE, MODELS, WORDS, assert_same, model_and_batch, run

STILL = RecurrentDropoutSettings(hidden=0.0)
RESUMABLE = {
    **{name: ATTENTIVE[name] for name in ("luong", "feeding", "bahdanau", "copying")},
    "no attention": replace(ATTENTIVE["luong"], attention=None),
    "lstm of two layers": replace(ATTENTIVE["luong"], cell="lstm", layers=2),
    "language model": RecurrentLMSettings(size=16, layers=2, dropout=STILL),
}
FAMILIES = pytest.mark.parametrize("name", RESUMABLE)


def made(name):
    _, batch = model_and_batch("language model" if name == "language model" else "transformer")
    torch.manual_seed(1)
    return build(RESUMABLE[name], target_vocabulary=WORDS).train(), batch


@FAMILIES
@pytest.mark.parametrize("steps", [8, 100])
def test_over_all_steps_it_is_the_whole_gradient(name, steps):
    model, batch = made(name)
    sums, found = run(model, lambda: Truncated(0.1, steps=steps)(model, batch, scale=0.25))
    other, expected = run(model, lambda: TeacherForcing(0.1)(model, batch, scale=0.25))
    assert sums.objective == pytest.approx(other.objective, rel=1e-6)
    assert (sums.nll, sums.tokens) == (pytest.approx(other.nll, rel=1e-6), other.tokens)
    assert_same(found, expected)


def plain_truncated(model, batch, *, steps, scale):
    """Step by step, with the state's way back cut after every so many steps; the source is not cut off."""
    state = model.start(source_of(batch), rows=batch.rows)
    total = 0.0
    for place in range(batch.inputs_BT.shape[1]):
        if place and place % steps == 0:
            memory = getattr(state, "memory", None)
            state = state.each(lambda t: t.detach())
            if memory is not None:
                state = type(state)(state.carries, state.fed_RX, memory)
        logits, state = model.step(batch.inputs_BT[:, place], state)
        log_probs = logits.log_softmax(-1)
        for row, length in enumerate(batch.target_lengths_B.tolist()):
            if place < length:
                total = total - log_probs[row, batch.labels_BT[row, place]]
    (total * scale).backward()
    return total.item()


@FAMILIES
@pytest.mark.parametrize("steps", [1, 3])
def test_over_fewer_it_is_that_of_a_loop_cut_by_hand(name, steps):
    model, batch = made(name)
    sums, found = run(model, lambda: Truncated(0.0, steps=steps)(model, batch, scale=0.25))
    value, expected = run(model, lambda: plain_truncated(model, batch, steps=steps, scale=0.25))
    assert sums.objective == sums.nll == pytest.approx(value, rel=1e-5)
    assert_same(found, expected)
    _, whole = run(model, lambda: TeacherForcing(0.0)(model, batch, scale=0.25))
    assert any(not torch.allclose(found[key], whole[key], rtol=1e-3, atol=1e-6) for key in whole)


def test_without_gradients_there_are_none():
    model, batch = made("luong")
    with torch.no_grad():
        sums, found = run(model, lambda: Truncated(0.0, steps=2)(model, batch, scale=1.0))
    assert found == {}
    assert sums.objective > 0


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (MODELS["transformer"], "a model of kind 'transformer', which attends to its past"),
        (RecurrentLMSettings(size=16, attention=PastAttentionSettings()), "attention to its own past"),
    ],
)
def test_models_that_attend_to_their_past_are_refused(model, told):
    description = Description(model=model, source_vocabulary=None, target_vocabulary=WORDS)
    bundle = Bundle(description, build(model, target_vocabulary=WORDS), None)
    with pytest.raises(ModelError, match=told):
        build_objective(CrossEntropy(truncate=3), bundle=bundle, device=torch.device("cpu"), seed=1)
