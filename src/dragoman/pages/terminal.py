"""What a page shows, for a terminal: shades in place of colours, and columns in place of tables."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from dragoman.pages.width import width

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dragoman.pages.heatmap import HeatMap

_SHADES = " ░▒▓█"
_NUMBER = re.compile(r"[-+]?[\d,]*\.?\d*(?:e[-+]?\d+)?%?")


def lines(heatmap: HeatMap) -> Iterator[str]:
    """The picture for a terminal: fuller cells for more, ringed ones in brackets, dots as they are."""
    columns = [list(_clusters(name)) for name in heatmap.columns]
    widest = max(width(name) for name in heatmap.rows)
    for level in range(max(map(len, columns))):
        letters = [name[level] if level < len(name) else " " for name in columns]
        padded = [letter + " " * (4 - max(1, width(letter))) for letter in letters]
        yield (" " * (widest + 3) + "".join(padded)).rstrip()
    for row, (name, weights) in enumerate(zip(heatmap.rows, heatmap.weights, strict=True)):
        cells = [_cell(heatmap, (row, column), weight) for column, weight in enumerate(weights)]
        yield (" " * (widest - width(name)) + name + "  " + "".join(cells)).rstrip()


def _cell(heatmap: HeatMap, cell: tuple[int, int], weight: float) -> str:
    shade = _SHADES[min(len(_SHADES) - 1, max(0, round(weight * (len(_SHADES) - 1))))]
    dot = "●" if cell in heatmap.sure else "○" if cell in heatmap.possible else shade
    return f"[{shade}{dot}]" if cell in heatmap.ringed else f" {shade}{dot} "


def _clusters(name: str) -> Iterator[str]:
    """Letters, each with the marks that belong to it."""
    cluster = ""
    for character in name:
        if cluster and not unicodedata.combining(character):
            yield cluster
            cluster = ""
        cluster += character
    if cluster:
        yield cluster


def columns(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows as aligned columns under their names; columns of numbers to the right."""
    widths = [max(map(width, column)) for column in zip(names, *rows, strict=True)]
    right = [all(_NUMBER.fullmatch(row[i]) for row in rows) for i in range(len(names))]
    for line in [names, ["-" * w for w in widths], *rows]:
        padded = [
            " " * (w - width(text)) + text if numeric else text + " " * (w - width(text))
            for text, w, numeric in zip(line, widths, right, strict=True)
        ]
        yield "  ".join(padded).rstrip()
