"""Filters: small functions from a pair to the reason to drop it, or nothing.

They know nothing of settings or files; each is made by a function that takes its thresholds. All are pure but the
one for duplicates, which has to remember.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from dragoman.data.fingerprints import Fingerprints, folded
from dragoman.data.scripts import share
from dragoman.errors import MissingExtra, SettingError

if TYPE_CHECKING:
    from dragoman.data.corpus import Pair

Filter = Callable[["Pair"], str | None]
SideFilter = Callable[[str], str | None]
Unit = Literal["words", "characters"]

_DIGIT = re.compile(r"\d")
_PERHAPS_PLACEHOLDER = re.compile(r"[@{%<]|://|www\.")
_PLACEHOLDER = re.compile(
    r"""(?x)
      (?:https?://|www\.)[^\s<>"]*[\w/]     # addresses, without the punctuation behind them
    | (?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+  # e-mail; looking behind keeps long words from taking long
    | \$?\{[\w.:!-]*\}                      # {name} ${name} {0}
    | %\(\w+\)[sdif] | %[sdif]\b            # %(name)s %d
    | </?[A-Za-z][^<>]*>                    # <b> </b>
    """
)


def on_source(check: SideFilter) -> Filter:
    """The filter that looks at sources only."""
    return lambda pair: check(pair.source)


def on_target(check: SideFilter) -> Filter:
    """The filter that looks at targets only."""
    return lambda pair: check(pair.target)


def length(*, unit: Unit, least: int, most: int) -> SideFilter:
    """Drops texts that are too short or too long."""

    def check(text: str) -> str | None:
        size = _size(text, unit)
        return "too short" if size < least else "too long" if size > most else None

    return check


def ratio(*, unit: Unit, most: float, beyond: int) -> Filter:
    """Drops pairs of which one side is far longer, where the longer has more than `beyond` words or characters."""

    def check(pair: Pair) -> str | None:
        shorter, longer = sorted((_size(pair.source, unit), _size(pair.target, unit)))
        return "lengths too different" if longer > beyond and longer > most * shorter else None

    return check


def identical(pair: Pair) -> str | None:
    """Drops pairs whose sides differ in case or white space at most: something was not translated."""
    if pair.source == pair.target or folded(pair.source) == folded(pair.target):
        return "identical sides"
    return None


def script(wanted: frozenset[str], *, least: float) -> SideFilter:
    """Drops texts of which too small a share of letters belongs to the wanted scripts."""
    return lambda text: "wrong script" if share(text, wanted) < least else None


def language(wanted: str, *, likeliest: int, letters: int) -> SideFilter:
    """Drops texts for which the wanted language is not among the likeliest; those with few letters stay."""
    try:
        import py3langid
    except ImportError:
        raise MissingExtra("py3langid", extra="data", purpose="the filter by language") from None
    known = sorted(name for name, _ in py3langid.rank("text"))
    if wanted not in known:
        raise SettingError(f"unknown language {wanted!r}", place="clean", remedy=f"Known are: {', '.join(known)}.")

    def check(text: str) -> str | None:
        if sum(map(str.isalpha, text)) < letters:
            return None
        ranked = py3langid.rank(text)[:likeliest]
        return None if any(name == wanted for name, _ in ranked) else "wrong language"

    return check


def numbers(pair: Pair) -> str | None:
    """Drops pairs that both have digits, but not the same ones, in whatever order and grouping."""
    source = _digits(pair.source)
    target = _digits(pair.target) if source else source
    return "numbers differ" if source and target and source != target else None


def placeholders(pair: Pair) -> str | None:
    """Drops pairs whose web and e-mail addresses, markup and places to fill in are not the same."""
    return "placeholders differ" if _placeholders(pair.source) != _placeholders(pair.target) else None


def duplicates(of: Literal["pairs", "sources", "targets", "either"], *, seen: tuple[Fingerprints, ...]) -> Filter:
    """Drops pairs of which the whole, or a side, has come before; `seen` are one table, or two for "either"."""
    first, last = seen[0], seen[-1]

    def check(pair: Pair) -> str | None:
        match of:
            case "pairs":
                new = first.add(f"{pair.source}\n{pair.target}")
            case "sources":
                new = first.add(pair.source)
            case "targets":
                new = first.add(pair.target)
            case "either":
                new = pair.source not in first and pair.target not in last
                if new:
                    first.add(pair.source)
                    last.add(pair.target)
        return None if new else "duplicate"

    return check


def _size(text: str, unit: Unit) -> int:
    return len(text.split()) if unit == "words" else len(text)


def _placeholders(text: str) -> list[str]:
    return sorted(_PLACEHOLDER.findall(text)) if _PERHAPS_PLACEHOLDER.search(text) else []


def _digits(text: str) -> list[int]:
    return sorted(unicodedata.digit(d) for d in _DIGIT.findall(text))
