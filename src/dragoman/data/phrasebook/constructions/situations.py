"""Sentences of everyday situations: templates whose slots are filled, and sayings that stand as they are."""

# ruff: noqa: E501 - tables of words read best with one group to a line

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from dragoman.data.phrasebook.constructions import cast
from dragoman.data.phrasebook.draw import DeadEnd
from dragoman.data.phrasebook.lexicon import people, sayings, situations, times
from dragoman.data.phrasebook.lexicon.nouns import noun, nouns
from dragoman.data.phrasebook.lexicon.times import read_adverbials
from dragoman.data.phrasebook.referents import NounPhrase, is_feminine, naming
from dragoman.data.phrasebook.words import Bitext, Pair, bitext

if TYPE_CHECKING:
    from dragoman.data.phrasebook.derivation import Derivation
    from dragoman.data.phrasebook.draw import Draw
    from dragoman.data.phrasebook.entries import Noun
    from dragoman.data.phrasebook.lexicon.times import Adverbial


@dataclass(frozen=True, slots=True)
class Template:
    """A sentence with slots."""

    english: str
    french: str
    slots: tuple[str, ...]
    cues: tuple[str, ...]


_PARTS = {
    "place.open": "bank chemist's museum post_office library swimming_pool bakery supermarket market zoo theatre castle bookshop butcher's",
    "place.corner": "church bank museum cinema bakery library bridge school theatre chemist's supermarket",
    "place.urgent": "hospital police_station airport station embassy chemist's",
    "dishes.table": "plate glass knife fork spoon napkin bowl cup",
    "dish.savoury": "pizza salad soup stew",
    "machine.room": "television fridge coffee_machine",
    "event.dated": "appointment meeting",
    "thing.priced": "phone umbrella watch camera ring torch necklace penknife",
    "fruit.counted": "apple pear orange banana peach melon",
    "food.in": "meat cheese fish ham butter chicken",
}
_CHOICES = {
    "near": """near/1=près/1 de; next/1 to/1=à/1 côté/1 de/1; opposite/1=en/1 face/1 de/1; behind/1=derrière/1""",
    "side": "left=gauche; right=droite",
    "colour": "blue=bleu; red=rouge; green=vert; black=noir; white=blanc; grey=gris; yellow=jaune; brown=marron",
    "season": "summer=été; winter=hiver; autumn=automne",
    "weather": """raining=pleut; snowing=neige; cold=fait froid; hot=fait chaud; sunny=y a du soleil; windy=y a du vent;
        foggy=y a du brouillard; very/1 cold/2=fait/2 très/1 froid/2; very/1 hot/2=fait/2 très/1 chaud/2""",
    "weatherwas": """was/1 cold/2=faisait/1 froid/2; was/1 hot/2=faisait/1 chaud/2; was/1 windy/2=y/1 avait/1 du/2 vent/2;
        was/1 foggy/2=y/1 avait/1 du/2 brouillard/2; was/1 very/2 cold/3=faisait/1 très/2 froid/3;
        was/1 very/2 hot/3=faisait/1 très/2 chaud/3""",
    "weatherwill": """will/1 be/1 cold/2=fera/1 froid/2; will/1 be/1 hot/2=fera/1 chaud/2; will/1 be/1 sunny/2=y/1 aura/1 du/2 soleil/2;
        will/1 be/1 windy/2=y/1 aura/1 du/2 vent/2; will/1 be/1 foggy/2=y/1 aura/1 du/2 brouillard/2""",
    "falls": "rain=pleuvoir; snow=neiger; be/1 cold/2=faire/1 froid/2; be/1 hot/2=faire/1 chaud/2; be/1 windy/2=y/1 avoir/1 du/2 vent/2",
    "missing": "soap=savon; shampoo=shampooing; towel=serviette; hot/1 water/2=eau/2 chaude/1; heating=chauffage; toilet/1 paper/2=papier/2 toilette/1",
    "extra": "another/1 pillow/2=un/1 autre/1 oreiller/2; another/1 towel/2=une/1 autre/1 serviette/2; another/1 blanket/2=une/1 autre/1 couverture/2",
    "vehicle": "train=train; car=voiture; plane=avion; bus=bus; coach=car",
    "pastday": "yesterday=hier; this/1 morning/2=ce/1 matin/2; last/1 Sunday/2=dimanche/2 dernier/1; last/1 Saturday/2=samedi/2 dernier/1",
    "futureday": "tomorrow=demain; this/1 weekend/2=ce/1 week-end/2; on Monday/1=lundi/1; on Sunday/1=dimanche/1; tomorrow/1 morning/2=demain/1 matin/2",
    "evening": "tonight=ce soir; tomorrow/1 evening/2=demain/1 soir/2; on/1 Saturday/2 evening/3=samedi/2 soir/3; on Friday/1=vendredi/1; tomorrow=demain",
    "anyday": "tomorrow=demain; on Monday/1=lundi/1; on Wednesday/1=mercredi/1; on Friday/1=vendredi/1; next/1 Saturday/2=samedi/2 prochain/1",
    "leave": "tomorrow=demain; next/1 week/2=la semaine/2 prochaine/1; next/1 month/2=le mois/2 prochain/1; next/1 summer/2=l' été/2 prochain/1; on Saturday/1=samedi/1; in/1 three/2 days/3=dans/1 trois/2 jours/3",
    "pastnight": "last/1 night/2=hier/1 soir/2; last/1 Saturday/2=samedi/2 dernier/1",
    "days": "Mondays=lundi; Sundays=dimanche; Tuesdays=mardi; Saturdays=samedi",
}
_FEMININE_ORDINALS = {"premier": "première"}
_STOLEN = ("wallet", "passport", "credit card", "identity card")


