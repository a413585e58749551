"""Positions against their formulas, and the worked example of the lecture."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dragoman.errors import ModelError
from dragoman.models.positions import Learned, Relative, Rotary, Sinusoidal
from reference import transformer as reference


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
def test_sinusoids_are_the_formula(dtype, tolerance):
    ours = Sinusoidal(16)(torch.arange(700), dtype)
    assert ours.dtype is dtype
    np.testing.assert_allclose(ours.double().numpy(), reference.sinusoids(700, 16), atol=tolerance, rtol=0)


def test_the_worked_example_of_five_positions_of_size_four():
    table = Sinusoidal(4)(torch.arange(5), torch.float64)
    # The lecture prints 0.0017 and 0.9999 in row 1; by its own formula sin(1/100) = 0.0100.
    np.testing.assert_allclose(table[1].numpy(), [0.8415, 0.5403, 0.0100, 0.99995], atol=5e-5)
    products = table @ table.t()
    np.testing.assert_allclose(products.diagonal().numpy(), 2.0, atol=1e-12)
    np.testing.assert_allclose(products[0].numpy(), [2.00, 1.54, 0.58, 0.01, 0.35], atol=0.005)
    assert products.max() <= 2 + 1e-12


def test_variants_are_the_same_waves():
    places = torch.arange(9)
    plain = Sinusoidal(8)(places)
    halves = Sinusoidal(8, interleaved=False)(places)
    assert torch.equal(halves, torch.cat([plain[:, 0::2], plain[:, 1::2]], dim=1))
    assert torch.equal(Sinusoidal(8, offset=2)(places), Sinusoidal(8)(places + 2))
    last = Sinusoidal(8, interleaved=False, endpoint=True)(torch.tensor([10000]), torch.float64)[0, 3]
    assert last.item() == pytest.approx(np.sin(1.0))


def test_any_shape_of_positions():
    table = Sinusoidal(4)(torch.arange(6))
    assert torch.equal(Sinusoidal(4)(torch.tensor([[3, 1], [0, 5]])), table[torch.tensor([[3, 1], [0, 5]])])


def test_learned_positions_begin_at_the_offset_and_end():
    positions = Learned(4, 3, offset=2)
    assert torch.equal(positions(torch.tensor([0, 3])), positions.weight[[2, 5]])
    with pytest.raises(ModelError, match=r"sequence of 5 tokens is longer than the 4"):
        positions(torch.tensor([4]))


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
def test_rotary_positions_are_the_formula(dtype, tolerance):
    torch.manual_seed(1)
    vectors = torch.randn(1, 2, 7, 6, dtype=dtype)
    turned = Rotary(6, wavelength=500.0)(torch.arange(7)[None] * 3, dtype).turn(vectors)
    for head in range(2):
        for place in range(7):
            expected = reference.rotated(vectors[0, head, place].double().numpy(), place * 3, 500.0)
            np.testing.assert_allclose(turned[0, head, place].double().numpy(), expected, atol=tolerance)


def test_rotary_products_depend_on_the_distance_alone():
    torch.manual_seed(2)
    query, key = torch.randn(2, 1, 1, 1, 8, dtype=torch.float64).unbind(0)
    rotary = Rotary(8)

    def product(at, distance):
        a = rotary(torch.tensor([[at]]), torch.float64).turn(query)
        b = rotary(torch.tensor([[at + distance]]), torch.float64).turn(key)
        return (a * b).sum().item()

    assert product(0, 5) == pytest.approx(product(100, 5), abs=1e-12)
    assert product(0, 5) != pytest.approx(product(0, 6), abs=1e-3)


@pytest.mark.parametrize("both_ways", [True, False])
@pytest.mark.parametrize(("buckets", "farthest"), [(32, 128), (16, 40)])
def test_relative_classes_are_the_formula(both_ways, buckets, farthest):
    relative = Relative(3, buckets=buckets, farthest=farthest, both_ways=both_ways)
    distances = torch.arange(-200, 201)
    expected = [
        reference.relative_bucket(int(d), both_ways=both_ways, buckets=buckets, farthest=farthest) for d in distances
    ]
    assert relative.bucket(distances).tolist() == expected
    assert torch.equal(relative(distances), relative.weight[torch.tensor(expected)])


def test_gradients():
    relative = Relative(2, buckets=8, farthest=16, both_ways=True).double()
    distances = torch.arange(-5, 6)

    def bias(weight):
        return torch.func.functional_call(relative, {"weight": weight}, (distances,))

    assert torch.autograd.gradcheck(bias, relative.weight)
    turn = Rotary(4)(torch.arange(3)[None], torch.float64).turn
    assert torch.autograd.gradcheck(turn, torch.randn(1, 1, 3, 4, dtype=torch.float64, requires_grad=True))
