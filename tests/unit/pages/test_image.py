"""Drawings as PNG and PDF: the shapes of the SVG, in the colours of its style sheet."""

from __future__ import annotations

import sys
from io import BytesIO

import pytest

from dragoman.errors import MissingExtra
from dragoman.pages.chart import Chart, Curve
from dragoman.pages.chart import draw as draw_chart
from dragoman.pages.heatmap import HeatMap, draw
from dragoman.pages.image import _Styles, image

MAP = HeatMap("m", "Map", ("un", "chat"), ("a", "cat"), ((1.0, 0.0), (0.0, 1.0)), ringed={(0, 0)}, sure={(1, 1)})


def pixels(svg):
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    return imread(BytesIO(image(svg).content))


def test_cells_have_the_shade_of_their_weight():
    svg = draw(MAP)
    found = pixels(svg)
    _, _, width, height = map(float, svg.get("viewBox").split())
    scale = found.shape[1] / width
    assert abs(found.shape[0] / height - scale) < 0.05
    cells = [each for each in svg.iter("rect") if each.get("class") == "cell"]
    inner = [
        found[round((float(c.get("y")) + 9) * scale), round((float(c.get("x")) + 9) * scale), :3].tolist()
        for c in cells
    ]
    dark, white = [0x0B / 255, 0x57 / 255, 0xA4 / 255], [1, 1, 1]  # --first and --ground of colours.css
    for colour, wanted in zip(inner, (dark, white, white, dark), strict=True):
        assert colour == pytest.approx(wanted, abs=0.01)


def test_later_rules_win_and_classes_must_all_be_there():
    styles = _Styles.read()
    svg = draw(MAP)
    ring = next(each for each in svg.iter("rect") if each.get("class") == "link")
    assert styles.of(ring)["stroke"] == "#b3461b"
    word = next(each for each in svg.iter("text") if each.get("class") == "word")
    assert styles.of(word)["font-size"] == "14px"
    assert styles.of(word)["fill"] == "#1b1d21"


def test_curves_and_pdf():
    pytest.importorskip("matplotlib")
    svg = draw_chart(Chart("c", "Loss", "nats", (Curve("one", ((0, 1), (1, 2))), Curve("two", ((0, 2), (1, 1))))))
    assert image(svg, kind="pdf").content.startswith(b"%PDF")
    assert image(svg).content.startswith(b"\x89PNG")


def test_characters_without_a_font_are_told():
    pytest.importorskip("matplotlib")
    svg = draw(HeatMap("m", "Map", ("\U00012000",), ("a",), ((1.0,),)))
    assert image(svg).missing == "\U00012000"


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    with pytest.raises(MissingExtra, match=r"dragoman\[report\]"):
        image(draw(MAP))
