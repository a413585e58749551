"""Position vectors drawn, with their dot products."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from dragoman.inspection.views.view import View
from dragoman.pages.chart import Chart, Curve
from dragoman.pages.chart import draw as draw_chart
from dragoman.pages.elements import figure, table, text
from dragoman.pages.heatmap import HeatMap, draw_fine

if TYPE_CHECKING:
    from collections.abc import Sequence
    from xml.etree.ElementTree import Element

    from dragoman.inspection.positions import Positions

_SHOWN = 12
"""Rows and columns of a table."""


def view(found: Positions) -> View:
    """The vectors and their products as a page."""
    title = f"Positions: {found.kind}, {found.size} numbers each"
    vectors = picture(found)
    products = _heatmap("products", "Dot products between positions", found.products, across="position")
    row = tuple((float(place), value) for place, value in enumerate(found.products[0]))
    chart = Chart(
        "first", "Products with position 0", "dot product", (Curve("with position 0", row),), across="position"
    )
    sections = (
        figure("A row for each position, a column for each number", vectors, [_table(found.vectors)]),
        figure("Dot products between positions", draw_fine(products), [_table(found.products)]),
        figure("Products with position 0, by distance", draw_chart(chart), [_table(found.products[:1])]),
        text("p", _remark(found)),
    )
    count = min(_SHOWN, len(found.products))
    lines = [f"{found.kind} positions of {found.size} numbers: dot products of the first {count}"]
    lines += [" ".join(f"{value:7.2f}" for value in row[:count]) for row in found.products[:count]]
    return View(title, sections, vectors, (*lines, _remark(found)))


def picture(found: Positions) -> Element:
    """The picture of the vectors."""
    return draw_fine(_heatmap("vectors", "Position vectors", found.vectors, across="number"))


def _heatmap(key: str, title: str, values: Sequence[Sequence[float]], *, across: str) -> HeatMap:
    low, high = min(map(min, values)), max(map(max, values))
    room = (high - low) or 1.0
    return HeatMap(
        key,
        title,
        tuple(str(n) for n in range(len(values))),
        tuple(str(n) for n in range(len(values[0]))),
        tuple(tuple((value - low) / room for value in row) for row in values),
        legend=f"down: position; across: {across}; from {low:.2f} (blank) to {high:.2f} (full)",
        told=tuple(tuple(f"{value:.4f}" for value in row) for row in values),
    )


def _table(values: Sequence[Sequence[float]]) -> Element:
    rows = [(str(n), *(f"{value:.4f}" for value in row[:_SHOWN])) for n, row in enumerate(values[:_SHOWN])]
    return table(rows, ("", *(str(n) for n in range(min(_SHOWN, len(values[0]))))), numbers=True)


def _remark(found: Positions) -> str:
    """What the products tell: how large the diagonal is, and whether products only fall with the distance."""
    diagonal = [row[n] for n, row in enumerate(found.products)]
    first = found.products[0]
    falls = all(b <= a + 1e-9 for a, b in pairwise(first))
    return (
        f"The diagonal goes from {min(diagonal):.4g} to {max(diagonal):.4g}. "
        f"Products with position 0 {'fall' if falls else 'do not only fall'} as the distance grows."
    )
