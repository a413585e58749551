"""What looks wrong with outputs: detectors that need only text, and what the model itself says of them.

A model that looks away from its source makes fluent nonsense: then its output is about as probable after another
source, or after none. How often the text detectors are right stands in docs/concepts/measures.md.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Annotated

import msgspec

from dragoman.errors import DataError
from dragoman.measures.detectors import DetectorSettings, corpus_findings, usual_lengths
from dragoman.settings import Meta, Settings
from dragoman.text.vocabulary import EOS
from dragoman.translator import Request, forced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.measures.detectors import Finding
    from dragoman.translator import Translator
    from dragoman.translator.reader import Read

__all__ = ["Checked", "Health", "HealthSettings", "health"]


class HealthSettings(Settings, frozen=True, kw_only=True):
    """From when on the model's own numbers are a warning."""

    contribution: float = 0.5
    """Nats a token that the source must add, at least, to the output's log-probability."""
    confidence: Annotated[float, Meta(ge=0, le=1)] = 0.3
    """Geometric mean of the tokens' probabilities, at least."""
    detectors: DetectorSettings = DetectorSettings()
    """Of the texts."""
    measure_lengths: bool = True
    """Whether usual lengths are those of these very lines, where there are twenty or more."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A source with its output, and what looks wrong."""

    source: str
    output: str
    findings: tuple[Finding, ...]
    """By the texts alone."""
    confidence: float | None = None
    """Geometric mean of the tokens' probabilities; nothing without a model."""
    contribution: float | None = None
    """Nats a token that the source adds to the output's log-probability, against that of an empty source."""
    warnings: tuple[str, ...] = ()
    """Kinds of findings, with `low_confidence` and `low_contribution`."""


@dataclass(frozen=True, slots=True)
class Health:
    """A corpus of outputs, line by line and together."""

    lines: tuple[Checked, ...]
    counts: tuple[tuple[str, int], ...]
    """How many lines have each kind of warning, the most frequent first."""
    suspicious: int
    """Lines with any."""
    confidence: float | None
    """The median."""
    contribution: float | None


def health(
    sources: Sequence[str],
    outputs: Sequence[str] | None = None,
    *,
    translator: Translator | None = None,
    settings: HealthSettings | None = None,
    target_language: str = "",
) -> Health:
    """What looks wrong with the outputs: those given, or the translator's own."""
    settings = settings or HealthSettings()
    if outputs is None:
        if translator is None:
            raise DataError("neither outputs nor a model", place="health", remedy="Give one of them.")
        outputs = [
            each.text for each in translator.translate(list(sources), request=Request(target_language=target_language))
        ]
    if len(sources) != len(outputs) or not sources:
        raise DataError(
            f"{len(sources)} sources and {len(outputs)} outputs", place="health", remedy="Give one for each other."
        )
    detectors = settings.detectors
    if settings.measure_lengths and len(sources) >= 20:
        usual = usual_lengths(sources, outputs)
        detectors = msgspec.structs.replace(detectors, usual_ratio=usual.ratio, spread=usual.spread)
    found = corpus_findings(sources, outputs, settings=detectors)
    numbers: list[tuple[float, float] | None] = [None] * len(sources)
    if translator is not None:
        numbers = [_numbers(translator, s, o, target_language) for s, o in zip(sources, outputs, strict=True)]
    lines = tuple(
        _checked(source, output, each, numbers=number, settings=settings)
        for source, output, each, number in zip(sources, outputs, found, numbers, strict=True)
    )
    counts = Counter(warning for line in lines for warning in line.warnings)
    known = [each for each in numbers if each is not None]
    return Health(
        lines,
        tuple(counts.most_common()),
        sum(bool(line.warnings) for line in lines),
        median(p for p, _ in known) if known else None,
        median(c for _, c in known) if known else None,
    )


def _checked(
    source: str,
    output: str,
    findings: tuple[Finding, ...],
    *,
    numbers: tuple[float, float] | None,
    settings: HealthSettings,
) -> Checked:
    warnings = [finding.kind for finding in findings]
    if numbers is None:
        return Checked(source, output, findings, warnings=tuple(warnings))
    confidence, contribution = numbers
    told = [
        ("low_confidence", confidence < settings.confidence),
        ("low_contribution", contribution < settings.contribution),
    ]
    return Checked(
        source, output, findings, confidence, contribution, (*warnings, *(name for name, holds in told if holds))
    )


def _numbers(translator: Translator, source: str, output: str, language: str) -> tuple[float, float] | None:
    """Confidence and contribution of an output of the (first) model; nothing where it reads nothing."""
    reader = translator.reader
    read = reader.read(source, target_language=language)
    if not len(read):
        return None
    labels = [*reader.bundle.tokenizers.target.encode(output), EOS]
    nothing: Read = [EOS] if isinstance(read, list) else read[:1] * 0
    after, alone = forced.token_log_probs([reader], [[read, nothing]], [labels, labels], target_language=language)
    return math.exp(sum(after) / len(labels)), (sum(after) - sum(alone)) / len(labels)
