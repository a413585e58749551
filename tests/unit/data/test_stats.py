from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data import fingerprints, stats
from dragoman.data.corpus import Pair
from dragoman.data.stats import Growth, Overlap, Sentences, lengths, measure


def pairs(*sides):
    return [Pair(source, target, "file", i) for i, (source, target) in enumerate(sides, 1)]


TRAIN = pairs(("a b", "x"), ("a c d", "жа y"), ("a b", "x"), ("e", "z 1"))


def measured(corpus, name="train", **options):
    part = Sentences(name, mebibytes=1)
    return measure(corpus, part, mebibytes=1, **options), part


def test_a_small_corpus_is_counted_right():
    found, _ = measured(TRAIN)
    assert (found.name, found.pairs, found.repeated, found.overlaps, found.bounded) == ("train", 4, 1, (), False)
    assert found.source.words.total == 8
    assert found.source.words.mean == 2.0
    assert found.source.words.longest == 3
    assert (found.source.vocabulary, found.source.vocabulary_is_bound) == (5, False)
    assert found.source.growth == (Growth(4, 5),)
    assert found.source.alphabet == 6
    assert found.target.scripts == {"Latin": 4 / 6, "Cyrillic": 2 / 6}


@given(st.lists(st.integers(0, 300), min_size=1, max_size=200))
def test_lengths_agree_with_numpy(values):
    found = lengths(Counter(values))
    assert found.total == sum(values)
    assert found.mean == pytest.approx(np.mean(values))
    for percent, value in found.percentiles.items():
        assert value == np.percentile(values, percent, method="inverted_cdf")
    assert sum(b.count for b in found.histogram) == len(values)
    for b in found.histogram:
        assert b.count == sum(b.least <= value <= b.most for value in values)
    assert len(found.histogram) <= 13


def test_what_parts_share_is_found_on_either_side():
    _, train = measured(TRAIN)
    found, valid = measured(pairs(("A  B", "new"), ("new", "y"), ("q", "Z 1")), "valid", earlier=[train])
    assert found.overlaps == (
        Overlap("train", "source", 1, 1 / 3, ("A  B",)),
        Overlap("train", "target", 1, 1 / 3, ("Z 1",)),
    )
    other, _ = measured(pairs(("new", "w")), "test", earlier=[train, valid])
    assert other.overlaps == (Overlap("valid", "source", 1, 1.0, ("new",)),)


def test_text_without_sources_has_one_side():
    found, _ = measured(pairs(("", "a"), ("", "a")))
    assert found.source is None
    assert (found.pairs, found.repeated) == (2, 1)


def test_paths_of_arrays_are_compared_but_not_counted_as_text():
    _, train = measured(pairs(("a.npy", "one")), source_is_text=False)
    found, _ = measured(pairs(("a.npy", "two")), "test", earlier=[train], source_is_text=False)
    assert found.source is None
    assert [overlap.side for overlap in found.overlaps] == ["source"]


def test_growth_is_told_at_doubling_numbers_of_pairs(monkeypatch):
    monkeypatch.setattr(stats, "_FIRST_POINT", 2)
    found, _ = measured(pairs(*[(f"w{i} w0", "x") for i in range(9)]))
    assert found.source.growth == (Growth(2, 2), Growth(4, 4), Growth(8, 8), Growth(9, 9))


def test_bounds_are_reported(monkeypatch):
    monkeypatch.setattr(stats, "MOST_WORDS", 3)
    monkeypatch.setattr(fingerprints, "_FILL", 3 / (1 << 17))
    found, _ = measured(pairs(*[(f"w{i}", "x") for i in range(9)]))
    assert (found.source.vocabulary, found.source.vocabulary_is_bound) == (3, True)
    assert (found.target.vocabulary, found.target.vocabulary_is_bound) == (1, False)
    assert found.bounded
