"""The cells against plain loops and against torch's own."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dragoman.models.cells import GATES, Carry, advance
from reference import recurrent as reference

CELLS = ["vanilla", "gru", "lstm"]
TORCH = {"vanilla": torch.nn.RNNCell, "gru": torch.nn.GRUCell, "lstm": torch.nn.LSTMCell}


def _setting(cell, dtype=torch.float64):
    torch.manual_seed(3)
    weights = [torch.randn(GATES[cell] * 4, width, dtype=dtype) for width in (3, 4)]
    biases = [torch.randn(GATES[cell] * 4, dtype=dtype) for _ in range(2)]
    x, h = torch.randn(2, 3, dtype=dtype), torch.randn(2, 4, dtype=dtype)
    return (*weights, *biases), x, Carry(h, torch.randn(2, 4, dtype=dtype) if cell == "lstm" else None)


def _advanced(cell, weights, x, carry):
    ih, hh, bias_ih, bias_hh = weights
    return advance(cell, x @ ih.t() + bias_ih, carry.hidden_RD @ hh.t() + bias_hh, carry)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
def test_a_step_follows_the_formula(cell, dtype, tolerance):
    weights, x, carry = _setting(cell, dtype)
    after = _advanced(cell, weights, x, carry)
    plain = [each.double().numpy() for each in weights]
    for row in range(2):
        state = tuple(t[row].double().numpy() for t in (carry.hidden_RD, carry.cell_RD) if t is not None)
        expected = reference.CELLS[cell](x[row].double().numpy(), state, plain)
        found = [t[row].double().numpy() for t in (after.hidden_RD, after.cell_RD) if t is not None]
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("cell", CELLS)
def test_a_step_is_that_of_torch(cell):
    weights, x, carry = _setting(cell)
    theirs = TORCH[cell](3, 4, dtype=torch.float64)
    with torch.no_grad():
        for name, weight in zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), weights, strict=True):
            getattr(theirs, name).copy_(weight)
    after = _advanced(cell, weights, x, carry)
    if cell == "lstm":
        hidden, memory = theirs(x, (carry.hidden_RD, carry.cell_RD))
        torch.testing.assert_close(after.cell_RD, memory)
    else:
        hidden = theirs(x, carry.hidden_RD)
    torch.testing.assert_close(after.hidden_RD, hidden)


@pytest.mark.parametrize("cell", CELLS)
def test_gradients_are_those_of_the_formula(cell):
    weights, x, carry = _setting(cell)
    leaves = [t.requires_grad_() for t in (*weights, x, carry.hidden_RD, carry.cell_RD) if t is not None]

    def step(*_):
        after = _advanced(cell, weights, x, carry)
        return tuple(t for t in (after.hidden_RD, after.cell_RD) if t is not None)

    assert torch.autograd.gradcheck(step, leaves)


def test_rows_are_chosen_and_added():
    carry = Carry(torch.arange(6.0).view(3, 2), -torch.arange(6.0).view(3, 2))
    chosen = carry.select(torch.tensor([2, 0, 2]))
    assert chosen.hidden_RD.tolist() == [[4, 5], [0, 1], [4, 5]]
    assert chosen.cell_RD.tolist() == [[-4, -5], [0, -1], [-4, -5]]
    joined = chosen.join(carry)
    assert joined.hidden_RD.shape == joined.cell_RD.shape == (6, 2)
    assert Carry(carry.hidden_RD).join(Carry(carry.hidden_RD)).cell_RD is None
