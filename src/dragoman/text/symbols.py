"""Symbols between spaces: phones, tags, actions, or words of a text that was cut before it came here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

from dragoman.settings import Meta, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

_SYMBOL = re.compile("[^ ]+")


class SymbolSettings(Settings, frozen=True, kw_only=True, tag_field="kind", tag="symbols"):
    """Whatever stands between spaces."""

    min_count: Annotated[int, Meta(ge=1)] = 1
    """How often a symbol must occur in the training text to be known."""


class SymbolCutting:
    """Cuts at single spaces."""

    def cut(self, text: str) -> list[str]:
        return _SYMBOL.findall(text)

    def join(self, pieces: Sequence[str]) -> str:
        return " ".join(pieces)

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in _SYMBOL.finditer(text)]
