"""Where two sets of outputs differ: groups, n-grams and lines, by hand-made texts."""

from __future__ import annotations

import pytest

from dragoman.evaluation.compare import differences
from dragoman.evaluation.evaluate import EvaluateSettings, TestSet, evaluate
from dragoman.measures.metrics import measure

GOLD = ["a b c d", "a b c d e f", "x y", "the end", "a"]
FIRST = ["a b c d", "a b c d e z", "x q", "the end", "b"]
SECOND = ["a b c z", "a b c d e f", "x q", "no end", "a"]


@pytest.fixture(scope="module")
def found():
    test = TestSet.of([GOLD], sources=[f"s{n}" for n in range(5)])
    settings = EvaluateSettings(metrics=("token_error_rate", "chrf"))
    return differences(*(evaluate(each, test, settings=settings) for each in (FIRST, SECOND)), test)


def test_lines_are_ordered_by_gain_whichever_way_is_better(found):
    assert found.metric == "token_error_rate"
    assert [(line.number, round(line.gain, 3)) for line in found.improved] == [(4, 50), (1, 25)]
    assert [(line.number, round(line.gain, 3)) for line in found.damaged] == [(5, -100), (2, -16.667)]
    assert found.equal == 1
    line = found.improved[1]
    assert (line.source, line.references, line.first, line.second) == ("s0", ("a b c d",), "a b c d", "a b c z")


def test_lengths_are_measured_over_the_lines_of_each_group(found):
    assert [(group.name, group.count) for group in found.lengths] == [("1-4", 4), ("5-9", 1)]
    short = [0, 2, 3, 4]
    expected = [
        measure("token_error_rate", [o[i] for i in short], [GOLD[i] for i in short]).value for o in (FIRST, SECOND)
    ]
    assert [found.lengths[0].first, found.lengths[0].second] == pytest.approx(expected)


def test_words_are_grouped_by_their_frequency_in_the_references(found):
    names = {group.name: group for group in found.frequencies}
    assert names.keys() == {"1", "2", "3-4"}  # a: 3; b, c, d: 2; the others once
    assert names["1"].count == 6
    assert names["3-4"].first == pytest.approx(200 * 2 / (2 + 3))
    assert names["3-4"].second == 100
    assert names["2"].first == pytest.approx(200 * 6 / (7 + 6))


def test_grams_are_counted_where_they_should_be(found):
    gained = {gram.words: (gram.first, gram.second) for gram in found.gained}
    lost = {gram.words: (gram.first, gram.second) for gram in found.lost}
    assert gained[("the", "end")] == (1, 0)
    assert gained[("a", "b", "c", "d")] == (2, 1)
    assert lost == {("a",): (2, 3), ("f",): (0, 1)} | dict.fromkeys(
        (("e", "f"), ("d", "e", "f"), ("c", "d", "e", "f")), (0, 1)
    )
    assert ("x",) not in gained  # equal outputs differ in nothing


@pytest.mark.parametrize(
    ("metrics", "groups", "lines"),
    [
        (("bleu", "exact_match", "chrf"), "bleu", "chrf"),
        (("bleu", "ter"), "bleu", "bleu"),
        (("ter", "chrf"), "ter", "ter"),
    ],
)
def test_single_lines_are_not_scored_by_bleu_where_chrf_is_there(metrics, groups, lines):
    both = [evaluate(each, TestSet.of([GOLD]), settings=EvaluateSettings(metrics=metrics)) for each in (FIRST, SECOND)]
    found = differences(*both, TestSet.of([GOLD]))
    assert (found.metric, found.line_metric) == (groups, lines)
    score = next(each for each in both[0].statistics if each.name == lines).by_line()[3]
    assert next(line.first_score for line in found.improved if line.number == 4) == score


def test_equal_outputs_have_no_differences():
    test = TestSet.of([GOLD])
    one = evaluate(FIRST, test, settings=EvaluateSettings(metrics=("bleu",)))
    found = differences(one, one, test)
    assert found.equal == 5
    assert found.gained == found.lost == found.improved == found.damaged == ()
