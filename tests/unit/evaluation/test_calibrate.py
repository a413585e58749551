"""Calibration: the right temperature is found, errors are those of a slow loop, and a bundle keeps it."""

from __future__ import annotations

import json

import msgspec
import numpy as np
import pytest
import torch

from dragoman import bundle as bundles
from dragoman.bundle import Calibration
from dragoman.errors import DataError, ModelError
from dragoman.evaluation.calibrate import (
    _best,
    calibrate,
    calibration_error,
    calibration_errors,
    fingerprint,
    keep,
    observe,
    refuse_uncalibratable,
    right_words,
)
from dragoman.evaluation.evaluate import TestSet
from dragoman.translator import Request, Translator, load


def test_words_are_right_in_the_order_of_the_closest_reference():
    assert right_words("a b c", ["c b a x y", "a x c"]) == [True, False, True]
    assert right_words("", ["a"]) == []


@pytest.mark.parametrize("seed", range(3))
def test_the_error_is_that_of_a_loop_over_bins(seed):
    rng = np.random.default_rng(seed)
    sure, right = rng.random(200), (rng.random(200) < 0.6).astype(float)
    sure[0] = 1.0
    slow = 0.0
    for low in np.arange(10) / 10:
        inside = [(s, r) for s, r in zip(sure, right, strict=True) if low <= s < low + 0.1 or (s == 1 and low == 0.9)]
        if inside:
            mean, share = (float(np.mean(each)) for each in zip(*inside, strict=True))
            slow += abs(mean - share) * len(inside) / 200
    assert calibration_error(sure, right) == pytest.approx(100 * slow)
    assert calibration_error(np.array([]), np.array([])) == 0


def test_the_temperature_under_which_outcomes_arose_fits_best():
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 3, 4_000)
    temperatures = np.array([0.5, 1.0, 2.0, 4.0])
    sure_TN = 1 / (1 + np.exp(-logits / temperatures[:, None]))
    for number in range(4):
        assert _best(sure_TN, (rng.random(4_000) < sure_TN[number]).astype(float)) == number


@pytest.fixture
def test_set(model, sources):
    """Pairs of which the model is right in some: references are outputs with a word exchanged now and then."""
    outputs = [t.text for t in model.translate(sources)]
    golds = [o if n % 2 else f"x {o.partition(' ')[2]}" for n, o in enumerate(outputs)]
    return TestSet.of([golds], sources=sources)


def test_confidence_at_temperature_one_is_the_probability(model, sources, test_set):
    translations = model.translate(sources)
    observed = observe(model, translations, test_set, temperatures=(1.0, 2.0))
    expected = sorted(float(np.exp(t.log_prob)) for t in translations)
    assert sorted(observed.sentences_TM[0]) == pytest.approx(expected, rel=1e-4)
    assert (observed.sentences_TM[1] != observed.sentences_TM[0]).all()
    assert len(observed.words_right_N) == sum(len(t.text.split()) for t in translations)
    assert 0 < observed.words_right_N.mean() < 1
    assert observed.sentences_right_M.mean() == pytest.approx(0.5, abs=0.2)


def test_a_calibrated_model_says_how_sure_it_is(model, test_set, fresh_bundle, tmp_path):
    sources = list(test_set.sources)
    bundles.save(fresh_bundle(), tmp_path / "model")
    assert model.translate(sources[0]).confidence is None
    assert "calibration" not in json.loads((tmp_path / "model" / "model.json").read_text())
    fitted = calibrate(model, test_set, files=("dev.src", "dev.ref"))
    assert fitted.contents == fingerprint(test_set)
    assert fitted.lines == len(sources)
    keep(tmp_path / "model", fitted)
    calibrated = load(tmp_path / "model", device="cpu")
    assert calibrated.bundle.description.calibration == fitted
    found = calibrated.translate(sources)
    assert [t.text for t in found] == [t.text for t in model.translate(sources)]
    assert all([w.text for w in t.words] == t.text.split() for t in found)
    observed = observe(model, found, test_set, temperatures=(fitted.words, fitted.sentences))
    assert sorted(t.confidence for t in found) == pytest.approx(sorted(observed.sentences_TM[1]), rel=1e-4)
    assert sorted(w.confidence for t in found for w in t.words) == pytest.approx(sorted(observed.words_TN[0]), rel=1e-4)
    words, whole = calibration_errors(found, test_set)
    assert words.value == pytest.approx(fitted.words_error[1], abs=1e-3)
    assert whole.value == pytest.approx(fitted.sentences_error[1], abs=1e-3)
    assert calibrated.translate(sources[0], request=Request(confidence=False)).confidence is None
    other = Translator(fresh_bundle(1), device=torch.device("cpu")).bundle
    both = Translator(calibrated.bundle, other, device=torch.device("cpu"))
    assert both.translate(sources[0]).confidence is None  # an ensemble is another model
    with pytest.raises(ModelError, match="single model"):
        refuse_uncalibratable(both)


def test_a_description_with_a_calibration_is_read_as_it_was_written():
    fitted = Calibration(
        words=1.5,
        sentences=2.0,
        words_error=(9.0, 1.0),
        sentences_error=(8.0, 2.0),
        lines=9,
        files=("a", "b"),
        contents="c",
    )
    assert msgspec.json.decode(msgspec.json.encode(fitted), type=Calibration) == fitted


def test_nothing_can_be_fitted_to_nothing(model):
    with pytest.raises(DataError, match="no output"):
        calibrate(model, TestSet.of([["a"]], sources=[""]))
