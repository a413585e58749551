"""Metrics of single sentences, fast enough to compare every candidate with every other.

For minimum Bayes risk, minimum-risk training and re-ranking. A metric first prepares each text once (its counts of
n-grams), and then compares two prepared ones; both are pure. All values lie between 0 and 100, more is better.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar, assert_never

import numpy as np

from dragoman.measures.edits import edit_distance

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from numpy.typing import NDArray

SentenceMetricName: TypeAlias = Literal["bleu", "chrf", "chrf++", "exact_match", "token_similarity"]

Prepared = TypeVar("Prepared")


class SentenceMetric(Protocol[Prepared]):
    """A comparison of two texts."""

    def prepare(self, text: str) -> Prepared:
        """What the comparison needs to know of a text."""

    def score(self, hypothesis: Prepared, reference: Prepared) -> float:
        """How close the two are, from 0 to 100."""


def sentence_metric(name: SentenceMetricName) -> SentenceMetric[Any]:
    """The metric of that name."""
    match name:
        case "bleu":
            return SentenceBleu()
        case "chrf":
            return SentenceChrf()
        case "chrf++":
            return SentenceChrf(word_order=2)
        case "exact_match":
            return SentenceMatch()
        case "token_similarity":
            return TokenSimilarity()
        case _:
            assert_never(name)


def utilities(
    metric: SentenceMetric[Prepared], hypotheses: Sequence[str], references: Sequence[str]
) -> NDArray[np.float64]:
    """The score of each hypothesis (rows) against each reference (columns); equal texts are compared once."""
    prepared = {text: metric.prepare(text) for text in dict.fromkeys(chain(hypotheses, references))}
    unique = list(dict.fromkeys(references))
    column_of = {text: column for column, text in enumerate(unique)}
    rows = {text: [metric.score(prepared[text], prepared[gold]) for gold in unique] for text in set(hypotheses)}
    table = np.array([rows[text] for text in hypotheses], dtype=np.float64).reshape(len(hypotheses), len(unique))
    return table[:, [column_of[text] for text in references]]


# ---- chrF ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Grams:
    """How often each n-gram occurs in a text, and how many there are of each order."""

    counts: Mapping[Hashable, int]
    totals: tuple[int, ...]


class SentenceChrf:
    """The F-score of character n-grams (and, for chrF++, of words), as sacreBLEU computes it by default."""

    def __init__(self, *, character_order: int = 6, word_order: int = 0, beta: float = 2.0) -> None:
        self._character_order = character_order
        self._word_order = word_order
        self._recall_weight = beta**2

    def prepare(self, text: str) -> Grams:
        """The n-grams of a text without its white space; those of words are tuples, those of characters strings."""
        letters = "".join(text.split())
        words = _words(text) if self._word_order else []
        grams: list[Hashable] = []
        totals = []
        for n in range(1, self._character_order + 1):
            grams.extend(letters[i : i + n] for i in range(len(letters) - n + 1))
            totals.append(max(0, len(letters) - n + 1))
        for n in range(1, self._word_order + 1):
            grams.extend(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
            totals.append(max(0, len(words) - n + 1))
        return Grams(Counter(grams), tuple(totals))

    def score(self, hypothesis: Grams, reference: Grams) -> float:
        """The F-score of the mean precision and recall, over the orders that both texts are long enough for."""
        matches = [0] * len(hypothesis.totals)
        found, gold = hypothesis.counts, reference.counts
        for gram in found.keys() & gold.keys():
            matches[self._order(gram)] += min(found[gram], gold[gram])
        precision = recall = 0.0
        orders = 0
        for match, ours, theirs in zip(matches, hypothesis.totals, reference.totals, strict=True):
            if ours and theirs:
                precision += match / ours
                recall += match / theirs
                orders += 1
        if not precision:  # nor is there any recall then
            return 0.0
        weight = self._recall_weight
        return 100 * (1 + weight) * precision * recall / (weight * precision + recall) / orders

    def _order(self, gram: Hashable) -> int:
        if isinstance(gram, str):
            return len(gram) - 1
        assert isinstance(gram, tuple)
        return self._character_order + len(gram) - 1


_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def _words(text: str) -> list[str]:
    """Words with one mark of punctuation cut off, behind or else before: what chrF++ is defined on."""
    words = []
    for word in text.split():
        if len(word) > 1 and word[-1] in _PUNCTUATION:
            words += [word[:-1], word[-1]]
        elif len(word) > 1 and word[0] in _PUNCTUATION:
            words += [word[0], word[1:]]
        else:
            words.append(word)
    return words


# ---- BLEU ------------------------------------------------------------------------------------------------------


class SentenceBleu:
    """BLEU of one sentence as sacreBLEU computes it: orders without a match are halved ever more, absent ones left out.

    Words are what stands between spaces, unless `tokenize` is given.
    """

    def __init__(self, *, tokenize: Callable[[str], Sequence[str]] = str.split, order: int = 4) -> None:
        self._tokenize = tokenize
        self._order = order

    def prepare(self, text: str) -> Grams:
        """The n-grams of the words."""
        words = tuple(self._tokenize(text))
        grams = (words[i : i + n] for n in range(1, self._order + 1) for i in range(len(words) - n + 1))
        return Grams(Counter(grams), tuple(max(0, len(words) - n) for n in range(self._order)))

    def score(self, hypothesis: Grams, reference: Grams) -> float:
        """The geometric mean of the precisions, less the penalty for being short."""
        matches = [0] * self._order
        found, gold = hypothesis.counts, reference.counts
        for gram in found.keys() & gold.keys():
            assert isinstance(gram, tuple)
            matches[len(gram) - 1] += min(found[gram], gold[gram])
        if not matches[0]:
            return 0.0
        logs = []
        halving = 1.0
        for match, total in zip(matches, hypothesis.totals, strict=True):
            if total:
                halving *= 1.0 if match else 2.0
                logs.append(math.log((match or 1 / halving) / total))
        shortness = min(0.0, 1 - reference.totals[0] / hypothesis.totals[0])
        return 100 * math.exp(shortness + sum(logs) / len(logs))


# ---- whole lines and tokens ------------------------------------------------------------------------------------


class SentenceMatch:
    """100 where the tokens are the same, else 0."""

    def prepare(self, text: str) -> tuple[str, ...]:
        """The tokens."""
        return tuple(text.split())

    def score(self, hypothesis: tuple[str, ...], reference: tuple[str, ...]) -> float:
        """Whether they are equal."""
        return 100.0 * (hypothesis == reference)


class TokenSimilarity:
    """100 less the edits per token of the longer text: the friendly side of the token error rate."""

    def prepare(self, text: str) -> tuple[str, ...]:
        """The tokens."""
        return tuple(text.split())

    def score(self, hypothesis: tuple[str, ...], reference: tuple[str, ...]) -> float:
        """The share of tokens that need no edit."""
        longer = max(len(hypothesis), len(reference))
        return 100 * (1 - edit_distance(hypothesis, reference) / longer) if longer else 100.0
