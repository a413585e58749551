"""Sentences of two parts: a pronoun and what it stands for, a relative clause, a reason, a condition, an opinion."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from dragoman.data.phrasebook.clause import say
from dragoman.data.phrasebook.constructions import cast
from dragoman.data.phrasebook.constructions.actions import receiver
from dragoman.data.phrasebook.constructions.asking import frame_time
from dragoman.data.phrasebook.constructions.being import quality, state
from dragoman.data.phrasebook.constructions.things import spot
from dragoman.data.phrasebook.draw import DeadEnd
from dragoman.data.phrasebook.entries import verb
from dragoman.data.phrasebook.lexicon import adjectives, people, times, verbs
from dragoman.data.phrasebook.lexicon.nouns import noun, nouns
from dragoman.data.phrasebook.lexicon.verbs import BE
from dragoman.data.phrasebook.referents import (
    HE,
    SHE,
    THEY,
    WE,
    YOU,
    Fixed,
    I,
    NounPhrase,
    Pronoun,
    Referent,
    is_feminine,
    is_plural,
    naming,
    possessive,
)
from dragoman.data.phrasebook.tree import Clause, Modal, Tense
from dragoman.data.phrasebook.words import Pair, bitext

if TYPE_CHECKING:
    from dragoman.data.phrasebook.derivation import Derivation
    from dragoman.data.phrasebook.entries import Noun, Verb

_NOTHING = Pair([], [])


def _it(item: NounPhrase) -> Pronoun:
    """The pronoun for a thing: it or they in English, by its gender in French."""
    if item.plural:
        french = "elles" if item.feminine else "ils"
        return Pronoun(
            "they", "them", "their", 1, french, "les", "leur", "se", french, 5, feminine=item.feminine, plural=True
        )
    french = "elle" if item.feminine else "il"
    accusative = "la" if item.feminine else "le"
    return Pronoun("it", "it", "its", 2, french, accusative, "lui", "se", french, 2, feminine=item.feminine)


def answered(work: Derivation) -> Pair:
    """A question or statement and its sequel, with a pronoun: where is my key? It is on the table."""
    draw = work.draw
    kind = draw.pick(("where", "where", "given", "bought", "lost"))
    match kind:
        case "where":
            return _where_is(work)
        case "given":
            return _given(work)
        case "bought":
            return _bought(work)
        case _:
            return _lost(work)


def _sentence(work: Derivation, pair: Pair, mark: str) -> Pair:
    """A sentence that is followed by another."""
    return pair + work.place(bitext(mark, mark))


@cache
def _misplaced() -> tuple[Noun, ...]:
    things = [noun(name, "thing") for name in ("phone", "pen", "watch", "ticket", "notebook", "ring", "map", "camera")]
    return (
        *things,
        *nouns("belonging"),
        noun("book", "reading"),
        noun("newspaper", "reading"),
        noun("novel", "reading"),
    )


def _where_is(work: Derivation) -> Pair:
    draw = work.draw
    item = NounPhrase(draw.pick(_misplaced()), draw.pick(("the", "my", "your", "his", "her")))
    plural = item.noun.kind == "reading" or item.noun.name in ("ticket", "key")
    item = replace(item, plural=plural and draw.chance(0.3))
    it = _it(item)
    asked = work.fill(
        f"where/1 {'are' if item.plural else 'is'}/2 {{x}}",
        f"où/1 {'sont' if item.plural else 'est'}/2 {{x}}",
        x=naming(item, work),
    )
    reply = say(Clause(it, BE, predicate=spot(work, item.noun)), work)
    return _sentence(work, asked, "?") + cast.ended(work, reply, ".")


def _given(work: Derivation) -> Pair:
    draw = work.draw
    item = NounPhrase(draw.pick(_misplaced()), "the")
    if item.noun.kind == "belonging" and item.noun.name != "key":
        raise DeadEnd
    asked = work.fill("where/1 is/2 {x}", "où/1 est/2 {x}", x=naming(item, work))
    who: Referent = cast.among(draw, I, WE, HE, SHE, THEY, lambda: cast.named(draw), lambda: cast.kin(draw, "my"))
    whom = receiver(draw, who)
    action = draw.pick((verb("give", "donner"), verb("lend", "prêter")))
    when = work.place(draw.pick(times.times("past")).piece) if draw.chance(0.4) else _NOTHING
    reply = say(Clause(who, action, "past", direct=_it(item), indirect=whom, predicate=when), work)
    return _sentence(work, asked, "?") + cast.ended(work, reply, ".")


def _bought(work: Derivation) -> Pair:
    draw = work.draw
    kind = draw.pick(("clothes", "pairs", "furniture", "vehicle", "luggage", "lodging"))
    item = NounPhrase(draw.pick(nouns(kind)), "this", plural=kind == "pairs")
    it = _it(item)
    where = _NOTHING
    first = draw.pick(("like", "mine"))
    owner: Referent = draw.pick((I, WE) if first == "like" else (I, WE, HE, SHE))
    if first == "like":
        opening = say(Clause(YOU, verbs.state("like"), question="yes-no", direct=item), work)
        mark = "?"
    else:
        pronoun = owner.possessive if isinstance(owner, Pronoun) else "my"
        cast.no_mans_dress(pronoun, item.noun)
        if owner is WE and kind in ("clothes", "pairs"):
            raise DeadEnd  # two people share no jacket
        shown = replace(item, determiner=pronoun)
        template = ("these/1 are/2 {x}", "ce/1 sont/2 {x}") if item.plural else ("this/1 is/2 {x}", "c'/1 est/2 {x}")
        opening, mark = work.fill(*template, x=naming(shown, work)), "."
    if draw.chance(0.4):
        where = work.place(draw.pick((*people.towns(), *people.countries())).inside)
    dated = where is _NOTHING or draw.chance(0.5)
    when = work.place(draw.pick(times.times("remote")).piece) if dated else _NOTHING
    sequel = say(Clause(owner, verb("buy", "acheter"), "past", direct=it, predicate=where + when), work)
    return _sentence(work, opening, mark) + cast.ended(work, sequel, ".")


def _lost(work: Derivation) -> Pair:
    draw = work.draw
    item = NounPhrase(
        draw.pick((*nouns("belonging"), *nouns("luggage"), noun("phone", "thing"), noun("umbrella", "thing"))), "my"
    )
    opening = say(Clause(I, verb("lose", "perdre"), "past", direct=item), work)
    cast.addressed(work, 0.5)
    sequel = say(Clause(YOU, verb("see", "voir"), "past", question="yes-no", direct=_it(item)), work)
    return _sentence(work, opening, ".") + cast.ended(work, sequel, "?")


def relatives(work: Derivation) -> Pair:
    """Something picked out by what was done with it: the dress that I bought is too expensive."""
    draw = work.draw
    english, kinds = draw.pick(_RELATIVE)
    action = next(
        entry
        for entry in verbs.actions()
        if entry.english == english and set(kinds) & {kind.partition(".")[0] for kind in entry.kinds}
    )
    item = draw.pick(tuple(entry for entry in cast.objects(action) if entry.kind in kinds))
    suiting = tuple(
        entry
        for entry in cast.fitting(item, "")
        if entry.english in _JUDGED and not (entry.english == "old" and english in ("buy", "choose"))
    )
    if not suiting:
        raise DeadEnd
    many = item.kind in ("pairs", "fruit")
    head = NounPhrase(item, "the", plural=many)
    who = cast.somebody(draw, vague=False)
    if isinstance(who, NounPhrase) and who.noun.kind == "person":
        raise DeadEnd
    work.combine(action.name, item.name)
    named = naming(head, work)
    when = frame_time(work, "past", action) if draw.chance(0.4) else _NOTHING
    inner = say(Clause(who, action, "past", agrees_with=head, predicate=when), work)
    that = work.place(bitext("that/1", "que/1"))
    subject = Fixed(bitext("{inner}", "{inner}"), feminine=is_feminine(head), plural=many)
    judged = draw.pick(suiting)
    predicate = quality(work, judged, subject, degree=judged.english != "delicious", share=0.6)
    bought = english == "buy" and judged.english == "expensive"
    tense: Tense = "imperfect" if bought or english in ("see", "watch", "eat", "visit", "order") else "present"
    outer = say(Clause(subject, BE, tense, predicate=predicate), work)
    whole = named + that + inner
    sides = []
    for tokens, phrase in zip(outer, whole, strict=True):
        sides.append([piece for token in tokens for piece in (phrase if token[0] == "{inner}" else [token])])
    return cast.ended(work, Pair(sides[0], sides[1]), ".")


_RELATIVE = (
    ("buy", ("clothes", "pairs")),
    ("buy", ("furniture", "vehicle", "lodging")),
    ("read", ("reading",)),
    ("see", ("show",)),
    ("watch", ("show",)),
    ("order", ("dish",)),
    ("rent", ("vehicle", "lodging")),
    ("visit", ("place",)),
    ("buy", ("fruit",)),
    ("eat", ("dish", "fruit")),
    ("choose", ("clothes", "pairs")),
)


_JUDGED = frozenset(
    [
        "big",
        "small",
        "expensive",
        "interesting",
        "boring",
        "exciting",
        "delicious",
        "comfortable",
        "beautiful",
        "pretty",
        "elegant",
        "difficult",
        "long",
        "old",
        "modern",
        "sad",
        "spicy",
        "ripe",
    ]
)


@cache
def _going_on() -> tuple[Verb, ...]:
    """What people may be at when something else happens."""
    begun = (entry for entry in verbs.deeds() if "p" in entry.aspects and "r" not in entry.aspects)
    return tuple(entry for entry in begun if entry.english not in ("look", "learn", "hurry"))


def meanwhile(work: Derivation) -> Pair:
    """What was going on when something happened: I was reading a book when Paul phoned."""
    draw = work.draw
    who = cast.somebody(draw, vague=False)
    if draw.chance(0.5):
        action = draw.pick(
            tuple(
                entry
                for entry in verbs.actions()
                if "p" in entry.aspects
                and "n" not in entry.aspects
                and "r" not in entry.aspects
                and entry.english != "wear"
            )
        )
        item: NounPhrase | None = cast.plainly(cast.thing(work, action, who))
    else:
        action, item = draw.pick(_going_on()), None
    first = say(Clause(who, action, "was doing", direct=item), work)
    other: Referent = cast.among(draw, lambda: cast.named(draw), lambda: cast.kin(draw, "my"), I, HE, SHE, THEY)
    if other == who or (
        isinstance(who, Pronoun) and isinstance(other, Pronoun) and cast.third_person(who) == cast.third_person(other)
    ):
        raise DeadEnd
    if isinstance(other, Pronoun) and cast.third_person(who) and possessive(other) == possessive(who):
        raise DeadEnd  # Paul was reading when he phoned: is he Paul?
    happening = draw.pick(("phone", "arrive", "come back", "rain"))
    match happening:
        case "phone" | "arrive" | "come back":
            french = {"phone": "téléphoner", "arrive": "arriver", "come back": "revenir"}[happening]
            english = {"come back": "come [back/1]"}.get(happening, happening)
            second = say(Clause(other, verb(english, french), "past"), work)
        case _:
            second = work.place(bitext("it/1 started/2 to/3 rain/4", "il/1 a/2 commencé/2 à/3 pleuvoir/4"))
    when = work.place(bitext("when/1", "quand/1"))
    return cast.ended(work, first + when + second, ".")


def childhood(work: Derivation) -> Pair:
    """What used to be: when I was a child, I used to play football."""
    draw = work.draw
    who = cast.among(draw, I, WE, HE, SHE, lambda: cast.named(draw))
    later = who if isinstance(who, Pronoun) else (SHE if is_feminine(who) else HE)
    if draw.chance(0.5):
        action = draw.pick(
            tuple(
                entry
                for entry in verbs.actions()
                if "h" in entry.aspects
                and entry.english not in ("feed", "water", "drive", "use", "clean", "wear", "teach", "buy", "study")
            )
        )
        habit = cast.thing(work, action, later, habit=True)
        if habit.noun.name in (
            "water",
            "mineral water",
            "beer",
            "wine",
            "cider",
            "coffee",
            "article",
            "newspaper",
            "novel",
        ):
            raise DeadEnd
        item: NounPhrase | None = replace(habit, adjectives=())
    else:
        action, item = draw.pick(verbs.with_aspect(verbs.deeds(), "h")), None
        if action.english in ("smoke", "cook", "work", "have", "study", "travel") or action.name.startswith("do the"):
            raise DeadEnd
    # what else was done, was done at its time: nobody used to eat a plum once and for all
    time = (
        work.place(draw.pick(times.times("habit")).piece)
        if draw.chance(0.7 if action.english in _PASTIMES else 1)
        else _NOTHING
    )
    many = who is WE
    mark = work.mark()
    child = Pair(
        [("children", mark)] if many else [("a", 0), ("child", mark)], [("enfants" if many else "enfant", mark)]
    )
    was = say(Clause(who, BE, "imperfect", predicate=child), work)
    used = say(Clause(later, action, "used to", direct=item, predicate=time), work)
    return cast.ended(work, work.place(bitext("when/1", "quand/1")) + was + cast.comma(work) + used, ".")


_PASTIMES = frozenset(["play", "dance", "sing", "swim", "run", "go", "do"])


def conditions(work: Derivation) -> Pair:
    """What will be done if: if it rains tomorrow, we'll play cards at home."""
    draw = work.draw
    english, french = draw.pick(
        (
            ("if/1 it/2 rains/3", "si/1 il/2 pleut/3"),
            ("if/1 it's/2,3 cold/4", "si/1 il/2 fait/3 froid/4"),
            ("if/1 it/2 snows/3", "si/1 il/2 neige/3"),
            ("if/1 the/2 weather/3 is/4 nice/5", "si/1 il/3 fait/4 beau/5"),
            ("if/1 I/2 have/3 time/4", "si/1 j'/2 ai/3 le temps/4"),
            ("if/1 we/2 have/3 time/4", "si/1 nous/2 avons/3 le temps/4"),
        )
    )
    inside = "nice" not in english and "time" not in english
    who: Referent = I if " I/2" in english else WE if "we/2" in english else draw.pick((I, WE, THEY, SHE, HE))
    time = work.place(draw.pick(_DAYS)) if draw.chance(0.7) else _NOTHING
    action = draw.pick(
        tuple(
            entry
            for entry in verbs.deeds()
            if "f" in entry.aspects and (entry.english in _INDOORS) == inside and entry.english not in _NOT_CHOSEN
        )
    )
    will = say(Clause(who, action, "future"), work)
    if draw.chance(0.3) and not inside:
        move = verbs.moves()[0]
        place = noun(draw.pick(("beach", "park", "market", "zoo", "swimming pool", "castle", "museum")), "place")
        where = work.fill("to/1 {p}", "à/1 {p}", p=naming(NounPhrase(place), work))
        will = say(Clause(who, move, "future", predicate=where), work)
    return cast.ended(work, work.place(bitext(english, french)) + time + cast.comma(work) + will, ".")


