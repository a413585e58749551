"""Symbols inside a text that are never split: language tags, placeholders, whatever the user names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dragoman.errors import SettingError
from dragoman.text.vocabulary import SPECIAL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def language_tag(language: str) -> str:
    """The symbol that asks for a language: `<2fr>` for fr."""
    return f"<2{language}>"


def language_of(symbol: str) -> str:
    """The language that a symbol asks for; nothing if it is no language tag."""
    return symbol[2:-1] if symbol.startswith("<2") and symbol.endswith(">") else ""


def check_symbols(symbols: Sequence[str]) -> None:
    """Raise SettingError where a symbol cannot be one."""
    for symbol in symbols:
        if not symbol or any(c.isspace() or c == "\u2581" for c in symbol) or symbol in SPECIAL:
            raise SettingError(
                f"{symbol!r} cannot be a symbol",
                place="symbols",
                remedy=f"Use a text without white space, other than {', '.join(SPECIAL)}.",
            )
    if len(set(symbols)) < len(symbols):
        raise SettingError("a symbol is named twice", place="symbols", remedy="Name each once.")


class SymbolSplitter:
    """A function from a text to its stretches, each a symbol (the longest that fits) or free of symbols."""

    def __init__(self, symbols: Sequence[str]) -> None:
        longest_first = sorted(symbols, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if symbols else None

    def __call__(self, text: str) -> Iterator[tuple[str, bool]]:
        if self._pattern is None:
            yield text, False
            return
        end = 0
        for match in self._pattern.finditer(text):
            if match.start() > end:
                yield text[end : match.start()], False
            yield match.group(), True
            end = match.end()
        if end < len(text):
            yield text[end:], False
