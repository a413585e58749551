"""Long texts in parts: at the ends of sentences, else at white space, else anywhere. The parts together are the text.

    «He left. She stayed… Why?»  ──►  «He left. » «She stayed… » «Why?»

White space stays at the end of the part before it, so nothing is lost when parts are put side by side.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["parts", "sentences"]

_CLOSING = "\"'”“’»›)\\]}」』】》）"  # noqa: RUF001 - these marks are meant
_END = re.compile(
    rf"(?P<mark>[.!?…‽؟\u06d4\u0589।॥]+)[{_CLOSING}]*(?P<space>\s+)"  # of scripts that write spaces
    rf"|[。！？｡]+[{_CLOSING}]*\s*"  # and of those that do not  # noqa: RUF001 - these marks are meant
    r"|[\n\u2028\u2029]\s*"
)
_WORD = re.compile(r"\S*\s*")
_NO_END = frozenset(
    """
    mr mrs ms dr prof st mt no nos vol pp fig vs etc approx dept est inc ltd co corp jr sr gen col lt sgt rev hon
    m mm mme mlle mgr av bd z.b d.h u.a usw bzw ca nr str hr fr abs art sog sig dott ecc sra srta ud uds pág núm
    e.g i.e a.m p.m u.s u.k
    """.split()  # noqa: SIM905 - sixty words read best as a text
)
"""Words that a full stop belongs to."""


def sentences(text: str) -> list[str]:
    """The sentences of a text, each with the white space that follows it."""
    found, begin = [], 0
    for match in _END.finditer(text):
        if match.end() < len(text) and _ends(text, match):
            found.append(text[begin : match.end()])
            begin = match.end()
    return [*found, text[begin:]] if text[begin:] else found


def parts(text: str, *, fits: Callable[[str], bool]) -> Iterator[str]:
    """The text in parts that fit: sentences, of those that do not fit runs of words, of longer words runs of letters.

    A single character is a part even if it does not fit.
    """
    if fits(text):
        yield text
        return
    for sentence in sentences(text):
        if fits(sentence):
            yield sentence
        else:
            yield from _runs([word for word in _WORD.findall(sentence) if word], fits)


def _ends(text: str, match: re.Match[str]) -> bool:
    """Whether a sentence ends here: not after an initial or abbreviation, nor where a small letter follows."""
    if match["mark"] is None or match["mark"] != ".":
        return True
    before = text[: match.start()].rsplit(None, 1)[-1:] if match.start() else []
    word = before[0].lstrip("(«“\"'").lower() if before else ""
    if word in _NO_END or (len(word) == 1 and word.isalpha()):
        return False
    return not text[match.end()].islower()


def _runs(words: list[str], fits: Callable[[str], bool]) -> Iterator[str]:
    """As many words at a time as fit."""
    place = 0
    while place < len(words):
        count = _most(len(words) - place, lambda n, at=place: fits("".join(words[at : at + n])))  # type: ignore[misc]  # the default binds the place
        if count:
            yield "".join(words[place : place + count])
            place += count
        elif len(words[place]) == 1:
            yield words[place]
            place += 1
        else:
            yield from _runs(list(words[place]), fits)
            place += 1


def _most(limit: int, fits: Callable[[int], bool]) -> int:
    """The largest number that fits, found by doubling and then by halving: fitting is asked of short texts only."""
    if not fits(1):
        return 0
    low, high = 1, 2
    while high <= limit and fits(high):
        low, high = high, 2 * high
    high = min(high, limit + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
