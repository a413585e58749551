"""Questions with a question word, and answers with nobody and nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dragoman.data.phrasebook.clause import say
from dragoman.data.phrasebook.constructions import cast
from dragoman.data.phrasebook.constructions.actions import at_its_hour
from dragoman.data.phrasebook.draw import DeadEnd
from dragoman.data.phrasebook.lexicon import times, verbs
from dragoman.data.phrasebook.referents import (
    YOU,
    Fixed,
    NounPhrase,
    Referent,
    naming,
)
from dragoman.data.phrasebook.tree import Clause, Tense
from dragoman.data.phrasebook.words import Pair, bitext

if TYPE_CHECKING:
    from dragoman.data.phrasebook.derivation import Derivation
    from dragoman.data.phrasebook.entries import Verb

_NOTHING = Pair([], [])


_ASKING = (("where/1", "où/1"), ("when/1", "quand/1"), ("why/1", "pourquoi/1"), ("what/1 time/1", "à quelle/1 heure/1"))


_ASKED = {
    "where/1": frozenset(
        ["work", "sleep", "study", "swim", "walk", "have", "go", "dance", "take", "do", "wait", "rest"]
    ),
    "when/1": frozenset(["do", "have", "travel", "work"]),
    "why/1": frozenset(["cry", "shout", "run", "wait", "smoke", "work", "study"]),
}


def asking_where(work: Derivation) -> Pair:
    """Where, when, why: where did you buy this dress?"""
    draw = work.draw
    who = cast.somebody(draw, spoken_to=True, vague=False)
    cast.addressed(work, 0.3 if who is YOU else 0)
    english, french = draw.pick(_ASKING)
    fronted = work.place(bitext(english, french))
    item: NounPhrase | None
    if english == "what/1 time/1":
        action, item = (
            draw.pick(tuple(entry for entry in verbs.deeds() if entry.english == "have" and entry.name != "have fun")),
            None,
        )
    elif draw.chance(0.5):
        action = draw.pick(
            tuple(
                entry
                for entry in verbs.actions()
                if entry.places
                and entry.english not in ("teach", "study", "wear", "taste", "begin", "wait")
                and entry.french_preposition != "avec"
            )
        )
        item = replace(cast.thing(work, action, who), adjectives=())
        if item.determiner in ("a", "some"):
            item = replace(item, determiner="this" if item.noun.kind not in cast.MASS else "the")
    else:
        action = draw.pick(
            tuple(
                entry
                for entry in verbs.deeds()
                if entry.places
                and entry.english in _ASKED[english]
                and entry.name not in ("do the washing-up", "do sport")
            )
        )
        item = None
    timed = english in ("where/1", "why/1")
    options: tuple[Tense, ...] = ("past", "past") if item or english != "why/1" else ("past", "progressive")
    if "f" in action.aspects and english != "why/1":
        options = (*options, "going to")
    tense = draw.pick(options)
    dated = timed and tense == "past" and draw.chance(0.25) and "n" not in action.aspects
    dated = dated and not (item and item.noun.kind == "order")
    time = at_its_hour(action.name, draw.pick(times.times("past")).piece) if dated else None
    when = work.place(time) if time else _NOTHING
    clause = Clause(who, action, tense, question="wh", direct=item, predicate=when, fronted=fronted)
    return cast.ended(work, say(clause, work), "?")


def asking_what(work: Derivation) -> Pair:
    """What, which, how many: which dress did you choose?"""
    draw = work.draw
    who = cast.somebody(draw, spoken_to=True, vague=False)
    cast.addressed(work, 0.3 if who is YOU else 0)
    kind = draw.pick(("what", "which", "which", "how many"))
    if kind == "what":
        action = draw.pick(tuple(entry for entry in verbs.actions() if entry.english in _OPEN))
        fronted = work.place(bitext("what/1", "que/1"))
        head = None
        tense: Tense = draw.pick(tuple(name for letter, name in _TENSES if letter in action.aspects))
    else:
        chosen = tuple(
            entry
            for entry in verbs.actions()
            if entry.english in (_SELECTIVE if kind == "which" else _COUNTING) and not entry.french_preposition
        )
        action = draw.pick(chosen)
        item = draw.pick(cast.objects(action))
        if item.kind in cast.MASS or item.kind == "order" or (kind == "how many" and item.name in _ONE_IS_ENOUGH):
            raise DeadEnd
        many = kind == "how many" or item.kind in ("pairs", "vegetable")
        head = NounPhrase(item, "none", plural=many)
        work.combine(action.name, item.name)
        named = naming(head, work)
        mark = work.mark()
        if kind == "how many":
            fronted = Pair(
                [("how", mark), ("many", mark), *named.english], [("combien", mark), ("de", mark), *named.french]
            )
        else:
            quel = f"quel{'le' if item.feminine else ''}{'s' if many else ''}"
            fronted = Pair([("which", mark), *named.english], [(quel, mark), *named.french])
        tense = draw.pick(("past", "past", "going to")) if kind == "which" and "f" in action.aspects else "past"
    clause = Clause(who, action, tense, question="wh", fronted=fronted, agrees_with=head)
    when = _NOTHING
    if draw.chance(0.3):
        when = work.place(draw.pick(_SPANS)) if kind == "how many" else frame_time(work, tense, action)
    return cast.ended(work, say(replace(clause, predicate=when), work), "?")


_SPANS = (bitext("last/1 week/2", "la semaine/2 dernière/1"), bitext("last/1 month/2", "le mois/2 dernier/1"))


def frame_time(work: Derivation, tense: Tense, action: Verb) -> Pair:
    """A date that suits the tense."""
    far = "r" in action.aspects
    group = {"past": "remote" if far else "past", "going to": "distant" if far else "future", "progressive": "now"}.get(
        tense
    )
    if group is None or "n" in action.aspects:
        return _NOTHING
    return work.place(work.draw.pick(times.times(group)).piece)


_TENSES: tuple[tuple[str, Tense], ...] = (("c", "past"), ("p", "progressive"), ("f", "going to"))
_OPEN = frozenset(
    ["eat", "drink", "buy", "read", "watch", "choose", "order", "find", "forget", "lose", "write", "prepare"]
)


_SELECTIVE = frozenset(
    ["buy", "read", "watch", "see", "visit", "choose", "order", "rent", "borrow", "wear", "wash", "repair"]
)


_ONE_IS_ENOUGH = frozenset(["zoo", "phone", "calendar", "camera", "watch"])
_COUNTING = frozenset(["eat", "buy", "read", "see", "visit", "write", "receive"])


def asking_who(work: Derivation) -> Pair:
    """Who did it, and to whom: who broke the glass? who are you waiting for?"""
    draw = work.draw
    if draw.chance(0.6):
        action = draw.pick(verbs.with_aspect(verbs.actions(), "c"))
        who = Fixed(bitext("who/1", "qui/1"))
        item = cast.plainly(cast.thing(work, action, who))
        if item.determiner in ("a", "some"):
            item = replace(item, determiner="the")
        tense: Tense = draw.pick(("past", "past", "going to")) if "f" in action.aspects else "past"
        return cast.ended(work, say(Clause(who, action, tense, direct=item), work), "?")
    asker = cast.somebody(draw, spoken_to=True, vague=False)
    cast.addressed(work, 0.3 if asker is YOU else 0)
    towards = draw.pick(
        tuple(
            entry
            for entry in verbs.towards_people()
            if not entry.french_preposition
            and "c" in entry.aspects
            and entry.english not in ("understand", "watch", "look")
        )
    )
    when = frame_time(work, "past", towards) if draw.chance(0.3) else _NOTHING
    fronted = work.place(bitext("who/1", "qui/1"))
    clause = Clause(asker, towards, "past", question="wh", fronted=fronted, predicate=when)
    return cast.ended(work, say(clause, work), "?")


def nobody(work: Derivation) -> Pair:
    """Nothing and nobody: I didn't see anyone; nobody ate the cake."""
    draw = work.draw
    kind = draw.pick(("nobody", "anyone", "anything"))
    if kind == "nobody":
        action = draw.pick(verbs.with_aspect(verbs.actions(), "c"))
        who: Referent = Fixed(bitext("nobody/1", "personne/1"), negative=True)
        item = cast.plainly(cast.thing(work, action, Fixed(bitext("x/1", "x/1"))))
        if item.determiner in ("a", "some", "bare"):
            item = replace(item, determiner="the")
        clause = Clause(who, action, "past", "only ne", direct=item)
        when = _recently(work, action)
    elif kind == "anyone":
        who = cast.somebody(draw, vague=False)
        action = draw.pick(
            tuple(
                entry
                for entry in verbs.towards_people()
                if entry.english in ("see", "meet", "hear", "recognise", "invite", "call", "help", "phone", "hit")
                and not entry.tail
            )
        )
        clause = Clause(who, action, "past", "nobody")
        when = _recently(work, action)
    else:
        who = cast.somebody(draw, vague=False)
        action = draw.pick(
            tuple(
                entry
                for entry in verbs.actions()
                if entry.english
                in ("eat", "drink", "buy", "see", "find", "understand", "lose", "forget", "order", "read", "hide")
            )
        )
        clause = Clause(who, action, "past", "nothing")
        when = _recently(work, action)
    return cast.ended(work, say(replace(clause, predicate=when), work), ".")


def _recently(work: Derivation, action: Verb) -> Pair:
    """A date in the past, in half of the cases; none that says how long ago, which asks for something done."""
    when = frame_time(work, "past", action) if work.draw.chance(0.5) else _NOTHING
    if times.off(when):
        raise DeadEnd
    return when
