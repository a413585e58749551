"""Results that are curves: gradients by position, quality by length, cost by length, repetition."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dragoman.inspection.views.view import View
from dragoman.pages.chart import Chart, Curve, draw
from dragoman.pages.elements import figure, table, text
from dragoman.pages.terminal import columns

if TYPE_CHECKING:
    from collections.abc import Sequence
    from xml.etree.ElementTree import Element

    from dragoman.inspection.cost import Costs
    from dragoman.inspection.gradients import Gradients
    from dragoman.inspection.length import Lengths
    from dragoman.inspection.repetition import Loop, Repetition

_SMALLEST = 1e-30
"""What has vanished altogether is drawn here."""


def gradients(found: Gradients) -> View:
    """The gradient at each source position, on a scale of powers of ten."""
    fresh = found.kind == "fresh"
    curves = tuple(
        Curve(each.name, tuple((float(n), _log(value)) for n, value in enumerate(each.sizes, 1)))
        for each in found.reaches
    )
    chart = Chart(
        "gradients", "The gradient at each source position", "size, power of ten", curves, across="source position"
    )
    rows = [(each.name, f"{each.sizes[0]:.3g}", f"{each.sizes[-1]:.3g}", f"{each.ratio:.3g}") for each in found.reaches]
    head = ("model", "first position", "last position", "share that reaches the first")
    remark = (
        f"Fresh weights, {found.size} numbers a state, mean of {found.sentences} random sentences, the encoder reading "
        "forward: the gradient of the first output word's log-probability."
        if fresh
        else f"The gradient of the output's log-probability. The source: {' '.join(found.names)}"
    )
    values = [table(_positions(found), ("position", *(each.name for each in found.reaches)), numbers=True)]
    sections = (text("p", remark), figure(chart.title, draw(chart), values), table(rows, head))
    return View("Gradients", sections, draw(chart), (remark, "", *columns(head, rows)))


def _positions(found: Gradients) -> list[tuple[str, ...]]:
    count = max(len(each.sizes) for each in found.reaches)
    return [
        (
            f"{n + 1} {found.names[n]}" if n < len(found.names) else str(n + 1),
            *(f"{each.sizes[n]:.3g}" if n < len(each.sizes) else "" for each in found.reaches),
        )
        for n in range(count)
    ]


def lengths(found: Lengths) -> View:
    """A curve of quality for each model."""
    curves = tuple(
        Curve(each.name, tuple(zip(found.means, each.values, strict=True)), marked=True) for each in found.models
    )
    chart = Chart("length", f"{found.metric} by length", found.metric, curves, from_zero=True, across="source words")
    head = ("source words", "lines", *(each.name for each in found.models))
    rows = [
        (group, f"{count:,}", *(f"{each.values[n]:.1f}" for each in found.models))
        for n, (group, count) in enumerate(zip(found.groups, found.counts, strict=True))
    ]
    values = [table(rows, head, numbers=True)]
    sections = (
        figure(chart.title, draw(chart), values),
        text("p", f"{found.metric}|{found.signature}"),
    )
    return View("Quality by length", sections, draw(chart), tuple(columns(head, rows)))


def costs(found: Sequence[Costs]) -> View:
    """Time and memory of each model, by length."""
    time = [Curve(o.name, tuple((float(c.length), 1e3 * c.seconds) for c in o.costs), marked=True) for o in found]
    memory = [Curve(o.name, tuple((float(c.length), c.kept / 1e6) for c in o.costs), marked=True) for o in found]
    for each in found:
        if any(c.written_out for c in each.costs):
            points = tuple((float(c.length), c.written_out / 1e6) for c in each.costs)
            memory.append(Curve(f"{each.name}, attention written out", points, marked=True))
    charts = (
        Chart(
            "memory", "Memory that a training step keeps", "MB", tuple(memory), from_zero=True, across="source tokens"
        ),
        Chart("time", "Time to read a source", "ms", tuple(time), from_zero=True, across="source tokens"),
    )
    head = ("source tokens", *(f"{o.name}: {what}" for o in found for what in ("ms", "MB", "MB written out")))
    rows = [
        (
            f"{found[0].costs[n].length:,}",
            *(
                value
                for each in found
                for value in (
                    f"{1e3 * each.costs[n].seconds:.2f}",
                    f"{each.costs[n].kept / 1e6:.2f}",
                    f"{each.costs[n].written_out / 1e6:.2f}",
                )
            ),
        )
        for n in range(len(found[0].costs))
    ]
    remark = (
        f"One source at a time, {found[0].threads} thread(s). Memory is what one training step keeps for its gradients "
        "beside the weights, counted tensor by tensor; time is of this machine, as busy as it was."
    )
    values = table(rows, head, numbers=True)
    sections = (text("p", remark), *(figure(each.title, draw(each), [values]) for each in charts))
    return View("Cost by length", sections, draw(charts[0]), (remark, "", *columns(head, rows)))


def repetition(found: Repetition, loop: Loop | None = None) -> View:
    """The probability of the phrase with each repetition."""
    points = tuple((float(each.before), each.per_token) for each in found.said)
    curve = Curve("geometric mean of its tokens", points, marked=True)
    title = "Probability of the phrase by how often it was said before"
    chart = Chart("repetition", title, "probability", (curve,), from_zero=True, across="times said before")
    head = ("said before", "log-probability", "per token")
    rows = [(str(each.before), f"{each.log_prob:.3f}", f"{each.per_token:.4f}") for each in found.said]
    remark = (
        "The phrase becomes more probable the more often it was said: the loop feeds itself."
        if found.grows
        else "The phrase does not become more probable with repetition."
    )
    told = [remark]
    if loop is not None:
        told.append(f"The model's own output loops: {loop.phrase!r}, {loop.times} times from word {loop.begin + 1}.")
    given = table(
        [("phrase", found.phrase), ("tokens", " | ".join(found.tokens)), ("source", found.source)], foreign=True
    )
    sections: tuple[Element, ...] = (
        given,
        figure(title, draw(chart), [table(rows, head, numbers=True)]),
        *(text("p", each) for each in told),
    )
    return View("Repetition", sections, draw(chart), (*columns(head, rows), *told))


def _log(value: float) -> float:
    return math.log10(max(value, _SMALLEST))
