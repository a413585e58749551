"""Metrics: one number about outputs and references, always with the signature that says how it came about.

`measure` knows them all by name. Everything that is a share is in percent. Any number of references may be given for
each output, and it need not be the same for all.

| name                   | what it is                                                                          |
|------------------------|-------------------------------------------------------------------------------------|
| `bleu`                 | sacreBLEU's, on plain text, which it cuts itself                                    |
| `tokenized_bleu`       | on text that is tokenised already, lower-cased: what multi-bleu with -lc says       |
| `chrf`, `chrf++`       | sacreBLEU's F-score of character n-grams, with words too                            |
| `ter`                  | sacreBLEU's translation edit rate, in its default form, which ignores case          |
| `exact_match`          | share of lines that equal a reference                                               |
| `error_rate`           | share of lines that equal none: "word error rate" where a line is one word          |
| `token_error_rate`     | edits per token: "phone error rate" on phones, "word error rate" of recognised speech |
| `character_error_rate` | edits per character                                                                 |
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never, cast, get_args

from dragoman.errors import DataError, SettingError
from dragoman.measures.alignment import alignment_scores
from dragoman.measures.conventions import warnings_for
from dragoman.measures.edits import Edits, fewest_edits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from sacrebleu.metrics.base import Metric

    from dragoman.measures.alignment import GoldAlignment, Link

SacrebleuName: TypeAlias = Literal["bleu", "tokenized_bleu", "chrf", "chrf++", "ter"]
MetricName: TypeAlias = Literal[
    "bleu",
    "tokenized_bleu",
    "chrf",
    "chrf++",
    "ter",
    "exact_match",
    "error_rate",
    "token_error_rate",
    "character_error_rate",
]
Tokenization: TypeAlias = Literal["13a", "intl", "zh", "char", "none"]
"""How `bleu` cuts words: as WMT does, by Unicode's classes, Chinese, by characters, or only at spaces."""

References: TypeAlias = "Sequence[str | Sequence[str]]"
"""For each output its reference, or its references."""

METRICS: tuple[MetricName, ...] = get_args(MetricName)

_LOWER_IS_BETTER = frozenset({"ter", "error_rate", "token_error_rate", "character_error_rate"})

_KNOWN_OTHERWISE = {
    "wer": "Ask for error_rate where a line is one word (spelling to sound), token_error_rate where it is many.",
    "word_error_rate": "Ask for error_rate where a line is one word (spelling to sound), token_error_rate where many.",
    "per": "Ask for token_error_rate.",
    "phone_error_rate": "Ask for token_error_rate.",
    "cer": "Ask for character_error_rate.",
    "accuracy": "Ask for exact_match.",
    "sacrebleu": "Ask for bleu.",
    "chrf2": "Ask for chrf.",
    "perplexity": "It is told of every model that is evaluated on references, whatever else is measured.",
    "aer": "`dragoman evaluate --gold-alignment FILE` tells it.",
    "alignment_error_rate": "`dragoman evaluate --gold-alignment FILE` tells it.",
    "comet": "`dragoman evaluate --comet MODEL` tells it.",
}


@dataclass(frozen=True, slots=True)
class Measurement:
    """A number, and all that is needed to get it again."""

    name: str
    value: float
    signature: str
    """How it was computed, as key:value pairs between bars; the same data and signature give the same value."""
    higher_is_better: bool
    count: int
    """What the number is over: lines; for perplexity, tokens; for alignments, predicted links."""
    detail: str = ""
    """What it is made of, for readers."""
    subset: str = ""
    """The class of lines it is about; empty for all of them."""
    warnings: tuple[str, ...] = ()

    def is_better_than(self, other: Measurement) -> bool:
        """Whether this is the better of two values of one metric."""
        assert self.name == other.name, "values of different metrics cannot be compared"
        return self.value > other.value if self.higher_is_better else self.value < other.value

    def __str__(self) -> str:
        subset = f"[{self.subset}]" if self.subset else ""
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.name}{subset}|{self.signature} = {self.value:.2f}{detail}"


