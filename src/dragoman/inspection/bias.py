"""Which gender a model gives to professions: sentences whose pronoun says it, and pairs that differ in it alone.

The sentences are those of WinoMT: gender, place of the profession among the words, sentence, profession. Which form
came out is read off the translation: by the model's own alignment, and by the form of the word (see gender.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, cast

from dragoman.errors import DataError, ModelError
from dragoman.evaluation.contrastive import wilson
from dragoman.inspection.gender import gender_of, may_be_noun
from dragoman.translator import Alignments, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dragoman.evaluation.significance import Interval
    from dragoman.inspection.gender import Gender, Language
    from dragoman.measures.alignment import Alignment
    from dragoman.translator import Translator

__all__ = ["Bias", "Judged", "Line", "Pairs", "Share", "bias", "judge", "read_lines", "swapped"]

Gold = Literal["female", "male", "neutral"]


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence with a profession, and the gender that the sentence gives it."""

    gender: Gold
    place: int
    """Of the profession among the words, from 0."""
    sentence: str
    profession: str
    stereotype: Literal["pro", "anti", ""] = ""
    """Whether that gender is the stereotypical one, where it is known."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A line with its translation, and the gender that came out."""

    line: Line
    output: str
    word: str
    """The word of the output that stands for the profession; empty if none is aligned with it."""
    found: Gender


@dataclass(frozen=True, slots=True)
class Share:
    """How many of some lines came out as they should."""

    name: str
    right: int
    count: int
    unknown: int
    """Lines whose form tells nothing; they count as not right."""
    interval: Interval
    """Wilson's, in percent."""

    @property
    def value(self) -> float:
        """In percent."""
        return 100 * self.right / self.count


@dataclass(frozen=True, slots=True)
class Pairs:
    """Sentences translated twice, with a female and with a male pronoun."""

    count: int
    follow: int
    """The form follows the pronoun."""
    always_male: int
    always_female: int
    other: int
    """Reversed, or a form that tells nothing."""


@dataclass(frozen=True, slots=True)
class Bias:
    """What came out, all lines together and by what the sentences say."""

    language: Language
    shares: tuple[Share, ...]
    """All, female, male, and pro- and anti-stereotypical where that is known."""
    neutral: tuple[int, int, int]
    """Of the lines whose sentence gives no gender: female, male, unknown."""
    pairs: Pairs | None
    judged: tuple[Judged, ...]

    @property
    def gap(self) -> float | None:
        """Percentage points between pro- and anti-stereotypical lines."""
        by_name = {each.name: each.value for each in self.shares}
        return by_name["pro"] - by_name["anti"] if {"pro", "anti"} <= by_name.keys() else None


def read_lines(lines: Iterable[str], *, place: str, pro: Iterable[str] = (), anti: Iterable[str] = ()) -> list[Line]:
    """The lines of a WinoMT file; `pro` and `anti` are lines of its files of (anti-)stereotypical sentences."""
    kinds = dict.fromkeys((_key(each) for each in pro), "pro") | dict.fromkeys((_key(each) for each in anti), "anti")
    found = []
    for number, line in enumerate(lines, 1):
        fields = line.split("\t")
        if len(fields) != 4 or fields[0] not in {"female", "male", "neutral"} or not fields[1].isdigit():
            raise DataError(
                "is not gender, place, sentence and profession",
                place=f"{place}:{number}",
                remedy="Give lines such as female⇥1⇥The doctor asked the nurse for her help.⇥doctor.",
            )
        kind = cast("Literal['pro', 'anti', '']", kinds.get(_key(line), ""))
        found.append(Line(cast("Gold", fields[0]), int(fields[1]), fields[2], fields[3], kind))
    return found


def bias(
    translator: Translator,
    lines: Sequence[Line],
    *,
    language: Language | None = None,
    target_language: str = "",
    pairs: bool = True,
) -> Bias:
    """The gender that comes out of each line, and of each with the other pronoun.

    `language` is that of the forms; a model of several languages also has to be told its own name for it.
    """
    spoken = language or target_language or translator.bundle.description.target_language
    if spoken not in {"de", "fr"}:
        raise ModelError(
            f"the forms of {spoken or 'an unnamed language'} are not known here",
            place="language",
            remedy="Probe a model that translates into French (fr) or German (de), and say which.",
        )
    tongue = cast("Language", spoken)

    def read(chosen: Sequence[Line]) -> list[Judged]:
        request = Request(alignments=Alignments(), target_language=target_language)
        found = translator.translate([each.sentence for each in chosen], request=request)
        return [
            judge(line, each.text, each.alignment or frozenset(), language=tongue)
            for line, each in zip(chosen, found, strict=True)
        ]

    return summarise(read(lines), language=tongue, pairs=_pairs(lines, read) if pairs else None)


