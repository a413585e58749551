"""Edit distance: how many tokens must be put in, taken out or replaced to make one sequence the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence


@dataclass(frozen=True, slots=True)
class Edits:
    """Edits that were needed, and the length of the reference they are counted against."""

    count: int
    length: int


def edit_distance(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """The Levenshtein distance.

    Myers's bit-vector method: a column of the table is two integers, whose bit i says that the distance grows (or
    falls) by one between row i and row i + 1. A step along `second` is a dozen operations on whole columns.
    """
    if not first:
        return len(second)
    rows_of: dict[Hashable, int] = {}
    for row, token in enumerate(first):
        rows_of[token] = rows_of.get(token, 0) | 1 << row
    bottom = 1 << len(first) - 1
    everywhere = (1 << len(first)) - 1
    grows, falls, distance = everywhere, 0, len(first)
    for token in second:
        equal = rows_of.get(token, 0)
        diagonal = (((equal & grows) + grows) ^ grows) | equal | falls
        right_grows = falls | ~(diagonal | grows) & everywhere
        right_falls = grows & diagonal
        distance += bool(right_grows & bottom) - bool(right_falls & bottom)
        right_grows = right_grows << 1 | 1
        grows = ((right_falls << 1) | ~(equal | falls | right_grows)) & everywhere
        falls = right_grows & (equal | falls) & everywhere
    return distance


def fewest_edits(hypothesis: Sequence[Hashable], references: Sequence[Sequence[Hashable]]) -> Edits:
    """The edits to the closest reference; among equally close ones, the longest."""
    found = (Edits(edit_distance(hypothesis, reference), len(reference)) for reference in references)
    return min(found, key=lambda edits: (edits.count, -edits.length))


def common_words(first: Sequence[Hashable], second: Sequence[Hashable]) -> frozenset[int]:
    """Positions in the first sequence of a longest series of tokens that the second has in the same order."""
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i in range(len(first) - 1, -1, -1):
        for j in range(len(second) - 1, -1, -1):
            longer = max(table[i + 1][j], table[i][j + 1])
            table[i][j] = table[i + 1][j + 1] + 1 if first[i] == second[j] else longer
    found, i, j = set(), 0, 0
    while i < len(first) and j < len(second):
        if first[i] == second[j]:
            found.add(i)
            i, j = i + 1, j + 1
        elif table[i + 1][j] >= table[i][j + 1]:
            i += 1
        else:
            j += 1
    return frozenset(found)