def metric_name(text: str) -> MetricName:
    """The metric that a user has named."""
    name = text.strip().lower().replace("-", "_")
    if name in METRICS:
        return name
    remedy = _KNOWN_OTHERWISE.get(name, f"Known are: {', '.join(METRICS)}.")
    raise SettingError(f"there is no metric {text!r}", place="metric", remedy=remedy)


def higher_is_better(name: MetricName) -> bool:
    """Whether more is better."""
    return name not in _LOWER_IS_BETTER


def measure(
    name: MetricName,
    hypotheses: Sequence[str],
    references: References,
    *,
    tokenize: Tokenization = "13a",
    lowercase: bool = False,
) -> Measurement:
    """The metric over all lines; `tokenize` is for `bleu` alone, and `ter` ignores case in any event."""
    golds = paired(hypotheses, references)
    match name:
        case "bleu" | "tokenized_bleu" | "chrf" | "chrf++" | "ter":
            return _by_sacrebleu(name, hypotheses, golds, tokenize=tokenize, lowercase=lowercase)
        case "exact_match" | "error_rate" | "token_error_rate" | "character_error_rate":
            return _by_lines(name, hypotheses, golds, lowercase=lowercase)
        case _:
            assert_never(name)


def measure_by_class(
    name: MetricName,
    hypotheses: Sequence[str],
    references: References,
    classes: Sequence[str],
    *,
    tokenize: Tokenization = "13a",
    lowercase: bool = False,
) -> tuple[Measurement, ...]:
    """The metric over each class of lines, in the order of the classes' names."""
    golds = paired(hypotheses, references)
    if len(classes) != len(hypotheses):
        raise DataError(
            f"{len(classes)} classes for {len(hypotheses)} outputs", remedy="Give one class for each output."
        )
    lines_of: defaultdict[str, list[int]] = defaultdict(list)
    for line, label in enumerate(classes):
        lines_of[label].append(line)
    return tuple(
        replace(
            measure(
                name,
                [hypotheses[i] for i in lines],
                [golds[i] for i in lines],
                tokenize=tokenize,
                lowercase=lowercase,
            ),
            subset=label,
        )
        for label, lines in sorted(lines_of.items())
    )


def perplexity(log_probs: Iterable[float]) -> Measurement:
    """How many tokens the model hesitates between: e to the mean negative log-probability of the right ones."""
    values = list(log_probs)
    if not values:
        raise DataError("there is not a single log-probability", remedy="Give those of a text with tokens.")
    mean = -math.fsum(values) / len(values)
    value = math.exp(mean) if mean < 700 else math.inf
    return Measurement(
        name="perplexity",
        value=value,
        signature=_signature(unit="token", base="e"),
        higher_is_better=False,
        count=len(values),
        detail=f"{mean:.4f} nats a token",
    )


def alignment_error_rate(predicted: Sequence[AbstractSet[Link]], gold: Sequence[GoldAlignment]) -> Measurement:
    """The error rate of word alignments over all sentences."""
    scores = alignment_scores(predicted, gold)
    return Measurement(
        name="alignment_error_rate",
        value=100 * scores.error_rate,
        signature=_signature(unit="link"),
        higher_is_better=False,
        count=scores.predicted,
        detail=f"precision {100 * scores.precision:.2f}, recall {100 * scores.recall:.2f}, {scores.sure} sure links",
    )


# ---- sacreBLEU's metrics ---------------------------------------------------------------------------------------


