"""Paired tests: they agree with sacreBLEU's and with slow loops, and their promises hold on simulated systems."""

from __future__ import annotations

import random
import time

import msgspec
import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

from dragoman.errors import DataError, SettingError
from dragoman.evaluation.significance import Interval, SignificanceSettings, bootstrap, compare, interval
from dragoman.measures.metrics import METRICS, measure
from dragoman.measures.statistics import Statistics, statistics

WORDS = ["the", "a", "cat", "dog", "house", "tree", "sat", "ran", "big", "small", "of", "on", "under", "and", "with"]


def texts(count, *, spoilt, seed):
    """References, and outputs that differ from them in a share of the words."""
    rng = random.Random(seed)
    gold = [" ".join(random.Random(i).choices(WORDS, k=4 + i % 9)) for i in range(count)]
    outputs = [" ".join(rng.choice(WORDS) if rng.random() < spoilt else w for w in line.split()) for line in gold]
    return outputs, gold


def pair(name, count=60, *, one=0.2, two=0.3):
    first, gold = texts(count, spoilt=one, seed=1)
    second, _ = texts(count, spoilt=two, seed=2)
    return statistics(name, first, gold), statistics(name, second, gold), first, second, gold


@pytest.mark.parametrize(("name", "theirs"), [("bleu", BLEU), ("chrf", CHRF), ("ter", TER)])
@pytest.mark.parametrize("worse", [0.22, 0.3])
def test_p_values_are_those_of_sacrebleu(name, theirs, worse, monkeypatch):
    monkeypatch.setenv("SACREBLEU_SEED", "12345")
    monkeypatch.setattr("dragoman.evaluation.significance._ROUNDING", -1e-9)  # there, a tie does not speak for luck
    one, two, first, second, gold = pair(name, two=worse)
    found = compare(one, two, settings=SignificanceSettings(resamples=300, trials=300))
    expected = {}
    for kind in ("bs", "ar"):
        test = PairedTest([("two", second), ("one", first)], {name: theirs()}, [gold], test_type=kind, n_samples=300)
        expected[kind] = test()[1][theirs.__name__ if theirs is not CHRF else "chrF2"][1]
    assert found.p_randomization == pytest.approx(expected["ar"].p_value, abs=1e-9)
    assert found.p_bootstrap == pytest.approx(expected["bs"].p_value, abs=2 / 301)  # theirs adds in single precision
    assert found.value == pytest.approx(expected["bs"].score)
    half = (found.interval.high - found.interval.low) / 2
    assert half == pytest.approx(expected["bs"].ci, rel=0.1)


@pytest.mark.parametrize("name", METRICS)
def test_the_bootstrap_is_a_loop_over_resampled_texts(name):
    one, _, first, _, gold = pair(name, 15)
    settings = SignificanceSettings(resamples=100, seed=4)
    rng = np.random.default_rng(4)
    drawn = rng.choice(15, size=(100, 15), replace=True)
    slow = [measure(name, [first[i] for i in lines], [gold[i] for i in lines]).value for lines in drawn[:10]]
    assert bootstrap(one, settings)[:10] == pytest.approx(slow)


def test_randomization_is_a_loop_over_exchanged_texts():
    one, two, first, second, gold = pair("chrf", 20, one=0.2, two=0.25)
    masks = np.random.default_rng(7).integers(2, size=(100, 20), dtype=bool)
    observed = abs(one.value() - two.value())
    extreme = 0
    for mask in masks:
        a = [s if m else f for m, f, s in zip(mask, first, second, strict=True)]
        b = [f if m else s for m, f, s in zip(mask, first, second, strict=True)]
        extreme += abs(measure("chrf", a, gold).value - measure("chrf", b, gold).value) >= observed
    found = compare(one, two, settings=SignificanceSettings(resamples=100, trials=100, seed=7))
    assert found.p_randomization == pytest.approx((extreme + 1) / 101)


def test_the_same_seed_gives_the_same_answer_and_the_signature_tells_it():
    one, two, *_ = pair("bleu")
    settings = SignificanceSettings(resamples=200, trials=200, seed=3)
    assert compare(one, two, settings=settings) == compare(one, two, settings=settings)
    assert compare(one, two, settings=settings).signature == "bs:200|ar:200|seed:3|level:0.05|power:0.8"


def test_what_is_said_of_one_side_holds_reversed_for_the_other():
    one, two, *_ = pair("ter")
    settings = SignificanceSettings(resamples=200, trials=200)
    here, there = compare(one, two, settings=settings), compare(two, one, settings=settings)
    assert (here.better, here.worse, here.p_randomization) == (there.worse, there.better, there.p_randomization)
    assert here.better > 0.9  # fewer edits are better
    assert here.difference == -there.difference < 0
    assert here.difference_interval == Interval(
        pytest.approx(-there.difference_interval.high), pytest.approx(-there.difference_interval.low)
    )


