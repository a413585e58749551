"""Bilingual entries: nouns, adjectives, verbs; and how the compact tables beside this file are read."""

# ruff: noqa: E501 - tables of words read best with one group to a line

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from dragoman.data.phrasebook.english_verbs import english_forms
from dragoman.data.phrasebook.words import Bitext, bitext

if TYPE_CHECKING:
    from collections.abc import Iterator

_ENGLISH_PLURALS = {
    "child": "children", "man": "men", "woman": "women", "tooth": "teeth", "foot": "feet", "person": "people",
    "wife": "wives", "knife": "knives", "shelf": "shelves", "scarf": "scarves", "potato": "potatoes",
    "tomato": "tomatoes", "fish": "fish", "sheep": "sheep", "mouse": "mice", "loaf": "loaves", "salesman": "salesmen",
    "saleswoman": "saleswomen",
}  # fmt: skip
_FRENCH_PLURALS = {
    "œil": "yeux", "genou": "genoux", "bijou": "bijoux", "travail": "travaux", "grand-mère": "grands-mères",
    "grand-père": "grands-pères", "festival": "festivals", "pneu": "pneus", "monsieur": "messieurs",
}  # fmt: skip
_FEMININES = {
    "beau": "belle", "nouveau": "nouvelle", "vieux": "vieille", "blanc": "blanche", "long": "longue", "gros": "grosse",
    "frais": "fraîche", "sec": "sèche", "doux": "douce", "faux": "fausse", "bon": "bonne", "gentil": "gentille",
    "complet": "complète", "inquiet": "inquiète", "favori": "favorite", "fou": "folle", "public": "publique",
    "roux": "rousse", "bas": "basse", "épais": "épaisse", "marron": "marron", "orange": "orange", "grec": "grecque",
    "discret": "discrète", "secret": "secrète", "moyen": "moyenne", "travailleur": "travailleuse", "meilleur": "meilleure",
    "menteur": "menteuse", "jaloux": "jalouse", "turc": "turque",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun with both its numbers; `kind` says what sort of thing it names."""

    name: str
    singular: Bitext
    plural: Bitext
    feminine: bool
    kind: str
    cues: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Adjective:
    """An adjective, its four French forms, the side it takes, and the kinds of nouns it suits."""

    name: str
    english: str
    masculine: str
    feminine: str
    before: bool
    kinds: frozenset[str]
    cues: tuple[str, ...]

    def french(self, *, feminine: bool, plural: bool) -> str:
        """The French form that agrees."""
        form = self.feminine if feminine else self.masculine
        return french_plural(form) if plural and self.english not in ("brown", "orange") else form


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb and its frame: what may be its object, and how each language attaches it."""

    name: str
    english: str
    french: str
    kinds: tuple[str, ...] = ()
    english_preposition: str = ""
    french_preposition: str = ""
    tail: Bitext | None = None
    reflexive: bool = False
    aspects: str = ""
    determiners: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()


def read_nouns(kind: str, table: str) -> Iterator[Noun]:
    """The nouns of a table `english=french f; ...`; a plural that no rule gives follows `>`."""
    for entry in table.split(";"):
        english, _, french = entry.strip().partition("=")
        english, _, english_plural_ = english.partition(">")
        french, _, french_plural_ = french.partition(">")
        french, gender = french.rsplit(" ", 1)
        assert gender in "mf", entry
        many_english = english_plural_ or _last_word(english)
        many_french = french_plural_ or _first_word(french)
        name = " ".join(word.partition("/")[0] for word in english.split())
        many = " ".join(word.partition("/")[0] for word in many_english.split())
        yield Noun(
            name,
            bitext(english, french),
            bitext(many_english, many_french),
            gender == "f",
            kind,
            (name.lower(), many.lower()),
        )


def read_adjectives(side: str, table: str) -> Iterator[Adjective]:
    """The adjectives of a table `english=french: kinds; ...`."""
    for entry in table.split(";"):
        words, _, kinds = entry.strip().partition(":")
        english, _, french = words.partition("=")
        yield Adjective(
            english,
            english,
            french,
            feminine(french),
            side == "before",
            frozenset(kinds.split()),
            (english.lower(), comparative(english)),
        )


def read_verbs(table: str) -> Iterator[Verb]:
    """The verbs of a table with the columns english, french, kinds, determiners, aspects, places."""
    for line in table.strip().splitlines():
        english, french, kinds, determiners, aspects, places = (column.strip() for column in line.split("|"))
        yield verb(english, french, kinds=kinds, determiners=determiners, aspects=aspects, places=places)


@cache
def verb(
    english: str, french: str, *, kinds: str = "", determiners: str = "", aspects: str = "", places: str = ""
) -> Verb:
    """A verb from `look <for>` and `avoir [besoin] <de>`: a preposition in <>, a fixed tail in []."""
    base, english_preposition, english_tail = _frame(english)
    infinitive, french_preposition, french_tail = _frame(french)
    reflexive = infinitive.startswith(("se ", "s'"))
    infinitive = infinitive.removeprefix("se ").removeprefix("s'")
    forms = english_forms(base)
    tail = " ".join(word.partition("/")[0] for word in english_tail.split())
    name = " ".join(word for word in (base, english_preposition, tail) if word)
    return Verb(
        name, base, infinitive, tuple(kinds.split()), english_preposition, french_preposition,
        bitext(english_tail, french_tail) if english_tail or french_tail else None,
        reflexive, aspects, tuple(determiners.split()), tuple(places.split()),
        () if base == "be" else tuple({form.lower() for form in forms}),
    )  # fmt: skip


def _frame(text: str) -> tuple[str, str, str]:
    text, _, tail = text.partition("[")
    tail, _, after = tail.partition("]")
    head, _, preposition = (text + after).partition("<")
    return head.strip(), preposition.strip(" >"), tail.strip()


def english_plural(word: str) -> str:
    """The plural of an English noun."""
    if word in _ENGLISH_PLURALS:
        return _ENGLISH_PLURALS[word]
    if word.endswith(("s", "x", "ch", "sh", "z")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def french_plural(word: str) -> str:
    """The plural of a French noun or adjective."""
    if word in _FRENCH_PLURALS:
        return _FRENCH_PLURALS[word]
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith(("eau", "eu")) and word != "bleu":
        return word + "x"
    return word[:-2] + "aux" if word.endswith("al") else word + "s"


def feminine(adjective: str) -> str:
    """The feminine of a French adjective."""
    if adjective in _FEMININES:
        return _FEMININES[adjective]
    for ending, changed in (
        ("eux", "euse"),
        ("if", "ive"),
        ("er", "ère"),
        ("el", "elle"),
        ("en", "enne"),
        ("on", "onne"),
    ):
        if adjective.endswith(ending):
            return adjective[: -len(ending)] + changed
    return adjective if adjective.endswith("e") else adjective + "e"


def comparative(adjective: str) -> str:
    """The English comparative: bigger, nicer, more expensive."""
    irregular = {"good": "better", "bad": "worse", "far": "farther"}
    if adjective in irregular:
        return irregular[adjective]
    vowels = sum(
        letter in "aeiouy" and (i == 0 or adjective[i - 1] not in "aeiouy") for i, letter in enumerate(adjective)
    )
    silent = adjective.endswith("e")
    if adjective.endswith("y") and vowels == 2:
        return adjective[:-1] + "ier"
    if vowels - silent > 1 or adjective in ("tired", "bored", "spicy"):
        return "more " + adjective
    if silent:
        return adjective + "r"
    closed = adjective[-1] not in "aeiouyw" and adjective[-2] in "aeiou" and adjective[-3] not in "aeiou"
    return adjective + adjective[-1] * closed + "er"


def _last_word(english: str) -> str:
    head, _, last = english.rpartition(" ")
    word, _, numbers = last.partition("/")
    plural = english_plural(word) + (f"/{numbers}" if numbers else "")
    return f"{head} {plural}".strip()


def _first_word(french: str) -> str:
    first, _, rest = french.partition(" ")
    word, _, numbers = first.partition("/")
    return f"{french_plural(word)}{'/' + numbers if numbers else ''} {rest}".strip()
