"""Numbers as English says them."""

from __future__ import annotations

BEYOND = 10_000
"""The first number that has no words here."""

_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def read_aloud(number: int) -> str:
    """The words of a number from 0 to 9999, between spaces: 4012 is `four thousand twelve`."""
    assert 0 <= number < BEYOND, number
    for size, name in ((1000, "thousand"), (100, "hundred")):
        if number >= size:
            count, rest = divmod(number, size)
            return " ".join([_UNITS[count], name, *([read_aloud(rest)] if rest else [])])
    if number < len(_UNITS):
        return _UNITS[number]
    tens, units = divmod(number, 10)
    return " ".join([_TENS[tens - 2], *([_UNITS[units]] if units else [])])
