"""Sentences about how people are, what they feel, what they do for a living, and where they live."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from dragoman.data.phrasebook.clause import say
from dragoman.data.phrasebook.constructions import cast
from dragoman.data.phrasebook.draw import DeadEnd
from dragoman.data.phrasebook.entries import english_plural, verb
from dragoman.data.phrasebook.lexicon import adjectives, people, times
from dragoman.data.phrasebook.lexicon.nouns import noun, nouns
from dragoman.data.phrasebook.lexicon.verbs import BE
from dragoman.data.phrasebook.referents import (
    HE,
    SHE,
    WE,
    YOU,
    I,
    NounPhrase,
    Pronoun,
    Referent,
    is_feminine,
    is_plural,
    resolved,
    young,
)
from dragoman.data.phrasebook.tree import Clause, Negation, Tense
from dragoman.data.phrasebook.words import Pair, bitext

if TYPE_CHECKING:
    from dragoman.data.phrasebook.derivation import Derivation
    from dragoman.data.phrasebook.entries import Adjective, Verb

_DEGREES = (
    bitext("very", "très"),
    bitext("really", "vraiment"),
    bitext("a/1 little/1", "un/1 peu/1"),
    bitext("too", "trop"),
)


_TROUBLE = frozenset(
    [
        "big",
        "small",
        "old",
        "expensive",
        "boring",
        "long",
        "heavy",
        "cold",
        "hot",
        "difficult",
        "dirty",
        "spicy",
        "tired",
        "sad",
        "busy",
        "worried",
        "nervous",
        "jealous",
        "shy",
        "young",
        "curious",
    ]
)


_NOTHING = Pair([], [])


def quality(
    work: Derivation,
    adjective: Adjective,
    of: Referent,
    *,
    degree: bool = True,
    share: float = 0.3,
    trouble: bool = True,
) -> Pair:
    """The adjective as a predicate, agreeing; perhaps with very before it, or too, where it may be trouble."""
    who = resolved(of, work)
    mark = work.mark()
    form = adjective.french(feminine=is_feminine(who), plural=is_plural(who))
    plain = Pair([(word, mark) for word in adjective.english.split()], [(form, mark)])
    if degree and work.draw.chance(share):
        return (
            work.place(work.draw.pick(_DEGREES if trouble and adjective.english in _TROUBLE else _DEGREES[:2])) + plain
        )
    return plain


def states(work: Derivation) -> Pair:
    """How somebody feels: Marie was very tired yesterday."""
    draw = work.draw
    who = cast.somebody(draw, vague=False)
    if isinstance(who, Pronoun):
        cast.addressed(work, 0.08)
    return cast.ended(work, state(work, who), ".")


def state(work: Derivation, who: Referent) -> Pair:
    """How somebody is, without the end of the sentence."""
    draw = work.draw
    adjective = draw.pick(adjectives.states())
    if young(who) and adjective.english == "married":
        raise DeadEnd
    denied = draw.chance(0.2) and not cast.nobody_in_particular(who)
    tense: Tense = draw.pick(("present", "present", "present", "imperfect"))
    group = {"present": "now", "imperfect": "past"}[tense]
    predicate = quality(work, adjective, who, degree=adjective.english in _GRADED and not denied)
    if draw.chance(0.3) and adjective.english not in _UNTIMED:
        predicate = predicate + work.place(draw.pick(_WHEN[group]))
    return say(Clause(who, BE, tense, "not" if denied else "", predicate=predicate), work)


_UNTIMED = frozenset(["ready", "married", "jealous", "lost", "surprised", "disappointed", "injured"])
_GRADED = frozenset(
    [
        "tired",
        "happy",
        "sad",
        "ill",
        "busy",
        "worried",
        "surprised",
        "disappointed",
        "nervous",
        "jealous",
        "proud",
        "relaxed",
    ]
)


_WHEN = {
    "now": (
        bitext("today", "aujourd'hui"),
        bitext("this/1 morning/2", "ce/1 matin/2"),
        bitext("this/1 evening/2", "ce/1 soir/2"),
    ),
    "past": (
        bitext("yesterday", "hier"),
        bitext("yesterday/1 evening/2", "hier/1 soir/2"),
        bitext("last/1 week/2", "la semaine/2 dernière/1"),
    ),
}


def states_asked(work: Derivation) -> Pair:
    """Are you ready, Marie?"""
    draw = work.draw
    who = cast.somebody(draw, spoken_to=True, vague=False)
    if who is YOU:
        cast.addressed(work, 0.6)
        if draw.chance(0.1):
            work.address = people.CHILDREN
    adjective = draw.pick(adjectives.states())
    if adjective.english == "married" and (young(who) or work.address is people.CHILDREN):
        raise DeadEnd
    tense: Tense = draw.pick(("present", "present", "imperfect"))
    clause = Clause(who, BE, tense, question="yes-no", predicate=quality(work, adjective, who, degree=False))
    return cast.ended(work, say(clause, work), "?")


def traits(work: Derivation) -> Pair:
    """What somebody is like: your grandfather is really funny."""
    draw = work.draw
    who = cast.somebody(draw, vague=False)
    if who in (I, WE):
        raise DeadEnd
    adjective = draw.pick(adjectives.traits())
    denied = draw.chance(0.15) and not cast.nobody_in_particular(who)
    negation: Negation = "not" if denied else ""
    predicate = quality(work, adjective, who, degree=not denied, share=0.5)
    return cast.ended(work, say(Clause(who, BE, "present", negation, predicate=predicate), work), ".")


@cache
def _feelings() -> tuple[Verb, ...]:
    pairs = (
        ("hungry/1", "faim/1"),
        ("thirsty/1", "soif/1"),
        ("cold/1", "froid/1"),
        ("hot/1", "chaud/1"),
        ("sleepy/1", "sommeil/1"),
        ("afraid/1", "peur/1"),
        ("right/1", "raison/1"),
        ("wrong/1", "tort/1"),
        ("lucky/1", "de la chance/1"),
        ("ashamed/1", "honte/1"),
    )
    return tuple(
        replace(verb(f"be [{english}]", f"avoir [{french}]"), cues=(english[:-2],)) for english, french in pairs
    )


def feelings(work: Derivation) -> Pair:
    """What French has and English is: I'm hungry, j'ai faim."""
    draw = work.draw
    who = cast.somebody(draw, someone=False)
    feeling = draw.pick(_feelings())
    denied = draw.chance(0.25) and not cast.nobody_in_particular(who)
    tense: Tense = draw.pick(("present", "present", "imperfect"))
    cast.addressed(work, 0.08 if isinstance(who, Pronoun) else 0)
    passing = feeling in _feelings()[:6]
    negation: Negation = draw.pick(("not", "not", "no longer", "never") if passing else ("not",)) if denied else ""
    if negation in ("no longer", "never"):
        tense = "present"
    return cast.ended(work, say(Clause(who, feeling, tense, negation), work), ".")


def feelings_asked(work: Derivation) -> Pair:
    """Are you hungry? Avez-vous faim ?"""
    draw = work.draw
    who = cast.somebody(draw, spoken_to=True, vague=False)
    cast.addressed(work, 0.5 if who is YOU else 0)
    return cast.ended(work, say(Clause(who, draw.pick(_feelings()[:6]), question="yes-no"), work), "?")


def fears(work: Derivation) -> Pair:
    """Who is afraid of what, in general: she is afraid of dogs."""
    draw = work.draw
    who = cast.somebody(draw, someone=False)
    named = (*nouns("animal"), noun("doctor", "public"), noun("dentist", "public"))
    fear = verb("be [afraid/1] <of>", "avoir [peur/1] <de>")
    object_ = draw.pick(named)
    fear = replace(fear, english_preposition="of", french_preposition="de")
    denied = draw.chance(0.3) and not cast.nobody_in_particular(who)
    clause = Clause(who, fear, "present", "not" if denied else "", direct=NounPhrase(object_, "generic", plural=True))
    return cast.ended(work, say(clause, work), ".")


def ages(work: Derivation) -> Pair:
    """How old somebody is: my nephew is twelve years old."""
    draw = work.draw
    who = cast.among(draw, I, HE, SHE, lambda: cast.kin(draw, "my"), lambda: cast.named(draw))
    if is_plural(who):
        raise DeadEnd
    parents = isinstance(who, NounPhrase) and who.noun.name in ("mother", "father", "uncle", "aunt", "husband", "wife")
    elders = isinstance(who, NounPhrase) and who.noun.name.startswith("grand")
    low, high = (60, 95) if elders else (30, 70) if parents else (18, 70) if who is I else (3, 40)
    count = work.place(draw.pick(times.numerals(low, high)).piece())
    predicate = count + work.place(bitext("years/1 old/1", "ans/1"))
    return cast.ended(work, say(Clause(who, verb("be", "avoir"), "present", predicate=predicate), work), ".")


def professions(work: Derivation) -> Pair:
    """What somebody does for a living, or where somebody comes from: she is a nurse; he is Greek."""
    draw = work.draw
    who = cast.somebody(draw, vague=False)
    if isinstance(who, NounPhrase) and not who.noun.kind == "kin":
        raise DeadEnd
    gender, many = is_feminine(resolved(who, work)), is_plural(resolved(who, work))
    role = draw.pick(people.professions() if draw.chance(0.65) else people.nationalities())
    if not role.suits(feminine=gender):
        raise DeadEnd
    mark = work.mark()
    trade = role.english[0].islower()
    english = (
        [("a", 0), (role.english, mark)]
        if trade and not many
        else [(english_plural(role.english) if trade else role.english, mark)]
    )
    predicate = Pair(english, [(role.french(feminine=gender, plural=many), mark)])
    denied = draw.chance(0.15)
    tense: Tense = draw.pick(("present", "present", "imperfect")) if trade else "present"
    if who is YOU:
        raise DeadEnd
    return cast.ended(work, say(Clause(who, BE, tense, "not" if denied else "", predicate=predicate), work), ".")


def origins(work: Derivation) -> Pair:
    """Where somebody lives or comes from: my aunt lives in Lyon."""
    draw = work.draw
    who = cast.somebody(draw, vague=False)
    if isinstance(who, NounPhrase) and who.noun.kind == "person":
        raise DeadEnd
    there = draw.pick((*people.towns(), *people.countries()))
    cast.addressed(work, 0)
    match draw.pick(("from", "lives", "lived", "used to", "will", "wants")):
        case "from":
            clause = Clause(who, verb("be", "venir"), predicate=work.place(there.from_there))
        case "lives":
            clause = Clause(who, verb("live", "habiter"), predicate=work.place(there.inside))
        case "lived":
            years = draw.pick(times.numerals(2, 12))
            span = work.fill("for/1 {n} years/2", "pendant/1 {n} ans/2", n=work.place(years.piece()))
            clause = Clause(who, verb("live", "habiter"), "past", predicate=work.place(there.inside) + span)
        case "used to":
            clause = Clause(who, verb("live", "vivre"), "used to", predicate=work.place(there.inside))
        case "will":
            clause = Clause(who, verb("move", "déménager"), "going to", predicate=work.place(there.towards))
        case _:
            years = draw.pick(times.numerals(2, 20))
            span = work.fill("for/1 {n} years/2", "depuis/1 {n} ans/2", n=work.place(years.piece()))
            clause = Clause(who, verb("live", "habiter"), "lasting", predicate=work.place(there.inside) + span)
    return cast.ended(work, say(clause, work), ".")
