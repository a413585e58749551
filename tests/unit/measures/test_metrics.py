"""Metrics against sacreBLEU itself, against slow definitions, and against figures worked out by hand."""

from __future__ import annotations

import math
from collections import Counter
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from dragoman.errors import DataError, SettingError
from dragoman.measures.alignment import Link, read_pharaoh
from dragoman.measures.metrics import (
    METRICS,
    Tokenization,
    alignment_error_rate,
    higher_is_better,
    measure,
    measure_by_class,
    metric_name,
    perplexity,
)

HYPOTHESES = ["The cat sat on the mat.", "He hit me with a pie!", "Hello, World"]
FIRST = ["The cat is on the mat.", "He hit me with a pie.", "Hello world"]
SECOND = ["A cat sat on the mat.", "He struck me with a tart.", "Hello, World!"]
PAIRS = list(zip(FIRST, SECOND, strict=True))

lines = st.lists(st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=8).map(" ".join), min_size=1, max_size=5)


def multi_bleu(hypotheses, references):
    """What multi-bleu with -lc computes: clipped counts over all lines, no smoothing, closest reference length."""
    right, total = [0] * 4, [0] * 4
    length = wanted = 0
    for hypothesis, golds in zip(hypotheses, references, strict=True):
        words = hypothesis.lower().split()
        options = [gold.lower().split() for gold in golds]
        length += len(words)
        wanted += min((abs(len(option) - len(words)), len(option)) for option in options)[1]
        for n in range(1, 5):
            found = Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
            allowed = Counter()
            for option in options:
                allowed |= Counter(tuple(option[i : i + n]) for i in range(len(option) - n + 1))
            right[n - 1] += sum((found & allowed).values())
            total[n - 1] += sum(found.values())
    if not all(right):
        return 0.0
    precision = math.exp(sum(math.log(r / t) for r, t in zip(right, total, strict=True)) / 4)
    return 100 * precision * (math.exp(1 - wanted / length) if length < wanted else 1)


@pytest.mark.parametrize(
    ("name", "theirs"),
    [("bleu", BLEU()), ("chrf", CHRF()), ("chrf++", CHRF(word_order=2)), ("ter", TER())],
)
def test_values_and_signatures_are_those_of_sacrebleu(name, theirs):
    found = measure(name, HYPOTHESES, PAIRS)
    assert found.value == theirs.corpus_score(HYPOTHESES, [FIRST, SECOND]).score
    assert found.signature == str(theirs.get_signature())
    assert "nrefs:2" in found.signature
    assert found.count == 3


@pytest.mark.parametrize("tokenize", get_args(Tokenization))
def test_the_way_of_cutting_is_in_the_signature(tokenize):
    found = measure("bleu", HYPOTHESES, FIRST, tokenize=tokenize, lowercase=True)
    assert found.value == BLEU(tokenize=tokenize, lowercase=True).corpus_score(HYPOTHESES, [FIRST]).score
    assert f"tok:{tokenize}|" in found.signature
    assert "case:lc" in found.signature


def test_numbers_of_references_may_differ():
    found = measure("bleu", HYPOTHESES, [PAIRS[0], FIRST[1], PAIRS[2]])
    assert found.value == BLEU().corpus_score(HYPOTHESES, [FIRST, [SECOND[0], None, SECOND[2]]]).score
    assert "nrefs:var" in found.signature


@given(st.data(), lines)
def test_tokenized_bleu_is_that_of_the_script(data, hypotheses):
    line = st.lists(st.sampled_from(["A", "b", "C", "d", "e"]), min_size=1, max_size=8).map(" ".join)
    golds = [data.draw(st.lists(line, min_size=1, max_size=3)) for _ in hypotheses]
    found = measure("tokenized_bleu", hypotheses, golds)
    assert found.value == pytest.approx(multi_bleu(hypotheses, golds))
    assert "case:lc" in found.signature
    assert "tok:none" in found.signature
    assert "smooth:none" in found.signature


