"""The probe of gender bias and the health of outputs, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.inspection.views.view import View
from dragoman.pages.bars import BarChart, Bars, draw
from dragoman.pages.elements import figure, scrolled, table, text
from dragoman.pages.terminal import columns

if TYPE_CHECKING:
    from dragoman.inspection.bias import Bias
    from dragoman.inspection.health import Health

_SHOWN = 200
"""Lines shown on a page."""


def bias(found: Bias) -> View:
    """Accuracy with intervals, what came of neutral lines and of minimal pairs, and the lines that came out wrong."""
    head = ("lines", "right", "of", "accuracy", "interval", "form tells nothing")
    rows = [
        (each.name, f"{each.right:,}", f"{each.count:,}", f"{each.value:.1f}%", f"{each.interval}", f"{each.unknown:,}")
        for each in found.shares
    ]
    chart = BarChart(
        "bias",
        "How often the form has the gender that the sentence gives",
        "percent",
        "lines",
        tuple(each.name for each in found.shares),
        (Bars("right", tuple(each.value for each in found.shares)),),
    )
    told = []
    if found.gap is not None:
        told.append(
            f"Pro-stereotypical lines are right {found.gap:+.1f} points more often than anti-stereotypical ones."
        )
    if any(found.neutral):
        female, male, unknown = found.neutral
        told.append(f"Where the sentence gives no gender: {female:,} female, {male:,} male, {unknown:,} untold.")
    if found.pairs is not None and found.pairs.count:
        pairs = found.pairs
        told.append(
            f"Of {pairs.count:,} pairs that differ in the pronoun alone, {pairs.follow:,} follow it; "
            f"{pairs.always_male:,} are male and {pairs.always_female:,} female both times, {pairs.other:,} neither."
        )
    wrong = [e for e in found.judged if e.line.gender not in {"neutral", e.found}][:_SHOWN]
    listed = table(
        [(e.line.sentence, e.line.profession, e.line.gender, e.output, e.word, e.found) for e in wrong],
        ("sentence", "profession", "gender", "output", "word", "came out as"),
        foreign=True,
    )
    sections = (
        figure(chart.title, draw(chart), [table(rows, head)]),
        *(text("p", each) for each in told),
        text("h2", f"Lines that came out otherwise (the first {len(wrong):,})"),
        scrolled([listed], label="Lines that came out otherwise"),
    )
    return View(f"Gender of professions in {found.language}", sections, draw(chart), (*columns(head, rows), *told))


def health(found: Health) -> View:
    """How many lines have each warning, and the lines."""
    head = ("warning", "lines", "share")
    rows = [(kind, f"{count:,}", f"{count / len(found.lines):.1%}") for kind, count in found.counts]
    rows.append(("any", f"{found.suspicious:,}", f"{found.suspicious / len(found.lines):.1%}"))
    told = [
        f"{len(found.lines):,} lines, {found.suspicious:,} of them with a warning. A warning is a hint, not a verdict."
    ]
    if found.confidence is not None and found.contribution is not None:
        told.append(
            f"Medians: confidence {found.confidence:.2f}, {found.contribution:.2f} nats a token from the source."
        )
    chart = BarChart(
        "health",
        "Lines with each warning",
        "lines",
        "warning",
        tuple(kind for kind, _ in found.counts) or ("none",),
        (Bars("lines", tuple(float(count) for _, count in found.counts) or (0.0,)),),
    )
    suspicious = [each for each in found.lines if each.warnings][:_SHOWN]
    listed = table(
        [
            (
                each.source,
                each.output,
                " ".join(finding.message for finding in each.findings),
                ", ".join(each.warnings),
                "" if each.confidence is None else f"{each.confidence:.2f}",
                "" if each.contribution is None else f"{each.contribution:.2f}",
            )
            for each in suspicious
        ],
        ("source", "output", "what was found", "warnings", "confidence", "from the source"),
        foreign=True,
    )
    sections = (
        *(text("p", each) for each in told),
        figure(chart.title, draw(chart), [table(rows, head)]),
        text("h2", f"Lines with a warning (the first {len(suspicious):,})"),
        scrolled([listed], label="Lines with a warning"),
    )
    return View("Health of outputs", sections, draw(chart), (*columns(head, rows), *told))
