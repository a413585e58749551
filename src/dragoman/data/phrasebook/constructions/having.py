"""Sentences about what people have, like and need, whom they know, and what hurts them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from dragoman.data.phrasebook.clause import say
from dragoman.data.phrasebook.constructions import cast
from dragoman.data.phrasebook.constructions.being import quality
from dragoman.data.phrasebook.draw import DeadEnd
from dragoman.data.phrasebook.entries import verb
from dragoman.data.phrasebook.french_verbs import present
from dragoman.data.phrasebook.lexicon import adjectives, people, times, verbs
from dragoman.data.phrasebook.lexicon.nouns import noun, nouns
from dragoman.data.phrasebook.lexicon.verbs import BE, HAVE
from dragoman.data.phrasebook.referents import (
    PRONOUNS,
    THEY,
    WE,
    YOU,
    NounPhrase,
    is_plural,
    naming,
)
from dragoman.data.phrasebook.tree import Clause, Negation
from dragoman.data.phrasebook.words import Pair, bitext

if TYPE_CHECKING:
    from dragoman.data.phrasebook.derivation import Derivation
    from dragoman.data.phrasebook.entries import Noun

_NOTHING = Pair([], [])


_OWNED = ("animal", "vehicle", "animal", "other")


@cache
def _owned(kind: str) -> tuple[Noun, ...]:
    if kind != "other":
        return nouns(kind)
    things = [noun(name, "thing") for name in ("phone", "camera", "watch", "umbrella")]
    papers = [noun(name, "belonging") for name in ("credit card", "driving licence", "passport")]
    return (*things, *papers, *nouns("lodging"))


def having(work: Derivation) -> Pair:
    """What somebody has: I have two brothers; she doesn't have a car."""
    draw = work.draw
    who = cast.somebody(draw, vague=False)
    if draw.chance(0.25) and not isinstance(who, NounPhrase):
        relation = draw.pick(
            (
                noun("brother", "kin"),
                noun("sister", "kin"),
                noun("child", "parents"),
                noun("uncle", "kin"),
                noun("aunt", "kin"),
                noun("friend", "parents"),
                noun("cousin", "parents"),
            )
        )
        count = draw.pick(times.numerals(2, 6)).piece()
        item = NounPhrase(relation, "none", plural=True, count=count)
        return cast.ended(work, say(Clause(who, HAVE, direct=item), work), ".")
    kind = draw.pick(_OWNED)
    item = cast.dressed(work, draw.pick(_owned(kind)), "a", doing="have")
    if is_plural(who) and not cast.shareable(item.noun):
        raise DeadEnd
    denied = draw.chance(0.35)
    item = cast.undressed(item, "not" if denied else "")
    negation: Negation = draw.pick(("not", "not", "no longer")) if denied else ""
    return cast.ended(
        work,
        say(
            Clause(
                who,
                HAVE,
                "present",
                negation,
                direct=item,
            ),
            work,
        ),
        ".",
    )


def having_asked(work: Derivation) -> Pair:
    """Do you have any stamps?"""
    draw = work.draw
    who = cast.somebody(draw, spoken_to=True, vague=False)
    kind = draw.pick((*_OWNED, "ware", "medicine")) if who is YOU else draw.pick(_OWNED)
    item = cast.dressed(work, draw.pick(_owned(kind)), "some" if kind == "ware" else "a")
    cast.addressed(work, 0.35 if who is YOU else 0)
    return cast.ended(work, say(Clause(who, HAVE, question="yes-no", direct=replace(item, adjectives=())), work), "?")


_DISHES = tuple(noun(name, "food") for name in ("meat", "fish", "chicken", "ham", "cheese"))
_LIKED_MANY = ("animal", "flower", "fruit", "vegetable")


_LIKED = ("pastime", "food", "drink", "subject", "sport")


def liked(work: Derivation) -> NounPhrase:
    """Something that one may like in general."""
    draw = work.draw
    kind = draw.pick((*_LIKED, *_LIKED_MANY))
    item = draw.pick(nouns(kind))
    if item.name in ("salt", "sugar", "butter", "water", "law", "medicine"):
        raise DeadEnd
    return NounPhrase(item, "generic", plural=kind in _LIKED_MANY)


def likes(work: Derivation) -> Pair:
    """What somebody likes: my sister hates winter."""
    draw = work.draw
    who = cast.somebody(draw, someone=False)
    action = verbs.state(draw.pick(("like", "like", "love", "hate", "prefer")))
    denied = draw.chance(0.3) and action.english == "like" and not cast.nobody_in_particular(who)
    negation: Negation = draw.pick(("not", "not", "no longer")) if denied else ""
    item = liked(work)
    if action.english == "prefer" and item.noun.name in ("flower", "plant"):
        raise DeadEnd
    return cast.ended(work, say(Clause(who, action, "present", negation, direct=item), work), ".")