_DAYS = (
    bitext("tomorrow", "demain"),
    bitext("this/1 weekend/2", "ce/1 week-end/2"),
    bitext("on Sunday/1", "dimanche/1"),
    bitext("on Saturday/1", "samedi/1"),
)


_INDOORS = frozenset(["relax", "rest", "listen", "watch", "play", "cook", "study"])


_NOT_CHOSEN = frozenset(
    ["travel", "work", "smile", "wait", "shout", "do", "look", "learn", "get", "sleep", "rest", "study", "have"]
)


def reasons(work: Derivation) -> Pair:
    """Why: I can't come because I'm ill."""
    draw = work.draw
    who: Referent = cast.among(draw, I, I, WE, HE, SHE, THEY, lambda: cast.named(draw), lambda: cast.kin(draw, "my"))
    again = who if isinstance(who, Pronoun) else THEY if is_plural(who) else SHE if is_feminine(who) else HE
    can = Modal("can", "pouvoir", auxiliary=True)
    must = Modal("have to", "devoir")
    come, work_ = verb("come", "venir"), verb("work", "travailler")
    main, reason = draw.pick(("can't", "isn't coming", "stay", "won't")), draw.pick(("state", "feeling", "work"))
    time = _NOTHING
    match main:
        case "can't":
            time = work.place(draw.pick(times.times("future")).piece) if draw.chance(0.4) else _NOTHING
            first = Clause(who, come, "present", "not", modal=can, predicate=time)
        case "isn't coming":
            first = Clause(who, come, "progressive", "not")
        case "won't":
            time = work.place(draw.pick(times.times("future")).piece) if draw.chance(0.6) else _NOTHING
            first = Clause(who, come, "future", "not", predicate=time)
        case _:
            first = Clause(
                who,
                verb("stay", "rester"),
                "progressive",
                predicate=work.place(bitext("at/1 home/2", "à/1 la maison/2")),
            )
    opening = say(first, work)
    match reason:
        case "state":
            fitting = _FORESEEN if time.english else _REASONS[main]
            adjective = draw.pick(tuple(entry for entry in adjectives.states() if entry.english in fitting))
            second = Clause(
                again,
                BE,
                predicate=quality(
                    work, adjective, again, degree=adjective.english in ("tired", "ill", "busy", "sad"), share=0.4
                ),
            )
        case "feeling" if time.english:
            raise DeadEnd
        case "feeling":
            second = Clause(again, verb("be [sleepy/1]", "avoir [sommeil/1]"))
        case _:
            second = Clause(again, work_, "present", modal=must)
    return cast.ended(work, opening + work.place(bitext("because/1", "parce/1 que/1")) + say(second, work), ".")


