"""Train, dev and test parts of drawn numerals; no number is in two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dragoman.data.numerals.drawing import draw
from dragoman.data.numerals.reading import BEYOND, read_aloud
from dragoman.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Numeral:
    """A number, how it is read aloud, and how it was drawn."""

    number: int
    words: str
    frames: NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class Splits:
    """Three parts of one corpus."""

    train: tuple[Numeral, ...]
    dev: tuple[Numeral, ...]
    test: tuple[Numeral, ...]


def splits(*, seed: int = 1, train: int = 3_500, dev: int = 250, test: int = 250) -> Splits:
    """The three parts, in these sizes; a function of the seed and the sizes alone."""
    if train + dev + test > BEYOND:
        raise DataError(
            f"{train + dev + test:,} numbers are wanted, and there are {BEYOND:,}",
            place="numerals",
            remedy="Ask for fewer: no number is drawn twice.",
        )
    order = np.argsort(np.random.Generator(np.random.PCG64(seed)).random(BEYOND), kind="stable").tolist()
    drawn = [_numeral(number, seed) for number in order[: train + dev + test]]
    return Splits(tuple(drawn[:train]), tuple(drawn[train : train + dev]), tuple(drawn[train + dev :]))


def _numeral(number: int, seed: int) -> Numeral:
    return Numeral(number, read_aloud(number), draw(str(number), seed, number))
