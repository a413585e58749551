"""Detectors of bad outputs that need nothing but the texts.

Each is a small pure function to a score, 0 where nothing is wrong and growing with what is; `findings` compares the
scores with thresholds and says in words what it found. A finding is a hint, not a verdict: how often each is right,
and how much it misses, stands in the documentation.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from dragoman.measures.edits import edit_distance
from dragoman.settings import Meta, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Kind: TypeAlias = Literal[
    "empty",
    "repetition",
    "too_short",
    "too_long",
    "copied",
    "numbers",
    "placeholders",
    "script",
    "brackets",
    "names",
    "stock",
]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that looks wrong with an output."""

    kind: Kind
    score: float
    message: str


class DetectorSettings(Settings, frozen=True, kw_only=True):
    """From which score on a detector speaks; see the documentation for how often it is right then."""

    repetition: Annotated[int, Meta(ge=1)] = 4
    """Words said again, more than the source does."""
    length: Annotated[float, Meta(gt=0)] = 3.0
    """Spreads by which the logarithm of the lengths' ratio differs from what is usual."""
    usual_ratio: Annotated[float, Meta(gt=0)] = 1.0
    """Usual length of an output over that of its source, in characters; `usual_lengths` measures it."""
    spread: Annotated[float, Meta(gt=0)] = 0.25
    """Usual deviation of the logarithm of that ratio."""
    copied: Annotated[float, Meta(gt=0, le=1)] = 0.7
    """Share of the output's words that stand in the source."""
    numbers: Annotated[int, Meta(ge=1)] = 1
    """Numbers lost or added."""
    placeholders: Annotated[int, Meta(ge=1)] = 1
    """Addresses, tags and places to fill in lost or added."""
    scripts: tuple[str, ...] = ()
    """Scripts that an output may be written in, such as "Latin" or "Cyrillic"; empty if any."""
    script: Annotated[float, Meta(gt=0, le=1)] = 0.3
    """Share of letters in other scripts."""
    brackets: Annotated[int, Meta(ge=1)] = 1
    """Brackets and quotation marks without a partner, more than in the source."""
    names: Annotated[int, Meta(ge=1)] | None = None
    """Names lost or added; nothing switches it off, as it is no better than chance from German."""
    capitalized_nouns: bool = False
    """Whether the source's language writes all nouns with a capital, as German does."""
    stock: Annotated[int, Meta(ge=1)] = 3
    """Other sources whose output holds the same sentence."""


def findings(source: str, output: str, *, settings: DetectorSettings | None = None) -> tuple[Finding, ...]:
    """What looks wrong with one output."""
    settings = settings or DetectorSettings()
    if is_empty(source, output):
        return (Finding("empty", 1.0, "The output is empty."),)
    length = length_deviation(source, output, usual_ratio=settings.usual_ratio, spread=settings.spread)
    names = names_changed(source, output, capitalized_nouns=settings.capitalized_nouns)
    scripts = frozenset(settings.scripts)
    scores: list[tuple[Kind, float, float | None, str]] = [
        ("repetition", repetition(source, output), settings.repetition, "{:.0f} words are said again."),
        ("too_short", -length, settings.length, "Much shorter than usual: by {:.1f} spreads."),
        ("too_long", length, settings.length, "Much longer than usual: by {:.1f} spreads."),
        ("copied", copied(source, output), settings.copied, "{:.0%} of its words stand in the source."),
        ("numbers", numbers_changed(source, output), settings.numbers, "Numbers lost or added: {:.0f}."),
        ("placeholders", placeholders_changed(source, output), settings.placeholders, _PLACEHOLDERS_CHANGED),
        ("script", foreign_script(output, scripts), settings.script, "{:.0%} of its letters are of another script."),
        ("brackets", unbalanced(source, output), settings.brackets, "Brackets or quotes without a partner: {:.0f}."),
        ("names", names, settings.names, "Names lost or added: {:.0f}."),
    ]
    return tuple(
        Finding(kind, score, text.format(score))
        for kind, score, least, text in scores
        if least is not None and score >= least
    )


_PLACEHOLDERS_CHANGED = "Addresses, tags or places to fill in lost or added: {:.0f}."


