"""Recurrent layers: torch's own with copied weights, plain loops, and the three paths against each other."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dragoman.models import recurrence as module
from dragoman.models.cells import Carry
from dragoman.models.dropout import Dropout, VariationalDropout
from dragoman.models.recurrence import (
    RecurrentDropoutSettings,
    RecurrentLayer,
    RecurrentStack,
    between_layers,
    fixed_dropout,
    reversed_within,
)
from reference import recurrent as reference

CELLS = ["vanilla", "gru", "lstm"]
TORCH = {"vanilla": torch.nn.RNN, "gru": torch.nn.GRU, "lstm": torch.nn.LSTM}
LENGTHS = torch.tensor([4, 6, 1])


def _layer(cell, dtype=torch.float32, **rest):
    torch.manual_seed(11)
    layer = RecurrentLayer(cell, 3, 5, **rest).to(dtype).eval()
    state = torch.randn(3, 5, dtype=dtype)
    return layer, torch.randn(3, 6, 3, dtype=dtype), Carry(state, state.flip(0) if cell == "lstm" else None)


def _numbers(carry):
    return [each for each in (carry.hidden_RD, carry.cell_RD) if each is not None]


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("path", ["sequence", "unrolled"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
def test_states_follow_the_formula(cell, path, dtype, tolerance):
    layer, inputs, carry = _layer(cell, dtype)
    outputs, last = getattr(layer, path)(inputs, carry)
    weights = [p.detach().double().numpy() for p in (layer.weight_ih, layer.weight_hh, layer.bias_ih, layer.bias_hh)]
    for row in range(3):
        start = tuple(each[row].double().numpy() for each in _numbers(carry))
        states = reference.sequence(cell, inputs[row].double().numpy(), start, weights)
        np.testing.assert_allclose(outputs[row].detach().double(), [s[0] for s in states], rtol=0, atol=tolerance)
        found = [each[row].detach().double().numpy() for each in _numbers(last)]
        np.testing.assert_allclose(found, states[-1], rtol=0, atol=tolerance)


@pytest.mark.parametrize("cell", CELLS)
def test_a_sequence_is_that_of_torch(cell):
    layer, inputs, carry = _layer(cell, torch.float64)
    theirs = TORCH[cell](3, 5, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        for ours in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(theirs, f"{ours}_l0").copy_(getattr(layer, ours))
    start = tuple(each.unsqueeze(0) for each in _numbers(carry))
    expected, end = theirs(inputs, start if cell == "lstm" else start[0])
    for path in (layer.sequence, layer.unrolled):
        outputs, last = path(inputs, carry)
        torch.testing.assert_close(outputs, expected)
        for mine, other in zip(_numbers(last), end if cell == "lstm" else (end,), strict=True):
            torch.testing.assert_close(mine, other[0])


@pytest.mark.parametrize(
    ("cell", "path"), [("lstm", "held"), *((c, p) for c in CELLS for p in ("packed", "unrolled", "sequence"))]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_padding_never_matters_on_any_path(cell, path, dtype):
    layer, inputs, carry = _layer(cell, dtype)
    run = {
        "packed": layer.packed,
        "held": layer.held,
        "unrolled": layer.unrolled,
        "sequence": lambda i, c, n: layer.sequence(i, c, lengths_B=n),
    }[path]
    outputs, last = run(inputs, carry, LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        index = torch.tensor([row])
        alone, end = layer.unrolled(inputs[index, :length], carry.select(index))
        torch.testing.assert_close(outputs[row, :length], alone[0], rtol=0, atol=1e-5)
        for mine, other in zip(_numbers(last.select(index)), _numbers(end), strict=True):
            torch.testing.assert_close(mine, other, rtol=0, atol=1e-5)


@pytest.mark.parametrize("cell", CELLS)
def test_gradients_of_all_paths_agree_and_none_comes_from_padding(cell):
    found = []
    for path in ("packed", "unrolled", "held")[: 3 if cell == "lstm" else 2]:
        layer, inputs, carry = _layer(cell, torch.float64)
        inputs.requires_grad_()
        outputs, last = getattr(layer, path)(inputs, carry, LENGTHS)
        real = (torch.arange(6) < LENGTHS[:, None]).unsqueeze(2)
        loss = (outputs * real).square().sum() + sum(each.sum() for each in _numbers(last))
        loss.backward()
        assert not inputs.grad[~real.expand_as(inputs)].any()
        found.append([inputs.grad, *(parameter.grad for parameter in layer.parameters())])
    for other in found[1:]:
        for mine, theirs in zip(found[0], other, strict=True):
            torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("cell", ["vanilla", "gru"])
def test_large_layers_train_in_a_loop_with_the_kernels_numbers(cell, monkeypatch):
    found = []
    for loops_from in (1, 100):
        monkeypatch.setattr(module, "LOOPS_FROM", loops_from)
        layer, inputs, carry = _layer(cell)
        taken = []
        monkeypatch.setattr(layer, "unrolled", lambda *a, run=layer.unrolled, taken=taken: taken.append(1) or run(*a))
        outputs, last = layer.sequence(inputs, carry, lengths_B=LENGTHS)
        (outputs[1].sum() + last.hidden_RD.sum()).backward()  # the row without padding
        assert bool(taken) == (loops_from == 1)
        with torch.no_grad():
            layer.sequence(inputs, carry, lengths_B=LENGTHS)
        assert len(taken) == (loops_from == 1)
        found.append([last.hidden_RD, *(parameter.grad for parameter in layer.parameters())])
    for mine, theirs in zip(*found, strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("cell", CELLS)
def test_gradcheck_of_a_loop(cell):
    layer, inputs, carry = _layer(cell, torch.float64)
    assert torch.autograd.gradcheck(
        lambda x, *_: layer.unrolled(x, carry, LENGTHS)[0], (inputs.requires_grad_(), *layer.parameters())
    )


@pytest.mark.parametrize("cell", CELLS)
def test_a_stack_step_by_step_is_the_stack_over_the_sequence(cell):
    torch.manual_seed(0)
    stack = RecurrentStack([RecurrentLayer(cell, 3, 5), RecurrentLayer(cell, 5, 5)])
    inputs = torch.randn(2, 4, 3)
    outputs, last = stack.sequence(inputs, stack.start(2))
    for unrolled in (False, True):
        carries = stack.start(2)
        steps = stack.steps(carries[-1].hidden_RD, unrolled=unrolled)
        for t in range(4):
            carries = steps.advance(stack.first.gates(inputs[:, t]), carries)
            torch.testing.assert_close(carries[-1].hidden_RD, outputs[:, t])
        for mine, theirs in zip(carries, last, strict=True):
            torch.testing.assert_close(_numbers(mine), _numbers(theirs))


class _Doubled(torch.nn.Module):
    """Stands where a dropout would, and can be seen."""

    def forward(self, values):
        return 2 * values


@pytest.mark.parametrize("cell", CELLS)
def test_dropout_stands_between_the_layers_and_nowhere_else(cell):
    torch.manual_seed(0)
    lower, upper = RecurrentLayer(cell, 3, 5), RecurrentLayer(cell, 5, 5)
    stack = RecurrentStack([lower, upper], _Doubled())
    inputs = torch.randn(2, 4, 3)
    expected, _ = upper.sequence(2 * lower.sequence(inputs)[0])
    torch.testing.assert_close(stack.sequence(inputs, stack.start(2))[0], expected)
    carries = stack.start(2)
    steps = stack.steps(carries[-1].hidden_RD, unrolled=True)
    for t in range(4):
        carries = steps.advance(lower.gates(inputs[:, t]), carries)
        torch.testing.assert_close(carries[-1].hidden_RD, expected[:, t])


def test_recurrent_dropout_drops_the_same_units_at_every_step_and_only_in_training():
    layer, _, _ = _layer("vanilla", recurrent_dropout=0.5)
    with torch.no_grad():
        layer.weight_ih.zero_()
        layer.bias_ih.fill_(0.5)
        layer.bias_hh.zero_()
        layer.weight_hh.copy_(torch.eye(5))
    still, _ = layer.sequence(torch.zeros(8, 6, 3))
    assert torch.equal(still[0], still[7])
    layer.train()
    moving, _ = layer.sequence(torch.zeros(8, 6, 3))
    # a unit that is dropped never sees its past, so it stays at tanh(0.5) from its first step on
    dropped = torch.isclose(moving, torch.tanh(torch.tensor(0.5))).all(1)
    assert 0 < dropped.float().mean() < 1
    assert torch.equal(dropped, torch.isclose(moving[:, 1], torch.tanh(torch.tensor(0.5))))


def test_each_sentence_is_reversed_within_its_length():
    vectors = torch.arange(12.0).view(2, 6, 1)
    back = reversed_within(vectors, torch.tensor([6, 3]))
    assert back.squeeze(2).tolist() == [[5, 4, 3, 2, 1, 0], [8, 7, 6, 9, 10, 11]]
    assert torch.equal(reversed_within(back, torch.tensor([6, 3])), vectors)


def test_settings_choose_the_dropout_between_layers():
    assert isinstance(between_layers(RecurrentDropoutSettings(variational=True)), VariationalDropout)
    assert isinstance(between_layers(RecurrentDropoutSettings()), Dropout)


def test_variational_dropout_keeps_one_mask_a_sentence():
    torch.manual_seed(4)
    dropout = VariationalDropout(0.5)
    ones = torch.ones(16, 7, 32)
    dropped = dropout(ones)
    assert torch.equal(dropped, dropped[:, :1].expand_as(dropped))
    assert not torch.equal(dropped[0], dropped[1])
    assert abs(dropped.mean() - 1) < 0.2
    drop = fixed_dropout(dropout, ones[:, 0])
    assert torch.equal(drop(ones[:, 0]), drop(ones[:, 0]))
    dropout.eval()
    assert dropout(ones) is ones
    assert dropout.fixed(ones[:, 0])(ones) is ones