def sacrebleu_metric(name: SacrebleuName, *, tokenize: Tokenization = "13a", lowercase: bool = False) -> Metric:
    """The metric as sacreBLEU has it."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

    match name:
        case "bleu":
            return BLEU(tokenize=tokenize, lowercase=lowercase, force=True)
        case "tokenized_bleu":
            return BLEU(tokenize="none", lowercase=True, smooth_method="none", force=True)
        case "chrf":
            return CHRF(lowercase=lowercase)
        case "chrf++":
            return CHRF(lowercase=lowercase, word_order=2)
        case "ter":
            return TER()
        case _:
            assert_never(name)


def _by_sacrebleu(
    name: SacrebleuName,
    hypotheses: Sequence[str],
    golds: Sequence[Sequence[str]],
    *,
    tokenize: Tokenization,
    lowercase: bool,
) -> Measurement:
    metric = sacrebleu_metric(name, tokenize=tokenize, lowercase=lowercase)
    score = metric.corpus_score(list(hypotheses), streams(golds))
    expects_tokens = name == "tokenized_bleu" or (name == "bleu" and tokenize == "none")
    return Measurement(
        name=name,
        value=score.score,
        signature=str(metric.get_signature()),
        higher_is_better=higher_is_better(name),
        count=len(hypotheses),
        detail=score._verbose.strip(),  # noqa: SLF001 - the precisions and lengths, which have no other door
        warnings=warnings_for(
            hypotheses,
            [gold[0] for gold in golds],
            expects_tokens=expects_tokens,
            ignores_case=lowercase or name in ("tokenized_bleu", "ter"),
        ),
    )


def streams(golds: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """All first references, all second ones, ...: None, which sacreBLEU passes over, where a line has fewer."""
    return cast("list[Sequence[str]]", list(zip_longest(*golds)))


# ---- metrics of our own ----------------------------------------------------------------------------------------


def _by_lines(
    name: Literal["exact_match", "error_rate", "token_error_rate", "character_error_rate"],
    hypotheses: Sequence[str],
    golds: Sequence[Sequence[str]],
    *,
    lowercase: bool,
) -> Measurement:
    outputs = [tokens_of(text, lowercase=lowercase) for text in hypotheses]
    wanted = [[tokens_of(text, lowercase=lowercase) for text in gold] for gold in golds]
    match name:
        case "exact_match" | "error_rate":
            right = sum(output in gold for output, gold in zip(outputs, wanted, strict=True))
            value = 100 * (right if name == "exact_match" else len(outputs) - right) / len(outputs)
            unit, detail = "line", f"{right} of {len(outputs)} right"
        case "token_error_rate":
            unit = "token"
            value, detail = _rate(list(map(fewest_edits, outputs, wanted)))
        case "character_error_rate":
            unit = "character"
            value, detail = _rate(
                [
                    fewest_edits(" ".join(o), [" ".join(g) for g in gold])
                    for o, gold in zip(outputs, wanted, strict=True)
                ]
            )
        case _:
            assert_never(name)
    counts = {len(gold) for gold in golds}
    return Measurement(
        name=name,
        value=value,
        signature=_signature(
            nrefs=str(counts.pop()) if len(counts) == 1 else "var", case="lc" if lowercase else "mixed", unit=unit
        ),
        higher_is_better=higher_is_better(name),
        count=len(outputs),
        detail=detail,
    )


def _rate(edits: Sequence[Edits]) -> tuple[float, str]:
    """All edits against all reference lengths, in percent."""
    count, length = sum(e.count for e in edits), sum(e.length for e in edits)
    value = 100 * count / length if length else 100.0 * bool(count)
    return value, f"{count} edits against {length}"


def tokens_of(text: str, *, lowercase: bool) -> list[str]:
    """What stands between spaces."""
    return (text.lower() if lowercase else text).split()


def _signature(**parts: str) -> str:
    return "|".join(f"{key}:{value}" for key, value in {**parts, "dragoman": version("dragoman")}.items())


# ---- what is given ---------------------------------------------------------------------------------------------


def paired(hypotheses: Sequence[str], references: References) -> list[Sequence[str]]:
    """For each output its references; refused where there are none or the counts differ."""
    if not hypotheses:
        raise DataError("there are no outputs to measure", remedy="Give at least one line.")
    if len(hypotheses) != len(references):
        raise DataError(
            f"{len(hypotheses)} outputs and {len(references)} references",
            remedy="Give one reference, or a list of them, for each output.",
        )
    golds: list[Sequence[str]] = [[gold] if isinstance(gold, str) else gold for gold in references]
    for line, gold in enumerate(golds, start=1):
        if not gold:
            raise DataError(f"output {line} has no reference", remedy="Give every output at least one reference.")
    return golds
