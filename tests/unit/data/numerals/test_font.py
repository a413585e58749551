"""The ten digits in points."""

from __future__ import annotations

import numpy as np

from dragoman.data.numerals.font import DIGITS, TALL, WIDE


def test_ten_different_digits_that_reach_from_the_top_to_the_bottom():
    assert DIGITS.shape == (10, TALL, WIDE)
    assert len({digit.tobytes() for digit in DIGITS}) == 10
    assert DIGITS[:, 0].any(axis=1).all()
    assert DIGITS[:, -1].any(axis=1).all()
    assert set(np.unique(DIGITS)) == {0.0, 1.0}
