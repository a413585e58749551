"""Models that are given a language before they speak: every look inside reads what translating and scoring read."""

from __future__ import annotations

import math

import pytest
import torch

from dragoman.bundle import TARGET_TAG, Frame
from dragoman.decoding.beam import BeamSettings
from dragoman.inspection.attribution import ablate, attribute
from dragoman.inspection.gradients import gradients
from dragoman.inspection.health import health
from dragoman.inspection.repetition import repetition
from dragoman.inspection.search import search_tree
from dragoman.text.vocabulary import SPECIAL
from dragoman.translator import Request, Translator
from reference.bundles import bundle, tokenizers

FRENCH, GERMAN = tokenizers().target.vocabulary.pieces[len(SPECIAL) + 6 :][:2]
MODEL = Translator(
    bundle(frame=Frame(first=(TARGET_TAG,), languages={"fr": FRENCH, "de": GERMAN})), device=torch.device("cpu")
)
PAIR = ("I see a cat.", "Je vois.")


def scored(language):
    (score,) = MODEL.score([PAIR[0]], [PAIR[1]], target_language=language)
    return score


def test_languages_make_a_difference():
    assert abs(scored("fr").log_prob - scored("de").log_prob) > 0.01


@pytest.mark.parametrize("language", ["fr", "de"])
def test_probabilities_are_those_of_scores(language):
    score = scored(language)
    wanted = [token.log_prob for token in score.tokens]
    found = attribute(MODEL, *PAIR, method="gradient", target_language=language)
    assert list(found.log_probs) == pytest.approx(wanted, abs=1e-4)
    assert ablate(MODEL, *PAIR, target_language=language).log_prob == pytest.approx(score.log_prob, abs=1e-4)
    (line,) = health([PAIR[0]], [PAIR[1]], translator=MODEL, target_language=language).lines
    assert line.confidence == pytest.approx(math.exp(score.log_prob / len(wanted)), rel=1e-3)
    said = repetition(MODEL, PAIR[1], PAIR[0], times=2, target_language=language).said
    assert said[0].log_prob == pytest.approx(sum(wanted[:-1]), abs=1e-4)


@pytest.mark.parametrize("language", ["fr", "de"])
def test_the_tree_is_that_of_the_search_that_translates(language):
    settings = BeamSettings(beam=2)
    found = search_tree(MODEL, PAIR[0], settings=settings, expansions=5, target_language=language)
    wanted = MODEL.translate(PAIR[0], decoding=settings, request=Request(target_language=language))
    assert found.outputs[0].text == wanted.text
    assert found.outputs[0].log_prob == pytest.approx(wanted.log_prob, abs=1e-3)


def test_gradients_know_the_language():
    french, german = (gradients([("one", MODEL)], *PAIR, target_language=language) for language in ("fr", "de"))
    assert french.names == german.names
    assert french.reaches[0].sizes != pytest.approx(german.reaches[0].sizes, rel=1e-3)
