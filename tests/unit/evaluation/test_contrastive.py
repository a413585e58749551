"""Contrastive sets: accuracy by hand-made scores, intervals of Wilson, files and what is wrong with them."""

from __future__ import annotations

import pytest

from dragoman.errors import DataError
from dragoman.evaluation.contrastive import Contrast, accuracies, preferred, read_jsonl, read_tsv, wilson
from dragoman.translator import Score, Token


class Scripted:
    """A model that finds a text as probable as its length says."""

    has_source = True

    def score(self, sources, targets):
        return [Score(-float(len(t)), tuple(Token(w, 0.0) for w in t.split())) for t in targets]


CONTRASTS = [
    Contrast(source="s", right="ab", wrong=("abc",), label="short"),
    Contrast(source="s", right="abcd", wrong=("abc",), label="long"),
    Contrast(source="s", right="a", wrong=("abc", "b"), label="long"),  # a tie with one of them
]


def test_the_right_output_must_beat_every_wrong_one():
    assert preferred(Scripted(), CONTRASTS) == [True, False, False]


def test_per_token_compares_means():
    contrast = Contrast(source="s", right="a b c d", wrong=("abc",))
    assert preferred(Scripted(), [contrast]) == [False]
    assert preferred(Scripted(), [contrast], per_token=True) == [True]


def test_accuracy_over_all_and_by_class():
    found = accuracies(Scripted(), CONTRASTS)
    assert [(a.label, a.right, a.count) for a in found] == [("", 1, 3), ("long", 0, 2), ("short", 1, 1)]
    assert found[0].value == pytest.approx(100 / 3)
    assert found[0].signature.startswith("log_prob:sum|ties:lost|interval:wilson|level:0.05|")
    (mean, *_) = accuracies(Scripted(), CONTRASTS, per_token=True, level=0.1)
    assert mean.signature.startswith("log_prob:mean|ties:lost|interval:wilson|level:0.1|")
    assert [a.label for a in accuracies(Scripted(), [Contrast(source="", right="a", wrong=("bb",))])] == [""]


def test_a_real_model_agrees_with_its_own_scores(model, sources):
    contrasts = [Contrast(source=s, right=s, wrong=(sources[0],)) for s in sources[1:]]
    expected = [model.score([c.source], [c.right])[0].log_prob for c in contrasts]
    other = [model.score([c.source], [c.wrong[0]])[0].log_prob for c in contrasts]
    assert preferred(model, contrasts) == [a > b for a, b in zip(expected, other, strict=True)]


@pytest.mark.parametrize(
    ("right", "count", "low", "high"), [(0, 10, 0.0, 27.75), (10, 10, 72.25, 100.0), (81, 263, 25.53, 36.62)]
)
def test_wilson_intervals_are_those_of_the_literature(right, count, low, high):
    found = wilson(right, count)  # 81 of 263: Newcombe 1998, table I
    assert (found.low, found.high) == (pytest.approx(low, abs=0.01), pytest.approx(high, abs=0.01))


def test_files_of_both_kinds_are_read():
    assert list(read_tsv(["s\ta\tb", "s\ta\tb\tx"], place="f")) == [
        Contrast(source="s", right="a", wrong=("b",)),
        Contrast(source="s", right="a", wrong=("b",), label="x"),
    ]
    lines = ['{"source": "s", "right": "a", "wrong": "b", "class": "x"}', '{"right": "a", "wrong": ["b", "c"]}']
    assert list(read_jsonl(lines, place="f")) == [
        Contrast(source="s", right="a", wrong=("b",), label="x"),
        Contrast(source="", right="a", wrong=("b", "c")),
    ]


@pytest.mark.parametrize(
    ("read", "line", "problem"),
    [
        (read_tsv, "s\ta", "2 columns"),
        (read_tsv, "s\ta\ta", "among the wrong"),
        (read_jsonl, '{"right": "a", "wrong": []}', "no wrong output"),
        (read_jsonl, '{"right": "a", "wrogn": "b"}', "wrogn"),
        (read_jsonl, "nonsense", "not a contrast"),
    ],
)
def test_lines_that_are_no_contrasts_are_refused_with_their_place(read, line, problem):
    with pytest.raises(DataError, match=problem) as caught:
        list(read([line], place="set.tsv"))
    assert caught.value.place == "set.tsv:1"


def test_an_empty_set_is_refused():
    with pytest.raises(DataError, match="no contrasts"):
        accuracies(Scripted(), [])
