"""Spaces as part of pieces: `▁` (U+2581) stands for a space, and one stands before the first word too.

A text that holds `▁` itself is escaped, so that every text comes back as it was. The escape character is the last
code point of the last private-use plane.
"""

from __future__ import annotations

MARK = "\u2581"
_ESCAPE = "\U0010fffd"


def escape(text: str) -> str:
    """The text without any `▁`; `unescape` gives it back."""
    if MARK not in text and _ESCAPE not in text:
        return text
    return text.replace(_ESCAPE, _ESCAPE + "0").replace(MARK, _ESCAPE + "1")


def unescape(text: str) -> str:
    """The text that was escaped; an escape that a model has broken stays as it is."""
    if _ESCAPE not in text:
        return text
    return text.replace(_ESCAPE + "1", MARK).replace(_ESCAPE + "0", _ESCAPE)


class Positions:
    """A function from a stretch of the escaped text to the stretch of the text that it stands for."""

    def __init__(self, text: str) -> None:
        self._places: list[int] = []
        for place, character in enumerate(text):
            self._places += [place] * (2 if character in (MARK, _ESCAPE) else 1)

    def __call__(self, start: int, end: int) -> tuple[int, int]:
        if start >= end:  # the space before the first word is none of the text's
            return (self._places[start], self._places[start]) if start < len(self._places) else (start, start)
        return self._places[start], self._places[end - 1] + 1
