"""How sure a calibrated model is of its outputs: probabilities at the temperatures that were fitted.

A model is calibrated when of the words that it is sure of by 80 %, 80 % are right.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from dragoman.translator.outputs import Word
from dragoman.translator.words import target_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.bundle import Calibration
    from dragoman.text.tokenizer import Tokenizer
    from dragoman.translator.reader import Reader
    from dragoman.translator.requests import Request

__all__ = ["calibration", "confidence_in", "words_with_confidence"]


def calibration(readers: Sequence[Reader], request: Request) -> Calibration | None:
    """By what a single model is calibrated, where its confidence is wanted; an ensemble is another model."""
    found = readers[0].bundle.description.calibration
    if not request.confidence or len(readers) > 1 or isinstance(found, msgspec.UnsetType):
        return None
    return found


def words_with_confidence(tokenizer: Tokenizer, ids: Sequence[int], log_probs: Sequence[float]) -> tuple[Word, ...]:
    """The words of an output, each as probable as all its pieces together."""
    totals: dict[int, float] = {}
    for word, log_prob in zip(target_words(tokenizer, ids), log_probs, strict=True):
        if word is not None:
            totals[word] = totals.get(word, 0.0) + log_prob
    forms = tokenizer.decode(ids).split()
    return tuple(Word(form, math.exp(totals.get(n, 0.0))) for n, form in enumerate(forms))


def confidence_in(log_probs: Sequence[float]) -> float:
    """How probable the output is, its end included."""
    return math.exp(math.fsum(log_probs))
