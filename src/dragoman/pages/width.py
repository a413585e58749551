"""The room that a text takes where letters are of one width, and those of East Asian scripts of two."""

from __future__ import annotations

import unicodedata


def width(text: str) -> int:
    """The columns that a terminal gives the text."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) != 0 for c in text)
