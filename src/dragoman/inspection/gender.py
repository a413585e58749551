"""The gender of a person's noun in French or German, by the article before it and its own ending.

What cannot be told (l'artiste, les enfants) is said so. A hint by form alone: there is no dictionary here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, assert_never

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Gender", "Language", "gender_of", "may_be_noun"]

Gender = Literal["female", "male", "unknown"]
Language = Literal["de", "fr"]

_FRENCH_MALE_ARTICLES = frozenset(("le", "un", "au", "du", "ce", "cet", "mon", "ton", "son"))
_FRENCH_FEMALE_ARTICLES = frozenset(("la", "une", "cette", "ma", "ta", "sa"))
_FRENCH_ARTICLES = frozenset(("le", "la", "un", "une", "les", "des", "du", "au"))
_GERMAN_MALE_ARTICLES = frozenset(
    ("ein", "einen", "einem", "der", "den", "dem", "des", "eines", "dieser", "diesen", "diesem")
)
"""Some are feminine in other cases too: a noun in -in decides before they do."""
_GERMAN_FEMALE_ARTICLES = frozenset(("die", "eine", "diese"))
_FRENCH_FEMALE = re.compile(r"(?:euse|trice|ière|ienne|esse|ante|ée|enne|ère|ente)$")
_FRENCH_MALE = re.compile(r"(?:eur|ier|ien|ant|é)$")
_GERMAN_FEMALE = re.compile(r"(?:in|frau|schwester)$", re.IGNORECASE)
_GERMAN_MALE = re.compile(r"(?:er|mann|or|eur|ist|ent|ant)$")
_MARKS = ".,;:!?»«\"()„“'\u2019"
_REACH = 3
"""Words before a noun among which its article is looked for: adjectives stand between."""


def gender_of(words: Sequence[str], place: int, *, language: Language) -> Gender:
    """The gender of the noun at this place among the words of a sentence."""
    word = words[place].strip(_MARKS)
    before = [each.strip(_MARKS).lower() for each in words[max(0, place - _REACH) : place]][::-1]
    match language:
        case "fr":
            return _french(word.lower(), before)
        case "de":
            return _german(word, before)
        case _:
            assert_never(language)


def may_be_noun(word: str, *, language: Language) -> bool:
    """Whether the word is no article; in German, whether it has a capital."""
    bare = word.strip(_MARKS)
    match language:
        case "fr":
            return bare.lower() not in _FRENCH_ARTICLES
        case "de":
            return bare[:1].isupper()
        case _:
            assert_never(language)


def _french(word: str, before: Sequence[str]) -> Gender:
    """The article first; where it is elided, the ending: la doctoresse, l'infirmière."""
    elided, _, noun = word.replace("\u2019", "'").rpartition("'")
    if not elided:
        for each in before:
            if each in {"mon", "ton", "son"} and noun[:1] in "aeéèêhiou":
                break  # mon amie: said before vowels, whatever the gender
            if each in _FRENCH_MALE_ARTICLES | _FRENCH_FEMALE_ARTICLES:
                return "male" if each in _FRENCH_MALE_ARTICLES else "female"
    return "female" if _FRENCH_FEMALE.search(noun) else "male" if _FRENCH_MALE.search(noun) else "unknown"


def _german(word: str, before: Sequence[str]) -> Gender:
    """The ending -in first; else the article, and for want of one the ending."""
    if _GERMAN_FEMALE.search(word) and word[:1].isupper():
        return "female"
    for each in before:
        if each in _GERMAN_MALE_ARTICLES | _GERMAN_FEMALE_ARTICLES:
            return "male" if each in _GERMAN_MALE_ARTICLES else "female"
    return "male" if _GERMAN_MALE.search(word) else "unknown"
