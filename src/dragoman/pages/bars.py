"""Bars side by side: one or two values for each of some groups. The second is hollow, to be told without colour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement

from dragoman.pages.chart import HEIGHT, WIDTH, shown, ticks

if TYPE_CHECKING:
    from collections.abc import Sequence

_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 36, 44
_FILLED = 0.7
"""Share of a group's width that its bars take."""


@dataclass(frozen=True, slots=True)
class Bars:
    """The values of one series, a value for each group; nothing where it has none."""

    name: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class BarChart:
    """One or two series over the same groups."""

    key: str
    """A word that tells the chart from others on the page."""
    title: str
    unit: str
    across: str
    """What the groups are."""
    groups: tuple[str, ...]
    series: tuple[Bars, ...]

    @property
    def description(self) -> str:
        """What the bars show, in words."""
        named = [
            f"{group}: " + ", ".join(f"{s.name} {_told(s.values[n])}" for s in self.series)
            for n, group in enumerate(self.groups)
        ]
        return f"{self.unit} by {self.across}. " + "; ".join(named) + "."


def draw(chart: BarChart) -> Element:
    """The chart as an SVG element, with its title and description for those who do not see it."""
    assert chart.groups
    assert 1 <= len(chart.series) <= 2
    assert all(len(each.values) == len(chart.groups) for each in chart.series)
    names = {"title": f"{chart.key}-title", "desc": f"{chart.key}-description"}
    svg = Element(
        "svg", {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img", "aria-labelledby": " ".join(names.values())}
    )
    SubElement(svg, "title", {"id": names["title"]}).text = chart.title
    SubElement(svg, "desc", {"id": names["desc"]}).text = chart.description
    known = [value for each in chart.series for value in each.values if value is not None]
    up = ticks(min(0.0, *known), max(0.0, *known)) if known else ticks(0, 1)
    _draw_scale(svg, up, chart.unit)
    width = (WIDTH - _LEFT - _RIGHT) / len(chart.groups)
    for number, group in enumerate(chart.groups):
        label = {"x": f"{_LEFT + (number + 0.5) * width:.1f}", "y": f"{HEIGHT - _BOTTOM + 18}", "text-anchor": "middle"}
        SubElement(svg, "text", label).text = group
    each_width = width * _FILLED / len(chart.series)
    for place, (series, style) in enumerate(zip(chart.series, ("first", "second"), strict=False)):
        for number, value in enumerate(series.values):
            left = _LEFT + number * width + width * (1 - _FILLED) / 2 + place * each_width
            _draw_bar(svg, up, value=value, left=left, width=each_width - 2, style=style)
    middle = f"{(_LEFT + WIDTH - _RIGHT) / 2}"
    SubElement(svg, "text", {"x": middle, "y": f"{HEIGHT - 6}", "text-anchor": "middle"}).text = chart.across
    if len(chart.series) > 1:
        _draw_legend(svg, chart.series)
    return svg


def _draw_scale(svg: Element, up: Sequence[float], unit: str) -> None:
    for value in up:
        y = f"{_height(up, value):.1f}"
        SubElement(svg, "line", {"class": "grid", "x1": f"{_LEFT}", "x2": f"{WIDTH - _RIGHT}", "y1": y, "y2": y})
        label = {"x": f"{_LEFT - 8}", "y": y, "text-anchor": "end", "dominant-baseline": "middle"}
        SubElement(svg, "text", label).text = shown(value)
    turned = {"transform": f"translate(14 {(HEIGHT - _BOTTOM + _TOP) / 2}) rotate(-90)", "text-anchor": "middle"}
    SubElement(svg, "text", turned).text = unit


def _draw_bar(svg: Element, up: Sequence[float], *, value: float | None, left: float, width: float, style: str) -> None:
    if value is None:
        return
    top, bottom = sorted((_height(up, value), _height(up, 0.0)))
    place = {"x": f"{left:.1f}", "y": f"{top:.1f}", "width": f"{width:.1f}", "height": f"{max(bottom - top, 0.5):.1f}"}
    SubElement(svg, "rect", {"class": f"bar {style}", **place})


def _draw_legend(svg: Element, series: Sequence[Bars]) -> None:
    left = _LEFT
    for each, style in zip(series, ("first", "second"), strict=False):
        box = {"x": f"{left}", "y": "10", "width": "14", "height": "12"}
        SubElement(svg, "rect", {"class": f"bar {style}", **box})
        SubElement(svg, "text", {"x": f"{left + 20}", "y": "20"}).text = each.name
        left = (WIDTH + _LEFT) // 2


def _height(up: Sequence[float], value: float) -> float:
    share = (value - up[0]) / (up[-1] - up[0])
    return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)


def _told(value: float | None) -> str:
    return "none" if value is None else shown(value)
