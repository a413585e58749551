"""Linear maps through oneDNN against torch's own."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from dragoman.models import linear as module
from dragoman.models.linear import Linear, linear


def _both(shape, outputs, *, bias=True, gradient=None):
    torch.manual_seed(1)
    x = torch.randn(*shape)
    w = torch.randn(outputs, shape[-1])
    b = torch.randn(outputs) if bias else None
    results = []
    for function in (linear, functional.linear):
        leaves = [t.clone().requires_grad_() for t in (x, w, b) if t is not None]
        out = function(*leaves)
        out.backward(torch.ones_like(out) if gradient is None else gradient(out))
        results.append([out.detach(), *(leaf.grad for leaf in leaves)])
    return results


@pytest.mark.parametrize("shape", [(7, 16), (60, 16), (2, 300, 16), (2, 256, 16), (3, 20, 4, 16), (16,)])
@pytest.mark.parametrize("bias", [True, False])
def test_values_and_gradients_are_those_of_torch(shape, bias):
    ours, theirs = _both(shape, 12, bias=bias)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.shape == other.shape
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-4)


def test_the_onednn_path_is_the_one_that_runs_in_float32(monkeypatch):
    if not module.onednn_has_linear():
        pytest.skip("this torch has no oneDNN linear map")
    calls = []
    original = module._product
    monkeypatch.setattr(module, "_product", lambda *a: calls.append(1) or original(*a))
    Linear(4, 4)(torch.randn(700, 4)).sum().backward()
    assert len(calls) == 2  # forward, and the gradient of the weight; the input needs none
    Linear(4, 4)(torch.randn(9, 4)).sum().backward()
    assert len(calls) == 2  # few rows take torch's path


def test_an_expanded_gradient_and_strided_inputs():
    ours, theirs = _both((600, 8), 4, gradient=lambda out: torch.tensor(2.0).expand(out.shape))
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    x = torch.randn(8, 100).t()
    w = torch.randn(10, 16)[:, ::2]
    torch.testing.assert_close(linear(x, w), functional.linear(x, w), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("outputs", "inputs"), [(40, 16), (16, 40)])
def test_the_gradient_of_a_weight_has_its_layout_whichever_side_is_wider(outputs, inputs):
    gradient, values = torch.randn(700, outputs), torch.randn(700, inputs)
    found = module.weight_gradient(gradient, values)
    assert found.is_contiguous()
    torch.testing.assert_close(found, gradient.t() @ values, rtol=1e-4, atol=1e-4)


def test_no_rows_give_no_rows():
    assert linear(torch.zeros(0, 4), torch.zeros(3, 4)).shape == (0, 3)


def test_other_formats_take_torchs_path():
    x, w = torch.randn(3, 4, dtype=torch.float64), torch.randn(2, 4, dtype=torch.float64)
    assert torch.equal(linear(x, w), functional.linear(x, w))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert Linear(4, 2)(torch.randn(3, 4)).dtype is torch.bfloat16


def test_second_derivatives_exist():
    x = torch.randn(300, 4, requires_grad=True)
    w = torch.randn(2, 4, requires_grad=True)
    (first,) = torch.autograd.grad(linear(x, w).square().sum(), x, create_graph=True)
    (ours,) = torch.autograd.grad(first.square().sum(), w)
    (first,) = torch.autograd.grad(functional.linear(x, w).square().sum(), x, create_graph=True)
    (theirs,) = torch.autograd.grad(first.square().sum(), w)
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


def test_slices_of_columns_reach_onednn_dense_and_transposed_views_as_they_are():
    wide = torch.randn(64, 48)
    assert module._dense(wide[:, 16:]).is_contiguous()
    assert torch.equal(module._dense(wide[:, 16:]), wide[:, 16:])
    for view in (wide, wide.t(), wide[16:]):
        assert module._dense(view).data_ptr() == view.data_ptr()
