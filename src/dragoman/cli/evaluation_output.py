"""What `evaluate` has found, as tables or as one JSON document."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.cli import console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.bundle import Calibration
    from dragoman.decoding.build import DecodingSettings
    from dragoman.evaluation.contrastive import Accuracy
    from dragoman.evaluation.evaluate import Evaluated
    from dragoman.evaluation.search_errors import Judged
    from dragoman.evaluation.significance import Interval, Significance
    from dragoman.measures.metrics import Measurement

_SHOWN = 3


@dataclass(slots=True)
class Result:
    """All that was found, part by part."""

    systems: list[Evaluated] = field(default_factory=list)
    """The model or file, and the one that it is compared with."""
    comparison: tuple[Significance, ...] = ()
    contrastive: list[tuple[str, tuple[Accuracy, ...]]] = field(default_factory=list)
    """Of each model its name and its accuracies."""
    judged: Sequence[Judged] = ()
    calibration: Calibration | None = None


def show(result: Result, *, as_json: bool) -> None:
    """Print the result, after warnings about texts that do not fit their metrics."""
    for system in result.systems:
        for text in dict.fromkeys(text for each in system.measurements for text in each.warnings):
            console.warn(f"{system.name}: {text}")
    if as_json:
        console.json(_document(result))
        return
    blocks = [_measured(system) for system in result.systems]
    if result.comparison:
        blocks.append(_compared(result))
    if result.calibration is not None:
        blocks.append(_calibrated(result.calibration))
    blocks += [_contrasted(name, found) for name, found in result.contrastive]
    if result.judged:
        blocks.append(_at_fault(result.judged))
    for number, block in enumerate(blocks):
        if number:
            console.out()
        block.print()


@dataclass(frozen=True, slots=True)
class _Block:
    """A table, and lines under it."""

    columns: tuple[str, ...]
    rows: list[tuple[object, ...]]
    notes: tuple[str, ...] = ()
    title: str = ""

    def print(self) -> None:
        """Print it."""
        if self.title:
            console.out(self.title)
        console.table(self.columns, self.rows)
        for each in self.notes:
            console.out(each)


# ---- tables --------------------------------------------------------------------------------------------------------


def _measured(system: Evaluated) -> _Block:
    has_classes = any(each.subset for each in system.measurements)
    rows: list[tuple[object, ...]] = []
    for each in system.measurements:
        held = system.intervals.get(each.name) if not each.subset else None
        label = (each.subset or "all",) if has_classes else ()
        rows.append((each.name, *label, each.value, "" if held is None else str(held), each.count, each.detail))
    columns = ("metric", *(("class",) if has_classes else ()), "value", "interval", "of", "made of")
    signatures = dict.fromkeys(f"{each.name}|{each.signature}" for each in system.measurements if not each.subset)
    if system.search is not None:
        signatures[f"search|{_told(system.search)}"] = None
    return _Block(columns, rows, tuple(signatures), title=system.name)


def _told(search: DecodingSettings) -> str:
    """The search by the settings that make it, in the way of a signature."""
    told = msgspec.to_builtins(search)
    plain = {name: value for name, value in told.items() if isinstance(value, str | int | float)}
    return "|".join(f"{name}:{value}" for name, value in plain.items())


def _compared(result: Result) -> _Block:
    rows: list[tuple[object, ...]] = [
        (
            each.name,
            each.value,
            each.against,
            each.difference,
            str(each.difference_interval),
            f"{each.better:.1%}",
            f"{each.p_bootstrap:.4f}",
            f"{each.p_randomization:.4f}",
            each.detectable,
        )
        for each in result.comparison
    ]
    columns = ("metric", "first", "second", "difference", "interval", "better in", "p (bs)", "p (ar)", "detectable")
    first, second = (each.name for each in result.systems)
    verdicts = tuple(each.verdict(first, second) + _reach(each) for each in result.comparison)
    title = f"{first} against {second}"
    return _Block(columns, rows, (*verdicts, result.comparison[0].signature), title=title)


def _reach(found: Significance) -> str:
    return f" {found.reach}" if found.detectable and not found.is_significant else ""


def _calibrated(fitted: Calibration) -> _Block:
    rows: list[tuple[object, ...]] = [
        ("words", fitted.words, *fitted.words_error),
        ("whole outputs", fitted.sentences, *fitted.sentences_error),
    ]
    fitted_on = f"fitted on {fitted.lines:,} lines of {' and '.join(fitted.files)}"
    columns = ("confidence in", "temperature", "error before", "error after")
    return _Block(columns, rows, (fitted_on,), title="calibration")


def _contrasted(name: str, found: Sequence[Accuracy]) -> _Block:
    rows: list[tuple[object, ...]] = [
        (each.label or "all", each.value, str(each.interval), each.right, each.count) for each in found
    ]
    columns, signature = ("class", "accuracy", "interval", "right", "of"), f"accuracy|{found[0].signature}"
    return _Block(columns, rows, (signature,), title=f"contrastive: {name}")


def _at_fault(judged: Sequence[Judged]) -> _Block:
    from dragoman.evaluation.search_errors import counted

    found = counted(judged)
    named = [
        ("right", found.optimal),
        ("search errors", found.search_errors),
        ("model errors", found.model_errors),
        ("undecided", found.undecided),
        ("the model prefers an empty output", sum(each.prefers_nothing for each in judged)),
    ]
    rows: list[tuple[object, ...]] = [(name, number, f"{number / len(judged):.1%}") for name, number in named]
    worst = sorted(
        (each for each in judged if each.verdict == "search error"), key=lambda each: each.score - each.best_score
    )
    examples = [
        f"missed {each.best!r} ({each.best_score:.3f}), found {each.found!r} ({each.score:.3f})" for each in worst
    ]
    return _Block(("outputs", "number", "share"), rows, tuple(examples[:_SHOWN]), title="whose fault")


# ---- JSON ----------------------------------------------------------------------------------------------------------


def _document(result: Result) -> dict[str, Any]:
    document: dict[str, Any] = {"systems": [_system(each) for each in result.systems]}
    if result.comparison:
        document["comparison"] = [_test(each) for each in result.comparison]
    if result.calibration is not None:
        document["calibration"] = result.calibration
    if result.contrastive:
        document["contrastive"] = [
            {
                "system": name,
                "class": each.label,
                "accuracy": each.value,
                "interval": _pair(each.interval),
                "right": each.right,
                "count": each.count,
                "signature": each.signature,
            }
            for name, found in result.contrastive
            for each in found
        ]
    if result.judged:
        document["search_errors"] = [
            {
                "source": each.source,
                "found": each.found,
                "score": each.score,
                "best": each.best,
                "best_score": each.best_score,
                "verdict": each.verdict,
            }
            for each in result.judged
        ]
    return document


def _system(found: Evaluated) -> dict[str, Any]:
    return {
        "name": found.name,
        "lines": len(found.outputs),
        "search": found.search,
        "measurements": [_measurement(each, found) for each in found.measurements],
    }


def _measurement(found: Measurement, system: Evaluated) -> dict[str, Any]:
    held = None if found.subset else system.intervals.get(found.name)
    return {
        "name": found.name,
        "class": found.subset,
        "value": found.value,
        "interval": None if held is None else _pair(held),
        "signature": found.signature,
        "higher_is_better": found.higher_is_better,
        "count": found.count,
        "detail": found.detail,
        "warnings": found.warnings,
    }


def _test(found: Significance) -> dict[str, Any]:
    return {
        "name": found.name,
        "value": found.value,
        "interval": _pair(found.interval),
        "against": found.against,
        "against_interval": _pair(found.against_interval),
        "difference": found.difference,
        "difference_interval": _pair(found.difference_interval),
        "better": found.better,
        "worse": found.worse,
        "p_bootstrap": found.p_bootstrap,
        "p_randomization": found.p_randomization,
        "detectable": found.detectable,
        "significant": found.is_significant,
        "signature": found.signature,
    }


def _pair(interval: Interval) -> list[float]:
    return [interval.low, interval.high]
