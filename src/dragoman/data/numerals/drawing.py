"""Digits as a hand might put them on a strip of paper, which is then read column by column: a frame a column.

Each digit has a size, a slant, a height on the line and an amount of ink of its own, and the paper is not clean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dragoman.data.numerals.font import DIGITS, TALL, WIDE

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS = 12
"""Points in a frame."""

_TALLEST, _WIDEST = 1.4, 1.7
_FLATTEST, _NARROWEST = 0.9, 0.8
_SLANT = 0.35
_PALEST = 0.6
_DIRT = 0.3
_MOST_GAP = 3


def draw(digits: str, *seed: int) -> NDArray[np.float16]:
    """The frames of a strip with these digits, from 0 for paper to about 1 for ink; a function of the arguments."""
    chance = np.random.Generator(np.random.PCG64(seed))  # of which random() alone is used: it stays what it is
    strokes = [_digit(DIGITS[int(digit)], chance.random(6)) for digit in digits]
    strip = np.concatenate([np.zeros((1, ROWS)), *strokes])
    return (strip + _DIRT * (chance.random(strip.shape) - 0.5)).astype(np.float16)


def _digit(glyph: NDArray[np.float64], chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """The frames of one digit and the gap behind it; six numbers from 0 to 1 say all that may vary."""
    width, height, place, slant, ink, gap = map(float, chances)
    wide = _NARROWEST + (_WIDEST - _NARROWEST) * width
    tall = _FLATTEST + (_TALLEST - _FLATTEST) * height
    frames = int(WIDE * wide) + 2 + int((_MOST_GAP + 1) * gap)
    row_R = (np.arange(ROWS) - place * (ROWS - TALL * tall)) / tall
    lean_R = _SLANT * (2 * slant - 1) * (row_R - TALL / 2)
    column_FR = (np.arange(frames)[:, None] - 1 + lean_R) / wide
    rows, columns = np.floor(row_R).astype(int), np.floor(column_FR).astype(int)
    inside = (rows >= 0) & (rows < TALL) & (columns >= 0) & (columns < WIDE)
    points = glyph[rows.clip(0, TALL - 1), columns.clip(0, WIDE - 1)]
    return np.where(inside, points, 0.0) * (_PALEST + (1 - _PALEST) * ink)
