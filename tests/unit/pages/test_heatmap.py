"""Heat maps as drawings."""

from __future__ import annotations

import math
import re

import pytest

from dragoman.pages.heatmap import HeatMap, draw

SIZE = 14
"""Of the names' letters, as drawing.css has it; a wide letter is as wide as it is high."""


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        (("日本語のテキスト", "猫"), ("翻訳", "する")),
        (("猫", "犬"), ("とても長いことば", "犬")),
        (("a", "b"), ("長い長い長い長いことば", "a")),
    ],
)
def test_names_of_wide_letters_lie_within_the_picture(rows, columns):
    svg = draw(HeatMap("m", "Map", rows, columns, ((1.0, 0.0), (0.0, 1.0))))
    _, _, across, _ = map(float, svg.get("viewBox").split())
    for text in svg.iter("text"):
        long = SIZE * len(text.text)
        if turned := re.match(r"translate\(([\d.]+) ([\d.]+)\) rotate\(-50\)", text.get("transform", "")):
            assert float(turned[1]) + long * math.cos(math.radians(50)) <= across
            assert float(turned[2]) - long * math.sin(math.radians(50)) >= 0
        else:
            assert float(text.get("x")) - long >= 0
