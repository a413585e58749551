"""Minimum-risk training against a loop over sentences and candidates, differentiated by torch in one piece."""

from __future__ import annotations

import pytest
import torch
from msgspec.structs import replace

from dragoman.bundle import Bundle, Description
from dragoman.errors import ModelError
from dragoman.measures.sentence import sentence_metric
from dragoman.models.build import build
from dragoman.models.dropout import DropoutSettings
from dragoman.models.recurrence import RecurrentDropoutSettings
from dragoman.text.build import TextSettings, Tokenizers, train_tokenizer
from dragoman.text.symbols import SymbolSettings
from dragoman.text.vocabulary import BOS, EOS
from dragoman.training.objectives import minimum_risk, pieces
from dragoman.training.objectives.build import build_objective
from dragoman.training.objectives.cross_entropy import TeacherForcing
from dragoman.training.objectives.minimum_risk import ExpectedRisk, MinimumRisk
from dragoman.training.objectives.objective import source_of
from reference.objectives import MODELS, WORDS, assert_same, model_and_batch, run

SOURCED = pytest.mark.parametrize("name", [name for name in MODELS if name != "language model"])
TOKENIZER = train_tokenizer(SymbolSettings(), TextSettings(), texts=["a b c d e f g h i j k"], size=None)
assert len(TOKENIZER.vocabulary) == WORDS


def undropped(name):
    model, batch = model_and_batch(name)
    settings = MODELS[name]
    drop = RecurrentDropoutSettings(hidden=0.0) if name.startswith("recurrent") else DropoutSettings(hidden=0.0)
    torch.manual_seed(1)
    model = build(replace(settings, dropout=drop), target_vocabulary=WORDS).train()
    with torch.no_grad():  # so that some outputs are short, some are cut, and some occur twice
        for parameter in model.parameters():
            parameter.mul_(2)
    return model, batch


def plain_risk(model, batch, candidates, *, settings):
    """The sum over sentences of Σ Q (100 - metric), each candidate read alone."""
    metric = sentence_metric(settings.metric)
    total = 0.0
    for row, one in enumerate(batch.split(batch.rows)):
        labels = one.labels_BT[0, : int(one.target_lengths_B[0])].tolist()
        chosen = [c for c, place in zip(candidates.tokens, candidates.sentence_C.tolist(), strict=True) if place == row]
        logits, costs = [], []
        for tokens in chosen:
            inputs = torch.tensor([[BOS, *tokens[:-1]]])
            rows = model.logits(model.hidden(source_of(one), inputs, torch.tensor([len(tokens)])))
            log_prob = sum(r.log_softmax(-1)[t] for r, t in zip(rows, tokens, strict=True))
            logits.append(settings.alpha * log_prob)
            texts = [TOKENIZER.decode(each) for each in (tokens, labels)]
            costs.append(100 - metric.score(*map(metric.prepare, texts)))
        total = total + (torch.stack(logits).softmax(0) * torch.tensor(costs)).sum()
    return total


@SOURCED
@pytest.mark.parametrize("metric", ["bleu", "chrf", "token_similarity", "exact_match"])
def test_value_and_gradient(monkeypatch, name, metric):
    monkeypatch.setattr(pieces, "ROWS_AT_ONCE", 7)
    model, batch = undropped(name)
    settings = MinimumRisk(metric=metric, samples=5, alpha=0.3, cross_entropy=0.5, smoothing=0.1)
    objective = ExpectedRisk(settings, tokenizer=TOKENIZER, seed=3)
    candidates = objective.candidates(model, batch, step=2)

    def plain():
        forced = TeacherForcing(0.1)(model, batch, scale=0.25 * 0.5)
        risk = plain_risk(model, batch, candidates, settings=settings)
        (risk * 0.25).backward()
        return risk.item() + 0.5 * forced.objective, forced.nll

    sums, found = run(model, lambda: objective(model, batch, scale=0.25, step=2))
    (value, nll), expected = run(model, plain)
    assert sums.objective == pytest.approx(value, rel=1e-4)
    assert sums.nll == pytest.approx(nll, rel=1e-5)
    assert sums.tokens == 20
    assert_same(found, expected, tolerance=5e-6)  # read alone, candidates are summed up in another order


