"""The recurrent language model, with and without attention over its own past."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dragoman.models.recurrent_lm import PastAttentionSettings, RecurrentLMSettings, recurrent_lm
from reference import recurrent as reference

WORDS = 15
LENGTHS = torch.tensor([6, 2, 4])
SCORES = ["dot", "scaled_dot", "general", "concat", "additive"]


def _model(score, dtype=torch.float32, **rest):
    torch.manual_seed(6)
    attention = None if score is None else PastAttentionSettings(score=score)
    settings = RecurrentLMSettings(size=6, embedding_size=5, attention=attention, **{"layers": 2, **rest})
    model = recurrent_lm(settings, vocabulary=WORDS).to(dtype).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return model


def _inputs():
    torch.manual_seed(7)
    return torch.randint(4, WORDS, (3, 6))


@pytest.fixture(params=[None, *SCORES])
def model(request):
    return _model(request.param)


def _stepped(model, inputs, state):
    logits = []
    for tokens in inputs.unbind(1):
        row, state = model.step(tokens, state)
        logits.append(row)
    return torch.stack(logits, dim=1), state


@pytest.mark.parametrize("grad", [True, False])
def test_step_by_step_is_the_full_forward(model, grad):
    inputs = _inputs()
    with torch.set_grad_enabled(grad):
        full = model.logits(model.hidden(None, inputs, LENGTHS))
        stepped, _ = _stepped(model, inputs, model.start(rows=3))
    real = torch.cat([rows[:length] for rows, length in zip(stepped, LENGTHS.tolist(), strict=True)])
    torch.testing.assert_close(real, full, rtol=0, atol=1e-5)


@torch.no_grad()
def test_a_past_longer_than_its_first_buffer(model):
    inputs = torch.randint(4, WORDS, (2, 40), generator=torch.Generator().manual_seed(1))
    stepped, _ = _stepped(model, inputs, model.start(rows=2))
    full = model.logits(model.hidden(None, inputs, torch.tensor([40, 40])))
    torch.testing.assert_close(stepped.flatten(0, 1), full, rtol=0, atol=1e-5)


@torch.no_grad()
def test_rows_of_different_age_live_together(model):
    inputs = _inputs()
    logits, _ = _stepped(model, inputs, model.start(rows=3))
    _, state = _stepped(model, inputs[:, :3], model.start(rows=3))
    order = torch.tensor([1, 1, 0])
    state = state.select(order).join(model.start(rows=2))
    row, state = model.step(torch.cat((inputs[order, 3], inputs[:2, 0])), state)
    torch.testing.assert_close(row, torch.cat((logits[order, 3], logits[:2, 0])), rtol=0, atol=1e-5)
    state = state.select(torch.tensor([4, 2]))
    row, state = model.step(torch.stack((inputs[1, 1], inputs[0, 4])), state)
    torch.testing.assert_close(row, torch.stack((logits[1, 1], logits[0, 4])), rtol=0, atol=1e-5)
    kept = state
    model.step(torch.tensor([5, 6]), kept)
    row, _ = model.step(torch.stack((inputs[1, 2], inputs[0, 5])), kept)
    torch.testing.assert_close(row, torch.stack((logits[1, 2], logits[0, 5])), rtol=0, atol=1e-5)


def test_padding_and_later_tokens_never_matter(model):
    inputs = _inputs()
    whole = torch.full((3,), 6)
    before = model.logits(model.hidden(None, inputs, whole)).view(3, 6, -1)
    changed = inputs.clone()
    changed[:, 4:] = 0
    after = model.logits(model.hidden(None, changed, whole)).view(3, 6, -1)
    torch.testing.assert_close(before[:, :4], after[:, :4], rtol=0, atol=1e-6)
    assert (before[:, 4] - after[:, 4]).abs().max() > 1e-4
    alone = model.logits(model.hidden(None, inputs[1:2, :2], torch.tensor([2])))
    torch.testing.assert_close(alone, before[1, :2], rtol=0, atol=1e-5)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
@pytest.mark.parametrize("score", ["dot", "general"])
def test_each_state_reads_the_earlier_ones(score, dtype, tolerance):
    model = _model(score, dtype, cell="gru", layers=1)
    inputs = _inputs()
    vectors = model.hidden(None, inputs, torch.full((3,), 6)).vectors_ND.view(3, 6, -1)
    layer = model.stack.first
    weights = [p.detach().double().numpy() for p in (layer.weight_ih, layer.weight_hh, layer.bias_ih, layer.bias_hh)]
    formula = reference.dot
    if score == "general":
        bilinear = model.reading.score.map.weight.detach().double().numpy()

        def formula(query, key):
            return reference.general(query, key, bilinear)

    for row in range(3):
        embedded = model.embedding(inputs[row]).detach().double().numpy()
        states = [state for (state,) in reference.sequence("gru", embedded, (np.zeros(6),), weights)]
        contexts = [
            reference.reading(state, states[:t] or states[:1], states[:t] or states[:1], formula)[0]
            for t, state in enumerate(states)
        ]
        expected = np.concatenate([contexts, states], axis=1)
        np.testing.assert_allclose(vectors[row].detach().double(), expected, rtol=0, atol=tolerance)


def test_attention_sums_to_one_over_the_past():
    maps = _model("additive").attention_weights(None, _inputs(), LENGTHS).decoder_self_LBHTT
    assert maps.shape == (1, 3, 1, 6, 6)
    torch.testing.assert_close(maps.sum(-1), torch.ones(1, 3, 1, 6))
    assert not maps[..., 1:, :].triu(1).any()
    assert not maps[0, 0, 0, 1:].diagonal(1).any()  # from its second state on, none sees itself
    assert torch.equal(maps[0, :, 0, 0, 0], torch.ones(3))
    assert _model(None).attention_weights(None, _inputs(), LENGTHS).decoder_self_LBHTT is None


def test_dot_attention_adds_no_parameter():
    with_attention, without = _model("dot"), _model(None)
    assert not list(with_attention.reading.parameters())
    grown = sum(p.numel() for p in with_attention.parameters()) - sum(p.numel() for p in without.parameters())
    assert grown == WORDS * 6  # the output layer sees [a; s], where it saw s


def test_every_parameter_learns(model):
    model.train()
    logits = model.logits(model.hidden(None, _inputs(), LENGTHS))
    torch.nn.functional.cross_entropy(logits, torch.randint(0, WORDS, (12,))).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("score", SCORES)
def test_gradcheck(score):
    model = _model(score, torch.float64, layers=1)
    parameters = [p for name, p in model.named_parameters() if "output" not in name]

    def function(*_):
        return model.hidden(None, _inputs(), LENGTHS).vectors_ND.sum(1)

    assert torch.autograd.gradcheck(function, parameters, fast_mode=True)


def test_the_output_may_share_the_table():
    model = _model("dot", tied_output=True, readout="tanh", readout_size=5)
    assert model.output.weight is model.embedding[0].weight
