"""Words of a sentence: the positions that gold alignments speak of, and the two-sided pieces sentences are built from.

A *token* is a word with its marks: an integer whose bits name the meanings it carries. Two words of a pair are
aligned when they share a bit. Marks are given out when a meaning enters the derivation, never guessed afterwards.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

Token = tuple[str, int]

# Elided words stand alone (l' eau), English endings stay (don't, I'm), inverted pronouns stand alone (avez -vous).
_CLITICS = "je|tu|ils?|elles?|on|nous|vous|ce|moi|toi|les?|la|lui|leur|y|en"
_PRONOUN = rf"(?:t-(?:il|elle|on)|{_CLITICS})(?=(?:-(?:{_CLITICS}))?(?![\w-]))"
_WORD = re.compile(
    rf"""aujourd'hui | o'clock | rendez-vous
      | -{_PRONOUN}
      | \d+(?:[.,:]\d+)*(?:er)?
      | [^\W\d]+'(?:s|t|m|d|re|ve|ll)(?!\w)
      | [^\W\d]+'(?=\w)
      | [^\W\d]+(?:-(?!{_PRONOUN})[^\W\d]+)*
      | \S""",
    re.VERBOSE | re.IGNORECASE,
)
_STOPS = frozenset([".", "?", "!", " ?", " !"])
_CLOSING = ".,-"
_ENDING = frozenset(["?", "!", " ?", " !"])


def words(sentence: str) -> list[str]:
    """The words and punctuation marks of an English or French sentence; alignments count these, from 0."""
    return _WORD.findall(sentence)


class Pair(NamedTuple):
    """The same piece of a sentence in both languages."""

    english: list[Token]
    french: list[Token]

    def __add__(self, other: object) -> Pair:
        assert isinstance(other, Pair)
        return Pair(self.english + other.english, self.french + other.french)


class Bitext(NamedTuple):
    """A fixed piece in both languages, its marks counted from bit 0; `width` bits are in use."""

    english: tuple[Token, ...]
    french: tuple[Token, ...]
    width: int


@cache
def bitext(english: str, french: str) -> Bitext:
    """The piece written as `last/1 week/2`, `la semaine/2 dernière/1`: equal numbers align, several as `/1,2`.

    A side without any number is aligned with all that has one on the other: `postcard`, `carte/1 postale/1`; without
    any on both, every word of one side is aligned with every word of the other.
    """
    sides = [[_marked(word) for word in side.split()] for side in (english, french)]
    width = max((marks.bit_length() for side in sides for _, marks in side), default=1) or 1
    whole = (1 << width) - 1
    first, second = (tuple(side) if any(m for _, m in side) else tuple((w, whole) for w, _ in side) for side in sides)
    return Bitext(first, second, width)


def _marked(word: str) -> Token:
    text, _, numbers = word.partition("/")
    return text, sum(1 << int(number) - 1 for number in numbers.split(",")) if numbers else 0


def joined(tokens: list[Token]) -> str:
    """The sentences: capitalised, with a plain space before the French `?` and `!` given as separate `" ?"` tokens."""
    pieces: list[str] = []
    opening, tight = True, True
    for token, _ in tokens:
        word = token[0].upper() + token[1:] if opening else token
        pieces.append(word if tight or word[0] in _CLOSING or word in _ENDING else " " + word)
        opening, tight = token in _STOPS, word[-1] == "'"
    return "".join(pieces)


def links(english: list[Token], french: list[Token]) -> tuple[tuple[int, int], ...]:
    """The aligned positions, English first, in order."""
    return tuple(
        (i, j)
        for i, (_, marks) in enumerate(english)
        if marks
        for j, (_, others) in enumerate(french)
        if marks & others
    )
