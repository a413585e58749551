"""Matrices as pictures: a row for each output word, a column for each source word, darker for more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement

from dragoman.pages.width import width

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

_CELL = 34
_SMALL = 9
_LETTER = 8.2
"""About the width of a letter."""
_MARGIN = 12


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Weights between 0 and 1, with names for rows and columns."""

    key: str
    """A word that tells the picture from others on the page."""
    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    weights: Sequence[Sequence[float]]
    """For each row a weight for each column."""
    ringed: AbstractSet[tuple[int, int]] = frozenset()
    """Row and column of cells with a ring."""
    legend: str = ""
    sure: AbstractSet[tuple[int, int]] = frozenset()
    """Cells with a full dot."""
    possible: AbstractSet[tuple[int, int]] = frozenset()
    """Cells with a hollow dot, if it is not full."""
    told: Sequence[Sequence[str]] | None = None
    """What pointing at each cell says, where it is not the weight in percent."""

    @property
    def description(self) -> str:
        """For each row, where most of its weight lies."""
        told = []
        for name, weights in zip(self.rows, self.weights, strict=True):
            best = max(range(len(weights)), key=weights.__getitem__)
            told.append(f"{name}: {self.columns[best]} {weights[best]:.0%}")
        return "; ".join(told) + "."


def draw(heatmap: HeatMap) -> Element:
    """The picture as an SVG element, with its title and description for those who do not see it."""
    assert heatmap.rows
    assert heatmap.columns
    left = _MARGIN + _LETTER * max(map(width, heatmap.rows)) + 8
    top = _MARGIN + _LETTER * max(map(width, heatmap.columns)) * 0.78 + 16
    names = enumerate(reversed(heatmap.columns))
    overhang = max(_LETTER * width(name) * 0.64 - _CELL * after for after, name in names)  # they lean to the right
    across = left + _CELL * len(heatmap.columns) + max(_MARGIN, overhang)
    across = max(across, left + 6.2 * len(heatmap.legend) + _MARGIN)
    height = top + _CELL * len(heatmap.rows) + (26 if heatmap.legend else _MARGIN)
    svg = _svg(heatmap, across, height)
    for number, name in enumerate(heatmap.columns):
        x, y = left + (number + 0.5) * _CELL, top - 8
        turned = {"class": "word", "transform": f"translate({x:.1f} {y:.1f}) rotate(-50)"}
        SubElement(svg, "text", turned).text = name
    for number, name in enumerate(heatmap.rows):
        place = {"x": f"{left - 8:.1f}", "y": f"{top + (number + 0.5) * _CELL:.1f}"}
        middle = {"text-anchor": "end", "dominant-baseline": "central"}
        SubElement(svg, "text", {"class": "word", **place, **middle}).text = name
    _draw_cells(svg, heatmap, left=left, top=top)
    if heatmap.legend:
        SubElement(svg, "text", {"x": f"{left:.1f}", "y": f"{height - 8:.1f}"}).text = heatmap.legend
    return svg


def draw_fine(heatmap: HeatMap, *, cell: int = 14, every: int = 4) -> Element:
    """The picture of a large matrix: narrow cells, of which every fourth row and column has its name."""
    left = _MARGIN + _LETTER * max(map(width, heatmap.rows)) + 8
    across = max(left + cell * len(heatmap.columns) + _MARGIN, left + 6.2 * len(heatmap.legend) + _MARGIN)
    height = 28 + cell * len(heatmap.rows) + 26
    svg = _svg(heatmap, across, height)
    for number, name in enumerate(heatmap.columns):
        if number % every == 0:
            place = {"x": f"{left + (number + 0.5) * cell:.1f}", "y": "20", "text-anchor": "middle"}
            SubElement(svg, "text", place).text = name
    for row, weights in enumerate(heatmap.weights):
        y = 28 + row * cell
        if row % every == 0:
            place = {"x": f"{left - 8:.1f}", "y": f"{y + cell / 2:.1f}"}
            SubElement(
                svg, "text", {**place, "text-anchor": "end", "dominant-baseline": "central"}
            ).text = heatmap.rows[row]
        for column, weight in enumerate(weights):
            place = {"x": f"{left + column * cell:.1f}", "y": f"{y}", "width": f"{cell}", "height": f"{cell}"}
            shape = {"class": "cell small", "fill-opacity": _shade(weight), **place}
            SubElement(SubElement(svg, "rect", shape), "title").text = _told(heatmap, row, column)
    SubElement(svg, "text", {"x": f"{left:.1f}", "y": f"{height - 8:.1f}"}).text = heatmap.legend
    return svg


def draw_small(heatmap: HeatMap) -> Element:
    """The cells alone, small: for many beside each other."""
    svg = _svg(heatmap, _SMALL * len(heatmap.columns) + 2, _SMALL * len(heatmap.rows) + 2)
    for row, weights in enumerate(heatmap.weights):
        for column, weight in enumerate(weights):
            place = {"x": f"{1 + column * _SMALL}", "y": f"{1 + row * _SMALL}"}
            size = {"width": f"{_SMALL}", "height": f"{_SMALL}"}
            SubElement(svg, "rect", {"class": "cell small", "fill-opacity": _shade(weight), **place, **size})
    return svg


def _svg(heatmap: HeatMap, across: float, height: float) -> Element:
    names = {"title": f"{heatmap.key}-title", "desc": f"{heatmap.key}-description"}
    svg = Element(
        "svg",
        {
            "viewBox": f"0 0 {across:.0f} {height:.0f}",
            "style": f"max-width: {across:.0f}px",
            "role": "img",
            "aria-labelledby": " ".join(names.values()),
        },
    )
    SubElement(svg, "title", {"id": names["title"]}).text = heatmap.title
    SubElement(svg, "desc", {"id": names["desc"]}).text = heatmap.description
    return svg


def _draw_cells(svg: Element, heatmap: HeatMap, *, left: float, top: float) -> None:
    for row, weights in enumerate(heatmap.weights):
        for column, weight in enumerate(weights):
            x, y = left + column * _CELL, top + row * _CELL
            place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "width": f"{_CELL}", "height": f"{_CELL}"}
            cell = SubElement(svg, "rect", {"class": "cell", "fill-opacity": _shade(weight), **place})
            SubElement(cell, "title").text = _told(heatmap, row, column)
            _draw_marks(svg, heatmap, (row, column), x=x, y=y)


def _draw_marks(svg: Element, heatmap: HeatMap, cell: tuple[int, int], *, x: float, y: float) -> None:
    if cell in heatmap.ringed:
        ring = {"x": f"{x + 3:.1f}", "y": f"{y + 3:.1f}", "width": f"{_CELL - 6}", "height": f"{_CELL - 6}"}
        for style in ("halo", "link"):  # the halo tells the ring from a dark cell in black and white
            SubElement(svg, "rect", {"class": style, "rx": "5", **ring})
    if cell in heatmap.sure or cell in heatmap.possible:
        kind = "dot" if cell in heatmap.sure else "dot hollow"
        middle = {"cx": f"{x + _CELL / 2:.1f}", "cy": f"{y + _CELL / 2:.1f}", "r": "5.5"}
        SubElement(svg, "circle", {"class": kind, **middle})


def _told(heatmap: HeatMap, row: int, column: int) -> str:
    told = f"{heatmap.weights[row][column]:.0%}" if heatmap.told is None else heatmap.told[row][column]
    return f"{heatmap.rows[row]} → {heatmap.columns[column]}: {told}"


def _shade(weight: float) -> str:
    return f"{min(1.0, max(0.0, weight)):.3f}"
