"""Sentence metrics against sacreBLEU on any text, and against the definition of chrF spelled out."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from dragoman.measures.sentence import SentenceBleu, SentenceChrf, SentenceMetricName, sentence_metric, utilities

texts = st.text(alphabet="abé,.!( )'\n\u3000字😀", max_size=40)
sentences = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=9).map(" ".join)


def score(metric, hypothesis, reference):
    return metric.score(metric.prepare(hypothesis), metric.prepare(reference))


def chrf_by_definition(hypothesis, reference):
    def grams(text, n):
        letters = [c for c in text if not c.isspace()]
        return Counter(tuple(letters[i : i + n]) for i in range(len(letters) - n + 1))

    pairs = [(grams(hypothesis, n), grams(reference, n)) for n in range(1, 7)]
    pairs = [(ours, theirs) for ours, theirs in pairs if ours and theirs]
    if not pairs:
        return 0.0
    precision = sum((a & b).total() / a.total() for a, b in pairs) / len(pairs)
    recall = sum((a & b).total() / b.total() for a, b in pairs) / len(pairs)
    return 100 * 5 * precision * recall / (4 * precision + recall) if precision else 0.0


@given(texts, texts)
def test_chrf_is_that_of_sacrebleu(hypothesis, reference):
    found = score(SentenceChrf(), hypothesis, reference)
    assert found == pytest.approx(CHRF().sentence_score(hypothesis, [reference]).score, abs=1e-9)
    assert found == pytest.approx(chrf_by_definition(hypothesis, reference), abs=1e-9)


@given(texts, texts)
def test_chrf_with_words_is_that_of_sacrebleu(hypothesis, reference):
    theirs = CHRF(word_order=2).sentence_score(hypothesis, [reference]).score
    assert score(SentenceChrf(word_order=2), hypothesis, reference) == pytest.approx(theirs, abs=1e-9)


@given(st.one_of(sentences, texts), st.one_of(sentences, texts))
def test_bleu_is_that_of_sacrebleu(hypothesis, reference):
    theirs = BLEU(tokenize="none", effective_order=True).sentence_score(hypothesis, [reference]).score
    assert score(SentenceBleu(), hypothesis, reference) == pytest.approx(theirs, abs=1e-9)


def test_bleu_cuts_words_as_it_is_told():
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    cut = Tokenizer13a()
    ours = SentenceBleu(tokenize=lambda text: cut(text).split())
    hypothesis, reference = "He hit me, with a pie.", "He hit me with a pie!"
    theirs = BLEU(effective_order=True).sentence_score(hypothesis, [reference]).score
    assert score(ours, hypothesis, reference) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("name", get_args(SentenceMetricName))
def test_every_metric_goes_from_nothing_to_a_hundred(name):
    metric = sentence_metric(name)
    assert score(metric, "a b c d e", "a b c d e") == pytest.approx(100)
    assert score(metric, "x y z", "a b c") == 0
    assert score(metric, "", "a b c") == 0


def test_token_similarity_by_hand():
    assert score(sentence_metric("token_similarity"), "k a t", "k o t s") == pytest.approx(50)


def test_utilities_are_the_table_of_all_pairs():
    metric = sentence_metric("chrf")
    ours, theirs = ["one two", "two", "one two", ""], ["one", "two three", "one"]
    table = utilities(metric, ours, theirs)
    assert table.shape == (4, 3)
    np.testing.assert_array_equal(table, [[score(metric, h, r) for r in theirs] for h in ours])
    assert utilities(metric, [], []).shape == (0, 0)
