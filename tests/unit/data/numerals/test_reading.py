"""Numbers as English says them."""

from __future__ import annotations

import pytest

from dragoman.data.numerals.reading import BEYOND, read_aloud


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "zero"),
        (13, "thirteen"),
        (40, "forty"),
        (99, "ninety nine"),
        (700, "seven hundred"),
        (1001, "one thousand one"),
        (4012, "four thousand twelve"),
        (9999, "nine thousand nine hundred ninety nine"),
    ],
)
def test_read_aloud(number, words):
    assert read_aloud(number) == words


def test_no_two_numbers_are_read_alike():
    assert len({read_aloud(number) for number in range(BEYOND)}) == BEYOND
