"""What constructions draw from: people, things with determiners and adjectives, company, the end of a sentence."""

# ruff: noqa: E501 - tables of words read best with one group to a line

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from dragoman.data.phrasebook.derivation import POLITE
from dragoman.data.phrasebook.draw import DeadEnd
from dragoman.data.phrasebook.lexicon import adjectives, people, verbs
from dragoman.data.phrasebook.lexicon.nouns import noun, nouns
from dragoman.data.phrasebook.referents import (
    HE,
    PRONOUNS,
    SHE,
    THEY,
    WE,
    YOU,
    Couple,
    Fixed,
    I,
    NounPhrase,
    Pronoun,
    Referent,
    after_preposition,
    is_plural,
    possessive,
    young,
)
from dragoman.data.phrasebook.words import Bitext, Pair, bitext

if TYPE_CHECKING:
    from collections.abc import Callable

    from dragoman.data.phrasebook.derivation import Derivation
    from dragoman.data.phrasebook.draw import Draw
    from dragoman.data.phrasebook.entries import Adjective, Noun, Verb

MASS = frozenset(["food", "drink", "supply"])
_ONLY_MANY = frozenset(["vegetable", "pairs", "ware"])
_OFTEN_MANY = frozenset(["fruit", "snack", "reading", "writing", "flower", "animal", "dishes", "toy"])
_POSSESSORS = ("my", "my", "my", "your", "his", "her", "our", "their")
# adjectives that only make sense when something in particular is done
_ONLY_WITH = {
    "broken": "repair look",
    "dirty": "wash clean",
    "clean": "wear choose",
    "empty": "find hide",
    "heavy": "carry push receive open",
    "expensive": "have buy order wear choose rent lose break try",
    "boring": "introduce read watch see finish",
    "sad": "read watch see sing",
    "easy": "introduce answer understand begin finish prepare learn",
    "difficult": "introduce answer understand begin finish prepare",
    "cold": "drink eat",
    "hot": "drink eat order taste",
    "important": "introduce finish forget write receive cancel prepare organise",
    "useful": "introduce",
    "bad": "introduce",
    "good": "introduce need see read watch eat drink buy order prepare taste",
    "old": "introduce have lie find repair see sell drive wear wash visit draw photograph use paint",
    "ripe": "buy eat",
    "fresh": "buy eat",
    "spicy": "eat order prepare taste",
    "delicious": "eat prepare order taste",
    "long": "read watch see write receive finish",
    "new": "introduce have lie need buy find lose forget order choose look try borrow drive repair break wash wear use park paint forget",
    "comfortable": "have buy choose rent order wear try book",
    "quiet": "visit book rent",
    "modern": "have buy visit rent use order",
    "French": "read watch see listen buy",
    "Italian": "buy see watch wear drive",
    "Japanese": "see watch drive buy",
    "elegant": "introduce buy wear choose try",
    "exciting": "introduce read watch see finish",
    "interesting": "introduce read watch see finish visit",
}
_NOBODY = Pair([], [])


@cache
def _circle() -> tuple[Noun, ...]:
    return nouns("kin")


def kin(draw: Draw, determiner: str, of: Referent | None = None) -> NounPhrase:
    """A relative: my mother, her uncle; one that somebody of such an age may have, where it is known whose."""
    if draw.chance(0.12):
        relation = draw.pick((noun("child", "parents"), noun("friend", "parents"), noun("parent", "parents")))
    else:
        relation = draw.pick(relatives(determiner))
    if of is not None and not has(of, relation):
        raise DeadEnd
    return NounPhrase(relation, determiner, plural=relation.kind == "parents")


def has(who: Referent, relation: Noun) -> bool:
    """False for a boy's wife, a grandfather's uncle and a mother's mother, who would be said otherwise."""
    if not isinstance(who, NounPhrase):
        return True
    if young(who) or who.noun.name == "child":
        return relation.name not in _LATER
    return relation is not who.noun and not (who.noun.name.startswith("grand") and relation.name in _EARLIER)


_LATER = frozenset(["wife", "husband", "son", "daughter", "nephew", "niece", "child", "colleague"])
_EARLIER = frozenset(["mother", "father", "uncle", "aunt", "grandmother", "grandfather", "parent", "grandparent"])


@cache
def relatives(determiner: str) -> tuple[Noun, ...]:
    """The relatives one can have: nobody shares a husband."""
    excluded = {"his": ("husband",), "her": ("wife",), "our": ("husband", "wife"), "their": ("husband", "wife")}.get(
        determiner, ()
    )
    return tuple(entry for entry in _circle() if entry.name not in excluded)


