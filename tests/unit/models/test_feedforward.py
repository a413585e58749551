"""The feed-forward sub-layer against its formula."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from dragoman.models.feedforward import FeedForward
from reference import transformer as reference

FORMULAS = {
    "relu": lambda v: max(v, 0.0),
    "gelu": lambda v: v * (1 + math.erf(v / math.sqrt(2))) / 2,
    "gelu_tanh": lambda v: v * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))) / 2,
    "silu": lambda v: v / (1 + math.exp(-v)),
}


def _maps(module):
    return [(m.weight.detach().double().numpy(), m.bias.detach().double().numpy()) for m in module]


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
@pytest.mark.parametrize("activation", FORMULAS)
def test_it_is_the_formula(activation, dtype, tolerance):
    torch.manual_seed(1)
    module = FeedForward(6, 9, activation=activation).to(dtype)
    x = torch.randn(4, 6, dtype=dtype)
    first, second = _maps((module.inputs, module.output))
    expected = reference.feed_forward(x.double().numpy(), first, second, FORMULAS[activation])
    np.testing.assert_allclose(module(x).detach().double().numpy(), expected, atol=tolerance, rtol=tolerance)


def test_the_gated_form():
    torch.manual_seed(2)
    module = FeedForward(4, 5, activation="silu", gated=True, bias=False).double()
    x = torch.randn(3, 4, dtype=torch.float64)
    opened, passed = module.inputs.weight.split(5)
    expected = (torch.nn.functional.silu(x @ opened.t()) * (x @ passed.t())) @ module.output.weight.t()
    torch.testing.assert_close(module(x), expected, atol=1e-10, rtol=1e-10)
    assert module.inputs.bias is None


@pytest.mark.parametrize("gated", [True, False])
def test_gradients(gated):
    module = FeedForward(3, 4, activation="gelu", gated=gated).double()
    x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, *_: module(x), (x, *module.parameters()))


def test_dropout_strikes_between_the_maps():
    module = FeedForward(4, 1000, dropout=0.5, bias=False)
    x = torch.rand(1, 4)
    assert not torch.equal(module(x), module(x))
    assert torch.equal(module.eval()(x), module(x))
