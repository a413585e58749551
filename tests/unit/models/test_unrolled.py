"""The map for loops against a plain product."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from dragoman.models.unrolled import UnrolledLinear, linear_map


def _loop(product, first, steps=4):
    """A small recurrence through a square map."""
    outputs, state = [], first
    for _ in range(steps):
        state = torch.tanh(product(state))
        outputs.append(state)
    return torch.stack(outputs)


def _gradients(make, *, dtype=torch.float64, backwards=1):
    torch.manual_seed(2)
    weight = torch.randn(3, 3, dtype=dtype, requires_grad=True)
    bias = torch.randn(3, dtype=dtype, requires_grad=True)
    first = torch.randn(5, 3, dtype=dtype, requires_grad=True)
    outputs = _loop(make(weight, bias), first)
    for _ in range(backwards):
        outputs.square().sum().backward(retain_graph=True)
    return outputs.detach(), weight.grad, bias.grad, first.grad


def _plain(weight, bias):
    return lambda x: functional.linear(x, weight, bias)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("backwards", [1, 2])
def test_values_and_gradients_are_those_of_a_plain_product(dtype, backwards):
    ours = _gradients(UnrolledLinear, dtype=dtype, backwards=backwards)
    theirs = _gradients(_plain, dtype=dtype, backwards=backwards)
    for mine, plain in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, plain)


def test_gradcheck():
    torch.manual_seed(2)
    leaves = [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((3, 3), (3,), (2, 3))]
    assert torch.autograd.gradcheck(lambda w, b, x: _loop(UnrolledLinear(w, b), x), leaves)


def test_steps_that_the_loss_does_not_see_count_nothing():
    weight = torch.randn(3, 3, requires_grad=True)
    first = torch.randn(5, 3)
    outputs = _loop(UnrolledLinear(weight), first)
    outputs[1].sum().backward()
    seen, weight.grad = weight.grad, None
    _loop(lambda x: x @ weight.t(), first)[1].sum().backward()
    torch.testing.assert_close(seen, weight.grad)


def test_asking_for_an_inputs_gradient_alone_leaves_nothing_behind():
    weight = torch.randn(3, 3, requires_grad=True)
    first = torch.randn(5, 3, requires_grad=True)
    outputs = _loop(UnrolledLinear(weight), first)
    torch.autograd.grad(outputs.sum(), first, retain_graph=True)
    outputs.sum().backward()
    seen, weight.grad = weight.grad, None
    _loop(lambda x: x @ weight.t(), first.detach()).sum().backward()
    torch.testing.assert_close(seen, weight.grad)


def test_a_slice_of_a_weight_and_an_input_without_gradient():
    weight = torch.randn(3, 6, requires_grad=True)
    x = torch.randn(4, 3)
    product = UnrolledLinear(weight[:, 3:])
    (product(x).sum() + product(2 * x).sum()).backward()
    torch.testing.assert_close(weight.grad[:, 3:], 3 * x.sum(0).expand(3, 3))
    assert not weight.grad[:, :3].any()


def test_autocast_computes_in_its_format_and_keeps_the_gradients():
    weight = torch.randn(3, 3, requires_grad=True)
    x = torch.randn(4, 3, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = UnrolledLinear(weight)(x)
    assert y.dtype is torch.bfloat16
    y.float().sum().backward()
    assert weight.grad.dtype is x.grad.dtype is torch.float32
    torch.testing.assert_close(weight.grad, x.detach().sum(0).expand(3, 3), rtol=0.02, atol=0.02)


def test_without_gradients_the_map_is_plain():
    weight = torch.randn(3, 3, requires_grad=True)
    with torch.no_grad():
        assert not isinstance(linear_map(weight, unrolled=True), UnrolledLinear)
    assert not isinstance(linear_map(weight, unrolled=False), UnrolledLinear)
    assert isinstance(linear_map(weight, unrolled=True), UnrolledLinear)
