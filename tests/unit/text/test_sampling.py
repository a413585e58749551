"""Random cuts against probabilities worked out by hand and by enumeration."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter

import pytest

from dragoman.text.sampling import LatticeSampling, MergeDropout

DRAWS = 40_000


def chi_square(counts, probabilities):
    return sum((counts[k] - DRAWS * p) ** 2 / (DRAWS * p) for k, p in probabilities.items())


def test_merge_dropout_follows_its_probabilities():
    """Abc with merges ab, then bc, then abc: worked out on paper."""
    p = 0.3
    keep = 1 - p
    cutter = MergeDropout({"ab": 0.0, "bc": -1.0, "abc": -2.0}, dropout=p)
    expected = {
        ("abc",): keep * keep + p * keep * keep,
        ("ab", "c"): keep * p,
        ("a", "bc"): p * keep * p,
        ("a", "b", "c"): p * p,
    }
    assert sum(expected.values()) == pytest.approx(1)
    generator = random.Random(5)
    counts = Counter(cutter.cut(("a", "b", "c"), generator) for _ in range(DRAWS))
    assert set(counts) == set(expected)
    assert chi_square(counts, expected) < 16.3  # 3 degrees of freedom, one in a thousand


def test_lattice_sampling_follows_its_probabilities():
    scores = {"a": -1.0, "b": -2.0, "ab": -2.5, "ba": -1.5, "aba": -4.0}
    word, alpha = "abab", 0.7
    weights = {}
    for gaps in itertools.product([False, True], repeat=len(word) - 1):
        edges = [0, *(i + 1 for i, gap in enumerate(gaps) if gap), len(word)]
        cut = tuple(word[a:b] for a, b in itertools.pairwise(edges))
        if all(piece in scores for piece in cut):
            weights[cut] = math.exp(alpha * sum(scores[piece] for piece in cut))
    total = sum(weights.values())
    expected = {cut: weight / total for cut, weight in weights.items()}
    assert len(expected) == 6
    generator = random.Random(6)
    sampling = LatticeSampling(scores, alpha=alpha)
    counts = Counter(sampling.cut(word, generator) for _ in range(DRAWS))
    assert set(counts) <= set(expected)
    assert chi_square(counts, expected) < 20.6  # 5 degrees of freedom, one in a thousand


def test_unknown_characters_stand_alone():
    assert LatticeSampling({"a": -1.0}, alpha=1.0).cut("a?a", random.Random(1)) == ("a", "?", "a")
