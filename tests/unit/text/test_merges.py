"""Byte-pair encoding as the lecture teaches it, and against a naive twin."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import TextError
from dragoman.text.merges import Merge, learn, read, replay, write


def naive(words, merges):
    """Count every pair of every word again at each step."""
    cut = {(*word, "_"): n for word, n in words.items()}
    for _ in range(merges):
        counts = Counter()
        for pieces, n in cut.items():
            for pair in itertools.pairwise(pieces):
                counts[pair] += n
        if not counts:
            return
        left, right = min(counts, key=lambda pair: (-counts[pair], pair))
        yield Merge(left, right, counts[left, right])
        again = {}
        for pieces, n in cut.items():
            joined, i = [], 0
            while i < len(pieces):
                step = 2 if pieces[i : i + 2] == (left, right) else 1
                joined.append("".join(pieces[i : i + step]))
                i += step
            again[tuple(joined)] = again.get(tuple(joined), 0) + n
        cut = again


def test_the_example_of_the_notes():
    words = Counter(["low", "lower", "newest", "widest"])
    merges = list(learn(words, merges=4))
    assert merges[0] == Merge("e", "s", 2)  # as frequent as (l, o), and smaller
    assert [m.piece for m in merges] == ["es", "est", "est_", "lo"]


@given(st.dictionaries(st.text("abc", min_size=1, max_size=7), st.integers(1, 9), max_size=8))
def test_agrees_with_a_naive_twin(words):
    assert list(learn(words, merges=12)) == list(naive(words, 12))


def test_learning_ends_when_nothing_is_left():
    assert [m.piece for m in learn({"ab": 1}, merges=99)] == ["ab", "ab_"]


def test_replay_counts_each_merge():
    words = {"▁low": 5, "▁lower": 2, "▁slow": 1}
    assert list(replay(words, ["lo", "low", "▁low", "xy"])) == [
        Merge("l", "o", 8),
        Merge("lo", "w", 8),
        Merge("▁", "low", 7),
        Merge("x", "y", 0),
    ]


def test_a_trace_survives_the_disk(tmp_path):
    merges = [Merge("a", "\t", 3), Merge("\n", '"', 1)]
    write(tmp_path / "m", merges)
    assert read(tmp_path / "m") == merges
    (tmp_path / "m").write_text('["a", 1]\n')
    with pytest.raises(TextError, match="not a trace"):
        read(tmp_path / "m")
