"""Cleaning: every pair is judged by the filters that the settings ask for, and keeps the first reason against it."""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

from dragoman.data import filters, scripts
from dragoman.data.fingerprints import Fingerprints
from dragoman.errors import SettingError
from dragoman.settings import Meta, Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dragoman.data.corpus import Pair
    from dragoman.data.filters import Filter, SideFilter

EXAMPLES = 3
"""How many pairs are shown for each reason."""


class CleanSettings(Settings, frozen=True, kw_only=True):
    """What makes a pair worth keeping."""

    unit: Literal["words", "characters"] = "words"
    """What lengths are counted in; words are what white space separates, so count Chinese in characters."""
    min_length: Annotated[int, Meta(ge=1)] = 1
    """Shortest side allowed."""
    max_length: Annotated[int, Meta(ge=1)] = 200
    """Longest side allowed."""
    max_ratio: Annotated[float, Meta(ge=1)] = 3.0
    """How many times longer than the other a side may be."""
    ratio_beyond: Annotated[int, Meta(ge=0)] = 8
    """The ratio is asked only of pairs whose longer side is longer than this: short ones vary too much."""
    identical: bool = True
    """Drop pairs whose sides are the same text, but for case and white space."""
    source_script: tuple[str, ...] = ()
    """Scripts of the sources, such as ["Latin"] or ["Han", "Hiragana", "Katakana"]; none: any."""
    target_script: tuple[str, ...] = ()
    """Scripts of the targets; none: any."""
    min_script: Annotated[float, Meta(gt=0, le=1)] = 0.5
    """Least share of a side's letters that has to belong to its scripts."""
    source_language: str = ""
    """Language of the sources, as a code such as "en"; nothing: any. Needs the extra `data`."""
    target_language: str = ""
    """Language of the targets; nothing: any."""
    language_rank: Annotated[int, Meta(ge=1, le=20)] = 3
    """The language has to be among this many likeliest ones."""
    language_letters: Annotated[int, Meta(ge=1)] = 20
    """Texts with fewer letters are not judged by language: they tell too little."""
    numbers: bool = True
    """Drop pairs that both have digits, but not the same ones."""
    placeholders: bool = True
    """Drop pairs whose addresses, markup and places to fill in ({name}, %s) differ."""
    duplicates: Literal["keep", "pairs", "sources", "targets", "either"] = "pairs"
    """Drop what has come before: whole pairs, pairs with the same source, the same target, or either."""
    duplicate_memory: Annotated[int, Meta(ge=1, le=1 << 20)] = 256
    """MiB to remember texts in; 256 hold 25 million, beyond which repetitions of later texts are kept."""

    def check(self) -> None:
        if self.min_length > self.max_length:
            raise SettingError(
                f"{self.min_length} is more than max_length, {self.max_length}",
                place="min_length",
                remedy="Lower min_length, or raise max_length.",
            )
        for place, names in (("source_script", self.source_script), ("target_script", self.target_script)):
            for name in names:
                if name not in scripts.known():
                    close = difflib.get_close_matches(name.capitalize(), scripts.known(), n=3)
                    raise SettingError(
                        f"unknown script {name!r}",
                        place=place,
                        remedy=f"Close ones: {', '.join(close) or 'none'}; common ones: Latin, Cyrillic, Greek, Han.",
                    )


@dataclass(frozen=True, slots=True)
class Verdict:
    """A pair, and the reason to drop it, if there is one."""

    pair: Pair
    reason: str | None


@dataclass(slots=True)
class Tally:
    """What became of the pairs so far."""

    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[Pair]] = field(default_factory=dict)

    def add(self, verdict: Verdict) -> None:
        """Count one verdict."""
        if verdict.reason is None:
            self.kept += 1
            return
        self.dropped[verdict.reason] += 1
        examples = self.examples.setdefault(verdict.reason, [])
        if len(examples) < EXAMPLES:
            examples.append(verdict.pair)


class Cleaner:
    """The filters that the settings ask for, in order, cheap ones first."""

    def __init__(self, settings: CleanSettings, *, targets_only: bool = False) -> None:
        self._seen = _tables(settings)
        self._filters = list(_filters(settings, self._seen, targets_only=targets_only))

    @property
    def forgotten(self) -> int:
        """How many texts did not fit into the memory for duplicates."""
        return sum(table.forgotten for table in self._seen)

    def judge(self, pairs: Iterable[Pair]) -> Iterator[Verdict]:
        """A verdict on each pair, in order."""
        for pair in pairs:
            yield Verdict(pair, next((reason for check in self._filters if (reason := check(pair))), None))


def _tables(settings: CleanSettings) -> tuple[Fingerprints, ...]:
    match settings.duplicates:
        case "keep":
            return ()
        case "either":
            return tuple(Fingerprints(mebibytes=max(1, settings.duplicate_memory // 2)) for _ in range(2))
        case _:
            return (Fingerprints(mebibytes=settings.duplicate_memory),)


def _filters(settings: CleanSettings, seen: tuple[Fingerprints, ...], *, targets_only: bool) -> Iterator[Filter]:
    for check in _side_filters(settings, settings.target_script, settings.target_language):
        yield filters.on_target(check)
    if not targets_only:
        for check in _side_filters(settings, settings.source_script, settings.source_language):
            yield filters.on_source(check)
        yield filters.ratio(unit=settings.unit, most=settings.max_ratio, beyond=settings.ratio_beyond)
        if settings.identical:
            yield filters.identical
        if settings.numbers:
            yield filters.numbers
        if settings.placeholders:
            yield filters.placeholders
    if settings.duplicates != "keep":  # last: only what is kept is remembered
        yield filters.duplicates(settings.duplicates, seen=seen)


def _side_filters(settings: CleanSettings, wanted: tuple[str, ...], language: str) -> Iterator[SideFilter]:
    yield filters.length(unit=settings.unit, least=settings.min_length, most=settings.max_length)
    if wanted:
        yield filters.script(frozenset(wanted), least=settings.min_script)
    if language:
        yield filters.language(language, likeliest=settings.language_rank, letters=settings.language_letters)
