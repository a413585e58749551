"""Charts: values lie where they should, ticks are round, long curves are thinned."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from dragoman.pages.chart import Chart, Curve, draw, shown, thinned, ticks


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [(0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (3, 3, [1.5, 2, 2.5, 3, 3.5, 4, 4.5]), (0, 0, [-0.5, -0.25, 0, 0.25, 0.5])],
)
def test_ticks_are_round(low, high, wanted):
    found = ticks(low, high)
    assert found[0] <= low <= high <= found[-1]
    if low != high:
        assert found == wanted
    steps = {round(b - a, 9) for a, b in pairwise(found)}
    assert len(steps) == 1


def test_values_that_are_as_good_as_level_get_ticks_around_them():
    found = ticks(123.4, 123.4 + 1e-13)
    assert found[0] < 123
    assert found[-1] > 124


@pytest.mark.parametrize("size", [1e-5, 3e-4, 0.7, 12.0, 987.0, 1e7])
@pytest.mark.parametrize("start", [0.0, -5.0, 123.4])
def test_ticks_hold_all_values_and_are_few(start, size):
    found = ticks(start, start + size)
    assert found[0] <= start + 1e-6 * size
    assert found[-1] >= start + size * (1 - 1e-6)
    assert 3 <= len(found) <= 9


def test_points_lie_where_their_values_are():
    curve = Curve("c", ((0.0, 0.0), (50.0, 1.0), (100.0, 2.0)))
    line = draw(Chart("k", "t", "u", (curve,))).find("polyline")
    xs, ys = zip(*(map(float, point.split(",")) for point in line.get("points").split()), strict=True)
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1], abs=0.2)
    assert ys[0] - ys[1] == pytest.approx(ys[1] - ys[2], abs=0.2)
    assert ys[0] > ys[2]


def test_a_single_point_is_marked_and_the_best_ringed():
    svg = draw(Chart("k", "t", "u", (Curve("c", ((5.0, 3.0),)),), best=(5.0, 3.0)))
    mark, ring = svg.findall("circle")
    assert (mark.get("cx"), mark.get("cy")) == (ring.get("cx"), ring.get("cy"))
    assert ET.tostring(svg)


def test_long_curves_are_thinned_to_means():
    points = tuple((float(i), float(i % 2)) for i in range(10_001))
    found = thinned(points, 101)
    assert len(found) == 101
    assert (found[0], found[-1]) == (points[0], points[-1])
    assert all(0.4 < y < 0.6 for _, y in found[1:-1])
    assert thinned(points[:101], 101) == points[:101]


def test_numbers_are_short():
    assert [shown(v) for v in (0, 0.000123456, 3.14159, 250.0, 12345.6)] == ["0", "0.0001235", "3.142", "250", "12,346"]