@cache
def templates(table: str) -> tuple[Template, ...]:
    """The templates of a table."""
    found = []
    for line in table.strip().splitlines():
        english, _, french = line.partition("|")
        slots = tuple(
            dict.fromkeys(word[1:-1] for side in (english, french) for word in side.split() if word.startswith("{"))
        )
        fixed = [word.partition("/")[0] for word in english.split() if not word.startswith("{")]
        found.append(Template(english, french, slots, (max(fixed, key=len).lower(),)))
    return tuple(found)


def _said(work: Derivation, table: str) -> Pair:
    template = work.draw.pick(templates(table))
    filled: dict[str, Pair] = {}
    chosen: dict[str, object] = {}
    for slot in template.slots:
        filled[slot] = _filler(work, slot, chosen)
    return work.fill(template.english, template.french, **filled)


def _filler(work: Derivation, slot: str, chosen: dict[str, object]) -> Pair:
    """What stands in a slot; `chosen` keeps what later slots must differ from or agree with."""
    draw = work.draw
    kind, _, rest = slot.partition(":")
    if rest and kind not in ("n", "ordinal"):
        return _thing(work, kind.partition("#")[0], rest, chosen)
    if slot in _CHOICES:
        return work.place(draw.pick(choices(slot)).piece)
    match kind:
        case "n":
            first, last = rest.split("-")
            return work.place(draw.pick(times.numerals(int(first), int(last))).piece())
        case "ordinal":
            return work.place(_ordinal(draw, rest))
        case "town" | "town_in" | "town_to" | "town2_in" | "country_in" | "country_to":
            return _spot(work, kind, chosen)
        case "mykin":
            relation = NounPhrase(draw.pick(cast.relatives("my")), "my")
            chosen["kin"] = relation
            return naming(relation, work)
        case "his":
            relation_ = chosen["kin"]
            assert isinstance(relation_, NounPhrase)
            return Pair([("her" if is_feminine(relation_) else "his", 0)], [])
        case "mine" | "stolen":
            options = (
                *(noun(name, "belonging") for name in _STOLEN),
                *nouns("luggage"),
                noun("phone", "thing"),
                noun("camera", "thing"),
            )
            item = draw.pick(options)
            if kind == "mine":
                return naming(NounPhrase(item, "my"), work)
            own = naming(NounPhrase(item, "my"), work)
            return Pair(own.english[1:], own.french)
        case _:
            return work.place(_when(draw, kind))


