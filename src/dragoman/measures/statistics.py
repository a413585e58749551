"""What a metric needs to know of each line: counts, whose sums over any lines give its value over these lines.

Resampling a test set is then a product of matrices, and no text is looked at again. Values agree with `measure`.

Legend of shapes: N lines, K counts of a line, R sets of lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never

import numpy as np

from dragoman.measures.edits import fewest_edits
from dragoman.measures.metrics import MetricName, higher_is_better, paired, sacrebleu_metric, streams, tokens_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dragoman.measures.metrics import References, Tokenization

    Array = NDArray[np.float64]

Counted: TypeAlias = MetricName | Literal["comet"]
"""COMET's scores of lines are made elsewhere."""

_ORDERS = 4
"""Longest n-gram of BLEU."""
_RECALL_WEIGHT = 4.0
"""chrF's beta, squared."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """The counts of each line, and the metric that they are for."""

    name: Counted
    counts_NK: Array

    def __len__(self) -> int:
        return len(self.counts_NK)

    @property
    def higher_is_better(self) -> bool:
        """Whether more is better."""
        return self.name == "comet" or higher_is_better(self.name)

    def values(self, sums_RK: Array) -> Array:
        """The metric's value for each set of lines, of which the counts are summed."""
        match self.name:
            case "bleu":
                return _bleu(sums_RK, smoothed=True)
            case "tokenized_bleu":
                return _bleu(sums_RK, smoothed=False)
            case "chrf" | "chrf++":
                return _chrf(sums_RK)
            case "ter" | "exact_match" | "error_rate" | "token_error_rate" | "character_error_rate" | "comet":
                return _rate(sums_RK)
            case _:
                assert_never(self.name)

    def value(self) -> float:
        """The metric's value over all lines."""
        return float(self.values(self.counts_NK.sum(0, keepdims=True))[0])

    def by_line(self) -> Array:
        """The metric's value for each line alone; BLEU leaves out the orders that a line is too short for."""
        if self.name in ("bleu", "tokenized_bleu"):
            return _bleu(self.counts_NK, smoothed=True, effective_order=True)
        return self.values(self.counts_NK)


def statistics(
    name: MetricName,
    hypotheses: Sequence[str],
    references: References,
    *,
    tokenize: Tokenization = "13a",
    lowercase: bool = False,
) -> Statistics:
    """The counts of each line."""
    golds = paired(hypotheses, references)
    match name:
        case "bleu" | "tokenized_bleu" | "chrf" | "chrf++" | "ter":
            metric = sacrebleu_metric(name, tokenize=tokenize, lowercase=lowercase)
            rows = metric._extract_corpus_statistics(list(hypotheses), streams(golds))  # noqa: SLF001 - its only door
        case "exact_match" | "error_rate" | "token_error_rate" | "character_error_rate":
            rows = [_row(name, text, gold, lowercase) for text, gold in zip(hypotheses, golds, strict=True)]
        case _:
            assert_never(name)
    return Statistics(name, np.asarray(rows, dtype=np.float64))


def _row(name: MetricName, hypothesis: str, golds: Sequence[str], lowercase: bool) -> tuple[int, int]:  # noqa: FBT001 - private
    output = tokens_of(hypothesis, lowercase=lowercase)
    wanted = [tokens_of(gold, lowercase=lowercase) for gold in golds]
    match name:
        case "exact_match":
            return int(output in wanted), 1
        case "error_rate":
            return int(output not in wanted), 1
        case "token_error_rate":
            edits = fewest_edits(output, wanted)
        case _:
            edits = fewest_edits(" ".join(output), [" ".join(gold) for gold in wanted])
    return edits.count, edits.length


# ---- from sums to values -------------------------------------------------------------------------------------------


def _rate(sums_RK: Array) -> Array:
    """A count against a length, in percent; where there is no length, any count is everything."""
    count_R, length_R = sums_RK[:, 0], sums_RK[:, 1]
    return 100 * np.where(length_R > 0, count_R / np.maximum(length_R, 1e-300), count_R > 0)


def _bleu(sums_RK: Array, *, smoothed: bool, effective_order: bool = False) -> Array:
    """Length of output and reference, then for each order the matches, then all n-grams."""
    ours_R, theirs_R = sums_RK[:, 0], sums_RK[:, 1]
    matches_RO, totals_RO = sums_RK[:, 2 : 2 + _ORDERS], sums_RK[:, 2 + _ORDERS :]
    none_RO = matches_RO == 0
    halvings_RO = 2.0 ** none_RO.cumsum(1) if smoothed else np.full_like(matches_RO, np.inf)
    found_RO = np.where(none_RO, 1 / halvings_RO, matches_RO)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs_RO = np.log(found_RO / totals_RO)
        shortness_R = np.where(ours_R < theirs_R, 1 - theirs_R / ours_R, 0.0)
        if effective_order:
            there_RO = totals_RO > 0
            mean_R = np.where(there_RO, logs_RO, 0.0).sum(1) / np.maximum(1, there_RO.sum(1))
        else:
            mean_R = logs_RO.mean(1)
        value_R = 100 * np.exp(shortness_R + mean_R)
    complete_R = effective_order | (totals_RO > 0).all(1)
    return np.where(~none_RO.all(1) & complete_R, value_R, 0.0)


def _chrf(sums_RK: Array) -> Array:
    """For each order the n-grams of the output, those of the reference, and the matches."""
    ours_RO, theirs_RO, matches_RO = sums_RK[:, 0::3], sums_RK[:, 1::3], sums_RK[:, 2::3]
    counted_RO = (ours_RO > 0) & (theirs_RO > 0)
    orders_R = np.maximum(1, counted_RO.sum(1))
    precision_R = np.where(counted_RO, matches_RO / np.maximum(ours_RO, 1), 0.0).sum(1) / orders_R
    recall_R = np.where(counted_RO, matches_RO / np.maximum(theirs_RO, 1), 0.0).sum(1) / orders_R
    both_R = _RECALL_WEIGHT * precision_R + recall_R
    value_R: Array = 100 * (1 + _RECALL_WEIGHT) * precision_R * recall_R / np.where(both_R > 0, both_R, 1.0)
    return value_R
