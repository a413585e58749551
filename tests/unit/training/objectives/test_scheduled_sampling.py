"""Scheduled sampling against a loop over single sentences, token by token."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from dragoman.decoding.sample import uniform
from dragoman.training.objectives.chance import drawn, example_seeds
from dragoman.training.objectives.cross_entropy import TeacherForcing
from dragoman.training.objectives.objective import source_of
from dragoman.training.objectives.scheduled_sampling import (
    ExponentialDecay,
    InverseSigmoidDecay,
    LinearDecay,
    OwnTokens,
    ScheduledSampling,
    share_of_right_tokens,
)
from reference.objectives import MODELS, assert_same, model_and_batch, run

FAMILIES = pytest.mark.parametrize("name", MODELS)
HALF = LinearDecay(steps=1, least=0.5)


def plain_inputs(model, batch, *, form, share, seed, step, choice):
    """The mixed inputs of each sentence, from the whole model run anew for every token."""
    rows = []
    for one in batch.split(batch.rows):
        own_seed = example_seeds(one, seed=seed, step=step)
        right = one.inputs_BT[0].tolist()
        mixed = right[:1]
        for place in range(1, int(one.target_lengths_B[0])):
            if float(uniform(own_seed, torch.tensor([2 * place]))) < share:
                mixed.append(right[place])
                continue
            before = mixed if form == "stepwise" else right[:place]
            with torch.no_grad():
                hidden = model.hidden(source_of(one), torch.tensor([before]), torch.tensor([len(before)]))
                probabilities = model.logits(hidden)[-1].double().softmax(-1).tolist()
            if choice == "best":
                mixed.append(max(range(len(probabilities)), key=probabilities.__getitem__))
                continue
            chance, token = float(uniform(own_seed, torch.tensor([2 * place - 1]))), 0
            while chance >= probabilities[token]:
                chance -= probabilities[token]
                token += 1
            mixed.append(token)
        rows.append(mixed)
    return rows


@FAMILIES
@pytest.mark.parametrize("form", ["stepwise", "two_pass"])
@pytest.mark.parametrize("choice", ["sample", "best"])
def test_the_decoder_reads_what_a_loop_over_tokens_says(name, form, choice):
    model, batch = model_and_batch(name)
    objective = OwnTokens(ScheduledSampling(decay=HALF, form=form, choice=choice), seed=5)
    found = objective.inputs(model, batch, step=7)
    assert model.training
    model.eval()
    expected = plain_inputs(model, batch, form=form, share=0.5, seed=5, step=7, choice=choice)
    lengths = batch.target_lengths_B.tolist()
    assert [row[:length] for row, length in zip(found.tolist(), lengths, strict=True)] == expected
    assert not torch.equal(found, batch.inputs_BT)
    assert torch.equal(found[:, 0], batch.inputs_BT[:, 0])


@FAMILIES
def test_it_is_teacher_forcing_on_the_mixed_inputs(name):
    model, batch = model_and_batch(name)
    objective = OwnTokens(ScheduledSampling(decay=HALF), seed=5)
    mixed = replace(batch, inputs_BT=objective.inputs(model, batch, step=3))
    sums, found = run(model, lambda: objective(model, batch, scale=0.5, step=3))
    other, expected = run(model, lambda: TeacherForcing(0.1)(model, mixed, scale=0.5))
    assert sums == other
    assert_same(found, expected)


def test_auto_goes_step_by_step_in_recurrent_models_only():
    for name, form in (("recurrent", "stepwise"), ("transformer", "two_pass"), ("language model", "two_pass")):
        model, batch = model_and_batch(name)
        auto, chosen = (OwnTokens(ScheduledSampling(decay=HALF, form=f), seed=5) for f in ("auto", form))
        assert torch.equal(auto.inputs(model, batch, 4), chosen.inputs(model, batch, 4))


def test_what_else_is_in_the_batch_does_not_matter_and_the_step_does():
    model, batch = model_and_batch("recurrent")
    objective = OwnTokens(ScheduledSampling(decay=HALF), seed=5)
    whole = objective.inputs(model, batch, 1)
    torch.rand(3)  # nothing is drawn from the generator
    parts = [objective.inputs(model, part, 1) for part in batch.split(2)]
    assert torch.equal(whole, torch.cat(parts))
    assert not torch.equal(whole, objective.inputs(model, batch, 2))
    assert not torch.equal(whole, OwnTokens(ScheduledSampling(decay=HALF), seed=6).inputs(model, batch, 1))


def test_at_first_all_tokens_are_right_and_later_none():
    model, batch = model_and_batch("transformer")
    objective = OwnTokens(ScheduledSampling(decay=LinearDecay(steps=10)), seed=5)
    assert torch.equal(objective.inputs(model, batch, 0), batch.inputs_BT)
    late = objective.inputs(model, batch, 10)
    own = objective._at_once(model.eval(), batch, torch.ones_like(batch.inputs_BT, dtype=torch.bool), torch.zeros(4, 8))
    assert late.shape == own.shape
    assert not torch.equal(late, batch.inputs_BT)


def test_prompts_stay_as_they_are():
    model, batch = model_and_batch("language model")
    batch = replace(batch, prompt_lengths_B=torch.tensor([3, 1, 2, 1]))
    mixed = OwnTokens(ScheduledSampling(decay=LinearDecay(steps=1)), seed=5).inputs(model, batch, 1)
    for row, prompt in enumerate([3, 1, 2, 1]):
        assert torch.equal(mixed[row, : prompt + 1], batch.inputs_BT[row, : prompt + 1])
    assert not torch.equal(mixed, batch.inputs_BT)


@pytest.mark.parametrize(
    ("decay", "step", "share"),
    [
        (LinearDecay(steps=100, least=0.2), 0, 1.0),
        (LinearDecay(steps=100, least=0.2), 50, 0.6),
        (LinearDecay(steps=100, least=0.2), 500, 0.2),
        (ExponentialDecay(base=0.99), 0, 1.0),
        (ExponentialDecay(base=0.99), 100, 0.99**100),
        (InverseSigmoidDecay(k=10), 0, 10 / 11),
        (InverseSigmoidDecay(k=10), round(10 * math.log(10)), 0.5),
        (InverseSigmoidDecay(k=10), 10**9, 0.0),
    ],
)
def test_decays(decay, step, share):
    assert share_of_right_tokens(decay, step) == pytest.approx(share, abs=2e-3)


def test_draws_follow_the_distribution():
    logits = torch.tensor([[0.0, 1.0, -1.0]]).expand(20_000, 3)
    found = drawn(logits, uniform(torch.arange(20_000), torch.zeros(1, dtype=torch.long)))
    shares = torch.bincount(found, minlength=3) / 20_000
    torch.testing.assert_close(shares, logits[0].softmax(-1), atol=0.01, rtol=0)
