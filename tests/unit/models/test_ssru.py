"""The simpler simple recurrent unit against its formula, and its quick scan against the slow one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dragoman.models.ssru import SSRU, Cells, scan, scan_plainly
from reference import transformer as reference


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
def test_the_unit_is_the_formula(dtype, tolerance):
    torch.manual_seed(1)
    unit = SSRU(5).to(dtype)
    torch.nn.init.normal_(unit.forget_bias)
    x = torch.randn(2, 9, 5, dtype=dtype)
    forget, matrix = (w.detach().double().numpy() for w in unit.inputs.weight.split(5))
    bias = unit.forget_bias.detach().double().numpy()
    for row in range(2):
        expected = reference.ssru(x[row].double().numpy(), forget, bias, matrix)
        np.testing.assert_allclose(unit(x)[row].detach().double().numpy(), expected, atol=tolerance, rtol=tolerance)


def test_the_scan_and_its_gradients_are_those_of_the_loop():
    torch.manual_seed(2)
    leaves = [torch.rand(3, 8, 4).requires_grad_(), torch.randn(3, 8, 4).requires_grad_()]
    direction = torch.randn(3, 8, 4)
    found = []
    for path in (scan, scan_plainly):
        cells = path(*leaves)
        found.append([cells, *torch.autograd.grad(cells, leaves, direction)])
    torch.testing.assert_close(found[0], found[1], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("length", [1, 2, 5])
def test_gradients(length):
    leaves = [torch.rand(2, length, 3).double().requires_grad_(), torch.randn(2, length, 3).double().requires_grad_()]
    assert torch.autograd.gradcheck(scan, leaves)
    unit = SSRU(3).double()
    assert torch.autograd.gradcheck(lambda x, *_: unit(x), (leaves[1], *unit.parameters()))


@torch.no_grad()
def test_steps_are_the_sequence():
    unit = SSRU(4)
    x = torch.randn(3, 6, 4)
    past = Cells.empty(1, 3, unit.forget_bias)
    for t in range(6):
        past = past.advanced()
        torch.testing.assert_close(unit.step(x[:, t], past, 0), unit(x)[:, t], atol=1e-6, rtol=1e-5)
    assert past.positions.tolist() == [6, 6, 6]


def test_a_later_state_leaves_the_earlier_one_alone():
    unit = SSRU(4)
    first = Cells.empty(1, 2, unit.forget_bias).advanced()
    unit.step(torch.randn(2, 4), first, 0)
    kept = first.layers[0].clone()
    unit.step(torch.randn(2, 4), first.advanced(), 0)
    assert torch.equal(first.layers[0], kept)
