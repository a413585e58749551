"""What comes back: translations with all that is known of them, and scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from dragoman.measures.detectors import findings

if TYPE_CHECKING:
    from dragoman.measures.alignment import Alignment
    from dragoman.measures.detectors import Finding
    from dragoman.models.seq2seq import AttentionMaps

__all__ = ["Alternative", "Explanation", "Score", "Token", "Translation", "Word"]


class Token(msgspec.Struct, frozen=True, gc=False):  # a dataclass takes far longer to make, and there are many
    """A piece of an output and how probable the model found it after those before it."""

    text: str
    log_prob: float


@dataclass(frozen=True, slots=True)
class Word:
    """A word of an output, and how probable it is that it is right."""

    text: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Alternative:
    """One output of a search."""

    text: str
    score: float
    """What the search ranks by; of a text that was translated in parts, their mean by tokens."""
    log_prob: float
    """Log-probability of the whole, its end included."""
    tokens: tuple[Token, ...]
    finished: bool
    """Whether it came to its end; if not, it was cut at the longest length allowed."""


@dataclass(frozen=True, slots=True)
class Translation:
    """A source, the best output for it, and others in order of their score."""

    source: str
    best: Alternative
    alternatives: tuple[Alternative, ...] = ()
    alignment: Alignment | None = None
    """Links between words (what stands between white space) of source and output, where they were asked for."""
    notes: tuple[str, ...] = ()
    """What happened on the way: `split`, `unfinished`, `no_output`, `blocked_input`, `blocked_output`."""
    proven: bool | None = None
    """After an exact search: whether nothing better exists."""
    expansions: int = 0
    """After an exact search: the hypotheses that it has looked at."""
    confidence: float | None = None
    """Of a calibrated model: how probable it is that the whole output is right."""
    words: tuple[Word, ...] = ()
    """Of a calibrated model: the words of the output (what stands between white space), each with its confidence."""
    is_text: bool = True
    """Whether source and output are texts that can be compared."""

    @property
    def text(self) -> str:
        """The best output."""
        return self.best.text

    @property
    def score(self) -> float:
        """The score of the best output."""
        return self.best.score

    @property
    def log_prob(self) -> float:
        """The log-probability of the best output."""
        return self.best.log_prob

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The tokens of the best output."""
        return self.best.tokens

    def findings(self) -> tuple[Finding, ...]:
        """What looks wrong with the output beside the source, in words and numbers."""
        silenced = {"no_output", "blocked_input", "blocked_output"} & set(self.notes)
        return () if silenced or not self.is_text else findings(self.source, self.text)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What happened on the way, and the kinds of what looks wrong."""
        return (*self.notes, *(finding.kind for finding in self.findings()))

    def __str__(self) -> str:
        return self.best.text


@dataclass(frozen=True, slots=True)
class Score:
    """How probable a model finds a target."""

    log_prob: float
    """Of the whole, its end included."""
    tokens: tuple[Token, ...]

    @property
    def perplexity(self) -> float:
        """E to the mean negative log-probability of a token."""
        return math.exp(min(700.0, -self.log_prob / max(1, len(self.tokens))))


@dataclass(frozen=True, slots=True)
class Explanation:
    """A finished pair as the model reads it: pieces of both sides, and attention from one to the other."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    """Its end included."""
    maps: AttentionMaps
    alignment: Alignment | None = None
    """Links between words, where the model has attention over a source."""
