"""Whose fault wrong outputs are: the search's, which missed what the model prefers, or the model's.

Exact search proves what the model finds most probable. If it is better than what another search has found, that is a
search error; if not, and it is no reference, the model itself prefers a wrong output.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.exact import Counts, ExactSettings, Verdict, count
from dragoman.decoding.greedy import GreedySettings
from dragoman.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dragoman.decoding.build import DecodingSettings
    from dragoman.translator import Translation, Translator

_TOLERANCE = 1e-4


@dataclass(frozen=True, slots=True)
class Judged:
    """A source with what the search found, what the model prefers, and whose fault it is if that is wrong."""

    source: str
    found: str
    score: float
    best: str
    """The best output known: proven, unless the verdict is `undecided`."""
    best_score: float
    verdict: Verdict

    @property
    def prefers_nothing(self) -> bool:
        """Whether the best output is the empty one."""
        return self.verdict != "undecided" and not self.best.strip()


def judge(
    translator: Translator,
    sources: Iterable[str],
    references: Sequence[Sequence[str]],
    *,
    search: DecodingSettings,
    expansions: int | None = None,
) -> Iterator[Judged]:
    """The verdict on each source, as exact search gets done with them."""
    texts = list(sources)
    exact = _exact(search, expansions)
    pairs = zip(translator.stream(texts, decoding=search), translator.stream(texts, decoding=exact), strict=True)
    for (found, best), golds in zip(pairs, references, strict=True):
        yield Judged(found.source, found.text, found.score, best.text, best.score, _verdict(found, best, golds))


def counted(judged: Iterable[Judged]) -> Counts:
    """How often each verdict was given."""
    return count(each.verdict for each in judged)


def _verdict(found: Translation, best: Translation, golds: Sequence[str]) -> Verdict:
    if best.score > found.score + _TOLERANCE:
        return "search error"
    if not best.proven:
        return "undecided"
    return "optimal" if found.text in golds else "model error"


def _exact(search: DecodingSettings, expansions: int | None) -> ExactSettings:
    """Exact search for what the other search looks for: the same score, the same filters."""
    match search:
        case BeamSettings():
            same = ExactSettings(
                alpha=search.alpha, normalization=search.normalization, beam=search.beam, filters=search.filters
            )
        case GreedySettings():
            same = ExactSettings(filters=search.filters)
        case ExactSettings():
            same = search
        case _:
            raise SettingError(
                f"a search of kind {search.__struct_config__.tag!r} does not look for the most probable output",
                place="--search-errors",
                remedy="Judge a beam or a greedy search.",
            )
    return same if expansions is None else msgspec.structs.replace(same, expansions=expansions)
