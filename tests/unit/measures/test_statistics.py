"""Counts of lines: their sums give what `measure` gives, for any lines."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from dragoman.measures.metrics import METRICS, measure
from dragoman.measures.statistics import statistics

words = st.lists(st.sampled_from(["a", "the", "Cat", "cat", "sat", ".", "b-c", "über"]), max_size=7).map(" ".join)
lines = st.lists(st.tuples(words, st.lists(words, min_size=1, max_size=3)), min_size=1, max_size=8)


@pytest.mark.parametrize("name", METRICS)
@given(lines=lines, lowercase=st.booleans())
@settings(max_examples=40, deadline=None)
def test_the_sums_give_the_value_of_the_metric(name, lines, lowercase):
    hypotheses, references = zip(*lines, strict=True)
    counts = statistics(name, hypotheses, references, lowercase=lowercase)
    assert counts.value() == pytest.approx(measure(name, hypotheses, references, lowercase=lowercase).value, abs=1e-9)
    some = [0, len(lines) - 1, 0]
    expected = measure(name, [hypotheses[i] for i in some], [references[i] for i in some], lowercase=lowercase).value
    assert counts.values(counts.counts_NK[some].sum(0, keepdims=True))[0] == pytest.approx(expected, abs=1e-9)


@given(lines=lines)
@settings(max_examples=60, deadline=None)
def test_bleu_of_single_lines_is_that_of_sacrebleu(lines):
    hypotheses, references = zip(*lines, strict=True)
    expected = [
        BLEU(effective_order=True, force=True).sentence_score(h, list(r)).score
        for h, r in zip(hypotheses, references, strict=True)
    ]
    assert statistics("bleu", hypotheses, references).by_line() == pytest.approx(expected, abs=1e-9)


def test_single_lines_of_other_metrics_are_the_metric():
    found = statistics("chrf", ["a cat", "dogs"], ["a cat", "a cat"]).by_line()
    assert found == pytest.approx([measure("chrf", [h], ["a cat"]).value for h in ("a cat", "dogs")])


def test_many_sets_at_once_are_the_sets_one_by_one():
    counts = statistics("bleu", ["the cat sat on it"] * 3 + ["no no no no"], ["the cat sat on the mat"] * 4)
    weights_RN = np.random.default_rng(0).integers(0, 3, (20, 4)).astype(float)
    sums_RK = weights_RN @ counts.counts_NK
    assert counts.values(sums_RK) == pytest.approx([counts.values(row[None])[0] for row in sums_RK])


def test_tokenization_is_passed_on():
    assert statistics("bleu", ["你好吗"], ["你好啊"], tokenize="char").counts_NK[0, 0] == 3
