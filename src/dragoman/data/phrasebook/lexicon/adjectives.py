"""Adjectives: the side they take in French, and the kinds of nouns they suit."""

# ruff: noqa: E501 - tables of words read best with one group to a line

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from dragoman.data.phrasebook.entries import read_adjectives

if TYPE_CHECKING:
    from dragoman.data.phrasebook.entries import Adjective, Noun

_BEFORE = """
big=grand: animal.size furniture vehicle building lodging luggage place.size village toy opening room;
small=petit: animal.size furniture vehicle building lodging luggage place.size village dishes toy opening room;
new=nouveau: luggage thing machine furniture vehicle clothes pairs toy place.new;
old=vieux: luggage thing machine furniture vehicle clothes pairs building.aged lodging village place.size animal toy;
beautiful=beau: flower clothes lodging village place.sight animal vehicle.fine music thing.fine building.fine;
good=bon: reading show snack dish food meal idea place.eat fruit drink.good;
bad=mauvais: show idea meal reading;
young=jeune: person.young;
long=long: event.long reading.long writing.letter show;
pretty=joli: flower clothes lodging village thing.fine dishes.pretty music
"""
_AFTER = """
red=rouge: clothes vehicle pairs flower.cut thing.colour luggage furniture.colour;
blue=bleu: clothes vehicle pairs thing.colour luggage furniture.colour;
green=vert: clothes vehicle pairs thing.colour luggage furniture.colour;
white=blanc: clothes vehicle pairs furniture.colour flower.cut animal.colour;
black=noir: clothes vehicle pairs thing.colour luggage animal.colour furniture.colour;
yellow=jaune: clothes vehicle flower.cut thing.colour luggage;
grey=gris: clothes vehicle pairs animal.colour furniture.colour;
brown=marron: clothes pairs furniture.colour;
expensive=cher: clothes furniture vehicle machine pairs place.eat thing.fine lodging;
interesting=intéressant: reading show event.talk idea place.visit task.job;
boring=ennuyeux: reading show event.talk;
exciting=passionnant: reading.tale show;
sad=triste: reading.tale show.tale music;
delicious=délicieux: snack dish meal food fruit;
fresh=frais: fruit.fresh vegetable.fresh food.fresh;
hot=chaud: drink.hot dish.hot;
cold=froid: drink.cold dish.cold;
comfortable=confortable: furniture.soft pairs.shoe lodging room vehicle.car;
heavy=lourd: luggage furniture parcel;
empty=vide: dishes.container opening.box;
clean=propre: clothes dishes pairs room;
dirty=sale: clothes dishes pairs vehicle;
difficult=difficile: task idea.choice;
easy=facile: task idea.choice;
important=important: event.formal writing.letter task.problem idea.choice;
modern=moderne: furniture machine place.new lodging;
elegant=élégant: clothes pairs;
useful=utile: thing.tool machine;
broken=cassé: dishes machine toy furniture opening.window;
quiet=calme: place.quiet village room lodging;
spicy=épicé: dish.cooked;
ripe=mûr: fruit vegetable.tomato;
electric=électrique: vehicle;
Italian=italien: place.eat clothes show.tale furniture vehicle.car;
French=français: place.eat reading show.tale music;
Japanese=japonais: place.eat show.tale vehicle.car
"""
# a kind with a dot is a part of a kind
_PARTS = {
    "show.tale": "film documentary cartoon",
    "event.formal": "meeting conference visit",
    "reading.tale": "book novel story poem",
    "flower.cut": "flower rose tulip",
    "place.new": "hotel cinema library stadium hospital school airport theatre supermarket",
    "thing.fine": "ring watch necklace present pen",
    "thing.colour": "umbrella pen notebook pencil",
    "thing.tool": "map umbrella torch notebook phone",
    "furniture.colour": "chair sofa armchair carpet lamp table",
    "furniture.soft": "sofa armchair chair bed mattress",
    "vehicle.car": "car van",
    "vehicle.fine": "car bike motorbike",
    "pairs.shoe": "shoe boot sandal",
    "place.size": "hotel museum church cinema market library park swimming_pool bakery castle theatre bookshop bridge stadium hospital school airport",
    "place.sight": "castle church park bridge cathedral beach museum garden harbour",
    "place.eat": "restaurant hotel café",
    "place.visit": "museum castle cathedral church",
    "place.quiet": "hotel park beach café restaurant library",
    "building.aged": "house flat garage kitchen bathroom",
    "building.fine": "house garden kitchen flat",
    "person.young": "man woman girl boy lady actress actor waiter waitress",
    "animal.size": "dog cat rabbit bird horse tortoise parrot",
    "animal.colour": "dog cat rabbit horse pony",
    "reading.long": "novel article poem story book",
    "event.talk": "meeting conference visit trip",
    "event.long": "meeting trip conference visit",
    "idea.choice": "choice decision answer",
    "task.job": "job question lesson exercise problem",
    "task.problem": "exam question problem job",
    "writing.letter": "letter message email",
    "drink.good": "wine coffee tea beer cider",
    "drink.hot": "tea coffee milk",
    "drink.cold": "tea coffee milk water beer lemonade",
    "dish.hot": "soup stew",
    "dish.cold": "soup pizza",
    "dish.cooked": "soup stew pizza",
    "dishes.pretty": "plate cup bowl glass",
    "dishes.container": "plate glass cup bowl bottle saucepan",
    "opening.box": "box drawer envelope",
    "opening.window": "window door",
    "food.fresh": "bread fish butter meat",
    "fruit.fresh": "strawberry cherry peach plum apricot",
    "vegetable.fresh": "tomato carrot cucumber mushroom",
    "vegetable.tomato": "tomato",
}


@cache
def adjectives() -> tuple[Adjective, ...]:
    """Every adjective that stands beside nouns."""
    return (
        *read_adjectives("before", _BEFORE.strip()),
        *read_adjectives("after", _AFTER.strip()),
    )


@cache
def suiting(noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives that suit a noun."""
    return tuple(entry for entry in adjectives() if any(_holds(kind, noun) for kind in entry.kinds))


def _holds(kind: str, noun: Noun) -> bool:
    if "." not in kind:
        return kind == noun.kind
    return kind.startswith(noun.kind + ".") and noun.name.replace(" ", "_") in _PARTS[kind].split()


# how people are: predicates of somebody
_STATES = """tired=fatigué; happy=content; sad=triste; ill=malade; ready=prêt; busy=occupé; married=marié; worried=inquiet;
    surprised=surpris; disappointed=déçu; alone=seul; nervous=nerveux; furious=furieux; jealous=jaloux;
    free=libre; injured=blessé; lost=perdu; relaxed=détendu"""
_TRAITS = """kind=gentil; intelligent=intelligent; funny=drôle; patient=patient; shy=timide; generous=généreux; honest=honnête;
    polite=poli; brave=courageux; ambitious=ambitieux; discreet=discret; curious=curieux; serious=sérieux; nice=sympathique;
    hard-working=travailleur; lazy=paresseux; strong=fort; tall=grand; slim=mince; friendly=aimable"""


@cache
def states() -> tuple[Adjective, ...]:
    """How people feel today."""
    return tuple(read_adjectives("after", _STATES))


@cache
def traits() -> tuple[Adjective, ...]:
    """What people are like."""
    return tuple(read_adjectives("after", _TRAITS))