_HOURS = {"clock": (1, 12), "clockam": (6, 9), "clockopen": (8, 10), "clockpm": (7, 10), "clockbed": (9, 11)}


def _when(draw: Draw, kind: str) -> Bitext:
    if kind in _HOURS:
        return draw.pick(times.clock(*_HOURS[kind])).piece
    match kind:
        case "day":
            return draw.pick(times.days()).piece
        case "month":
            return draw.pick(times.months()).piece
        case "date":
            return draw.pick(dates()).piece
        case "future" | "past":
            return draw.pick(times.times(kind)).piece
        case "name":
            name = draw.pick(people.names()).english
            return bitext(name, name)
        case "transport":
            return draw.pick(_intercity()).singular
        case _:
            raise AssertionError(kind)


@cache
def _intercity() -> tuple[Noun, ...]:
    return tuple(noun(name, "transport") for name in ("train", "coach", "plane", "bus"))


@cache
def _near_towns() -> tuple[people.Spot, ...]:
    return tuple(spot for spot in people.towns() if spot.name not in ("New York", "Montreal"))


@cache
def choices(slot: str) -> tuple[Adverbial, ...]:
    """The fixed pieces that may stand in a slot."""
    return read_adverbials(_CHOICES[slot])


@cache
def dates() -> tuple[Adverbial, ...]:
    """The days of the year: 3 March, 3 mars; the first is 1er in French."""
    lengths = {"February": 28, "April": 30, "June": 30, "September": 30, "November": 30}
    found = []
    for month in times.months():
        english, french = month.piece.english[0][0], month.piece.french[0][0]
        for day in range(1, lengths.get(english, 31) + 1):
            ordinal = "1er" if day == 1 else str(day)
            found.append(
                times.Adverbial(
                    bitext(f"{day}/1 {english}/2", f"{ordinal}/1 {french}/2"), (f"{day} {english}".lower(),)
                )
            )
    return tuple(found)


def _ordinal(draw: Draw, gender: str) -> Bitext:
    piece = draw.pick(times.ordinals()).piece
    french = piece.french[0][0]
    return bitext(piece.english[0][0], _FEMININE_ORDINALS.get(french, french) if gender == "f" else french)


def _spot(work: Derivation, kind: str, chosen: dict[str, object]) -> Pair:
    where, _, how = kind.partition("_")
    spot = work.draw.pick(people.countries() if where == "country" else _near_towns())
    if chosen.get("spot") is spot:
        raise DeadEnd
    chosen["spot"] = spot
    match how:
        case "in":
            return work.place(spot.inside)
        case "to":
            return work.place(spot.towards)
        case _:
            return work.place(spot.bare)


@cache
def kind_nouns(kind: str) -> tuple[Noun, ...]:
    """The nouns of a kind, or of the part of a kind that a situation asks for."""
    whole, _, part = kind.partition(".")
    named = frozenset(name.replace("_", " ") for name in _PARTS[kind].split()) if part else frozenset()
    return tuple(entry for entry in nouns(whole) if not part or entry.name in named)


def _thing(work: Derivation, determiner: str, kind: str, chosen: dict[str, object]) -> Pair:
    item = work.draw.pick(kind_nouns(kind))
    if chosen.get(kind) is item:
        raise DeadEnd
    chosen[kind] = item
    mass = item.kind in cast.MASS
    match determiner:
        case "a" | "an":
            phrase = NounPhrase(item, "a")
        case "some" | "any" | "bare":
            phrase = NounPhrase(item, "bare" if determiner == "bare" else "some", plural=not mass)
        case "this1":
            phrase = NounPhrase(item, "this")
        case "these":
            phrase = NounPhrase(item, "this", plural=True)
        case "many":
            phrase = NounPhrase(item, "none", plural=True)
        case "themany":
            phrase = NounPhrase(item, "the", plural=True)
        case _:
            phrase = NounPhrase(item, "the")
    asked = determiner == "some" and kind == "food.in"
    return naming(phrase, work, negated=determiner == "any", questioned=asked)


