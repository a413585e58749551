"""Outputs measured against references, and a model against gold alignments and by the probability of references.

Outputs need no model to be measured; nothing here loads torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dragoman.errors import DataError, SettingError
from dragoman.evaluation.linking import links
from dragoman.evaluation.significance import compare, interval
from dragoman.measures import metrics
from dragoman.measures.metrics import Measurement, MetricName, Tokenization, measure, measure_by_class
from dragoman.measures.statistics import statistics
from dragoman.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dragoman.decoding.build import DecodingSettings
    from dragoman.evaluation.linking import Words
    from dragoman.evaluation.significance import Interval, Significance, SignificanceSettings
    from dragoman.measures.alignment import GoldAlignment
    from dragoman.measures.statistics import Statistics
    from dragoman.translator import Translator


class EvaluateSettings(Settings, frozen=True, kw_only=True):
    """What is measured, and how."""

    metrics: tuple[MetricName, ...] = ("bleu", "chrf", "ter", "exact_match")
    """The metrics, in the order in which they are shown."""
    tokenize: Tokenization = "13a"
    """How `bleu` cuts words."""
    lowercase: bool = False
    """Whether capitals make no difference."""

    def check(self) -> None:
        """Raise SettingError where nothing is measured, or something twice."""
        if not self.metrics or len(set(self.metrics)) < len(self.metrics):
            raise SettingError("each metric is wanted once, and one at least", place="metrics", remedy="Name some.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TestSet:
    """References, and what else is known of their lines."""

    __test__ = False  # its name does not make it a test

    references: tuple[tuple[str, ...], ...]
    """For each line its references, at least one."""
    sources: tuple[str, ...] = ()
    """What they are references for; may be missing where outputs are given."""
    classes: tuple[str, ...] = ()
    """For each line the class it belongs to, where there are classes."""

    def __post_init__(self) -> None:
        for name, found in (("sources", self.sources), ("classes", self.classes)):
            if found and len(found) != len(self.references):
                raise DataError(
                    f"{len(found)} {name} and {len(self.references)} lines of references",
                    place=name,
                    remedy="Give files whose lines belong together.",
                )
        if (nameless := next((n for n, each in enumerate(self.classes, 1) if not each.strip()), None)) is not None:
            raise DataError("there is no class", place=f"classes:{nameless}", remedy="Name one on each line.")

    @classmethod
    def of(
        cls, references: Sequence[Sequence[str]], *, sources: Sequence[str] = (), classes: Sequence[str] = ()
    ) -> TestSet:
        """The set of which each file has one reference for each line; an empty line of a further file is none."""
        lengths = sorted({len(each) for each in references})
        if len(lengths) > 1:
            raise DataError(
                f"reference files of {lengths[0]} and of {lengths[-1]} lines",
                place="--ref",
                remedy="Give files whose lines belong together.",
            )
        lines = zip(*references, strict=True)
        found = tuple((first, *(each for each in others if each.strip())) for first, *others in lines)
        return cls(references=found, sources=tuple(sources), classes=tuple(classes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """One set of outputs, and all that was measured."""

    name: str
    """Of the model or file that they came from."""
    outputs: tuple[str, ...]
    measurements: tuple[Measurement, ...]
    """Each metric over all lines, then over each class of lines."""
    statistics: tuple[Statistics, ...]
    """The counts behind the metrics, for tests of significance."""
    intervals: Mapping[str, Interval]
    """The bootstrap's interval of each metric over all lines."""
    search: DecodingSettings | None = None
    """How the outputs were found, where a model made them."""


def evaluate(
    outputs: Sequence[str],
    test: TestSet,
    *,
    name: str = "",
    settings: EvaluateSettings | None = None,
    significance: SignificanceSettings | None = None,
) -> Evaluated:
    """The metrics of the outputs, which are in the order of the references."""
    settings = settings or EvaluateSettings()
    tokenize, lowercase, golds = settings.tokenize, settings.lowercase, test.references
    measured = [measure(each, outputs, golds, tokenize=tokenize, lowercase=lowercase) for each in settings.metrics]
    for each in settings.metrics if test.classes else ():
        measured += measure_by_class(each, outputs, golds, test.classes, tokenize=tokenize, lowercase=lowercase)
    counts = [statistics(each, outputs, golds, tokenize=tokenize, lowercase=lowercase) for each in settings.metrics]
    return Evaluated(
        name=name,
        outputs=tuple(outputs),
        measurements=tuple(measured),
        statistics=tuple(counts),
        intervals={each.name: interval(each, settings=significance) for each in counts},
    )


def nothing_measured(name: str) -> Evaluated:
    """Of a model that has no outputs to compare: a language model."""
    return Evaluated(name=name, outputs=(), measurements=(), statistics=(), intervals={})


def compare_all(
    first: Evaluated, second: Evaluated, *, settings: SignificanceSettings | None = None
) -> tuple[Significance, ...]:
    """The tests of each metric that both were measured by."""
    others = {each.name: each for each in second.statistics}
    return tuple(
        compare(each, others[each.name], settings=settings) for each in first.statistics if each.name in others
    )


def perplexity(translator: Translator, test: TestSet) -> Measurement:
    """The model's perplexity on the first references."""
    targets = [each[0] for each in test.references]
    scores = translator.score(test.sources if translator.has_source else None, targets)
    return metrics.perplexity(token.log_prob for score in scores for token in score.tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """Gold alignments of the sources with the first references, and the words that they count."""

    alignments: tuple[GoldAlignment, ...]
    source_words: tuple[Words, ...] = ()
    """The words of each source; without them, what stands between white space."""
    target_words: tuple[Words, ...] = ()

    def words(self, test: TestSet) -> Iterator[tuple[Words, Words]]:
        """The words of both sides of each line, which the links must be of."""
        sides = {
            "alignments": self.alignments,
            "words of sources": self.source_words or test.sources,
            "words of targets": self.target_words or test.references,
        }
        for name, found in sides.items():
            if len(found) != len(test.references):
                raise DataError(
                    f"{len(found):,} {name} and {len(test.references):,} references",
                    place="gold alignments",
                    remedy="Give files whose lines belong together.",
                )
        for line, golds in enumerate(test.references):
            source = self.source_words[line] if self.source_words else test.sources[line].split()
            target = self.target_words[line] if self.target_words else golds[0].split()
            _refuse_beyond(self.alignments[line], len(source), len(target), line=line + 1)
            yield source, target


def _refuse_beyond(gold: GoldAlignment, sources: int, targets: int, *, line: int) -> None:
    for link in gold.possible:
        if link.source >= sources or link.target >= targets:
            raise DataError(
                f"the link {link.source}-{link.target} is beyond {sources} and {targets} words",
                place=f"gold alignments:{line}",
                remedy="Count words from 0, in the same cutting as the text; or name the words with --words.",
            )


def alignment_error_rate(translator: Translator, test: TestSet, gold: Gold, *, layer: int | None = None) -> Measurement:
    """How well the attention of the model, reading each source with its first reference, fits the gold alignments."""
    pairs = zip(test.sources, test.references, gold.words(test), strict=True)
    found = [
        links(translator, source, golds[0], source_words=sources, target_words=targets, layer=layer)
        for source, golds, (sources, targets) in pairs
    ]
    return metrics.alignment_error_rate(found, gold.alignments)
