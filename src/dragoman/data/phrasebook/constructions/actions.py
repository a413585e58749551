"""Sentences about what people do: with things, with each other, on their own, and to whom they give what."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from dragoman.data.phrasebook.clause import say
from dragoman.data.phrasebook.constructions import cast
from dragoman.data.phrasebook.draw import DeadEnd
from dragoman.data.phrasebook.lexicon import people, times, verbs
from dragoman.data.phrasebook.lexicon.nouns import noun, nouns
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
    is_plural,
    naming,
    possessive,
)
from dragoman.data.phrasebook.tree import Clause, Modal, Negation, Tense
from dragoman.data.phrasebook.words import Pair, bitext

if TYPE_CHECKING:
    from dragoman.data.phrasebook.derivation import Derivation
    from dragoman.data.phrasebook.draw import Draw
    from dragoman.data.phrasebook.entries import Noun, Verb
    from dragoman.data.phrasebook.lexicon.times import Adverbial
    from dragoman.data.phrasebook.words import Bitext

MODALS = (
    Modal("want to", "vouloir", cues=("want",)),
    Modal("can", "pouvoir", auxiliary=True, cues=("can",)),
    Modal("would like to", "vouloir", "conditional", auxiliary=True, cues=("like",)),
    Modal("have to", "devoir", cues=("have to", "has to")),
    Modal("should", "devoir", "conditional", auxiliary=True, cues=("should",)),
    Modal("hope to", "espérer", cues=("hope",)),
)
_WANT, _CAN, _WOULD, _HAVE, _SHOULD, _HOPE = MODALS
_NOTHING = Pair([], [])


@dataclass(frozen=True, slots=True)
class Frame:
    """When something happens: the tense with all that depends on it."""

    tense: Tense
    negation: Negation = ""
    time: Bitext | None = None
    adverb: Bitext | None = None
    modal: Modal | None = None

    @property
    def habit(self) -> bool:
        """True when something is done again and again."""
        return self.tense == "present" and self.modal is None


def frame(work: Derivation, aspects: str, who: Referent) -> Frame:
    """A frame that the aspects of a verb allow."""
    draw = work.draw
    aspect = draw.pick(aspect_letters(aspects))
    negatable = not cast.nobody_in_particular(who)
    denied = negatable and draw.chance(0.25)
    timed = draw.chance(0.6) and "n" not in aspects
    if cast.is_someone(who) and aspect not in "pc":
        raise DeadEnd
    match aspect:
        case "p":
            return Frame(
                "progressive", "not" if denied else "", _time(draw, "now", timed and not denied and draw.chance(0.4))
            )
        case "c" if draw.chance(0.3) and negatable:
            return _perfect(draw)
        case "c":
            time = _time(draw, "remote" if "r" in aspects else "past", timed)
            if denied and time and times.off(time):
                raise DeadEnd
            return Frame("past", "not" if denied else "", time)
        case "h" if timed or not negatable:
            return Frame("present", "", _time(draw, "habit", timed="n" not in aspects))
        case "h" if denied:
            return Frame("present", draw.pick(("never", "no longer")))
        case "h":
            return Frame("present", "", None, draw.pick(_frequencies("n" in aspects)).piece)
        case "f":
            tense: Tense = draw.pick(("future", "going to"))
            time = _time(draw, "distant" if "r" in aspects else "future", timed)
            if denied and time and times.off(time):
                raise DeadEnd
            return Frame(tense, "not" if denied else "", time)
        case _:
            return _modal(draw, aspects, denied=denied, timed=timed)


@cache
def aspect_letters(aspects: str) -> tuple[str, ...]:
    """The aspects a frame may have; what is completed is said most."""
    return tuple(letter for letter in "pcchfm" if letter in aspects)


@cache
def _frequencies(undated: bool) -> tuple[Adverbial, ...]:  # noqa: FBT001 - a plain yes or no, used here only
    """How often; where no date is asked for, as with smoking, not always: toujours would mean still."""
    return tuple(entry for entry in times.times("mid") if not (undated and entry.piece == times.ALWAYS))


def _perfect(draw: Draw) -> Frame:
    negation: Negation = draw.pick(("", "", "not yet", "never"))
    return Frame("perfect", negation, None, None if negation else times.ALREADY)


@cache
def _modals(aspects: str) -> tuple[Modal, ...]:
    return tuple(entry for entry in MODALS if entry is not _HOPE or "r" in aspects)


_CHORES = frozenset(["have", "do", "swim", "cook", "dance", "go"])
_VENTURES = frozenset(["swim", "dance", "play", "travel", "go", "learn"])
_LEISURE = frozenset(
    ["eat", "drink", "watch", "see", "order", "play", "dance", "sing", "swim", "rest", "relax", "have", "listen", "go"]
)


_OVERHEARD = frozenset(["shout", "cry", "laugh", "sing", "dance", "play", "smoke", "wait", "run"])
_PLEASURES = frozenset(["play", "dance", "sing", "watch", "listen"])


def _modal(draw: Draw, aspects: str, *, denied: bool, timed: bool) -> Frame:
    modal = draw.pick(_modals(aspects))
    if modal in (_HOPE, _WOULD, _HAVE):
        denied = False
    dated = timed and modal not in (_WANT, _CAN, _SHOULD)
    return Frame(
        "present", "not" if denied else "", _time(draw, "distant" if "r" in aspects else "future", dated), None, modal
    )


def _time(draw: Draw, group: str, timed: bool) -> Bitext | None:  # noqa: FBT001 - a plain yes or no, used here only
    return draw.pick(times.times(group)).piece if timed else None


def at_its_hour(deed: str, time: Bitext | None) -> Bitext | None:
    """The time, if meals are had at it; for sleep, last night is the night itself rather than its evening."""
    if time is None:
        return None
    words = {word for word, _ in time.english}
    if words & _OTHER_HOURS.get(deed, frozenset()):
        raise DeadEnd
    return _NIGHT if deed == "sleep" and words == {"last", "night"} else time


_NIGHT = bitext("last/1 night/2", "la nuit/2 dernière/1")
_OTHER_HOURS = {
    "have breakfast": frozenset(["tonight", "night", "evening", "afternoon"]),
    "have lunch": frozenset(["tonight", "night", "evening", "morning"]),
    "have dinner": frozenset(["morning", "afternoon"]),
}


def circumstances(work: Derivation, verb: Verb, who: Referent, when: Frame) -> Pair:
    """With whom, where, when: what follows the objects."""
    draw = work.draw
    pair = _NOTHING
    if "w" in verb.aspects and draw.chance(0.2):
        pair = pair + cast.company(work, who)
    elif verb.places and not when.negation and when.adverb != times.ALREADY and draw.chance(0.25):
        pair = pair + work.place(draw.pick(times.places(verb.places)).piece)
    return pair + work.place(when.time) if when.time else pair


def _clause(work: Derivation, verb: Verb, who: Referent, when: Frame, **parts: Referent | None) -> Clause:
    return Clause(
        who,
        verb,
        when.tense,
        when.negation,
        predicate=circumstances(work, verb, who, when),
        adverb=when.adverb,
        modal=when.modal,
        direct=parts.get("direct"),
        indirect=parts.get("indirect"),
    )


def _asked(work: Derivation, clause: Clause) -> Pair:
    return cast.ended(work, say(replace(clause, question="yes-no"), work), "?")


def with_things(work: Derivation) -> Pair:
    """Somebody does something with a thing: Marie is buying a red dress."""
    verb = work.draw.pick(verbs.actions())
    who = cast.somebody(work.draw)
    when = frame(work, verb.aspects, who)
    if verb.english in _ONCE and when.tense == "perfect" and when.negation != "never":
        when = Frame("past")
    if (
        (verb.english == "wear" and is_plural(who))
        or when.modal is _CAN
        or (when.modal is _HAVE and verb.english in _LEISURE)
    ):
        raise DeadEnd
    item = cast.thing(work, verb, who, habit=when.habit)
    if when.negation == "never" and when.tense == "perfect" and verb.english not in _TRIED:
        when = Frame("past", "not")
    if (
        when.negation == "never"
        and when.tense == "perfect"
        and item.determiner == "the"
        and item.noun.kind != "instrument"
    ):
        item = replace(item, determiner="this" if item.noun.kind not in cast.MASS else "some")
    if when.negation in ("never", "not yet"):
        item = replace(item, adjectives=())
    if when.adverb == times.ALWAYS and item.determiner == "a":
        raise DeadEnd  # always eating one apple pie
    coming = when.tense in ("future", "going to")
    if when.negation or coming or item.determiner == "the":
        item = cast.plainly(item)  # the delicious soup has been praised before, or is not made yet
    item = cast.undressed(item, when.negation)
    _worn_at_once(verb, when, item)
    if item.noun.kind == "order" and coming:
        when = replace(when, time=None)
    if item.noun.kind == "meal":
        at_its_hour(f"have {item.noun.name}", when.time)
    if isinstance(who, Pronoun):
        cast.addressed(work, 0.06)
    return cast.ended(work, say(_clause(work, verb, who, when, direct=item), work), ".")


def _worn_at_once(verb: Verb, when: Frame, item: NounPhrase) -> None:
    """A dead end for wearing this jacket: what somebody has on is not what the speaker points at."""
    if verb.english == "wear" and when.tense == "progressive" and item.determiner == "this":
        raise DeadEnd


_TRIED = frozenset(
    ["eat", "drink", "see", "read", "visit", "play", "watch", "taste", "order", "rent", "sing", "build", "learn"]
)
# nobody says to have done these already, or not yet
_ONCE = frozenset(["forget", "lose", "break", "miss", "hide", "look", "wait", "stroke"])


def things_asked(work: Derivation) -> Pair:
    """Does somebody do something with a thing? Did you find your key?"""
    verb = work.draw.pick(verbs.actions())
    who = cast.somebody(work.draw, spoken_to=True, vague=False)
    when = _askable(work, verb, who)
    if verb.english in _ONCE and when.tense == "perfect":
        when = Frame("past")
    if verb.english == "wear" and is_plural(who):
        raise DeadEnd
    cast.addressed(work, 0.4 if who is YOU else 0.05)
    item = cast.plainly(cast.undressed(cast.thing(work, verb, who, habit=when.habit), "any"))
    _worn_at_once(verb, when, item)
    return _asked(work, _clause(work, verb, who, when, direct=item))


def _askable(work: Derivation, verb: Verb, who: Referent) -> Frame:
    draw = work.draw
    aspect = draw.pick(aspect_letters(verb.aspects))
    timed = draw.chance(0.4) and "n" not in verb.aspects
    match aspect:
        case "p":
            return Frame("progressive")
        case "c" if draw.chance(0.25) and "n" not in verb.aspects:
            return Frame("perfect", "", None, times.ALREADY)
        case "c":
            return Frame("past", "", _time(draw, "remote" if "r" in verb.aspects else "past", timed))
        case "h":
            return (
                Frame("present", "", _time(draw, "habit", timed=True))
                if timed
                else Frame("present", "", None, times.times("mid")[0].piece)
            )
        case "f":
            return Frame("going to", "", _time(draw, "distant" if "r" in verb.aspects else "future", timed))
        case _:
            modal = draw.pick((_WANT, _WOULD) if who is YOU else (_WANT,))
            return Frame("present", "", None, None, modal)


def deeds(work: Derivation) -> Pair:
    """Somebody does something without an object: the children are playing cards in the garden."""
    verb = work.draw.pick(verbs.deeds())
    who = cast.somebody(work.draw, someone=verb.english in _OVERHEARD)
    when = frame(work, verb.aspects, who)
    if (when.modal is _HAVE and verb.english in _LEISURE) or (when.modal is _SHOULD and verb.english in _PLEASURES):
        raise DeadEnd
    if when.tense == "perfect" and "n" in verb.aspects:
        when = Frame("past")
    if when.tense == "perfect" and when.negation == "never" and verb.english not in _VENTURES:
        when = Frame("past", "not")
    if when.tense == "perfect" and when.negation != "never" and verb.english not in _CHORES:
        when = Frame("past", when.negation and "not")
    when = replace(when, time=at_its_hour(verb.name, when.time))
    if isinstance(who, Pronoun):
        cast.addressed(work, 0.06)
    return cast.ended(work, say(_clause(work, verb, who, when), work), ".")


def deeds_asked(work: Derivation) -> Pair:
    """Does somebody do something without an object? Did you sleep at the hotel?"""
    verb = work.draw.pick(verbs.deeds())
    who = cast.somebody(work.draw, spoken_to=True, vague=False)
    when = _askable(work, verb, who)
    if when.tense == "perfect" and verb.english not in _CHORES:
        when = Frame("past")
    when = replace(when, time=at_its_hour(verb.name, when.time))
    cast.addressed(work, 0.4 if who is YOU else 0.05)
    return _asked(work, _clause(work, verb, who, when))


def to_people(work: Derivation) -> Pair:
    """Somebody does something to somebody: he hit me with a pie."""
    draw = work.draw
    verb = draw.pick(verbs.towards_people())
    who = cast.somebody(draw)
    when = _person_frame(work, verb, who)
    cast.addressed(work, 0.06 if isinstance(who, Pronoun) else 0)
    whom = _other(work, verb, who)
    return cast.ended(work, say(_clause(work, verb, who, when, direct=whom), work), ".")


def people_asked(work: Derivation) -> Pair:
    """Did you call the doctor?"""
    draw = work.draw
    verb = draw.pick(verbs.with_aspect(verbs.towards_people(), "c"))
    who = cast.somebody(draw, spoken_to=True, vague=False)
    if draw.chance(0.3) and "n" not in verb.aspects:
        when = Frame("perfect", "", None, times.ALREADY)
    else:
        when = Frame("past", "", _time(draw, "past", draw.chance(0.5) and "n" not in verb.aspects))
    cast.addressed(work, 0.4 if who is YOU else 0.05)
    whom = _other(work, verb, who)
    if whom in (I, WE) and verb.english not in _UNAWARE:
        raise DeadEnd
    return _asked(work, _clause(work, verb, who, when, direct=whom))


# what may have happened to me without my knowing, and so can be asked about
_UNAWARE = frozenset(["see", "hear", "recognise", "follow", "understand", "call", "phone", "look", "invite", "watch"])


def _person_frame(work: Derivation, verb: Verb, who: Referent) -> Frame:
    if verb.aspects != "s":
        when = frame(work, verb.aspects, who)
        sudden = "n" in verb.aspects and when.tense == "perfect" and when.negation != "never"
        return Frame("past") if sudden else when
    return Frame("present", "not" if work.draw.chance(0.3) and not isinstance(who, Fixed) else "")


def _other(work: Derivation, verb: Verb, who: Referent) -> Referent:
    """Somebody else than the one who acts; verbs with de, and those with animals only, take no pronoun."""
    draw = work.draw
    if verb.french_preposition != "de" and draw.chance(0.5):
        if cast.third_person(who):
            return draw.pick(_OTHERS.get(_pronoun(who), (I, I, WE, YOU, HE, SHE, THEY)))
        return draw.pick((HE, SHE, THEY, YOU) if who is I else (HE, SHE, THEY))
    item = draw.pick(cast.objects(verb))
    if isinstance(who, NounPhrase) and who.noun is item:
        raise DeadEnd
    if item.kind in ("kin", "parents"):
        owner = "my" if cast.nobody_in_particular(who) else possessive(who)
        if (item.kind == "kin" and item not in cast.relatives(owner)) or not cast.has(who, item):
            raise DeadEnd
        return NounPhrase(item, owner, plural=item.kind == "parents")
    if item.kind == "animal":
        return NounPhrase(item, "the", plural=draw.chance(0.3))
    adjectives = (draw.pick(young),) if (young := cast.fitting(item, "")) and draw.chance(0.25) else ()
    return NounPhrase(item, "the", adjectives=adjectives)


def giving(work: Derivation) -> Pair:
    """Somebody gives something to somebody: my aunt sent us a postcard."""
    draw = work.draw
    verb = draw.pick(verbs.gifts())
    who = cast.somebody(draw, vague=False)
    when = replace(frame(work, verb.aspects.replace("m", ""), who), adverb=None)
    item = cast.undressed(gift(work, verb, who), when.negation)
    if when.negation in ("not yet", "never"):
        when = replace(when, tense="past", negation="not")
    whom = receiver(draw, who, kin=verb.english != "sell")
    cast.addressed(work, 0.05 if isinstance(who, Pronoun) and isinstance(whom, Pronoun) else 0)
    clause = _clause(work, verb, who, when, direct=item, indirect=whom)
    if when.tense == "perfect":
        clause = replace(clause, tense="past")
    return cast.ended(work, say(clause, work), ".")


# he and him would be one man, or two: neither is said
_OTHERS = {"he": (I, I, WE, YOU, SHE, THEY), "she": (I, I, WE, YOU, HE, THEY), "they": (I, WE, YOU, HE, SHE)}


def _pronoun(who: Referent) -> str:
    return who.english if isinstance(who, Pronoun) else ""


_GIFTS = {
    "give": ("thing", "flower", "lent", "toy", "jewel", "luggage"),
    "show": ("thing", "lent", "clothes", "photo"),
    "send": ("writing", "parcel", "flower"),
    "lend": ("drivable", "lent", "thing", "luggage"),
    "sell": ("drivable", "furniture"),
    "bring": ("order", "flower", "lent"),
    "read": ("story",),
    "write": ("writing",),
    "return": ("lent", "drivable"),
}


def gift(work: Derivation, verb: Verb, who: Referent) -> NounPhrase:
    """What can be given, sent, shown."""
    draw = work.draw
    kind = draw.pick(_GIFTS[verb.english])
    named = {
        "lent": tuple(noun(name, "reading") for name in ("book", "newspaper", "magazine", "novel", "comic book")),
        "drivable": tuple(noun(name, "vehicle") for name in ("car", "bike", "motorbike", "van")),
        "jewel": (noun("ring", "thing"), noun("necklace", "thing"), noun("watch", "thing")),
        "photo": (noun("camera", "thing"), noun("map", "thing")),
        "story": (noun("story", "reading"), noun("poem", "reading"), noun("letter", "writing")),
    }
    item = draw.pick(named.get(kind) or nouns(kind))
    unowned = cast.nobody_in_particular(who) or kind in ("order", "parcel", "story")
    shared = is_plural(who) and kind == "clothes"  # two people have no belt together
    own = () if unowned or shared else (possessive(who),)
    options = {
        "show": ("the", "a", *own),
        "lend": ("a", *own),
        "sell": ("a", *own),
        "return": ("the",),
        "bring": ("a",),
        "write": ("a",),
    }.get(verb.english, ("a", "the"))
    if kind == "flower" and verb.english in ("bring", "give", "send"):
        return NounPhrase(noun("flower", "flower"), "some", plural=True)
    dressed = cast.dressed(work, item, draw.pick(options), doing=verb.english)
    return replace(dressed, adjectives=()) if kind == "animal" else dressed


def receiver(draw: Draw, who: Referent, *, kin: bool = True) -> Referent:
    """Who receives: not the one who gives."""
    if draw.chance(0.6):
        if cast.third_person(who):
            return draw.pick(_OTHERS.get(_pronoun(who), (I, I, WE, YOU, HE, SHE, THEY)))
        return draw.pick((HE, SHE, THEY))
    if not kin or (draw.chance(0.5) and isinstance(who, Pronoun)):
        return draw.pick(people.names())
    return cast.kin(draw, possessive(who), who)


def moving(work: Derivation) -> Pair:
    """Somebody goes somewhere: we are going to Japan next year."""
    draw = work.draw
    verb = draw.pick(verbs.moves())
    who = cast.somebody(draw)
    far = draw.chance(0.5)
    when = frame(work, verb.aspects.replace("h", "") if far else verb.aspects.replace("r", ""), who)
    if when.negation == "never" and (verb.english != "go" or when.tense == "perfect"):
        when = Frame("past", "not")  # one has never been there: TRAVEL says so
    if verb.english == "arrive" and when.negation:
        when = replace(when, negation="", tense="past" if when.tense == "perfect" else when.tense)
    if when.adverb is not None and when.tense == "perfect":
        when = Frame("past", "", _time(draw, "remote" if far else "past", timed=True))
    if verb.english in ("arrive", "come", "return") and when.tense in ("future", "going to") and not when.time:
        raise DeadEnd
    where = goal(work, verb, far=far)
    pair = where + (work.place(when.time) if when.time else _NOTHING)
    cast.addressed(work, 0.06 if isinstance(who, Pronoun) else 0)
    clause = Clause(who, verb, when.tense, when.negation, predicate=pair, adverb=when.adverb, modal=when.modal)
    return cast.ended(work, say(clause, work), ".")


def goal(work: Derivation, verb: Verb, *, far: bool) -> Pair:
    """Where one goes, arrives, or comes back from: a town or country, or a place in town."""
    draw = work.draw
    back = verb.english in ("come", "return")
    if far:
        spot = draw.pick(people.towns() if verb.english == "arrive" or draw.chance(0.5) else people.countries())
        work.combine(verb.name, spot.name)
        return work.place(spot.from_there if back else spot.inside if verb.english == "arrive" else spot.towards)
    place = draw.pick(_origins() if back else _goals(verb.english))
    work.combine(verb.name, place.name)
    named = naming(NounPhrase(place, "generic" if place.name == "school" else "the"), work)
    if back:
        return work.fill("from/1 {place}", "de/1 {place}", place=named)
    return work.fill(f"{'at' if verb.english == 'arrive' else 'to'}/1 {{place}}", "à/1 {place}", place=named)


@cache
def _goals(verb: str) -> tuple[Noun, ...]:
    if verb == "arrive":
        named = (
            "station",
            "hotel",
            "airport",
            "hospital",
            "school",
            "restaurant",
            "beach",
            "theatre",
            "stadium",
            "castle",
        )
        return tuple(noun(name, "place") for name in named)
    return tuple(entry for entry in nouns("place") if entry.name not in ("bridge", "harbour", "embassy"))


@cache
def _origins() -> tuple[Noun, ...]:
    return tuple(noun(name, "place") for name in ("market", "school", "hospital", "beach", "museum", "airport"))
