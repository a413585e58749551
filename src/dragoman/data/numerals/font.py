"""The ten digits, seven rows of five points each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

TALL, WIDE = 7, 5

_DRAWN = """
.###.  ..#..  .###.  ####.  #..#.  #####  ..##.  #####  .###.  .###.
#...#  .##..  #...#  ....#  #..#.  #....  .#...  ....#  #...#  #...#
#...#  #.#..  ....#  ....#  #..#.  #....  #....  ...#.  #...#  #...#
#...#  ..#..  ..##.  .###.  #####  ####.  ####.  ..#..  .###.  .####
#...#  ..#..  .#...  ....#  ...#.  ....#  #...#  .###.  #...#  ....#
#...#  ..#..  #....  ....#  ...#.  #...#  #...#  .#...  #...#  ...#.
.###.  #####  #####  ####.  ...#.  .###.  .###.  .#...  .###.  .##..
"""


def _digits() -> NDArray[np.float64]:
    rows = [line.split() for line in _DRAWN.split("\n") if line]
    return np.array([[[point == "#" for point in row[digit]] for row in rows] for digit in range(10)], np.float64)


DIGITS = _digits()
"""1 where there is ink: digit, row, column."""
