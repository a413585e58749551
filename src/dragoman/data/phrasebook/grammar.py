"""The grammar: its constructions by name, how often each is drawn, and the phrase that one derivation gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dragoman.data.phrasebook import english_sounds, french_sounds
from dragoman.data.phrasebook.constructions import actions, asking, being, having, linked, orders, situations, things
from dragoman.data.phrasebook.derivation import Derivation
from dragoman.data.phrasebook.words import Pair, Token, joined, links

if TYPE_CHECKING:
    from collections.abc import Callable

    from dragoman.data.phrasebook.draw import Draw


@dataclass(frozen=True, slots=True)
class Phrase:
    """A sentence in both languages, with its gold alignment: positions in `words(english)` and `words(french)`."""

    english: str
    french: str
    alignment: tuple[tuple[int, int], ...]
    pattern: str
    """The name of the construction."""


@dataclass(frozen=True, slots=True)
class Construction:
    """One way to build sentences, with its share among all."""

    name: str
    share: int
    build: Callable[[Derivation], Pair]


CONSTRUCTIONS = (
    Construction("action", 18, actions.with_things),
    Construction("action-question", 8, actions.things_asked),
    Construction("deed", 7, actions.deeds),
    Construction("deed-question", 3, actions.deeds_asked),
    Construction("person", 8, actions.to_people),
    Construction("person-question", 2, actions.people_asked),
    Construction("gift", 6, actions.giving),
    Construction("motion", 5, actions.moving),
    Construction("state", 4, being.states),
    Construction("state-question", 3, being.states_asked),
    Construction("trait", 2, being.traits),
    Construction("feeling", 2, being.feelings),
    Construction("feeling-question", 1, being.feelings_asked),
    Construction("fear", 1, being.fears),
    Construction("age", 1, being.ages),
    Construction("profession", 3, being.professions),
    Construction("home", 2, being.origins),
    Construction("location", 5, things.locations),
    Construction("existence", 5, things.existence),
    Construction("description", 5, things.descriptions),
    Construction("comparison", 3, things.comparisons),
    Construction("having", 4, having.having),
    Construction("having-question", 2, having.having_asked),
    Construction("liking", 3, having.likes),
    Construction("liking-question", 2, having.likes_asked),
    Construction("need", 2, having.needs),
    Construction("introduction", 3, having.introductions),
    Construction("companion", 1, having.companions),
    Construction("pain", 1, having.pains),
    Construction("order", 4, orders.orders),
    Construction("proposal", 2, orders.proposals),
    Construction("where-question", 4, asking.asking_where),
    Construction("what-question", 4, asking.asking_what),
    Construction("who-question", 3, asking.asking_who),
    Construction("nobody", 3, asking.nobody),
    Construction("answer", 6, linked.answered),
    Construction("relative", 4, linked.relatives),
    Construction("meanwhile", 4, linked.meanwhile),
    Construction("childhood", 2, linked.childhood),
    Construction("condition", 2, linked.conditions),
    Construction("reason", 3, linked.reasons),
    Construction("opinion", 3, linked.opinions),
    Construction("plan", 4, linked.plans),
    Construction("greeting", 1, situations.greetings),
    Construction("named-greeting", 1, situations.named_greetings),
    Construction("restaurant", 4, situations.restaurant),
    Construction("shopping", 4, situations.shopping),
    Construction("directions", 3, situations.directions),
    Construction("travel", 4, situations.travel),
    Construction("hotel", 2, situations.hotel),
    Construction("emergency", 2, situations.emergency),
    Construction("time", 3, situations.clock),
    Construction("weather", 3, situations.weather),
)


@dataclass(frozen=True, slots=True)
class Derived:
    """A phrase with the content words that were combined in it."""

    phrase: Phrase
    combinations: tuple[tuple[str, str], ...]


def derive(construction: Construction, draw: Draw) -> Derived:
    """The phrase that these choices give."""
    work = Derivation(draw)
    english, french = sides(construction, work)
    phrase = Phrase(joined(english), joined(_spaced(french)), links(english, french), construction.name)
    return Derived(phrase, tuple(work.combinations))


def sides(construction: Construction, work: Derivation) -> Pair:
    """Both sides as they are written, word by word, each with its marks."""
    pair = construction.build(work)
    return Pair(english_sounds.sound(pair.english), french_sounds.sound(pair.french))


def _spaced(french: list[Token]) -> list[Token]:
    return [(" " + word if word in "?!" else word, marks) for word, marks in french]
