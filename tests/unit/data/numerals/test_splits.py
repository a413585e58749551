"""Parts of drawn numerals that share no number."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.data.numerals import read_aloud, splits
from dragoman.errors import DataError


def test_no_number_is_in_two_parts():
    parts = splits(train=40, dev=10, test=10)
    numbers = [each.number for part in (parts.train, parts.dev, parts.test) for each in part]
    assert len(set(numbers)) == len(numbers) == 60
    assert all(each.words == read_aloud(each.number) for each in parts.train)


def test_parts_are_a_function_of_seed_and_sizes():
    first, again, other = splits(train=5, dev=1, test=1), splits(train=5, dev=1, test=1), splits(seed=2, train=5)
    assert [each.number for each in first.train] == [each.number for each in again.train]
    assert all(np.array_equal(a.frames, b.frames) for a, b in zip(first.train, again.train, strict=True))
    assert [each.number for each in first.train] != [each.number for each in other.train]


def test_more_numbers_than_there_are_words_for_are_refused():
    with pytest.raises(DataError, match="10,001 numbers are wanted, and there are 10,000"):
        splits(train=10_001, dev=0, test=0)
