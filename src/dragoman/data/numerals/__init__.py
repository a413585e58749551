"""The built-in corpus of arrays: numerals drawn as strips of frames, each with the English words that it is read as."""

from dragoman.data.numerals.drawing import ROWS, draw
from dragoman.data.numerals.reading import BEYOND, read_aloud
from dragoman.data.numerals.splits import Numeral, Splits, splits

__all__ = ["BEYOND", "ROWS", "Numeral", "Splits", "draw", "read_aloud", "splits"]
