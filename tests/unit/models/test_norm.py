"""Normalisation against its formulas, and the residual in both its places."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dragoman.models.norm import Residual, norm
from reference import transformer as reference


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
@pytest.mark.parametrize("formula", ["layer", "rms"])
def test_norms_are_their_formulas(formula, dtype, tolerance):
    torch.manual_seed(1)
    module = norm(formula, 7, epsilon=0.01).to(dtype)
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter)
    x = torch.randn(5, 7, dtype=dtype)
    rows, *weights = (t.detach().double().numpy() for t in (x, *module.parameters()))
    formula_of = reference.layer_norm if formula == "layer" else reference.rms_norm
    expected = formula_of(rows, *weights, 0.01)
    np.testing.assert_allclose(module(x).detach().double().numpy(), expected, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("formula", ["layer", "rms"])
def test_gradients(formula):
    x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    module = norm(formula, 5).double()
    assert torch.autograd.gradcheck(lambda x, *_: module(x), (x, *module.parameters()))


def test_before_and_after():
    x, result = torch.randn(2, 3, 4).unbind(0)
    before = Residual(norm("layer", 4), before=True, dropout=0.0)
    assert torch.equal(before.enter(x), before.norm(x))
    assert torch.equal(before.leave(x, result), x + result)
    after = Residual(norm("layer", 4), before=False, dropout=0.0)
    assert torch.equal(after.enter(x), x)
    assert torch.equal(after.leave(x, result), after.norm(x + result))


@pytest.mark.parametrize("before", [True, False])
def test_what_a_sub_layer_adds_is_dropped_in_training_only(before):
    torch.manual_seed(2)
    residual = Residual(norm("layer", 4), before=before, dropout=0.5)
    zeros, ones = torch.zeros(50, 4), torch.ones(50, 4)
    residual.norm = torch.nn.Identity()
    left = residual.leave(zeros, ones)
    assert set(left.flatten().tolist()) == {0.0, 2.0}
    assert torch.equal(residual.eval().leave(zeros, ones), ones)
