"""Measuring outputs: all metrics with intervals, by class, with several references; a model's own numbers."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

from dragoman.errors import DataError, SettingError
from dragoman.evaluation.evaluate import (
    EvaluateSettings,
    Gold,
    TestSet,
    alignment_error_rate,
    compare_all,
    evaluate,
    nothing_measured,
    perplexity,
)
from dragoman.evaluation.linking import links, words_of_pieces
from dragoman.measures.alignment import GoldAlignment, Link
from dragoman.measures.metrics import measure

OUTPUTS = ["the cat sat", "my dog ate", "red pie", "nobody"]
GOLDS = [["the cat sat", "the dog ate", "pie", "nobody"], ["a cat", "my dog ate", "a pie", "no"]]
QUICK = EvaluateSettings(metrics=("chrf", "exact_match"))


def test_an_empty_line_of_a_further_file_is_no_reference():
    assert TestSet.of([["a", "", "c"], ["b", "d", " "]]).references == (("a", "b"), ("", "d"), ("c",))


def test_each_metric_has_its_value_interval_and_signature():
    test = TestSet.of(GOLDS)
    found = evaluate(OUTPUTS, test, name="mine", settings=QUICK)
    assert [m.name for m in found.measurements] == ["chrf", "exact_match"]
    assert found.measurements[1].value == 75  # either reference counts
    assert found.measurements[0] == measure("chrf", OUTPUTS, [list(g) for g in zip(*GOLDS, strict=True)])
    assert found.intervals.keys() == {"chrf", "exact_match"}
    assert found.intervals["exact_match"].low <= 75 <= found.intervals["exact_match"].high
    assert nothing_measured("lm").measurements == ()


def test_classes_are_measured_after_the_whole():
    found = evaluate(OUTPUTS, TestSet.of(GOLDS, classes=["b", "a", "b", "a"]), settings=QUICK)
    assert [(m.name, m.subset) for m in found.measurements] == [
        ("chrf", ""),
        ("exact_match", ""),
        ("chrf", "a"),
        ("chrf", "b"),
        ("exact_match", "a"),
        ("exact_match", "b"),
    ]


def test_two_systems_are_compared_by_what_both_were_measured_by():
    test = TestSet.of(GOLDS)
    one = evaluate(OUTPUTS, test, settings=QUICK)
    other = evaluate(OUTPUTS[::-1], test, settings=EvaluateSettings(metrics=("exact_match",)))
    (found,) = compare_all(one, other)
    assert (found.name, found.difference) == ("exact_match", 75)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"references": [["a"], ["a", "b"]]}, "1 and of 2 lines"),
        ({"references": [["a"]], "sources": ["a", "b"]}, "2 sources and 1 lines"),
        ({"references": [["a"]], "classes": ["a", "b"]}, "2 classes"),
        ({"references": [["a", "b"]], "classes": ["x", " "]}, "there is no class"),
    ],
)
def test_files_that_do_not_belong_together_are_refused(arguments, problem):
    with pytest.raises(DataError, match=problem):
        TestSet.of(**arguments)


def test_metrics_are_wanted_once():
    with pytest.raises(SettingError):
        EvaluateSettings(metrics=("bleu", "bleu"))
    with pytest.raises(SettingError):
        EvaluateSettings(metrics=())


def test_perplexity_is_that_of_the_scores(model, sources):
    found = perplexity(model, TestSet.of([sources], sources=sources))
    scores = model.score(sources, sources)
    total, count = sum(s.log_prob for s in scores), sum(len(s.tokens) for s in scores)
    assert found.value == pytest.approx(math.exp(-total / count))
    assert found.count == count


def test_alignments_of_a_model_are_measured_against_gold(model, sources):
    test = TestSet.of([sources], sources=sources)
    own = [model.explain(s, s).alignment for s in sources]
    gold = Gold(alignments=tuple(GoldAlignment(frozenset(a), frozenset(a)) for a in own))
    assert alignment_error_rate(model, test, gold).value == 0
    none = Gold(alignments=tuple(GoldAlignment(frozenset(), frozenset()) for _ in own))
    assert alignment_error_rate(model, test, none).value == 100


@pytest.mark.parametrize(
    ("gold", "problem"),
    [
        (Gold(alignments=()), "0 alignments and 6 references"),
        (Gold(alignments=(GoldAlignment(frozenset(), frozenset()),) * 6, target_words=(("a",),)), "1 words of targets"),
        (Gold(alignments=(GoldAlignment(frozenset(), frozenset({Link(9, 0)})),) * 6), "the link 9-0 is beyond"),
    ],
)
def test_gold_alignments_of_other_texts_are_refused(gold, problem, model, sources):
    with pytest.raises(DataError, match=problem):
        alignment_error_rate(model, TestSet.of([sources], sources=sources), gold)


def test_links_may_count_other_words_than_those_between_spaces(model):
    whole = links(model, "the cat", "the cat", source_words=["the", "cat"], target_words=["the", "cat"])
    assert {link.target for link in whole} == {0, 1}
    halves = links(model, "the cat", "the cat", source_words=["the cat"], target_words=["the cat"])
    assert halves == {(0, 0)}
    assert links(model, "", "the", source_words=[], target_words=["the"]) == frozenset()


def test_words_that_are_not_in_the_text_are_refused(model):
    tokenizer = model.bundle.tokenizers.source
    assert words_of_pieces(tokenizer, "the cat", ["the", "cat"]) == [0, 1]
    with pytest.raises(DataError, match="'dog' is not in"):
        words_of_pieces(tokenizer, "the cat", ["the", "dog"])


def test_outputs_are_measured_without_torch():
    code = (
        "import sys; from dragoman.evaluation.evaluate import *; from dragoman.evaluation import compare, report;"
        "evaluate(['a'] * 9, TestSet.of([['a'] * 9])); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
