"""Length normalisation and its bound; the coverage penalty."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.decoding.scores import LengthNormalization, coverage_penalty

KINDS = st.sampled_from(["mean", "gnmt"])


def test_by_hand():
    assert LengthNormalization(0.0).score(-4.3, 7) == -4.3
    assert LengthNormalization(1.0).score(-4.3, 7) == pytest.approx(-4.3 / 7)
    assert LengthNormalization(0.5).score(-4.3, 9) == pytest.approx(-4.3 / 3)
    assert LengthNormalization(1.0, "gnmt").score(-4.0, 7) == pytest.approx(-2.0)
    assert LengthNormalization(0.6, "gnmt").divisor(7) == pytest.approx(2**0.6)


@given(kind=KINDS, alpha=st.floats(0, 2), lengths=st.lists(st.integers(1, 300), min_size=1))
def test_many_at_once_are_as_one_by_one(kind, alpha, lengths):
    normalization = LengthNormalization(alpha, kind)
    together = normalization.divisors(torch.tensor(lengths))
    assert together.tolist() == pytest.approx([normalization.divisor(n) for n in lengths], rel=1e-5)


@given(
    kind=KINDS,
    alpha=st.floats(0, 2),
    falling=st.tuples(st.floats(-50, 0), st.floats(0, 50)),
    lengths=st.tuples(st.integers(1, 100), st.integers(0, 100)),
)
def test_the_bound_holds(kind, alpha, falling, lengths):
    now, loss = falling
    normalization = LengthNormalization(alpha, kind)
    length, further = lengths
    assert normalization.score(now - loss, length) <= normalization.bound(now, length + further) + 1e-9


def test_coverage_by_hand():
    coverage_RS = torch.tensor([[1.5, 0.5, 0.0], [1.0, 0.2, 0.8]])
    penalties = coverage_penalty(coverage_RS, torch.tensor([2, 3]))
    assert penalties.tolist() == pytest.approx([math.log(0.5), math.log(0.2) + math.log(0.8)], abs=1e-5)
    assert math.isfinite(float(coverage_penalty(torch.zeros(1, 3), torch.tensor([3]))))
