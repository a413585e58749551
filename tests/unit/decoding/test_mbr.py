"""Minimum Bayes risk: the candidate most like the others."""

from __future__ import annotations

import pytest

from dragoman.decoding.mbr import rank


def likeness(one, other):
    return sum(a == b for a, b in zip(one, other, strict=True))


def test_by_hand():
    ranking = rank(["abc", "abd", "xyz"], likeness)
    assert ranking.order == (0, 1, 2)
    assert ranking.expected == pytest.approx([5 / 3, 5 / 3, 1.0])
    assert ranking.best == 0


def test_repeated_samples_weigh_more_but_are_compared_once():
    calls = []

    def counted(one, other):
        calls.append((one, other))
        return likeness(one, other)

    candidates = ["abc", "xyz", "xyz", "xyw"]
    ranking = rank(candidates, counted)
    assert ranking.best == 1
    assert len(calls) == len(set(calls)) == 9
    slow = [sum(likeness(c, s) for s in candidates) / 4 for c in candidates]
    assert ranking.expected == pytest.approx(slow)


def test_weights_and_other_samples():
    assert rank(["abc", "xyz"], likeness, weights=[0.1, 0.9]).best == 1
    assert rank(["abc", "xyz"], likeness, weights=[0.9, 0.1]).best == 0
    assert rank(["abc", "xyz"], likeness, samples=["xbz", "xya"]).order == (1, 0)


def test_likeness_need_not_be_symmetric():
    ranking = rank([1, 3], lambda candidate, sample: candidate / sample)
    assert ranking.expected == pytest.approx([(1 + 1 / 3) / 2, 2.0])