def test_equal_outputs_are_never_called_different():
    one, *_ = pair("bleu")
    found = compare(one, one, settings=SignificanceSettings(resamples=100, trials=100))
    assert (found.difference, found.better, found.worse, found.detectable) == (0, 0, 0, 0)
    assert (found.p_bootstrap, found.p_randomization) == (1, 1)


def test_the_verdict_is_a_sentence():
    one, two, *_ = pair("ter", one=0.05, two=0.4)
    settings = SignificanceSettings(resamples=200, trials=200)
    sure = compare(one, two, settings=settings)
    assert sure.verdict("new", "old").startswith("ter: new is better; luck alone does as much in 0.50% of cases")
    assert compare(two, one, settings=settings).verdict("old", "new").startswith("ter: new is better")
    close = compare(*pair("ter", one=0.2, two=0.21)[:2], settings=settings)
    assert close.verdict("new", "old") == f"ter: the difference of {close.difference:+.2f} may be luck."
    assert close.reach == f"These 60 lines show a difference of {close.detectable:.2f} in 80% of cases."
    assert compare(one, one, settings=settings).verdict("new", "old") == "ter: new and old are equal."


def test_memory_is_kept_in_bounds_without_changing_the_answer(monkeypatch):
    one, two, *_ = pair("chrf")
    settings = SignificanceSettings(resamples=300, trials=300)
    whole = compare(one, two, settings=settings)
    monkeypatch.setattr("dragoman.evaluation.significance._CELLS", 60 * 7)
    assert compare(one, two, settings=settings) == whole


def simulated(rng, lines, accuracy, effect):
    """Two systems that are right on a line with these chances, partly on the same ones."""
    luck = rng.random(lines)
    own = rng.random(lines)
    right = np.where(rng.random(lines) < 0.7, luck, own)
    counts = [np.stack([luck < accuracy + effect, np.ones(lines)], 1), np.stack([right < accuracy, np.ones(lines)], 1)]
    return [Statistics("exact_match", c.astype(float)) for c in counts]


def noisy(rng, lines, effect):
    """Two systems whose edits differ by chance and by an effect, in percent."""
    luck = rng.normal(5, 1, lines)
    edits = luck + rng.normal(0, 0.5, lines) - 10 * effect / 100, luck + rng.normal(0, 0.5, lines)
    return [Statistics("token_error_rate", np.stack([each, np.full(lines, 10.0)], 1)) for each in edits]


def test_the_detectable_difference_is_found_as_often_as_promised():
    rng = np.random.default_rng(0)
    settings = SignificanceSettings(resamples=2_000, trials=400)
    detectable = compare(*noisy(rng, 2_000, 0.0), settings=settings).detectable * 2_000**0.5 / 200**0.5
    quick = msgspec.structs.replace(settings, resamples=100)
    found = [compare(*noisy(rng, 200, detectable), settings=quick) for _ in range(200)]
    assert 0.71 < np.mean([f.is_significant for f in found]) < 0.89  # 0.8, give or take three deviations of chance


def test_luck_is_called_significant_no_more_often_than_the_level():
    rng = np.random.default_rng(1)
    settings = SignificanceSettings(resamples=100, trials=200)
    found = [compare(*simulated(rng, 300, 0.6, 0.0), settings=settings) for _ in range(150)]
    assert np.mean([f.is_significant for f in found]) < 0.1
    held = [f.difference_interval.low <= 0 <= f.difference_interval.high for f in found]
    assert np.mean(held) > 0.88


def test_an_interval_of_one_system():
    one, *_ = pair("chrf")
    found = interval(one, settings=SignificanceSettings(resamples=500))
    assert found.low < one.value() < found.high
    assert str(Interval(1.234, 5)) == "1.23 to 5.00"


def test_outputs_for_other_lines_are_refused():
    with pytest.raises(DataError, match="60 outputs against 59"):
        compare(pair("chrf")[0], pair("chrf", 59)[0])
    with pytest.raises(SettingError):
        SignificanceSettings(level=0.9)


def test_a_thousand_resamples_of_a_thousand_lines_take_seconds_at_most():
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 30, (1_000, 10)).astype(float)
    begun = time.process_time()
    compare(Statistics("bleu", counts), Statistics("bleu", counts + 1))
    assert time.process_time() - begun < 10  # a loop over texts takes minutes