def corpus_findings(
    sources: Sequence[str], outputs: Sequence[str], *, settings: DetectorSettings | None = None
) -> list[tuple[Finding, ...]]:
    """What looks wrong with each output, stock sentences among it, which only a corpus shows."""
    settings = settings or DetectorSettings()
    found = []
    for source, output, score in zip(sources, outputs, stock(sources, outputs), strict=True):
        each = findings(source, output, settings=settings)
        if score >= settings.stock:
            each += (Finding("stock", score, f"Other sources that got a sentence of it too: {score}."),)
        found.append(each)
    return found


# ---- emptiness and length --------------------------------------------------------------------------------------


def is_empty(source: str, output: str) -> bool:
    """Whether nothing came out although something went in."""
    return bool(source.strip()) and not output.strip()


@dataclass(frozen=True, slots=True)
class UsualLengths:
    """What `DetectorSettings` wants to know of a pair of languages."""

    ratio: float
    spread: float


_GRACE = 10
"""Characters added to both lengths, so that short sentences may differ more."""


def usual_lengths(sources: Sequence[str], outputs: Sequence[str]) -> UsualLengths:
    """The median ratio and a spread that outliers do not move: 1.48 times the median deviation."""
    ratios = [_log_ratio(source, output) for source, output in zip(sources, outputs, strict=True)]
    centre = median(ratios)
    return UsualLengths(math.exp(centre), max(0.05, 1.4826 * median(abs(ratio - centre) for ratio in ratios)))


def length_deviation(source: str, output: str, *, usual_ratio: float, spread: float) -> float:
    """How many spreads the output is longer (or, negative, shorter) than usual."""
    return (_log_ratio(source, output) - math.log(usual_ratio)) / spread


def _log_ratio(source: str, output: str) -> float:
    return math.log((len(output.strip()) + _GRACE) / (len(source.strip()) + _GRACE))


# ---- repetition ------------------------------------------------------------------------------------------------

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_STUTTER = re.compile(r"([^\W\d_]{3,12}?)\1{2,}|([^\w\s])\2{7,}")
"""A stretch of letters thrice or more in a row, and eight times the same mark."""


def repetition(source: str, output: str) -> int:
    """How many more words the output says again than its source does."""
    return max(0, _said_again(output) - _said_again(source))


