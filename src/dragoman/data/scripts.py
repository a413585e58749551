"""Scripts: which writing system a letter belongs to, as far as cleaning and counting need to know."""

from __future__ import annotations

import functools
import sys
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMON = "Common"
"""Digits, punctuation, symbols and white space, which belong to no script."""

_SPECIAL = {
    "CJK": "Han",
    "FEMININE": "Latin",
    "FULLWIDTH": "Latin",
    "HALFWIDTH": "Katakana",
    "IDEOGRAPHIC": "Han",
    "MASCULINE": "Latin",
    "MICRO": "Greek",
    "MODIFIER": COMMON,
}


@functools.lru_cache(maxsize=1 << 16)
def script(character: str) -> str:
    """The script of a character: Latin, Cyrillic, Han..., or Common where it is no letter."""
    if not character.isalpha():
        return COMMON
    first = unicodedata.name(character, "UNKNOWN").split(maxsplit=1)[0]
    return _SPECIAL.get(first, first.capitalize())


def scripts(characters: Mapping[str, int]) -> Counter[str]:
    """How many of the letters, given with their counts, belong to each script."""
    found: Counter[str] = Counter()
    for character, count in characters.items():
        if (name := script(character)) != COMMON:
            found[name] += count
    return found


@functools.cache
def known() -> tuple[str, ...]:
    """The names of all scripts."""
    return tuple(sorted({script(chr(code)) for code in range(sys.maxunicode + 1)} - {COMMON, "Unknown"}))


def share(text: str, wanted: frozenset[str]) -> float:
    """The share of a text's letters that belong to the wanted scripts; 1 where it has no letters."""
    letters = [c for c in text if c.isalpha()]
    return sum(script(c) in wanted for c in letters) / len(letters) if letters else 1.0
