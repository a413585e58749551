"""Edit distance against the full table that defines it."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from dragoman.measures.edits import Edits, common_words, edit_distance, fewest_edits

tokens = st.lists(st.sampled_from("abc"), max_size=12)


def by_table(first, second):
    table = [[i + j if i * j == 0 else 0 for j in range(len(second) + 1)] for i in range(len(first) + 1)]
    for i in range(1, len(first) + 1):
        for j in range(1, len(second) + 1):
            replaced = table[i - 1][j - 1] + (first[i - 1] != second[j - 1])
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, replaced)
    return table[-1][-1]


@given(tokens, tokens)
def test_distance_is_that_of_the_full_table(first, second):
    assert edit_distance(first, second) == by_table(first, second)


@given(st.text(max_size=90), st.text(max_size=90))
def test_distance_of_longer_texts(first, second):
    assert edit_distance(first, second) == by_table(first, second)


@given(tokens, tokens, tokens)
def test_distance_is_a_metric(first, second, third):
    assert (edit_distance(first, second) == 0) == (first == second)
    assert edit_distance(first, second) == edit_distance(second, first)
    assert edit_distance(first, third) <= edit_distance(first, second) + edit_distance(second, third)


def test_known_distance():
    assert edit_distance("kitten", "sitting") == 3


def test_the_closest_reference_counts_and_of_equals_the_longest():
    assert fewest_edits("abc", ["xyz", "ab", "abcd"]) == Edits(count=1, length=4)


@given(st.lists(st.sampled_from("abc"), max_size=7), st.lists(st.sampled_from("abc"), max_size=7))
def test_common_words_are_a_longest_common_series(first, second):
    found = sorted(common_words(first, second))
    rest = iter(second)
    assert all(first[i] in rest for i in found)  # in the same order
    longest = max(
        n
        for n in range(len(first) + 1)
        for some in combinations(first, n)
        if all(word in it for it in [iter(second)] for word in some)
    )
    assert len(found) == longest
