"""Orders and proposals: open the window, please; let us play cards."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dragoman.data.phrasebook.clause import say
from dragoman.data.phrasebook.constructions import cast
from dragoman.data.phrasebook.constructions.actions import at_its_hour, gift, goal
from dragoman.data.phrasebook.draw import DeadEnd
from dragoman.data.phrasebook.entries import verb
from dragoman.data.phrasebook.lexicon import times, verbs
from dragoman.data.phrasebook.lexicon.nouns import noun, nouns
from dragoman.data.phrasebook.referents import (
    HE,
    SHE,
    THEY,
    WE,
    YOU,
    I,
    NounPhrase,
)
from dragoman.data.phrasebook.tree import Clause
from dragoman.data.phrasebook.words import Pair, bitext

if TYPE_CHECKING:
    from dragoman.data.phrasebook.derivation import Derivation
    from dragoman.data.phrasebook.entries import Verb

_NOTHING = Pair([], [])


_PLEASE = {
    False: bitext(",/1 please/2", ",/1 s'/2 il/2 vous/2 plaît/2"),
    True: bitext(",/1 please/2", ",/1 s'/2 il/2 te/2 plaît/2"),
}


def orders(work: Derivation) -> Pair:
    """Do it, don't do it: open the window, please."""
    draw = work.draw
    cast.addressed(work, 0.4)
    if work.address.vocative and not work.address.familiar:
        raise DeadEnd
    kind = draw.pick(("thing", "thing", "gift", "forget", "person", "self"))
    match kind:
        case "thing":
            action = draw.pick(verbs.with_aspect(verbs.actions(), "i"))
            item = replace(cast.thing(work, action, YOU), adjectives=())
            clause = Clause(
                YOU, action, "imperative", "not" if _deniable(action) and draw.chance(0.3) else "", direct=item
            )
        case "gift":
            action = draw.pick(
                tuple(entry for entry in verbs.gifts() if entry.english in ("give", "bring", "show", "lend"))
            )
            item = replace(gift(work, action, I), adjectives=())
            if item.determiner == "my":
                item = replace(item, determiner="your")
            clause = Clause(YOU, action, "imperative", direct=item, indirect=draw.pick((I, I, WE, HE, SHE)))
        case "forget":
            action = verb("forget", "oublier")
            item = NounPhrase(
                draw.pick((*nouns("belonging"), *nouns("luggage"), noun("umbrella", "thing"), noun("phone", "thing"))),
                "your",
            )
            return cast.ended(work, say(Clause(YOU, action, "imperative", "not", direct=item), work), draw.pick(".!"))
        case "person":
            action = draw.pick(verbs.with_aspect(verbs.towards_people(), "i"))
            whom = cast.among(draw, I, I, WE, HE, SHE, THEY, NounPhrase(noun("doctor", "public")))
            if isinstance(whom, NounPhrase) and action.english in ("invite", "help"):
                raise DeadEnd
            clause = Clause(YOU, action, "imperative", direct=whom)
        case _:
            english, french, denied = draw.pick(_SELF)
            clause = Clause(YOU, verb(english, french), "imperative", "not" if denied else "")
    polite = not clause.negation and work.address.vocative is None and draw.chance(0.5)
    pair = say(clause, work)
    return cast.ended(
        work,
        pair + work.place(_PLEASE[work.address.familiar]) if polite else pair,
        draw.pick("..!") if not polite else ".",
    )


_SELF = (
    ("hurry [up/1]", "se dépêcher", False),
    ("rest", "se reposer", False),
    ("worry", "s'inquiéter", True),
    ("come [in/1]", "entrer", False),
    ("sit [down/1]", "s'asseoir", False),
    ("cry", "pleurer", True),
    ("shout", "crier", True),
    ("smoke", "fumer", True),
    ("wait", "attendre", False),
    ("smile", "sourire", False),
    ("listen", "écouter", False),
    ("run", "courir", True),
    ("relax", "se détendre", False),
    ("move", "bouger", True),
    ("come [back/1]", "revenir", False),
    ("wake [up/1]", "se réveiller", False),
    ("get [up/1]", "se lever", False),
    ("get [dressed/1]", "s'habiller", False),
)


def _deniable(action: Verb) -> bool:
    return action.english in ("open", "close", "turn", "park", "take")


def proposals(work: Derivation) -> Pair:
    """Let's do it: let's play cards."""
    draw = work.draw
    if draw.chance(0.5):
        action = draw.pick(verbs.with_aspect(verbs.deeds(), "m"))
        if action.english in ("travel", "learn"):
            raise DeadEnd
        time = at_its_hour(action.name, draw.pick(times.times("future")).piece) if draw.chance(0.4) else None
        pair = work.place(time) if time else _NOTHING
        return cast.ended(work, say(Clause(WE, action, "let us", predicate=pair), work), draw.pick(".!"))
    move = verbs.moves()[0]
    clause = Clause(WE, move, "let us", predicate=goal(work, move, far=draw.chance(0.4)))
    return cast.ended(work, say(clause, work), draw.pick(".!"))
