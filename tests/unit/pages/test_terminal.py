"""Heat maps in a terminal."""

from __future__ import annotations

from dragoman.pages.heatmap import HeatMap
from dragoman.pages.terminal import lines
from dragoman.pages.width import width


def test_names_go_down_and_marks_are_drawn():
    found = HeatMap("m", "Map", ("un", "chat"), ("a", "cat"), ((1.0, 0.0), (0.24, 0.5)), ringed={(0, 0)}, sure={(1, 1)})
    assert list(lines(found)) == [
        "       a   c",
        "           a",
        "           t",
        "  un  [██]",
        "chat   ░░  ▒●",
    ]


def test_wide_letters_and_combining_marks_keep_columns_straight():
    found = HeatMap("m", "Map", ("猫", "e\u0301a"), ("犬", "bc"), ((1.0, 0.0), (0.0, 1.0)))
    told = list(lines(found))
    assert told[0] == "     犬  b"
    assert width("猫") == 2
    assert width("e\u0301a") == 2
    first, second = (width(line.partition("█")[0]) for line in told[2:])
    assert second == first + 4
