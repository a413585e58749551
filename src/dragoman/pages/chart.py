"""Charts as SVG: curves over numbers, ticks at round numbers. Dashes and marks tell curves apart without colour."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH, HEIGHT = 640, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 12, 44
_TICKS = 5
_MOST_POINTS = 400
_MOST_MARKS = 60
_STYLES = ("first", "second", "third", "fourth", "fifth", "sixth")
_ROW = 20
"""Height of a row of a legend."""

Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """Some values over numbers, such as those of updates."""

    name: str
    points: Points
    """Number and value, in order."""
    marked: bool = False
    """Whether each point is marked, as few and separate values are."""


@dataclass(frozen=True, slots=True)
class Chart:
    """Up to six curves on common axes."""

    key: str
    """A word that tells the chart from others on the page."""
    title: str
    unit: str
    curves: tuple[Curve, ...]
    best: tuple[float, float] | None = None
    """A point to ring."""
    from_zero: bool = False
    across: str = "update"
    """What the values stand over."""

    @property
    def description(self) -> str:
        """What the curves show, in words."""
        return " ".join(_described(curve, self.unit, self.across) for curve in self.curves)


def draw(chart: Chart) -> Element:
    """The chart as an SVG element, with its title and description for those who do not see it."""
    assert all(curve.points for curve in chart.curves)
    assert 1 <= len(chart.curves) <= len(_STYLES)
    below = _ROW * math.ceil(len(chart.curves) / 2) if len(chart.curves) > 2 else 0
    names = {"title": f"{chart.key}-title", "desc": f"{chart.key}-description"}
    svg = Element(
        "svg", {"viewBox": f"0 0 {WIDTH} {HEIGHT + below}", "role": "img", "aria-labelledby": " ".join(names.values())}
    )
    SubElement(svg, "title", {"id": names["title"]}).text = chart.title
    SubElement(svg, "desc", {"id": names["desc"]}).text = chart.description
    axes = _Axes.around(chart)
    _draw_axes(svg, axes, chart)
    for curve, style in zip(chart.curves, _STYLES, strict=False):
        _draw_curve(svg, axes, curve, style)
    if chart.best is not None:
        x, y = axes.place(*chart.best)
        SubElement(svg, "circle", {"class": "best", "cx": x, "cy": y, "r": "9"})
    if below:
        _draw_legend_below(svg, chart.curves)
    elif len(chart.curves) > 1:
        _draw_legend(svg, chart.curves)
    return svg


def thinned(points: Points, most: int = _MOST_POINTS) -> Points:
    """At most so many points: each the mean of some neighbours; the first and the last stay as they are."""
    if len(points) <= most:
        return points
    inner = points[1:-1]
    edges = [round(i * len(inner) / (most - 2)) for i in range(most - 1)]
    groups = [inner[a:b] for a, b in pairwise(edges)]
    means = tuple((sum(x for x, _ in g) / len(g), sum(y for _, y in g) / len(g)) for g in groups)
    return (points[0], *means, points[-1])


def ticks(low: float, high: float, count: int = _TICKS) -> list[float]:
    """Round numbers, about so many, the first not above `low` and the last not below `high`."""
    if high - low <= 1e-9 * max(abs(low), abs(high)):  # as good as level
        low, high = low - (abs(low) or 1) / 2, low + (abs(low) or 1) / 2
    rough = (high - low) / count
    power = 10 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def shown(value: float) -> str:
    """A number as short as it can be read."""
    if value == 0 or (abs(value) >= 100 and value == int(value)) or abs(value) >= 10_000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


@dataclass(frozen=True, slots=True)
class _Axes:
    across: tuple[float, ...]
    up: tuple[float, ...]

    @classmethod
    def around(cls, chart: Chart) -> _Axes:
        """Axes that hold all points."""
        points = [point for curve in chart.curves for point in curve.points]
        xs, ys = [x for x, _ in points], [y for _, y in points]
        low = min(0.0, *ys) if chart.from_zero else min(ys)
        return cls(tuple(ticks(0, max(xs))), tuple(ticks(low, max(ys))))

    def place(self, x: float, y: float) -> tuple[str, str]:
        """Where a point lies on the canvas."""
        share_x = (x - self.across[0]) / (self.across[-1] - self.across[0])
        share_y = (y - self.up[0]) / (self.up[-1] - self.up[0])
        across = _LEFT + share_x * (WIDTH - _LEFT - _RIGHT)
        down = HEIGHT - _BOTTOM - share_y * (HEIGHT - _TOP - _BOTTOM)
        return f"{across:.1f}", f"{down:.1f}"


def _draw_axes(svg: Element, axes: _Axes, chart: Chart) -> None:
    for value in axes.up:
        left, y = axes.place(axes.across[0], value)
        right, _ = axes.place(axes.across[-1], value)
        SubElement(svg, "line", {"class": "grid", "x1": left, "x2": right, "y1": y, "y2": y})
        label = {"x": str(_LEFT - 8), "y": y, "text-anchor": "end", "dominant-baseline": "middle"}
        SubElement(svg, "text", label).text = shown(value)
    for value in axes.across:
        x, bottom = axes.place(value, axes.up[0])
        label = {"x": x, "y": str(float(bottom) + 18), "text-anchor": "middle"}
        SubElement(svg, "text", label).text = shown(value)
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    SubElement(svg, "text", {"x": f"{middle}", "y": f"{HEIGHT - 6}", "text-anchor": "middle"}).text = chart.across
    turned = {"transform": f"translate(14 {(HEIGHT - _BOTTOM + _TOP) / 2}) rotate(-90)", "text-anchor": "middle"}
    SubElement(svg, "text", turned).text = chart.unit


def _draw_curve(svg: Element, axes: _Axes, curve: Curve, style: str) -> None:
    places = [axes.place(x, y) for x, y in thinned(curve.points)]
    path = " ".join(f"{x},{y}" for x, y in places)
    SubElement(svg, "polyline", {"class": f"curve {style}", "points": path})
    if len(places) == 1 or (curve.marked and len(places) <= _MOST_MARKS):
        for x, y in places:
            SubElement(svg, "circle", {"class": f"mark {style}", "cx": x, "cy": y, "r": "3.5"})


def _draw_legend(svg: Element, curves: Sequence[Curve]) -> None:
    for number, (curve, style) in enumerate(zip(curves, ("first", "second"), strict=False)):
        y = _TOP + 14 + 20 * number
        end = WIDTH - _RIGHT - 8
        SubElement(
            svg, "line", {"class": f"curve {style}", "x1": f"{end - 36}", "x2": f"{end}", "y1": f"{y}", "y2": f"{y}"}
        )
        label = {"x": f"{end - 44}", "y": f"{y}", "text-anchor": "end", "dominant-baseline": "middle"}
        SubElement(svg, "text", label).text = curve.name


def _draw_legend_below(svg: Element, curves: Sequence[Curve]) -> None:
    for number, (curve, style) in enumerate(zip(curves, _STYLES, strict=False)):
        x, y = _LEFT + (number % 2) * (WIDTH // 2 - 20), HEIGHT + _ROW * (number // 2) + 6
        ends = {"x1": f"{x}", "x2": f"{x + 36}", "y1": f"{y}", "y2": f"{y}"}
        SubElement(svg, "line", {"class": f"curve {style}", **ends})
        label = {"x": f"{x + 44}", "y": f"{y}", "dominant-baseline": "middle"}
        SubElement(svg, "text", label).text = curve.name


def _described(curve: Curve, unit: str, across: str) -> str:
    (first, begun), (last, ended) = curve.points[0], curve.points[-1]
    values = [y for _, y in curve.points]
    return (
        f"{curve.name}, in {unit}: {shown(begun)} at {across} {shown(first)}, "
        f"{shown(ended)} at {across} {shown(last)}; "
        f"lowest {shown(min(values))}, highest {shown(max(values))}."
    )
