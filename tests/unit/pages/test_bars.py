"""Bars and heat maps: heights and shades are the values, and words say the same."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from dragoman.pages import heatmap
from dragoman.pages.bars import BarChart, Bars, draw
from dragoman.pages.heatmap import HeatMap
from dragoman.pages.page import drawing

CHART = BarChart("k", "t", "points", "size", ("a", "b"), (Bars("one", (10.0, 20.0)), Bars("two", (None, 5.0))))
MAP = HeatMap(
    "k", "t", ("il", "dort"), ("he", "sleeps"), ((0.9, 0.1), (0.25, 0.75)), frozenset({(0, 0)}), "darker: more"
)


def test_bars_are_as_high_as_their_values():
    bars = [rect for rect in draw(CHART).iter("rect") if rect.get("y") != "10"]
    heights = [float(bar.get("height")) for bar in bars]
    assert len(bars) == 3  # nothing is drawn for what is not there
    assert heights[1] == pytest.approx(2 * heights[0], abs=0.2)
    assert heights[2] == pytest.approx(heights[0] / 2, abs=0.2)
    assert [bar.get("class") for bar in bars] == ["bar first", "bar first", "bar second"]


def test_bars_below_zero_hang_from_it():
    chart = BarChart("k", "t", "u", "x", ("a", "b"), (Bars("one", (-1.0, 1.0)),))
    below, above = list(draw(chart).iter("rect"))
    assert float(below.get("y")) == pytest.approx(float(above.get("y")) + float(above.get("height")), abs=0.2)


def test_what_bars_show_is_said_in_words():
    assert CHART.description == "points by size. a: one 10, two none; b: one 20, two 5."
    assert draw(CHART).get("aria-labelledby") == "k-title k-description"


def test_cells_are_as_dark_as_their_weights():
    svg = heatmap.draw(MAP)
    cells = [rect for rect in svg.iter("rect") if rect.get("class") == "cell"]
    assert [float(cell.get("fill-opacity")) for cell in cells] == [0.9, 0.1, 0.25, 0.75]
    assert cells[2].find("title").text == "dort → he: 25%"
    assert len([rect for rect in svg.iter("rect") if rect.get("class") == "link"]) == 1
    assert MAP.description == "il: he 90%; dort: sleeps 75%."


def test_a_drawing_by_itself_is_a_whole_file():
    written = drawing(heatmap.draw(MAP))
    root = ET.fromstring(written)  # noqa: S314 - our own
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "prefers-color-scheme: dark" in written
    assert "darker: more" in written