_REASONS = {
    "can't": frozenset(["tired", "ill", "busy", "injured", "lost"]),
    "isn't coming": frozenset(["tired", "ill", "busy", "sad", "injured", "furious"]),
    "stay": frozenset(["tired", "ill", "busy", "sad", "injured"]),
    "won't": frozenset(["tired", "ill", "busy", "sad", "injured", "furious"]),
}
_FORESEEN = frozenset(["busy", "injured"])


def opinions(work: Derivation) -> Pair:
    """What one thinks or knows: I think that your brother is tired."""
    draw = work.draw
    thinker: Referent = cast.among(draw, I, I, I, HE, SHE, lambda: cast.named(draw))
    lead = draw.pick((verb("think", "croire"), verb("know", "savoir"), verb("hope", "espérer")))
    other = cast.among(draw, lambda: cast.kin(draw, draw.pick(("my", "your"))), lambda: cast.named(draw), HE, SHE, THEY)
    if other == thinker or (thinker in (HE, SHE) and isinstance(other, Pronoun)):
        raise DeadEnd
    head = say(Clause(thinker, lead), work)
    that = work.place(bitext("that/1", "que/1"))
    if lead.english == "hope" or draw.chance(0.4):
        time = work.place(draw.pick(times.times("future")).piece) if draw.chance(0.7) else _NOTHING
        action = draw.pick(
            (
                verb("come", "venir"),
                verb("phone", "téléphoner"),
                verb("come [back/1]", "revenir"),
                verb("win", "gagner"),
            )
        )
        if action.english == "phone" and thinker is I:
            said = say(Clause(other, verb("phone <>", "téléphoner <à>"), "future", direct=I, predicate=time), work)
        else:
            said = say(Clause(other, action, "future", predicate=time), work)
    else:
        said = state(work, other)
    return cast.ended(work, head + that + said, ".")


