"""The repetition loop: how probable a phrase becomes with each time it was said, and loops found in outputs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dragoman.errors import DataError
from dragoman.translator import forced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.translator import Translator

__all__ = ["Loop", "Repetition", "Said", "find_loop", "repetition"]


@dataclass(frozen=True, slots=True)
class Said:
    """A phrase after it was said some times."""

    before: int
    """How often it was said before."""
    log_prob: float
    """Of the phrase, token by token, after all that came before it."""
    per_token: float
    """The geometric mean of its tokens' probabilities."""


@dataclass(frozen=True, slots=True)
class Repetition:
    """The probability of a phrase with each repetition."""

    source: str
    phrase: str
    tokens: tuple[str, ...]
    said: tuple[Said, ...]

    @property
    def grows(self) -> bool:
        """Whether it is more probable at the end than the second time."""
        return len(self.said) > 2 and self.said[-1].log_prob > self.said[1].log_prob


@dataclass(frozen=True, slots=True)
class Loop:
    """A phrase that a text says over and over."""

    phrase: str
    times: int
    begin: int
    """The word that it begins with, from 0."""


def repetition(
    translator: Translator, phrase: str, source: str = "", *, times: int = 8, target_language: str = ""
) -> Repetition:
    """How probable the phrase is after having been said 0, 1, … times; a language model takes no source."""
    reader = translator.reader
    tokenizer = reader.bundle.tokenizers.target
    once = tokenizer.encode(phrase)
    ids = tokenizer.encode(" ".join([phrase] * times))
    if not once or ids != once * times:
        raise DataError(
            f"{phrase!r} is cut otherwise when it is said again",
            place="phrase",
            remedy="Give whole words, without white space around them.",
        )
    read = reader.read(source, target_language=target_language)
    (log_probs,) = forced.token_log_probs([reader], [[read]], [ids], target_language=target_language)
    said = []
    for before in range(times):
        values = log_probs[before * len(once) : (before + 1) * len(once)]
        said.append(Said(before, sum(values), math.exp(sum(values) / len(values))))
    names = tokenizer.vocabulary.pieces
    return Repetition(source, phrase, tuple(names[i] for i in once), tuple(said))


def find_loop(text: str, *, least: int = 3, longest: int = 10) -> Loop | None:
    """The phrase of up to `longest` words that is said most often in a row, at least `least` times; of equals the first
    and shortest.
    """
    words = text.split()
    best: Loop | None = None
    for size in range(1, min(longest, len(words) // least) + 1):
        for begin in range(len(words) - size * least + 1):
            times = _times(words, begin, size)
            if times >= least and (best is None or times > best.times):
                best = Loop(" ".join(words[begin : begin + size]), times, begin)
    return best


def _times(words: Sequence[str], begin: int, size: int) -> int:
    phrase = words[begin : begin + size]
    times = 1
    while words[begin + times * size : begin + (times + 1) * size] == phrase:
        times += 1
    return times