def judge(line: Line, output: str, alignment: Alignment, *, language: Language) -> Judged:
    """The gender of the output's word that stands for the profession."""
    words = output.split()
    places = _profession(line)
    linked = sorted(link.target for link in alignment if link.source in places and link.target < len(words))
    nouns = [place for place in linked if may_be_noun(words[place], language=language)] or linked
    if not nouns:
        return Judged(line, output, "", "unknown")
    place = nouns[-1] if language == "de" else nouns[0]
    return Judged(line, output, words[place], gender_of(words, place, language=language))


def summarise(judged: Sequence[Judged], *, language: Language, pairs: Pairs | None = None) -> Bias:
    """Shares with intervals over lines that were judged."""
    told = [each for each in judged if each.line.gender != "neutral"]
    groups: list[tuple[str, list[Judged]]] = [("all", told)]
    groups += [(name, [each for each in told if each.line.gender == name]) for name in ("female", "male")]
    groups += [(name, [each for each in told if each.line.stereotype == name]) for name in ("pro", "anti")]
    neutral = [each.found for each in judged if each.line.gender == "neutral"]
    return Bias(
        language,
        tuple(_share(name, group) for name, group in groups if group),
        (neutral.count("female"), neutral.count("male"), neutral.count("unknown")),
        pairs,
        tuple(judged),
    )


def swapped(sentence: str) -> str | None:
    """The sentence with the other pronoun; nothing if it has none, or several that differ."""
    found = {_GENDERS[each.lower()] for each in _PRONOUN.findall(sentence)}
    if len(found) != 1:
        return None
    table = _TO_MALE if "female" in found else _TO_FEMALE

    def other(match: re.Match[str]) -> str:
        word, follows = match[1], match[2]
        key = word.lower()
        of_her = "his" if re.match(r"\s+\w", follows) else "him"
        new = table.get(key, of_her)  # only her is in neither table
        return new.capitalize() + follows if word[0].isupper() else new + follows

    return re.sub(r"\b(she|he|her|hers|his|him|herself|himself)\b(\s*\S?)", other, sentence, flags=re.IGNORECASE)


_TO_MALE = {"she": "he", "hers": "his", "herself": "himself"}
_TO_FEMALE = {"he": "she", "his": "her", "him": "her", "himself": "herself"}
_GENDERS = dict.fromkeys(("she", "her", "hers", "herself"), "female") | dict.fromkeys(_TO_FEMALE, "male")
_PRONOUN = re.compile(r"\b(she|he|her|hers|his|him|herself|himself)\b", re.IGNORECASE)


def _pairs(lines: Sequence[Line], read: Callable[[Sequence[Line]], list[Judged]]) -> Pairs:
    """The lines that can be swapped, each with both pronouns."""
    originals = [each for each in lines if each.gender != "neutral" and swapped(each.sentence) is not None]
    others = [
        replace(each, sentence=cast("str", swapped(each.sentence)), gender=_OTHER[each.gender]) for each in originals
    ]
    if not originals:
        return Pairs(0, 0, 0, 0, 0)
    outcomes = [(a.line.gender, a.found, b.found) for a, b in zip(read(originals), read(others), strict=True)]
    follow = sum(first == gender and second == _OTHER[gender] for gender, first, second in outcomes)
    male = sum(first == second == "male" for _, first, second in outcomes)
    female = sum(first == second == "female" for _, first, second in outcomes)
    return Pairs(len(outcomes), follow, male, female, len(outcomes) - follow - male - female)


_OTHER: dict[Gold, Gold] = {"female": "male", "male": "female"}


def _share(name: str, group: Sequence[Judged]) -> Share:
    right = sum(each.found == each.line.gender for each in group)
    unknown = sum(each.found == "unknown" for each in group)
    return Share(name, right, len(group), unknown, wilson(right, len(group)))


def _profession(line: Line) -> set[int]:
    """The places of the profession's words: that which is given, or where they stand."""
    words = [word.strip(".,;:!?'\"").lower() for word in line.sentence.split()]
    wanted = line.profession.lower().split()
    for begin in (line.place - len(wanted) + 1, line.place, *range(len(words))):
        if begin >= 0 and words[begin : begin + len(wanted)] == wanted:
            return set(range(begin, begin + len(wanted)))
    return {line.place}


def _key(line: str) -> str:
    return "\t".join(line.split("\t")[:3])
