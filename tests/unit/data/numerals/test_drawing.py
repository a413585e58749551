"""Strips of frames: the same from the same seed, never alike from another."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.data.numerals.drawing import ROWS, draw


def test_a_strip_is_a_function_of_its_digits_and_its_seed():
    assert np.array_equal(draw("407", 1, 2), draw("407", 1, 2))
    assert not np.array_equal(draw("4", 1)[:3], draw("4", 2)[:3])


@pytest.mark.parametrize("seed", range(20))
def test_more_digits_make_a_longer_strip_with_more_ink(seed):
    one, four = draw("8", seed), draw("8888", seed)
    assert one.dtype == np.float16
    assert one.shape[1] == four.shape[1] == ROWS
    assert len(four) > 2 * len(one)
    assert four.sum(dtype=float) > 2 * one.sum(dtype=float)
    assert one.min() > -0.16
    assert 0.45 < one.max() < 1.16


def test_the_numbers_of_a_strip_are_those_that_they_always_were():
    strip = draw("3", 1, 3)
    assert strip.shape == (7, ROWS)
    assert strip[4].astype(float).round(3).tolist() == [
        -0.109, 0.112, 0.083, 0.801, 0.096, -0.103, 0.834, -0.048, -0.057, 0.798, 0.112, -0.043,
    ]  # fmt: skip
