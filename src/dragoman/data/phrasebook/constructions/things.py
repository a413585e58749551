"""Sentences about where things are, what there is, how things are, and what is more so than what."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from dragoman.data.phrasebook.clause import say
from dragoman.data.phrasebook.constructions import cast
from dragoman.data.phrasebook.constructions.being import quality
from dragoman.data.phrasebook.draw import DeadEnd
from dragoman.data.phrasebook.entries import comparative
from dragoman.data.phrasebook.lexicon import adjectives, people, times
from dragoman.data.phrasebook.lexicon.nouns import noun, nouns
from dragoman.data.phrasebook.lexicon.verbs import BE
from dragoman.data.phrasebook.referents import (
    HE,
    SHE,
    NounPhrase,
    Pronoun,
    Referent,
    is_feminine,
    is_plural,
    naming,
)
from dragoman.data.phrasebook.tree import Clause, Tense
from dragoman.data.phrasebook.words import Pair

if TYPE_CHECKING:
    from dragoman.data.phrasebook.derivation import Derivation
    from dragoman.data.phrasebook.entries import Adjective, Noun

_SPOTS = (
    ("on", "sur", ("table", "chair", "bed", "desk", "shelf", "sofa", "armchair")),
    ("under", "sous", ("table", "chair", "bed", "desk", "sofa", "armchair")),
    ("next to", "à côté de", ("lamp", "bed", "sofa", "armchair", "mirror")),
    ("behind", "derrière", ("sofa", "armchair", "mirror", "wardrobe")),
)


_TOY_SPOTS = (("on", "sur", ("bed", "chair", "carpet", "shelf")), ("under", "sous", ("bed", "table", "chair")))


_DISH_SPOTS = (("on", "sur", ("table", "shelf")),)


_SMALL = {
    "thing": frozenset(["phone", "pen", "watch", "ticket", "notebook", "ring", "pencil", "map", "torch", "camera"]),
    "belonging": frozenset(),
    "reading": frozenset(["book", "newspaper", "magazine", "novel", "comic book"]),
}


@cache
def _lying() -> tuple[Noun, ...]:
    return tuple(
        entry
        for kind in (*_SMALL, "dishes", "toy")
        for entry in nouns(kind)
        if not _SMALL.get(kind) or entry.name in _SMALL[kind]
    )


@cache
def _containers(kind: str) -> tuple[Noun, ...]:
    if kind == "dishes":
        return (noun("kitchen", "building"), noun("living room", "building"), noun("dishwasher", "machine"))
    if kind == "toy":
        return (noun("box", "opening"), noun("garden", "building"), noun("bedroom", "building"), noun("car", "vehicle"))
    boxes = (noun("box", "opening"), noun("drawer", "opening"), noun("car", "vehicle"), noun("kitchen", "building"))
    return (*boxes, *nouns("luggage"))


def spot(work: Derivation, item: Noun) -> Pair:
    """A place in a house where such a thing is found."""
    draw = work.draw
    if draw.chance(0.35):
        inside = draw.pick(_containers(item.kind))
        work.combine(inside.name, item.name)
        return work.fill("in/1 {where}", "dans/1 {where}", where=naming(NounPhrase(inside), work))
    spots = {"dishes": _DISH_SPOTS, "toy": _TOY_SPOTS}.get(item.kind, _SPOTS)
    english, french, names = draw.pick(spots)
    where = NounPhrase(noun(draw.pick(names), "furniture"))
    work.combine(where.noun.name, item.name)
    mark = work.mark()
    named = naming(where, work)
    return Pair([(w, mark) for w in english.split()], [(w, mark) for w in french.split()]) + named


def locations(work: Derivation) -> Pair:
    """Where a thing is: your new phone is under the bed."""
    draw = work.draw
    item = draw.pick(_lying())
    owners = ("the",) if item.kind == "dishes" else ("the", "my", "your", "his", "her", "the")
    subject = cast.dressed(work, item, draw.pick(owners), doing="lie")
    denied = draw.chance(0.2)
    tense: Tense = draw.pick(("present", "present", "imperfect"))
    clause = Clause(subject, BE, tense, "not" if denied else "", predicate=spot(work, item))
    return cast.ended(work, say(clause, work), ".")


_SEVERAL = frozenset(
    ["key", "pen", "ticket", "notebook", "pencil", "book", "newspaper", "magazine", "novel", "comic book"]
)


def existence(work: Derivation) -> Pair:
    """What there is, and where: there are three glasses on the table."""
    draw = work.draw
    item = draw.pick(_lying())
    where = spot(work, item)
    kind = draw.pick(("one", "some", "number", "none", "asked"))
    if item.name not in _SEVERAL and item.kind not in ("dishes", "toy") and kind in ("some", "number", "none"):
        kind = "one"
    one = cast.dressed(work, item, "a", doing="lie")
    many = replace(one, determiner="some", plural=True)
    match kind:
        case "one":
            pair = work.fill("there/1 is/1 {x} {y}", "il/1 y/1 a/1 {x} {y}", x=naming(one, work), y=where)
        case "some":
            pair = work.fill("there/1 are/1 {x} {y}", "il/1 y/1 a/1 {x} {y}", x=naming(many, work), y=where)
        case "number":
            count = draw.pick(times.numerals(2, 6)).piece()
            counted = replace(many, determiner="none", count=count)
            pair = work.fill("there/1 are/1 {x} {y}", "il/1 y/1 a/1 {x} {y}", x=naming(counted, work), y=where)
        case "none":
            what = naming(replace(many, adjectives=()), work, negated=True)
            pair = work.fill("there/1 aren't/1,2 {x} {y}", "il/1 ne/2 y/1 a/1 pas/2 {x} {y}", x=what, y=where)
        case _:
            what = naming(replace(one, adjectives=()), work)
            pair = work.fill("is/1 there/1 {x} {y}", "est -ce que il/1 y/1 a/1 {x} {y}", x=what, y=where)
    return cast.ended(work, pair, "?" if kind == "asked" else ".")


def descriptions(work: Derivation) -> Pair:
    """How a thing is: this jacket is too expensive."""
    draw = work.draw
    kind = draw.pick(
        (
            "clothes",
            "pairs",
            "furniture",
            "vehicle",
            "reading",
            "show",
            "dish",
            "lodging",
            "luggage",
            "task",
            "building",
            "village",
            "place",
            "fruit",
            "event",
        )
    )
    item = draw.pick(nouns(kind))
    suiting = tuple(entry for entry in cast.fitting(item, "") if entry.english not in _NO_PREDICATE)
    if not suiting:
        raise DeadEnd
    determiner = (
        draw.pick(("the", "this", "my", "your", "his", "her"))
        if kind in ("clothes", "pairs", "vehicle", "luggage", "lodging")
        else draw.pick(("the", "this"))
    )
    cast.no_mans_dress(determiner, item)
    plural = kind in ("pairs", "fruit") or (kind in ("clothes", "reading", "task") and draw.chance(0.2))
    subject = NounPhrase(item, determiner, plural=plural)
    adjective = draw.pick(suiting)
    work.combine(adjective.name, item.name)
    denied = draw.chance(0.2)
    graded = adjective.english not in _UNGRADED and not denied
    tense: Tense = (
        "present"
        if denied or kind in ("village", "place", "building") or adjective.english in cast.COLOURS
        else draw.pick(("present", "present", "imperfect"))
    )
    trouble = kind not in ("village", "place")
    predicate = quality(work, adjective, subject, degree=graded, share=0.5, trouble=trouble)
    return cast.ended(work, say(Clause(subject, BE, tense, "not" if denied else "", predicate=predicate), work), ".")


_NO_PREDICATE = frozenset(
    ["electric", "new", "young", "good", "bad", "broken", "French", "Italian", "Japanese", "useful"]
)


_UNGRADED = frozenset(
    [
        "red",
        "blue",
        "green",
        "white",
        "black",
        "yellow",
        "grey",
        "brown",
        "broken",
        "empty",
        "Italian",
        "French",
        "Japanese",
        "delicious",
        "new",
        "ripe",
    ]
)


_UNCOMPARED = {"vehicle": ("big", "small"), "furniture": ("big", "small", "heavy")}


def comparisons(work: Derivation) -> Pair:
    """Who or what is more so: Paul is taller than his brother."""
    draw = work.draw
    kind = draw.pick(("more", "more", "less", "as"))
    if draw.chance(0.5):
        first: Referent = cast.among(draw, *people.names(), HE, SHE, lambda: cast.kin(draw, "my"))
        second: Referent = cast.among(
            draw, *people.names(), lambda: cast.kin(draw, "my" if not isinstance(first, Pronoun) else first.possessive)
        )
        if first == second or is_plural(first) or is_plural(second):
            raise DeadEnd
        adjective = draw.pick(adjectives.traits())
    else:
        shared = draw.pick(("clothes", "furniture", "lodging", "reading", "show", "vehicle", "luggage"))
        pair = draw.pick(nouns(shared)), draw.pick(nouns(shared))
        if pair[0] is pair[1] or "match" in (pair[0].name, pair[1].name):
            raise DeadEnd
        options = tuple(
            entry
            for entry in _comparable(pair[0])
            if entry in _comparable(pair[1]) and entry.english not in _UNCOMPARED.get(shared, ())
        )
        if not options:
            raise DeadEnd
        determiner = draw.pick(
            ("the", "this", "my", "your") if shared not in ("reading", "show", "furniture") else ("the", "this")
        )
        first, second = (
            NounPhrase(pair[0], determiner),
            NounPhrase(pair[1], "the" if determiner == "this" else determiner),
        )
        adjective = draw.pick(options)
    if kind == "less" and " " not in comparative(adjective.english):
        kind = "more"
    predicate = _compared(work, adjective, first, kind) + naming(second, work)
    return cast.ended(work, say(Clause(first, BE, predicate=predicate), work), ".")


@cache
def _comparable(item: Noun) -> tuple[Adjective, ...]:
    fit = cast.fitting(item, "")
    return tuple(
        entry
        for entry in fit
        if entry.english
        in [
            "big",
            "small",
            "old",
            "expensive",
            "interesting",
            "boring",
            "comfortable",
            "heavy",
            "elegant",
            "modern",
            "long",
        ]
    )


def _compared(work: Derivation, adjective: Adjective, of: Referent, kind: str) -> Pair:
    degree, own, than = work.mark(), work.mark(), work.mark()
    form = (adjective.french(feminine=is_feminine(of), plural=is_plural(of)), own)
    english = comparative(adjective.english)
    match kind:
        case "more" if " " in english:
            return Pair(
                [("more", degree), (adjective.english, own), ("than", than)], [("plus", degree), form, ("que", than)]
            )
        case "more":
            return Pair([(english, degree | own), ("than", than)], [("plus", degree), form, ("que", than)])
        case "less":
            return Pair(
                [("less", degree), (adjective.english, own), ("than", than)], [("moins", degree), form, ("que", than)]
            )
        case _:
            return Pair(
                [("as", degree), (adjective.english, own), ("as", than)], [("aussi", degree), form, ("que", than)]
            )
