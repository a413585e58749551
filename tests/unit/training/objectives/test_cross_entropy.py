"""Cross-entropy against torch's own in one piece: values and every gradient."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from dragoman.models.build import build
from dragoman.models.recurrence import RecurrentDropoutSettings
from dragoman.models.recurrent_lm import RecurrentLMSettings
from dragoman.training.objectives import pieces
from dragoman.training.objectives.cross_entropy import Smoothed, TeacherForcing
from dragoman.training.objectives.objective import source_of
from dragoman.training.objectives.r_drop import TwoPasses
from dragoman.training.objectives.truncation import Truncated
from reference.objectives import MODELS, WORDS, assert_same, model_and_batch, run

FAMILIES = pytest.mark.parametrize("name", MODELS)


def plain_cross_entropy(model, batch, *, smoothing, scale):
    logits = model.logits(model.hidden(source_of(batch), batch.inputs_BT, batch.target_lengths_B))
    labels = torch.cat([row[:n] for row, n in zip(batch.labels_BT, batch.target_lengths_B, strict=True)])
    loss = functional.cross_entropy(logits, labels, label_smoothing=smoothing, reduction="sum")
    (loss * scale).backward()
    return loss.item(), functional.cross_entropy(logits, labels, reduction="sum").item()


@FAMILIES
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("rows", [512, 3])
def test_cross_entropy_is_that_of_torch_however_it_is_cut(monkeypatch, name, smoothing, rows):
    monkeypatch.setattr(pieces, "ROWS_AT_ONCE", rows)
    model, batch = model_and_batch(name)
    objective = TeacherForcing(smoothing)
    sums, found = run(model, lambda: objective(model, batch, scale=0.25))
    (value, nll), expected = run(model, lambda: plain_cross_entropy(model, batch, smoothing=smoothing, scale=0.25))
    assert sums.objective == pytest.approx(value, rel=1e-5)
    assert sums.nll == pytest.approx(nll, rel=1e-5)
    assert sums.tokens == batch.target_tokens == 20
    assert_same(found, expected)


def test_no_more_logits_at_a_time_than_promised(monkeypatch):
    monkeypatch.setattr(pieces, "ROWS_AT_ONCE", 6)
    model, batch = model_and_batch("transformer")
    seen = []
    whole = model.logits
    monkeypatch.setattr(model, "logits", lambda hidden: seen.append(len(hidden.vectors_ND)) or whole(hidden))
    TeacherForcing(0.1)(model, batch, scale=1.0)
    assert seen == [6, 6, 6, 2]


def test_without_gradients_there_are_none():
    model, batch = model_and_batch("transformer")
    with torch.no_grad():
        sums, found = run(model, lambda: TeacherForcing(0.0)(model, batch, scale=1.0))
    assert found == {}
    assert sums.objective == sums.nll > 0


def test_an_output_layer_learns_above_a_frozen_body():
    model, batch = model_and_batch("transformer, untied")
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name == "output.weight")
    _, found = run(model, lambda: TeacherForcing(0.1)(model, batch, scale=1.0))
    _, expected = run(model, lambda: plain_cross_entropy(model, batch, smoothing=0.1, scale=1.0))
    assert list(found) == ["output.weight"]
    assert_same(found, expected)


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_the_gradient_of_the_loss(smoothing):
    torch.manual_seed(0)
    logits, labels = torch.randn(5, 7, dtype=torch.float64, requires_grad=True), torch.tensor([0, 6, 3, 3, 1])
    assert torch.autograd.gradcheck(lambda x: Smoothed.apply(x, labels, smoothing)[0], (logits,))


def test_large_logits_bring_no_infinity():
    logits = torch.tensor([[1e4, -1e4, 0.0]], requires_grad=True)
    value, nll = Smoothed.apply(logits, torch.tensor([0]), 0.1)
    value.backward()
    assert nll == 0
    assert torch.isfinite(value)
    assert torch.isfinite(logits.grad).all()


def test_bfloat16_logits_are_summed_in_float32():
    logits = torch.randn(600, 50).to(torch.bfloat16)
    labels = torch.randint(0, 50, (600,))
    value, _ = Smoothed.apply(logits, labels, 0.1)
    expected = functional.cross_entropy(logits.double(), labels, label_smoothing=0.1, reduction="sum")
    assert value.dtype == torch.float32
    assert float(value) == pytest.approx(float(expected), rel=1e-5)


@pytest.mark.parametrize("spread", [1.0, 300.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_extreme_logits_keep_their_loss_and_gradient(spread, dtype):
    torch.manual_seed(1)
    logits = (torch.randn(7, 50) * spread).to(dtype)
    labels = torch.randint(0, 50, (7,))
    ours, theirs = (logits.clone().requires_grad_() for _ in range(2))
    value, nll = Smoothed.apply(ours, labels, 0.1)
    wanted = functional.cross_entropy(theirs.double(), labels, label_smoothing=0.1, reduction="sum")
    assert nll.item() == pytest.approx(functional.cross_entropy(logits.double(), labels, reduction="sum").item(), 1e-5)
    assert value.item() == pytest.approx(wanted.item(), 1e-5)
    (value * 3).backward()
    (wanted * 3).backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


@pytest.mark.parametrize(
    "objective", [TeacherForcing(0.1), TwoPasses(smoothing=0.1, weight=3.0), Truncated(0.1, steps=3)]
)
def test_labels_of_prompts_do_not_count(objective):
    """Neither in the sums nor in the gradient: a prompt's labels may be anything."""
    model, batch = prompted()
    sums, found = run(model, lambda: objective(model, batch, scale=0.25))
    other = batch.labels_BT.clone()
    for row, length in enumerate([3, 0, 4, 1]):
        other[row, :length] = 5
    same, expected = run(model, lambda: objective(model, replace(batch, labels_BT=other), scale=0.25))
    assert sums == same
    assert sums.tokens == batch.target_tokens - 8
    assert_same(found, expected)


def test_answers_alone_are_learned():
    model, batch = prompted()

    def plain():
        logits = model.logits(model.hidden(None, batch.inputs_BT, batch.target_lengths_B))
        begin, total = 0, 0.0
        for labels, length, prompt in zip(batch.labels_BT, batch.target_lengths_B.tolist(), [3, 0, 4, 1], strict=True):
            answer = slice(begin + prompt, begin + length)
            total = total + functional.cross_entropy(logits[answer], labels[prompt:length], reduction="sum")
            begin += length
        (total * 0.25).backward()
        return total.item()

    sums, found = run(model, lambda: TeacherForcing(0.0)(model, batch, scale=0.25))
    value, expected = run(model, plain)
    assert sums.objective == sums.nll == pytest.approx(value, rel=1e-5)
    assert_same(found, expected)


def prompted():
    """A recurrent language model and a batch with prompts."""
    _, batch = model_and_batch("language model")
    torch.manual_seed(1)
    settings = RecurrentLMSettings(size=16, dropout=RecurrentDropoutSettings(hidden=0.0))
    return build(settings, target_vocabulary=WORDS).train(), replace(batch, prompt_lengths_B=torch.tensor([3, 0, 4, 1]))
