"""Attributions, heads and variants drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.inspection.views.view import View
from dragoman.pages.elements import figure, scrolled, table, text
from dragoman.pages.heatmap import HeatMap, draw
from dragoman.pages.terminal import columns, lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.inspection.attribution import Ablation, Attribution, Variant

_METHODS = {
    "gradient": "Gradient times input",
    "integrated": "Integrated gradients",
    "occlusion": "Occlusion: what is lost without each source token",
}


def attribution(found: Attribution) -> View:
    """What each source token counts, drawn as its share of the strongest; ringed where it counts against."""
    title = _METHODS[found.method]
    strongest = max((abs(value) for row in found.weights for value in row), default=0.0) or 1.0
    shares = [[abs(value) / strongest for value in row] for row in found.weights]
    against = {(t, s) for t, row in enumerate(found.weights) for s, value in enumerate(row) if value < -0.1 * strongest}
    legend = f"darker: counts more (full: {strongest:.2f} nats); ringed: counts against"
    told = [[f"{value:+.3f}" for value in row] for row in found.weights]
    picture = HeatMap(
        "attribution", title, found.output, found.source, shares, ringed=against, legend=legend, told=told
    )
    rows = [
        (name, *values, f"{log_prob:.3f}")
        for name, values, log_prob in zip(found.output, told, found.log_probs, strict=True)
    ]
    values = table(rows, ("", *found.source, "log-probability"), numbers=True)
    remarks = ["Numbers are nats of the output token's log-probability."]
    if found.method == "integrated":
        remarks.append(
            "Each row adds up to the log-probability less that without a source; the largest difference here is "
            f"{found.gap:.3f}."
        )
    sections = (figure(title, draw(picture), [values]), *(text("p", each) for each in remarks))
    return View(title, sections, draw(picture), (*lines(picture), "", legend, *remarks))


def ablation(found: Ablation) -> View:
    """What is lost without each head: a row for each layer."""
    layers = sorted({(each.kind, each.layer) for each in found.heads})
    count = max(each.head for each in found.heads)
    losses = {(each.kind, each.layer, each.head): found.log_prob - each.log_prob for each in found.heads}
    strongest = max(map(abs, losses.values())) or 1.0
    grid = [[losses.get((*layer, head), 0.0) for head in range(1, count + 1)] for layer in layers]
    legend = f"darker: more is lost without it (full: {strongest:.2f} nats); ringed: better without"
    title = "What the output loses without each head"
    picture = HeatMap(
        "heads",
        title,
        tuple(f"{kind} {layer}" for kind, layer in layers),
        tuple(f"head {head}" for head in range(1, count + 1)),
        [[abs(value) / strongest for value in row] for row in grid],
        ringed={(r, c) for r, row in enumerate(grid) for c, value in enumerate(row) if value < -0.1 * strongest},
        legend=legend,
        told=[[f"{value:+.3f}" for value in row] for row in grid],
    )
    head = ("attention", "head", "log-probability without", "lost")
    rows = [
        (f"{each.kind} {each.layer}", str(each.head), f"{each.log_prob:.3f}", f"{found.log_prob - each.log_prob:+.3f}")
        for each in found.heads
    ]
    pair = [("source", found.source), ("output", found.output), ("log-probability", f"{found.log_prob:.3f}")]
    sections = (table(pair, foreign=True), figure(title, draw(picture), [table(rows, head)]))
    return View("Heads", sections, draw(picture), (*lines(picture), "", legend))


def variants(found: Sequence[Variant]) -> View:
    """Each variant with what becomes of it."""
    head = ("source", "beginning", "output", "log-probability", "the first output's")
    rows = [(each.source, each.prefix, each.output, f"{each.log_prob:.3f}", f"{each.was:.3f}") for each in found]
    section = scrolled([table(rows, head, foreign=True)], label="What if")
    return View("What if", (section,), None, tuple(columns(head, rows)))
