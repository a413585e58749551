"""The cache: columns, rows of different age, and buffers that states share."""

from __future__ import annotations

import pytest
import torch

from dragoman.models.attention import Heads
from dragoman.models.cache import Cache

HEADS = Heads(2, 2, 3, 1.0)


def _empty(rows):
    return Cache.empty(1, rows, HEADS, torch.zeros(1))


def _said(cache, values):
    """The cache after one more column that holds these values, row by row."""
    cache = cache.advanced()
    column = torch.tensor(values)[:, None, None, None].expand(-1, 2, 1, 3)
    return cache, cache.write(0, column, -column)


def _rows(kept):
    keys, values = kept
    assert torch.equal(keys, -values)
    return keys[:, 0, :, 0].tolist()


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


def test_columns_grow_beyond_the_first_capacity():
    cache = _empty(2)
    for t in range(50):
        cache, kept = _said(cache, [float(t), float(100 + t)])
    assert _rows(kept) == [[float(t) for t in range(50)], [float(100 + t) for t in range(50)]]
    assert cache.positions.tolist() == [50, 50]
    assert 50 <= cache.buffers.capacity <= 64


def test_appending_copies_nothing():
    first, _ = _said(_empty(2), [1.0, 2.0])
    second, _ = _said(first, [3.0, 4.0])
    assert second.buffers is first.buffers


def test_branches_do_not_see_each_other():
    first, _ = _said(_empty(1), [1.0])
    left, left_kept = _said(first, [2.0])
    _, right_kept = _said(first, [3.0])
    assert _rows(left_kept) == [[1.0, 2.0]]
    assert _rows(right_kept) == [[1.0, 3.0]]
    assert _rows(_said(left, [4.0])[1]) == [[1.0, 2.0, 4.0]]


def test_joined_rows_end_together_and_the_younger_begins_later():
    old, _ = _said(_said(_empty(1), [1.0])[0], [2.0])
    young, _ = _said(_empty(1), [7.0])
    for joined, rows in ((old.join(young), [0, 1]), (young.join(old), [1, 0])):
        cache, kept = _said(joined, [8.0, 9.0])
        found = _rows(kept)
        assert found[rows[0]][:2] == [1.0, 2.0]
        assert found[rows[1]][:2] == [0.0, 7.0]
        assert cache.positions[rows].tolist() == [3, 2]
        hidden = cache.mask.bias[:, 0, 0] < 0
        assert hidden[rows[0]].tolist() == [False, False, False]
        assert hidden[rows[1]].tolist() == [True, False, False]


def test_columns_that_no_row_uses_are_given_up():
    old, _ = _said(_said(_empty(1), [1.0])[0], [2.0])
    young, _ = _said(_empty(1), [7.0])
    left = old.join(young).select(torch.tensor([1, 1]))
    assert (left.length, left.ragged) == (1, False)
    cache, kept = _said(left, [8.0, 9.0])
    assert _rows(kept) == [[7.0, 8.0], [7.0, 9.0]]
    assert cache.mask.bias is None


def test_rows_of_both_ages_keep_what_is_hidden_from_them():
    old, _ = _said(_said(_empty(1), [1.0])[0], [2.0])
    young, _ = _said(_empty(1), [7.0])
    mixed = old.join(young).select(torch.tensor([1, 0, 1]))
    cache, _ = _said(mixed, [3.0, 4.0, 5.0])
    assert cache.positions.tolist() == [2, 3, 2]
    assert (cache.mask.bias[:, 0, 0] < 0).tolist() == [[True, False, False], [False] * 3, [True, False, False]]


def test_a_selection_of_everything_is_the_cache_itself():
    cache, _ = _said(_empty(2), [1.0, 2.0])
    assert cache.select(torch.tensor([0, 1])) is cache
    assert cache.select(torch.tensor([1, 0])) is not cache


def test_no_rows_at_all():
    cache, _ = _said(_empty(2), [1.0, 2.0])
    assert cache.select(torch.tensor([], dtype=torch.long)).positions.shape == (0,)