def likes_asked(work: Derivation) -> Pair:
    """Do you like cats? Do you prefer tea or coffee?"""
    draw = work.draw
    who = cast.somebody(draw, spoken_to=True, vague=False)
    cast.addressed(work, 0.4 if who is YOU else 0)
    if draw.chance(0.7):
        action = verbs.state(draw.pick(("like", "like", "love")))
        return cast.ended(work, say(Clause(who, action, question="yes-no", direct=liked(work)), work), "?")
    kind = draw.pick(("drink", "fruit", "animal", "sport", "food", "flower"))
    choice = _DISHES if kind == "food" else nouns(kind)
    first, second = draw.pick(choice), draw.pick(choice)
    if "flower" in (first.name, second.name) or "plant" in (first.name, second.name):
        raise DeadEnd
    if first.name in second.name or second.name in first.name:
        raise DeadEnd
    many = kind in _LIKED_MANY
    other = work.fill("or/1 {x}", "ou/1 {x}", x=naming(NounPhrase(second, "generic", plural=many), work))
    clause = Clause(
        who, verbs.state("prefer"), question="yes-no", direct=NounPhrase(first, "generic", plural=many), predicate=other
    )
    return cast.ended(work, say(clause, work), "?")


_NEEDED = ("thing", "luggage", "ware", "vehicle", "machine", "medicine")


def needs(work: Derivation) -> Pair:
    """What somebody needs: we need a new car."""
    draw = work.draw
    who = cast.somebody(draw)
    item = cast.dressed(work, draw.pick(nouns(draw.pick(_NEEDED))), "a", doing="need")
    if item.plural:
        raise DeadEnd
    if any(entry.english not in ("big", "small", "new") for entry in item.adjectives):
        item = replace(item, adjectives=())
    return cast.ended(work, say(Clause(who, verbs.state("need"), direct=item), work), ".")


def introductions(work: Derivation) -> Pair:
    """Who or what this is: this is my aunt; these are her shoes."""
    draw = work.draw
    if draw.chance(0.4):
        relation: NounPhrase = cast.kin(draw, draw.pick(("my", "your", "his", "her", "our")))
        if draw.chance(0.4) and not relation.plural:
            name = draw.pick(people.names())
            if name.feminine != relation.noun.feminine:
                raise DeadEnd
            relation = replace(relation, apposition=name)
    else:
        kind = draw.pick(
            ("clothes", "pairs", "vehicle", "thing", "luggage", "reading", "idea", "lodging", "animal", "task", "event")
        )
        item = draw.pick(nouns(kind))
        determiner = draw.pick(("a", "my", "your", "his", "her")) if kind not in ("idea", "task", "event") else "a"
        relation = cast.dressed(work, item, determiner, doing="introduce", habit=True)
        if relation.determiner not in ("a", "bare"):
            relation = cast.plainly(relation)
        if relation.determiner in ("a", "bare") and not relation.adjectives:
            raise DeadEnd
    many = relation.plural
    named = naming(relation, work)
    template = ("these/1 are/2 {x}", "ce/1 sont/2 {x}") if many else ("this/1 is/2 {x}", "c'/1 est/2 {x}")
    return cast.ended(work, work.fill(*template, x=named), ".")


def companions(work: Derivation) -> Pair:
    """A friend by name, so that the French gender is known: my friend Marie."""
    draw = work.draw
    name = draw.pick(people.names())
    friend, neighbour = noun("friend", "parents"), noun("neighbour", "parents")
    role = draw.pick((friend, neighbour))
    feminine_ = {"friend": "amie", "neighbour": "voisine"}
    if name.feminine:
        shape = bitext(role.name, feminine_[role.name])
        role = replace(role, singular=shape, feminine=True)
    who = NounPhrase(role, draw.pick(("my", "your", "his", "her", "our")), apposition=name)
    match draw.pick(("is", "lives", "trait", "state")):
        case "is":
            return cast.ended(work, work.fill("this/1 is/2 {x}", "c'/1 est/2 {x}", x=naming(who, work)), ".")
        case "lives":
            town = draw.pick((*people.towns(), *people.countries()))
            clause = Clause(who, verb("live", "habiter"), predicate=work.place(town.inside))
        case "trait":
            clause = Clause(who, BE, predicate=quality(work, draw.pick(adjectives.traits()), who))
        case _:
            clause = Clause(who, BE, predicate=quality(work, draw.pick(adjectives.states()), who, degree=False))
    return cast.ended(work, say(clause, work), ".")


def pains(work: Derivation) -> Pair:
    """What hurts: my back hurts, j'ai mal au dos."""
    draw = work.draw
    who = draw.pick(PRONOUNS)
    if who in (WE, THEY):
        raise DeadEnd
    part = draw.pick(nouns("body"))
    mark, pain = work.mark(), work.mark()
    place = naming(NounPhrase(part), work)
    has = present("avoir")[who.french_person]
    english = [(who.possessive, mark), *place.english[1:], ("hurts", pain)]
    french = [(who.french, mark), (has, pain), ("mal", pain), ("à", 0), *place.french]
    return cast.ended(work, Pair(english, french), ".")
