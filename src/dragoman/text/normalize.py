"""Normalisation: what is done to a text before it is cut into pieces.

Case is kept. Lone surrogates, which no file can hold, are always refused. The zero-width joiner and non-joiner are
letters of several scripts and part of emoji, so they are never touched.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Literal

from dragoman.errors import TextError
from dragoman.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Treatment = Literal["strip", "keep", "refuse"]

_CONTROL = r"\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufff9-\ufffb"
_ZERO_WIDTH = r"\u00ad\u180e\u200b\u2060-\u2064\ufeff"
_BIDI = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_SURROGATE = r"\ud800-\udfff"
_SPACES = re.compile(r"\s+")
_UNTIDY_SPACES = r"[^\S ]|  |\A | \Z"
_LINES_AT_ONCE = 48


class Normalization(Settings, frozen=True, kw_only=True):
    """How a text is tidied before it is cut."""

    unicode: Literal["NFC", "NFKC", "none"] = "NFC"
    """Unicode normal form: NFC composes accents, NFKC also folds ligatures, full width and the like."""
    spaces: Literal["collapse", "keep"] = "collapse"
    """Whether each run of white space of any kind becomes one plain space, with none at the ends."""
    control: Treatment = "strip"
    """What happens to control characters (white space aside)."""
    zero_width: Treatment = "strip"
    """What happens to zero-width characters and soft hyphens (joiners aside)."""
    bidi: Treatment = "strip"
    """What happens to the invisible marks that set the direction of writing."""


class Normalizer:
    """A function from a text to the text as the tokenizer sees it; applying it twice changes nothing."""

    def __init__(self, settings: Normalization) -> None:
        self.settings = settings
        kinds = {_CONTROL: settings.control, _ZERO_WIDTH: settings.zero_width, _BIDI: settings.bidi}
        self._stripped = _class_of(c for c, treatment in kinds.items() if treatment == "strip")
        self._refused = _class_of([_SURROGATE, *(c for c, treatment in kinds.items() if treatment == "refuse")])
        self._collapses = settings.spaces == "collapse"
        noteworthy = [p.pattern for p in (self._stripped, self._refused) if p.pattern]
        self._noteworthy = re.compile("|".join([*noteworthy, *([_UNTIDY_SPACES] if self._collapses else [])]))

    def __call__(self, text: str) -> str:
        if self._noteworthy.search(text) is None:
            return text if text.isascii() else self._composed(text)
        if refused := self._refused.search(text):
            raise _refusal(text, refused.start())
        text = self._composed(self._stripped.sub("", text) if self._stripped.pattern else text)
        return _SPACES.sub(" ", text).strip(" ") if self._collapses else text

    def all(self, texts: Sequence[str]) -> list[str]:
        """Each text as the function gives it; several that need nothing done are seen to at once."""
        tidy: list[str] = []
        for start in range(0, len(texts), _LINES_AT_ONCE):
            some = texts[start : start + _LINES_AT_ONCE]
            tidy += some if self._are_tidy(some) else map(self, some)
        return tidy

    def _are_tidy(self, texts: Sequence[str]) -> bool:
        """True only where nothing needs to be done; what Python calls printable is no control, mark or odd space."""
        if not all(map(str.isprintable, texts)):
            return False
        lines = "\n".join(("", *texts, ""))
        if self._collapses and ("  " in lines or "\n " in lines or " \n" in lines):
            return False
        form = self.settings.unicode
        return form == "none" or lines.isascii() or unicodedata.is_normalized(form, lines)

    def _composed(self, text: str) -> str:
        form = self.settings.unicode
        if form == "none" or unicodedata.is_normalized(form, text):
            return text
        composed = unicodedata.normalize(form, text)
        return _SPACES.sub(" ", composed).strip(" ") if self._collapses else composed  # NFKC makes spaces


def _class_of(ranges: Iterator[str] | list[str]) -> re.Pattern[str]:
    inside = "".join(ranges)
    return re.compile(f"[{inside}]" if inside else "")


def _refusal(text: str, position: int) -> TextError:
    character = text[position]
    if "\ud800" <= character <= "\udfff":
        name, remedy = "a lone surrogate", "Decode the bytes as UTF-8, or leave the text out."
    else:
        name = unicodedata.name(character, "a control character").lower()
        remedy = "Take it out, or let text.normalization strip or keep such characters."
    return TextError(f"U+{ord(character):04X} ({name}) is refused", place=f"character {position + 1}", remedy=remedy)