def _said_again(text: str) -> int:
    """Words covered by a run of three words that occurred before, or that just repeat the one or two before them."""
    words = [word.lower() for word in _WORD.findall(text)]
    seen: set[tuple[str, ...]] = set()
    again: set[int] = set()
    for i in range(len(words)):
        for n in (1, 2):
            if i >= 2 * n - 1 and words[i - n + 1 : i + 1] == words[i - 2 * n + 1 : i - n + 1]:
                again.update(range(i - n + 1, i + 1))
        if i >= 2:
            run = tuple(words[i - 2 : i + 1])
            if run in seen:
                again.update(range(i - 2, i + 1))
            seen.add(run)
    stutters = sum(len(match.group()) // len(match[1] or match[2]) - 1 for match in _STUTTER.finditer(text))
    return len(again) + stutters


# ---- copying ---------------------------------------------------------------------------------------------------


def copied(source: str, output: str) -> float:
    """The share of the output's words, numbers apart, that the source has too; 0 for fewer than three words."""
    words = Counter(w.lower() for w in _WORD.findall(output) if not w.isdigit())
    if words.total() < 3:
        return 0.0
    return (words & Counter(w.lower() for w in _WORD.findall(source))).total() / words.total()


# ---- what must be kept -----------------------------------------------------------------------------------------

_NUMBER = re.compile(r"\d+(?:[.,:\u00a0\u202f' ]\d{3}(?!\d)|[.,:]\d+)*")
_PLACEHOLDER = re.compile(
    r"""(?x)
      (?:https?://|www\.)[^\s<>"]*[\w/]      # web addresses, without the marks behind them
    | [\w.+-]+@[\w-]+(?:\.[\w-]+)+           # e-mail addresses
    | \$?\{[\w.:!-]*\}                       # {name} ${name} {0}
    | %\(\w+\)[sdif] | %[sdif]\b             # %(name)s %d
    | </?[A-Za-z][^<>]*>                     # <b> </b>
    """
)


def numbers_changed(source: str, output: str) -> int:
    """How many numbers only one side has; grouping and decimal marks are ignored, and so are single digits.

    A single digit is often spelled out on the other side.
    """
    return _difference(_numbers(source), _numbers(output))


def _numbers(text: str) -> Counter[str]:
    found = (
        "".join(str(unicodedata.digit(c)) for c in match.group() if c.isdecimal())
        for match in _NUMBER.finditer(_PLACEHOLDER.sub(" ", text))
    )
    return Counter(number for number in found if len(number) > 1)


def placeholders_changed(source: str, output: str) -> int:
    """How many addresses, tags and places to fill in only one side has."""
    return _difference(Counter(_PLACEHOLDER.findall(source)), Counter(_PLACEHOLDER.findall(output)))


def _difference(ours: Counter[str], theirs: Counter[str]) -> int:
    """How many differ: what was replaced counts once."""
    return max((ours - theirs).total(), (theirs - ours).total())


# ---- script ----------------------------------------------------------------------------------------------------


def foreign_script(output: str, scripts: frozenset[str]) -> float:
    """The share of letters that belong to none of the scripts; 0 where none is named or there are no letters."""
    letters = [c for c in output if c.isalpha()]
    if not letters or not scripts:
        return 0.0
    return sum(_script(c) not in scripts for c in letters) / len(letters)


def _script(letter: str) -> str:
    first = unicodedata.name(letter, "UNKNOWN").split(maxsplit=1)[0]
    return {"CJK": "Han", "FULLWIDTH": "Latin"}.get(first, first.capitalize())


# ---- brackets --------------------------------------------------------------------------------------------------

_PARTNERS = {")": "(", "]": "[", "}": "{"}


def unbalanced(source: str, output: str) -> int:
    """How many more brackets and straight double quotes are without a partner than in the source."""
    return max(0, _lonely(output) - _lonely(source))


def _lonely(text: str) -> int:
    waiting: list[str] = []
    lonely = text.count('"') % 2
    for character in text:
        if character in _PARTNERS.values():
            waiting.append(character)
        elif character in _PARTNERS:
            if waiting and waiting[-1] == _PARTNERS[character]:
                waiting.pop()
            else:
                lonely += 1
    return lonely + len(waiting)


# ---- names -----------------------------------------------------------------------------------------------------


def names_changed(source: str, output: str, *, capitalized_nouns: bool = False) -> int:
    """How many names have no word like them on the other side: the worse of lost ones and added ones.

    Names are words with a capital that do not begin a sentence. Where nouns have one too, only what is added is told.
    """
    added = _without_likes(_names(output), source)
    lost = 0 if capitalized_nouns else _without_likes(_names(source), output)
    return max(added, lost)


def _names(text: str) -> list[str]:
    """Words of three letters or more with a capital, save those that may begin a sentence."""
    return [
        match.group()
        for match in _WORD.finditer(text)
        if len(match.group()) >= 3
        and match.group()[0].isupper()
        and re.search(r"[\w,;'\u2019-]\s*$", text[: match.start()])
    ]


def _without_likes(names: Sequence[str], text: str) -> int:
    words = {word.lower() for word in _WORD.findall(text)}
    return sum(not any(_alike(name.lower(), word) for word in words) for name in set(names))


def _alike(name: str, word: str) -> bool:
    """Whether one begins with the other, or a third of the letters or fewer differ."""
    shorter, longer = sorted((name, word), key=len)
    if len(shorter) >= 3 and longer.startswith(shorter):
        return True
    return 3 * (len(longer) - len(shorter)) <= len(longer) and 3 * edit_distance(name, word) <= len(longer)


# ---- sentences that come again and again -----------------------------------------------------------------------


def stock(sources: Sequence[str], outputs: Sequence[str]) -> list[int]:
    """For each output, how many other sources got one of its sentences too, if that sentence has four words or more."""
    sources_of: defaultdict[str, set[str]] = defaultdict(set)
    for source, output in zip(sources, outputs, strict=True):
        for sentence in _sentences(output):
            sources_of[sentence].add(source.strip())
    return [max((len(sources_of[s]) - 1 for s in _sentences(output)), default=0) for output in outputs]


def _sentences(text: str) -> Iterator[str]:
    for sentence in re.split(r"[.!?]+(?:\s|$)", text):
        words = [word.lower() for word in _WORD.findall(sentence)]
        if len(words) >= 4:
            yield " ".join(words)