def somebody(draw: Draw, *, spoken_to: bool = False, vague: bool = True, someone: bool = True) -> Referent:
    """Who does it: pronouns most of the time, then names, relatives, couples, everybody, someone."""
    if spoken_to and draw.chance(0.5):
        return YOU
    if draw.chance(0.55):
        return draw.pick((I, I, HE, SHE, WE, THEY) if not spoken_to else (HE, SHE, THEY))
    if draw.chance(0.45):
        return kin(draw, draw.pick(_POSSESSORS if not spoken_to else ("your", "his", "her", "my")))
    if draw.chance(0.6):
        return draw.pick(people.names())
    if draw.chance(0.4):
        return couple(draw)
    if spoken_to or not vague or draw.chance(0.7):
        return draw.pick(_crowd())
    return draw.pick(people.everybody() if someone else people.everybody()[:1])


def among(draw: Draw, *options: Referent | Callable[[], Referent]) -> Referent:
    """One of these; a function is only called when it is picked."""
    chosen = draw.pick(options)
    return chosen() if callable(chosen) else chosen


def named(draw: Draw) -> Referent:
    """Somebody called by a first name."""
    return draw.pick(people.names())


def couple(draw: Draw) -> Couple:
    """Two people: Paul and Marie."""
    first, second = draw.pick(people.names()), draw.pick(people.names())
    if first.english == second.english:
        raise DeadEnd
    return Couple(first, second)


@cache
def _crowd() -> tuple[NounPhrase, ...]:
    named = [
        (noun(name, "person"), many)
        for name, many in (("child", True), ("tourist", True), ("boy", False), ("girl", True))
    ]
    named += [(noun("woman", "person"), False), (noun("man", "person"), False)]
    return tuple(NounPhrase(entry, "the", plural=many) for entry, many in named)


def nobody_in_particular(who: Referent) -> bool:
    """True for everybody and someone, who are not negated and own nothing here."""
    return isinstance(who, Fixed)


def is_someone(who: Referent) -> bool:
    """True for someone, of whom only what is seen to be done is said, and no habit, taste or feeling."""
    return who is people.everybody()[1]


def third_person(who: Referent) -> bool:
    """True when neither speaker nor listener is meant."""
    return not isinstance(who, Pronoun) or who in (HE, SHE, THEY)


@cache
def objects(verb: Verb) -> tuple[Noun, ...]:
    """The nouns a verb may take."""
    return tuple(entry for kind in verb.kinds for entry in _of_kind(kind))


def _of_kind(kind: str) -> tuple[Noun, ...]:
    whole, _, part = kind.partition(".")
    return tuple(entry for entry in nouns(whole) if not part or entry.name in _part(kind))


def _part(kind: str) -> frozenset[str]:
    return verbs.parts(kind)


def thing(work: Derivation, verb: Verb, owner: Referent, *, habit: bool = False) -> NounPhrase:
    """Something the verb can be done to, with a determiner and perhaps an adjective."""
    draw = work.draw
    item = draw.pick(objects(verb))
    if verb.english in ("wear", "try") and not nobody_in_particular(owner):
        no_mans_dress(possessive(owner), item)
    if (habit and verb.english == "take" and item.name in _JOURNEYS) or (
        verb.english == "wear" and nobody_in_particular(owner)
    ):
        raise DeadEnd
    determiners = verb.determiners
    if habit:
        determiners = tuple(d for d in determiners if d in ("a", "some")) or determiners
    determiner = draw.pick(determiners)
    if determiner == "my":
        determiner = "the" if nobody_in_particular(owner) else possessive(owner)
        if not shareable(item) and is_plural(owner):
            raise DeadEnd
    if determiner == "some" and item.kind == "dish":
        determiner = "a"
    phrase = dressed(work, item, determiner, doing=verb.english, habit=habit)
    if item.kind == "flower" and verb.english == "water" and item.name != "plant":
        return replace(phrase, plural=True)
    if verb.english == "wash" and item.kind == "dishes":
        return replace(phrase, determiner="the", plural=True, adjectives=())  # nobody washes a single fork
    if verb.english == "pack" and is_plural(owner):
        return replace(phrase, plural=True)
    return replace(phrase, plural=False) if determiner != "some" and verb.english in _ONE_BY_ONE else phrase


_JOURNEYS = frozenset(["plane", "ferry", "boat", "coach"])
_PERSONAL = frozenset(["passport", "wallet", "driving licence", "identity card", "handbag", "backpack"])
_ONE_BY_ONE = frozenset(["begin", "finish", "write", "understand", "answer"])