def test_candidates_are_different_draws_and_the_reference():
    model, batch = undropped("transformer")
    objective = ExpectedRisk(MinimumRisk(samples=6), tokenizer=TOKENIZER, seed=3)
    found = objective.candidates(model, batch, step=2)
    for row in range(batch.rows):
        mine = [c for c, place in zip(found.tokens, found.sentence_C.tolist(), strict=True) if place == row]
        right = tuple(batch.labels_BT[row, : int(batch.target_lengths_B[row])].tolist())
        assert mine[0] == right
        assert len(set(mine)) == len(mine) <= 7
        assert all(len(c) <= 1.5 * len(right) + 5 for c in mine)
        assert any(c[-1] == EOS for c in mine)
    assert max(found.costs_C) <= 100
    assert found.costs_C[0] == 0  # the reference costs nothing
    without = ExpectedRisk(MinimumRisk(samples=6, reference=False), tokenizer=TOKENIZER, seed=3)
    assert len(without.candidates(model, batch, step=2).tokens) < len(found.tokens)


def test_draws_depend_on_seed_step_and_example_alone():
    model, batch = undropped("recurrent")
    objective = ExpectedRisk(MinimumRisk(samples=4), tokenizer=TOKENIZER, seed=3)
    whole = objective.candidates(model, batch, step=2)
    torch.rand(5)
    parts = [objective.candidates(model, part, step=2) for part in batch.split(4)]
    assert whole.tokens == [tokens for part in parts for tokens in part.tokens]
    assert whole.tokens != objective.candidates(model, batch, step=3).tokens
    other = ExpectedRisk(MinimumRisk(samples=4), tokenizer=TOKENIZER, seed=4)
    assert whole.tokens != other.candidates(model, batch, step=2).tokens


@pytest.mark.parametrize("name", ["transformer", "recurrent"])
def test_both_readings_drop_the_same_values(monkeypatch, name):
    """With dropout, the gradient is that of the very value that was found."""
    model, batch = model_and_batch(name)
    monkeypatch.setattr(minimum_risk, "_groups", lambda candidates, most: [torch.arange(len(candidates.tokens))])
    settings = MinimumRisk(samples=4, alpha=0.5, cross_entropy=0.0)
    objective = ExpectedRisk(settings, tokenizer=TOKENIZER, seed=3)
    candidates = objective.candidates(model, batch, step=0)

    def plain():
        with torch.no_grad():
            TeacherForcing(0.1)(model, batch, scale=1.0)
        everything = torch.arange(len(candidates.tokens))
        hidden, labels, places = minimum_risk._read(model, batch, candidates, everything)
        log_probs = model.logits(hidden).log_softmax(-1).gather(1, labels[:, None])[:, 0]
        sums = torch.zeros(len(candidates.tokens)).index_add(0, places, log_probs)
        risk = 0.0
        for row in range(batch.rows):
            mine = candidates.sentence_C == row
            risk = risk + ((0.5 * sums[mine]).softmax(0) * candidates.costs_C[mine]).sum()
        risk.backward()
        return risk.item()

    sums, found = run(model, lambda: objective(model, batch, scale=1.0))
    value, expected = run(model, plain)
    assert sums.objective == pytest.approx(value, rel=1e-5)
    assert_same(found, expected)


def test_candidates_are_read_a_batch_at_a_time():
    model, batch = undropped("transformer")
    objective = ExpectedRisk(MinimumRisk(samples=20, temperature=3.0), tokenizer=TOKENIZER, seed=3)
    candidates = objective.candidates(model, batch, step=2)
    groups = minimum_risk._groups(candidates, most=batch.labels_BT.numel())
    assert len(groups) > 3
    assert sorted(place for group in groups for place in group.tolist()) == list(range(len(candidates.tokens)))
    for group in groups:
        assert len(group) * max(len(candidates.tokens[place]) for place in group.tolist()) <= batch.labels_BT.numel()


def test_the_risk_falls():
    model, batch = undropped("recurrent")
    settings = MinimumRisk(metric="token_similarity", samples=8, alpha=1.0, cross_entropy=0.0, reference=False)
    objective = ExpectedRisk(settings, tokenizer=TOKENIZER, seed=3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    values = []
    for step in range(18):
        optimizer.zero_grad()
        values.append(objective(model, batch, scale=1 / 20, step=step).objective)
        optimizer.step()
    assert sum(values[-3:]) < 0.8 * sum(values[:3])


def test_a_language_model_is_refused():
    description = Description(model=MODELS["language model"], source_vocabulary=None, target_vocabulary=WORDS)
    bundle = Bundle(description, model_and_batch("language model")[0], Tokenizers(TOKENIZER, TOKENIZER))
    with pytest.raises(ModelError, match="'minimum_risk' needs a model that reads a source"):
        build_objective(MinimumRisk(), bundle=bundle, device=torch.device("cpu"), seed=1)


def test_without_gradients_there_are_none():
    model, batch = undropped("transformer")
    objective = ExpectedRisk(MinimumRisk(samples=3), tokenizer=TOKENIZER, seed=3)
    with torch.no_grad():
        sums, found = run(model, lambda: objective(model, batch, scale=1.0))
    assert found == {}
    assert sums.objective > 0
