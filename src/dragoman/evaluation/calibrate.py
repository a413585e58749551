"""Confidence that means something: a temperature for words and one for whole outputs, fitted on held-out pairs.

A word of an output is right if it is in a longest series of words that the closest reference has in the same order; an
output is right if it equals a reference. The temperature that makes what was right most probable is the one that is
kept (Guo et al. 2017): with it, of the words that the model is sure of by 80 %, about 80 % are right.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from dragoman import bundle as bundles
from dragoman.bundle import Calibration
from dragoman.errors import DataError, ModelError
from dragoman.measures.edits import common_words, edit_distance
from dragoman.measures.metrics import Measurement
from dragoman.translator import Request, forced
from dragoman.translator.confidence import confidence_in, words_with_confidence

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from dragoman.decoding.build import DecodingSettings
    from dragoman.evaluation.evaluate import TestSet
    from dragoman.translator import Translation, Translator

    Array = NDArray[np.float64]

_COARSE = tuple(float(t) for t in np.geomspace(0.25, 8.0, 16))
_FINE = tuple(float(f) for f in np.geomspace(0.82, 1.22, 9))
"""Factors around the best of the coarse ones."""
_BINS = 10
_LEAST = 1e-6
_BATCH_TOKENS = 2_048


@dataclass(frozen=True, slots=True)
class Observed:
    """How sure a model was of what it said, and whether it was right."""

    words_TN: Array
    """For each temperature the confidence in each word."""
    words_right_N: Array
    sentences_TM: Array
    sentences_right_M: Array


def calibrate(
    translator: Translator, test: TestSet, *, search: DecodingSettings | None = None, files: Sequence[str] = ()
) -> Calibration:
    """The temperatures that fit these pairs, which should be neither trained on nor tested on."""
    translations = translator.translate(list(test.sources), decoding=search, request=Request(confidence=False))
    observed = observe(translator, translations, test, temperatures=_COARSE)
    words = _COARSE[_best(observed.words_TN, observed.words_right_N)]
    sentences = _COARSE[_best(observed.sentences_TM, observed.sentences_right_M)]
    finer = (1.0, *(words * factor for factor in _FINE), *(sentences * factor for factor in _FINE))
    observed = observe(translator, translations, test, temperatures=finer)
    middle = 1 + len(_FINE)
    word = 1 + _best(observed.words_TN[1:middle], observed.words_right_N)
    sentence = middle + _best(observed.sentences_TM[middle:], observed.sentences_right_M)
    before = (
        calibration_error(observed.words_TN[0], observed.words_right_N),
        calibration_error(observed.sentences_TM[0], observed.sentences_right_M),
    )
    return Calibration(
        words=finer[word],
        sentences=finer[sentence],
        words_error=(before[0], calibration_error(observed.words_TN[word], observed.words_right_N)),
        sentences_error=(before[1], calibration_error(observed.sentences_TM[sentence], observed.sentences_right_M)),
        lines=len(test.references),
        files=tuple(files),
        contents=fingerprint(test),
    )


def keep(folder: Path, fitted: Calibration) -> None:
    """Put the calibration into the bundle in the folder."""
    found = bundles.load(folder)
    description = msgspec.structs.replace(found.description, calibration=fitted)
    bundles.save(replace(found, description=description), folder)


def fingerprint(test: TestSet) -> str:
    """SHA-256 of sources and references."""
    return hashlib.sha256(msgspec.json.encode([test.sources, test.references])).hexdigest()


def observe(
    translator: Translator, translations: Sequence[Translation], test: TestSet, *, temperatures: Sequence[float]
) -> Observed:
    """Confidence in the outputs at each temperature, and what was right."""
    reader = translator.reader
    vocabulary = reader.bundle.tokenizers.target.vocabulary
    ids = [[vocabulary[token.text] for token in each.best.tokens] for each in translations]
    usable = [n for n, each in enumerate(translations) if ids[n] and "split" not in each.notes]
    if not usable:
        raise DataError("there is no output whose confidence could be fitted", place="--src", remedy="Give more lines.")
    words: list[list[float]] = [[] for _ in temperatures]
    sentences: list[list[float]] = [[] for _ in temperatures]
    words_right: list[bool] = []
    sentences_right: list[bool] = []
    for batch in forced.batches([len(ids[n]) for n in usable], most=_BATCH_TOKENS):
        chosen = [usable[place] for place in batch]
        reads = [reader.read(test.sources[n]) for n in chosen]
        tempered = forced.tempered_log_probs(reader, reads, [ids[n] for n in chosen], temperatures=temperatures)
        for n, by_temperature in zip(chosen, tempered, strict=True):
            for place, log_probs in enumerate(by_temperature):
                found = words_with_confidence(reader.bundle.tokenizers.target, ids[n], log_probs)
                words[place] += [word.confidence for word in found]
                sentences[place].append(confidence_in(log_probs))
            words_right += right_words(translations[n].text, test.references[n])
            sentences_right.append(_is_right(translations[n].text, test.references[n]))
    return Observed(
        np.array(words), np.array(words_right, float), np.array(sentences), np.array(sentences_right, float)
    )


def right_words(output: str, references: Sequence[str]) -> list[bool]:
    """Which words of the output the closest reference has in the same order."""
    words = output.split()
    closest = min((each.split() for each in references), key=lambda each: edit_distance(words, each))
    common = common_words(words, closest)
    return [place in common for place in range(len(words))]


def _is_right(output: str, references: Sequence[str]) -> bool:
    return any(output.split() == each.split() for each in references)


# ---- numbers -------------------------------------------------------------------------------------------------------


def calibration_error(confidences: Array, right: Array) -> float:
    """How far confidence lies from the share that is right, in ten equal bins, weighted by what they hold; percent."""
    if not len(confidences):
        return 0.0
    bins = np.minimum((confidences * _BINS).astype(int), _BINS - 1)
    gaps = [abs(float((confidences - right)[bins == b].sum())) for b in range(_BINS)]
    return 100 * math.fsum(gaps) / len(confidences)


def calibration_errors(translations: Sequence[Translation], test: TestSet) -> tuple[Measurement, ...]:
    """The calibration errors of words and of whole outputs, of translations by a calibrated model."""
    known = [
        (each, golds) for each, golds in zip(translations, test.references, strict=True) if each.confidence is not None
    ]
    words = np.array([word.confidence for each, _ in known for word in each.words])
    words_right = np.array([right for each, golds in known for right in right_words(each.text, golds)], float)
    sentences = np.array([each.confidence for each, _ in known], float)
    sentences_right = np.array([_is_right(each.text, golds) for each, golds in known], float)
    return (
        _measurement("word_calibration_error", words, words_right),
        _measurement("sentence_calibration_error", sentences, sentences_right),
    )


def _measurement(name: str, confidences: Array, right: Array) -> Measurement:
    mean, share = (float(each.mean()) if len(each) else 0.0 for each in (confidences, right))
    return Measurement(
        name=name,
        value=calibration_error(confidences, right),
        signature=f"bins:{_BINS}|width:equal",
        higher_is_better=False,
        count=len(confidences),
        detail=f"sure by {mean:.1%}, right {share:.1%}",
    )


def _best(confidences_TN: Array, right_N: Array) -> int:
    """The temperature at which what was right is most probable."""
    safe_TN = confidences_TN.clip(_LEAST, 1 - _LEAST)
    fit_T = (right_N * np.log(safe_TN) + (1 - right_N) * np.log1p(-safe_TN)).sum(1)
    return int(fit_T.argmax())


def refuse_uncalibratable(translator: Translator) -> None:
    """Raise ModelError where there is no single model with a source of text."""
    if translator.is_ensemble or not translator.has_source or translator.reads_features:
        raise ModelError(
            "only a single model that translates texts can be calibrated",
            place="--calibrate",
            remedy="Name one model with a source of text.",
        )