def no_mans_dress(owner: str, item: Noun) -> None:
    """A dead end for his dress, skirt or blouse, which readers would take for a mistake."""
    if owner == "his" and item.name in ("dress", "skirt", "blouse"):
        raise DeadEnd


def shareable(item: Noun) -> bool:
    """False for a passport, which two people do not have together."""
    return item.name not in _PERSONAL


def dressed(work: Derivation, item: Noun, determiner: str, *, doing: str = "", habit: bool = False) -> NounPhrase:
    """The noun with this determiner, in a number that suits both, perhaps with an adjective."""
    draw = work.draw
    no_mans_dress(determiner, item)
    plural = False
    if item.name in ("lunch", "dinner") and determiner in ("the", "a"):
        determiner = "generic"  # prepare lunch, préparer le déjeuner
    if determiner == "generic":
        return NounPhrase(item, "generic")
    if item.kind in MASS:
        determiner = {"a": "some", "this": "the"}.get(determiner, determiner)
    elif item.kind in _ONLY_MANY or determiner == "some":
        plural = True
        determiner = "some" if determiner == "a" else determiner
    elif item.kind in _OFTEN_MANY and determiner != "a":
        plural = draw.chance(0.35)
    if determiner == "some" and habit:
        determiner = "bare"
    several = plural and determiner == "the" and item.kind in ("reading", "writing")
    adjectives_ = () if several else _adjectives(work, item, doing)
    return NounPhrase(item, determiner, plural=plural, adjectives=adjectives_)


def plainly(phrase: NounPhrase) -> NounPhrase:
    """Without praise or blame, which only what is asserted bears: nobody asks about the delicious soup."""
    return replace(phrase, adjectives=()) if any(entry.english in _JUDGING for entry in phrase.adjectives) else phrase


_JUDGING = frozenset(["good", "delicious", "boring", "exciting", "interesting", "beautiful", "pretty", "sad"])


def undressed(phrase: NounPhrase, negation: str) -> NounPhrase:
    """Without adjectives where something is said not to exist: no car, rather than no red car."""
    return replace(phrase, adjectives=()) if negation and phrase.determiner in ("a", "some", "bare") else phrase


def _adjectives(work: Derivation, item: Noun, doing: str) -> tuple[Adjective, ...]:
    draw = work.draw
    suiting = fitting(item, doing)
    if not suiting or not draw.chance(0.3):
        return ()
    first = draw.pick(suiting)
    if first.before and first.english in ("big", "small", "beautiful", "pretty") and draw.chance(0.2):
        colours = tuple(entry for entry in suiting if entry.english in COLOURS)
        if colours:
            return (first, draw.pick(colours))
    return (first,)


COLOURS = frozenset(["red", "blue", "green", "white", "black", "yellow", "grey", "brown"])


@cache
def fitting(item: Noun, verb: str) -> tuple[Adjective, ...]:
    """The adjectives that suit a noun when this is done with it; with no verb, all of them."""
    return tuple(
        entry
        for entry in adjectives.suiting(item)
        if not verb or entry.english not in _ONLY_WITH or verb in _ONLY_WITH[entry.english].split()
    )


def company(work: Derivation, who: Referent) -> Pair:
    """With somebody who is not the one who acts."""
    draw = work.draw
    if isinstance(who, Pronoun):
        if draw.chance(0.3):
            other: Referent = draw.pick(people.names())
        elif draw.chance(0.25):
            other = draw.pick(
                tuple(p for p in PRONOUNS if third_person(p) != third_person(who) and p not in (who, I, WE, YOU))
                or (I, WE)
            )
        else:
            other = kin(draw, who.possessive)
    elif isinstance(who, Fixed):
        return _NOBODY
    else:
        other = among(draw, I, WE, lambda: kin(draw, possessive(who), who))
    return work.fill("with/1 {who}", "avec/1 {who}", who=after_preposition(other, work))


def addressed(work: Derivation, share: float) -> None:
    """Let the sentence be said to somebody, in this share of the cases."""
    if work.draw.chance(share):
        work.address = work.draw.pick(people.addresses())
    else:
        work.address = POLITE


def ended(work: Derivation, pair: Pair, mark: str) -> Pair:
    """The sentence with the name of who is spoken to and its final punctuation."""
    if work.address.vocative is not None:
        pair = pair + work.place(_COMMA) + work.place(work.address.vocative)
    return pair + work.place(_ENDS[mark])


_COMMA: Bitext = bitext(",", ",")
_ENDS = {mark: bitext(mark, mark) for mark in ".?!"}


def comma(work: Derivation) -> Pair:
    """A comma in both languages."""
    return work.place(_COMMA)
