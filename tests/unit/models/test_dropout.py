"""Dropout: how much is kept, that masks are independent and reproducible, and what the gradients are."""

from __future__ import annotations

import pytest
import torch

from dragoman.models.dropout import Dropout, WordDropout, draw, drop, drop_onto, keep, skips


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.3, 0.5, 0.9])
def test_the_share_kept(rate):
    torch.manual_seed(1)
    count = 1_000_003
    mask, kept = keep(draw(torch.Size([count])), rate, torch.float32)
    assert kept == pytest.approx(1 - rate, abs=1e-5)
    deviation = (rate * (1 - rate) / count) ** 0.5
    assert abs(mask.double().mean().item() - kept) < 5 * deviation


def test_neighbours_are_independent():
    # The four masks that come from one draw, and masks some way apart.
    torch.manual_seed(2)
    mask = keep(draw(torch.Size([400_000])), 0.3, torch.float64)[0] - 0.7
    for distance in (1, 2, 3, 4, 5, 8, 128, 312, 624, 1248):
        correlation = (mask[:-distance] * mask[distance:]).mean().item() / 0.21
        assert abs(correlation) < 5 / 400_000**0.5, distance
    for lane in range(4):
        assert abs(mask[lane::4].mean().item()) < 5 * (0.21 / 100_000) ** 0.5


def test_the_default_generator_brings_masks_back():
    values = torch.ones(3, 7)
    state = torch.get_rng_state()
    first, second = drop(values, 0.5), drop(values, 0.5)
    torch.set_rng_state(state)
    assert torch.equal(drop(values, 0.5), first)
    assert torch.equal(drop(values, 0.5), second)
    assert not torch.equal(first, second)


def test_values_and_gradients():
    torch.manual_seed(3)
    values = torch.randn(50, 40, requires_grad=True)
    result = drop(values, 0.25)
    result.backward(torch.ones_like(result))
    zero = result == 0
    assert 0.15 < zero.float().mean() < 0.35
    torch.testing.assert_close(result[~zero], values[~zero] / 0.75, rtol=1e-4, atol=0)
    torch.testing.assert_close(values.grad, (~zero) / 0.75, rtol=1e-4, atol=0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_dropping_onto_a_sum_is_dropping_then_adding(dtype):
    torch.manual_seed(3)
    leaves = [torch.randn(50, 41, dtype=dtype, requires_grad=True) for _ in range(2)]
    found = []
    for path in (lambda x, values: drop_onto(x, values, 0.25), lambda x, values: x + drop(values, 0.25)):
        torch.manual_seed(4)
        result = path(*leaves)
        found.append([result, *torch.autograd.grad(result.square().sum(), leaves)])
    tolerance = 0.05 if dtype is torch.bfloat16 else 1e-5
    torch.testing.assert_close(found[0], found[1], rtol=tolerance, atol=tolerance)
    assert (found[0][2] == 0).float().mean() > 0.15


def test_sums_of_two_formats_or_shapes_are_those_of_torch():
    torch.manual_seed(5)
    assert drop_onto(torch.zeros(8), torch.ones(8, dtype=torch.bfloat16), 0.5).dtype is torch.float32
    wide = drop_onto(torch.zeros(3, 8), torch.ones(8), 0.5)
    assert torch.equal(wide, wide[:1].expand(3, 8))


def test_gradcheck():
    torch.manual_seed(6)
    leaves = [torch.randn(4, 5, dtype=torch.float64, requires_grad=True) for _ in range(2)]

    def seeded(function):
        torch.manual_seed(7)
        return function()

    assert torch.autograd.gradcheck(lambda v: seeded(lambda: drop(v, 0.3)), leaves[0])
    assert torch.autograd.gradcheck(lambda x, v: seeded(lambda: drop_onto(x, v, 0.3)), leaves)


def test_the_mean_stays():
    torch.manual_seed(4)
    assert drop(torch.ones(1_000_000), 0.1).mean().item() == pytest.approx(1, abs=0.002)


def test_nothing_happens_in_use_or_at_rate_zero():
    values = torch.randn(4, 5, 6)
    for module in (Dropout(0.9), WordDropout(0.9)):
        assert module.eval()(values) is values
    for module in (Dropout(0.0), WordDropout(0.0)):
        assert module(values) is values


def test_a_rate_just_below_one_stays_finite():
    assert torch.isfinite(drop(torch.ones(100), 0.999999)).all()


def test_whole_words_go():
    torch.manual_seed(5)
    result = WordDropout(0.4)(torch.ones(200, 20, 6))
    assert ((result == 0).all(-1) | (result == 1).all(-1)).all()
    assert 0.35 < (result[..., 0] == 0).float().mean() < 0.45


def test_layers_are_skipped_as_often_as_asked():
    torch.manual_seed(6)
    assert not any(skips(0.0) for _ in range(100))
    assert 0.25 < sum(skips(0.3) for _ in range(2000)) / 2000 < 0.35


def test_half_precision_keeps_its_format():
    assert drop(torch.ones(8, dtype=torch.bfloat16), 0.5).dtype is torch.bfloat16
