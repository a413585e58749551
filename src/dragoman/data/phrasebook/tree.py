"""The abstract tree of a clause: verb, people, things and time; and its phrases with their marks, once placed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from dragoman.data.phrasebook.entries import Verb
    from dragoman.data.phrasebook.referents import NounPhrase, Referent
    from dragoman.data.phrasebook.words import Bitext, Pair

Tense = Literal[
    "present",
    "progressive",
    "past",
    "perfect",
    "imperfect",
    "was doing",
    "used to",
    "future",
    "going to",
    "conditional",
    "imperative",
    "let us",
    "lasting",
]
Negation = Literal["", "not", "never", "no longer", "not yet", "nothing", "nobody", "only ne"]
Question = Literal["", "yes-no", "wh"]


@dataclass(frozen=True, slots=True)
class Modal:
    """A verb that takes another in the infinitive; `auxiliary` when English treats it as can and should."""

    english: str
    french: str
    french_tense: Tense = "present"
    auxiliary: bool = False
    cues: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Clause:
    """Who does what to whom, when and how."""

    subject: Referent
    verb: Verb
    tense: Tense = "present"
    negation: Negation = ""
    question: Question = ""
    direct: Referent | None = None
    indirect: Referent | None = None
    predicate: Pair | None = None
    """What follows the objects at once: a predicate of be, a destination."""
    adverb: Bitext | None = None
    """A short adverb beside the verb: often, already, still."""
    modal: Modal | None = None
    fronted: Pair | None = None
    """A question word or phrase; its French side opens the clause."""
    agrees_with: NounPhrase | None = None
    """A preceding direct object (fronted, or the head of a relative clause) that the French participle agrees with."""


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks of the verb group: the verb itself, its tense, and the two words of a negation."""

    verb: int
    tense: int
    negation: int
    negator: int


@dataclass(frozen=True, slots=True)
class Parts:
    """The phrases of a clause, placed once and arranged twice."""

    marks: Marks
    subject: Pair
    direct: Pair
    indirect: Pair
    predicate: Pair
    adverb: Pair
    tail: Pair
    to: int
    preposition: int
    """The mark of the prepositions before the object, where both languages have one."""