def plans(work: Derivation) -> Pair:
    """One thing and another: I want to go out, but I have to work; Paul is cooking and Marie is reading."""
    draw = work.draw
    if draw.chance(0.5):
        who = draw.pick((I, I, WE, HE, SHE, THEY))
        wish = draw.pick(
            (Modal("want to", "vouloir"), Modal("would like to", "vouloir", "conditional", auxiliary=True))
        )
        must = Modal("have to", "devoir")
        first_deed = draw.pick(
            tuple(
                entry
                for entry in verbs.with_aspect(verbs.deeds(), "m")
                if entry.english not in ("learn", "travel", "study", "do")
            )
        )
        second_deed = draw.pick(
            (
                verb("work", "travailler"),
                verb("study", "étudier"),
                verb("do [the/1 shopping/2]", "faire [les/1 courses/2]"),
                verb("do [the/1 housework/2]", "faire [le/1 ménage/2]"),
                verb("do [the/1 washing-up/2]", "faire [la/1 vaisselle/2]"),
            )
        )
        first = say(Clause(who, first_deed, modal=wish), work)
        second = say(Clause(who, second_deed, modal=must), work)
        return cast.ended(work, first + cast.comma(work) + work.place(bitext("but/1", "mais/1")) + second, ".")
    pair = cast.couple(draw)
    sides = []
    for name in (pair.first, pair.second):
        if draw.chance(0.6):
            action = draw.pick(_going_on())
            sides.append((action.name, say(Clause(name, action, "progressive"), work)))
        else:
            action = draw.pick(
                tuple(entry for entry in verbs.actions() if "p" in entry.aspects and entry.english in _QUIET)
            )
            sides.append(
                (action.name, say(Clause(name, action, "progressive", direct=cast.thing(work, action, name)), work))
            )
    if sides[0][0] == sides[1][0]:
        raise DeadEnd
    return cast.ended(work, sides[0][1] + work.place(bitext("and/1", "et/1")) + sides[1][1], ".")


_QUIET = frozenset(
    ["eat", "drink", "read", "watch", "write", "wash", "clean", "prepare", "repair", "draw", "water", "feed"]
)
