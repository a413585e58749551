"""Attention drawn: one map large, and all layers and heads beside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement

from dragoman.inspection.views.view import View
from dragoman.pages.elements import figure, table, text
from dragoman.pages.heatmap import HeatMap, draw, draw_small
from dragoman.pages.terminal import lines

if TYPE_CHECKING:
    from dragoman.inspection.attention import Attention, Matrix

_TITLES = {
    "cross": "Attention to the source",
    "encoder": "Attention within the source",
    "decoder": "Attention within the output",
}


def view(found: Attention) -> View:
    """The attention as a page, with the chosen map first."""
    chosen = heatmap(found)
    title = _TITLES[found.looking]
    count = sum(map(len, found.heads))
    sections = [_pair(found), figure(_caption(found), draw(chosen), [_weights(found, found.weights)])]
    if found.scores is not None:
        sections.append(text("p", _score_line(found)))
    if count > 1:
        sections += _grid(found)
    told = [*lines(chosen), "", chosen.legend, *([_score_line(found)] if found.scores else [])]
    return View(title, tuple(sections), draw(chosen), tuple(told))


def heatmap(found: Attention) -> HeatMap:
    """The chosen map, with the links and gold on top."""
    gold = found.gold
    legend = "darker: more attention"
    if found.links:
        legend += "; ringed: the most"
    if gold is not None:
        legend += "; dots: gold (hollow: possible)"
    return HeatMap(
        "attention",
        _caption(found),
        found.rows,
        found.columns,
        found.weights,
        ringed={(link.target, link.source) for link in found.links},
        sure={(link.target, link.source) for link in gold.sure} if gold else frozenset(),
        possible={(link.target, link.source) for link in gold.possible} if gold else frozenset(),
        legend=legend,
    )


def _caption(found: Attention) -> str:
    layers, heads = len(found.heads), len(found.heads[0])
    if layers * heads == 1:
        return "A row for each output word, a column for each source word" if found.looking == "cross" else "All words"
    layer = found.by.layer % layers + 1
    which = f"mean of the {heads} heads" if found.by.head is None else f"head {found.by.head % heads + 1}"
    return f"Layer {layer} of {layers}, {which}"


def _pair(found: Attention) -> Element:
    rows = [("source", found.source)] if found.source else []
    rows.append(("output of the model" if found.generated else "output as given", found.output))
    return table(rows, foreign=True)


def _score_line(found: Attention) -> str:
    scores = found.scores
    assert scores is not None
    return (
        f"Alignment error rate {scores.error_rate:.1%} against gold: precision {scores.precision:.1%} of "
        f"{scores.predicted} links, recall {scores.recall:.1%} of {scores.sure} sure ones."
    )


def _weights(found: Attention, weights: Matrix) -> Element:
    shares = [(name, *(f"{w:.0%}" for w in row)) for name, row in zip(found.rows, weights, strict=True)]
    return table(shares, ("", *found.columns), numbers=True)


def _grid(found: Attention) -> list[Element]:
    """A row of small maps for each layer; each unfolds into a large one."""
    parts = [
        text("h2", "Every layer and head"),
        text("p", "A row for each layer, the first one on top. Choose a map to see it large, with its weights."),
    ]
    for number, layer in enumerate(found.heads, 1):
        row = Element("div", {"class": "heads"})
        for head, weights in enumerate(layer, 1):
            name = f"layer {number}, head {head}"
            small = HeatMap(f"l{number}h{head}", name, found.rows, found.columns, weights)
            details = SubElement(row, "details")
            summary = SubElement(details, "summary")
            summary.append(draw_small(small))
            summary.append(text("span", name))
            large = HeatMap(f"l{number}h{head}-large", name, found.rows, found.columns, weights)
            details.append(draw(large))
            details.append(_weights(found, weights))
        parts.append(row)
    return parts