def test_tokenized_bleu_on_real_text(data_folder):
    import gzip

    folder = data_folder("multi30k") / "tok"
    with gzip.open(folder / "val.lc.norm.tok.de.gz", "rt", encoding="utf-8") as stream:
        golds = stream.read().splitlines()
    outputs = [" ".join(line.split()[: 9 + i % 3]) for i, line in enumerate(golds)]
    found = measure("tokenized_bleu", outputs, golds)
    assert found.value == pytest.approx(multi_bleu(outputs, [[g] for g in golds]))
    assert not found.warnings
    assert any("tokenised" in w for w in measure("bleu", outputs, golds).warnings)


def test_exact_match_and_error_rate():
    outputs, golds = ["a b", " c  d", "e", "F"], [["a b"], ["x", "c d"], ["f"], ["f"]]
    assert measure("exact_match", outputs, golds).value == 50
    assert measure("error_rate", outputs, golds).value == 50
    assert measure("exact_match", outputs, golds, lowercase=True).value == 75
    assert measure("exact_match", outputs, golds).signature.startswith("nrefs:var|case:mixed|unit:line|dragoman:")


def test_token_error_rate_by_hand():
    """Two phones of four are wrong, then none of three: two edits against seven."""
    found = measure("token_error_rate", ["k a x y", "t o m"], [["k a t s"], ["a b", "t o m"]])
    assert found.value == pytest.approx(100 * 2 / 7)
    assert found.detail == "2 edits against 7"


def test_character_error_rate_by_hand():
    assert measure("character_error_rate", ["kitten"], ["sitting"]).value == pytest.approx(100 * 3 / 7)


@pytest.mark.parametrize(("output", "value"), [("", 0), ("a", 100)])
def test_an_empty_reference_does_not_divide_by_nothing(output, value):
    assert measure("token_error_rate", [output], [""]).value == value


def test_by_class():
    found = measure_by_class("exact_match", ["a", "b", "c"], ["a", "x", "c"], ["noun", "verb", "noun"])
    assert [(m.subset, m.value, m.count) for m in found] == [("noun", 100.0, 2), ("verb", 0.0, 1)]
    with pytest.raises(DataError, match="1 classes for 2 outputs"):
        measure_by_class("exact_match", ["a", "b"], ["a", "b"], ["noun"])


def test_perplexity_of_an_even_choice_is_its_size():
    found = perplexity([-math.log(50)] * 7)
    assert found.value == pytest.approx(50)
    assert found.count == 7
    assert not found.higher_is_better
    assert perplexity([-1e6]).value == math.inf
    with pytest.raises(DataError):
        perplexity([])


def test_alignment_error_rate_is_a_measurement():
    found = alignment_error_rate([frozenset({Link(0, 0), Link(1, 2)})], [read_pharaoh("0-0 1-1 1?2")])
    assert found.value == pytest.approx(100 * (1 - 3 / 4))
    assert found.detail == "precision 100.00, recall 50.00, 2 sure links"
    assert (found.count, found.higher_is_better) == (2, False)
    assert found.signature.startswith("unit:link|dragoman:")


@pytest.mark.parametrize("name", METRICS)
def test_perfect_outputs_beat_poor_ones(name):
    golds = ["one two three four five", "six seven eight nine ten"]
    perfect, poor = measure(name, golds, golds), measure(name, ["one", "two"], golds)
    assert perfect.is_better_than(poor)
    assert not poor.is_better_than(perfect)
    assert perfect.higher_is_better == higher_is_better(name)
    assert perfect.value == pytest.approx(100 if higher_is_better(name) else 0)
    assert str(perfect).startswith(f"{name}|")


def test_names_are_found_or_explained():
    assert metric_name(" chrF++ ") == "chrf++"
    assert metric_name("token-error-rate") == "token_error_rate"
    with pytest.raises(SettingError, match="Ask for error_rate where a line is one word"):
        metric_name("WER")
    with pytest.raises(SettingError, match="every model that is evaluated"):
        metric_name("perplexity")
    with pytest.raises(SettingError, match="Known are: bleu, tokenized_bleu"):
        metric_name("meteor")


@pytest.mark.parametrize(
    ("hypotheses", "references", "problem"),
    [([], [], "no outputs"), (["a"], ["a", "b"], "1 outputs and 2 references"), (["a"], [[]], "output 1 has no")],
)
def test_what_cannot_be_measured_is_refused(hypotheses, references, problem):
    with pytest.raises(DataError, match=problem):
        measure("bleu", hypotheses, references)