def greetings(work: Derivation) -> Pair:
    """What is said as it stands: thank you very much."""
    return _said(work, sayings.GREETINGS)


def named_greetings(work: Derivation) -> Pair:
    """A greeting with a name: good morning, Marie; a title takes vous."""
    address = work.draw.pick(people.addresses())
    assert address.vocative is not None
    english, french = work.draw.pick(_FAMILIAR if address.familiar else _FORMAL)
    work.address = replace(address)
    return cast.ended(work, work.place(bitext(english, french)), work.draw.pick(_ends(english)))


def _ends(english: str) -> str:
    return (
        "?"
        if english.startswith(("how", "where", "what", "do"))
        else "!"
        if english.startswith(("good", "hello", "hi", "see"))
        else "."
    )


_SHARED = (
    ("hello/1", "bonjour/1"),
    ("good/1 evening/1", "bonsoir/1"),
    ("goodbye/1", "au/1 revoir/1"),
    ("good/1 night/2", "bonne/1 nuit/2"),
    ("see/1 you/1 tomorrow/2", "à/1 demain/2"),
    ("see/1 you/1 soon/2", "à/1 bientôt/2"),
    ("thank/1 you/1", "merci/1"),
    ("thank/1 you/1 very/2 much/2", "merci/1 beaucoup/2"),
    ("of/1 course/1", "bien/1 sûr/1"),
    ("yes/1", "oui/1"),
    ("no/1", "non/1"),
)
_FORMAL = (
    *_SHARED,
    ("excuse/1 me/2", "excusez/1 -moi/2"),
    ("how/1 are/2 you/3", "comment/1 allez/2 -vous/3"),
    ("what/1 is/1 your/2 name/2", "comment/1 vous/2 appelez/2 -vous/2"),
    ("where/1 do you/2 live/3", "où/1 habitez/3 -vous/2"),
)
_FAMILIAR = (
    *_SHARED,
    ("hi/1", "salut/1"),
    ("excuse/1 me/2", "excuse/1 -moi/2"),
    ("how/1 are/2 you/3", "comment/1 vas/2 -tu/3"),
    ("where/1 are/2 you/3", "où/1 es/2 -tu/3"),
    ("what/1 are/2 you/3 doing/2", "que/1 fais/2 -tu/3"),
)


def restaurant(work: Derivation) -> Pair:
    """At the restaurant: I'd like a coffee, please."""
    return _said(work, situations.RESTAURANT)


def shopping(work: Derivation) -> Pair:
    """In shops: how much does this dress cost?"""
    return _said(work, situations.SHOPPING)


def directions(work: Derivation) -> Pair:
    """The way: turn left at the church."""
    return _said(work, situations.DIRECTIONS)


def travel(work: Derivation) -> Pair:
    """Trains, planes and tickets: a ticket to Lyon, please."""
    return _said(work, situations.TRAVEL)


def hotel(work: Derivation) -> Pair:
    """At the hotel: do you have a double room for tonight?"""
    return _said(work, situations.HOTEL)


def emergency(work: Derivation) -> Pair:
    """When something goes wrong: someone stole my wallet."""
    return _said(work, situations.EMERGENCY)


def clock(work: Derivation) -> Pair:
    """Hours, days and dates: it's half past three."""
    return _said(work, situations.TIME)


def weather(work: Derivation) -> Pair:
    """The weather: it's raining in Paris."""
    return _said(work, situations.WEATHER)
