"""Where two sets of outputs differ: by length, by how frequent words are, in n-grams, and line by line.

Words are what stands between spaces, as in the test set's own files.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dragoman.evaluation.evaluate import Evaluated, TestSet
    from dragoman.measures.statistics import Statistics

_LENGTHS = (1, 5, 10, 15, 20, 30, 40, 60)
"""Fewest words of a reference in each group of lines."""
_FREQUENCIES = (1, 2, 3, 5, 10, 100, 1_000)
"""Fewest occurrences of a word in the references, in each group of words."""
_FOR_MANY_LINES, _FOR_ONE = ("bleu", "tokenized_bleu"), ("chrf", "chrf++")
"""BLEU counts n-grams of four words, of which a short line has none."""
_LONGEST_GRAM = 4
_SHOWN_GRAMS, _SHOWN_LINES = 15, 20


@dataclass(frozen=True, slots=True)
class Group:
    """Some lines, or some words, and what both sets of outputs reach on them."""

    name: str
    count: int
    first: float
    second: float


@dataclass(frozen=True, slots=True)
class Gram:
    """An n-gram of the references, and how often each set of outputs has it where it should be."""

    words: tuple[str, ...]
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Line:
    """A line with both outputs and their scores."""

    number: int
    source: str
    references: tuple[str, ...]
    first: str
    second: str
    first_score: float
    second_score: float
    gain: float
    """By how much the first is better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Where the first set of outputs differs from the second."""

    metric: str
    """By which groups of lines are measured."""
    line_metric: str
    """By which single lines are scored."""
    lengths: tuple[Group, ...]
    """Lines by the words of their first reference."""
    frequencies: tuple[Group, ...]
    """Words by their frequency in the references: the F-score of having them in the right lines."""
    gained: tuple[Gram, ...]
    """What the first has right more often, the largest difference first."""
    lost: tuple[Gram, ...]
    improved: tuple[Line, ...]
    """Where the first is better, the largest gain first."""
    damaged: tuple[Line, ...]
    equal: int
    """Lines whose outputs are the same."""


def differences(first: Evaluated, second: Evaluated, test: TestSet) -> Comparison:
    """All differences, by the first metric that both have; single lines by chrF where that would be BLEU."""
    common = _common(first, second)
    ours, theirs = common[0]
    by_line = next((pair for pair in common if ours.name in _FOR_MANY_LINES and pair[0].name in _FOR_ONE), common[0])
    lines = _lines(*by_line, (first.outputs, second.outputs), test)
    gained, lost = _grams(first.outputs, second.outputs, test)
    differing = [line for line in lines if line.first != line.second]
    by_gain = sorted(differing, key=lambda line: (-line.gain, line.number))
    return Comparison(
        metric=ours.name,
        line_metric=by_line[0].name,
        lengths=_by_length(ours, theirs, test),
        frequencies=_by_frequency(first.outputs, second.outputs, test),
        gained=gained,
        lost=lost,
        improved=tuple(line for line in by_gain if line.gain > 0)[:_SHOWN_LINES],
        damaged=tuple(line for line in reversed(by_gain) if line.gain < 0)[:_SHOWN_LINES],
        equal=len(lines) - len(differing),
    )


def _common(first: Evaluated, second: Evaluated) -> list[tuple[Statistics, Statistics]]:
    others = {each.name: each for each in second.statistics}
    return [(each, others[each.name]) for each in first.statistics if each.name in others]


# ---- lines ---------------------------------------------------------------------------------------------------------


def _lines(
    ours: Statistics, theirs: Statistics, outputs: tuple[Sequence[str], Sequence[str]], test: TestSet
) -> list[Line]:
    sign = 1 if ours.higher_is_better else -1
    scores = zip(ours.by_line().tolist(), theirs.by_line().tolist(), strict=True)
    sources = test.sources or ("",) * len(test.references)
    texts = zip(sources, test.references, *outputs, strict=True)
    return [
        Line(number, source, golds, one, other, here, there, sign * (here - there))
        for number, ((source, golds, one, other), (here, there)) in enumerate(zip(texts, scores, strict=True), 1)
    ]


def _by_length(ours: Statistics, theirs: Statistics, test: TestSet) -> tuple[Group, ...]:
    groups = [bisect_right(_LENGTHS, max(1, len(golds[0].split()))) - 1 for golds in test.references]
    found = []
    for number, name in enumerate(_names(_LENGTHS)):
        rows = [line for line, group in enumerate(groups) if group == number]
        if rows:
            values = [each.values(each.counts_NK[rows].sum(0, keepdims=True))[0] for each in (ours, theirs)]
            found.append(Group(name, len(rows), float(values[0]), float(values[1])))
    return tuple(found)


def _names(least: Sequence[int]) -> list[str]:
    """What a group is called that begins with each of these numbers."""
    return [str(a) if b == a + 1 else f"{a}-{b - 1:,}" for a, b in pairwise(least)] + [f"{least[-1]:,} or more"]


# ---- words and n-grams ---------------------------------------------------------------------------------------------


def _by_frequency(first: Sequence[str], second: Sequence[str], test: TestSet) -> tuple[Group, ...]:
    golds = [Counter(each[0].split()) for each in test.references]
    frequency = sum(golds, Counter[str]())

    def group_of(word: str) -> int:
        return bisect_right(_FREQUENCIES, max(1, frequency[word])) - 1

    scores = [_f_scores([Counter(text.split()) for text in outputs], golds, group_of) for outputs in (first, second)]
    sizes = Counter(map(group_of, frequency))
    return tuple(
        Group(name, sizes[number], scores[0][number], scores[1][number])
        for number, name in enumerate(_names(_FREQUENCIES))
        if sizes[number]
    )


def _f_scores(
    outputs: Iterable[Counter[str]], golds: Iterable[Counter[str]], group_of: Callable[[str], int]
) -> list[float]:
    """For each group the F-score of its words: right if they are in the reference of the line, as often as there."""
    right, said, wanted = (Counter[int]() for _ in range(3))
    for output, gold in zip(outputs, golds, strict=True):
        for counts, into in ((output & gold, right), (output, said), (gold, wanted)):
            for word, count in counts.items():
                into[group_of(word)] += count
    totals = [said[number] + wanted[number] for number in range(len(_FREQUENCIES))]
    return [200 * right[number] / total if total else 0.0 for number, total in enumerate(totals)]


def _grams(first: Sequence[str], second: Sequence[str], test: TestSet) -> tuple[tuple[Gram, ...], tuple[Gram, ...]]:
    """The n-grams that the first, and those that the second, has right most often beyond the other."""
    here, there = Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
    for golds, one, other in zip(test.references, first, second, strict=True):
        if one != other:
            wanted = _most(map(_counted, golds))
            here += _counted(one) & wanted
            there += _counted(other) & wanted
    changes = [Gram(words, here[words], there[words]) for words in here.keys() | there.keys()]
    changes.sort(key=lambda gram: (-abs(gram.first - gram.second), len(gram.words), gram.words))
    gained = [gram for gram in changes if gram.first > gram.second]
    lost = [gram for gram in changes if gram.first < gram.second]
    return tuple(gained[:_SHOWN_GRAMS]), tuple(lost[:_SHOWN_GRAMS])


def _most(counts: Iterable[Counter[tuple[str, ...]]]) -> Counter[tuple[str, ...]]:
    """Each n-gram as often as the reference that has most of it."""
    found = Counter[tuple[str, ...]]()
    for each in counts:
        found |= each
    return found


def _counted(text: str) -> Counter[tuple[str, ...]]:
    words = text.split()
    return Counter(tuple(words[i : i + n]) for n in range(1, _LONGEST_GRAM + 1) for i in range(len(words) - n + 1))
