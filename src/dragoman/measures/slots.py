"""Slots of dialogue acts: does what is said hold each value of the act, and none that belongs to another act?

An act is what data-to-text models read: `inform ( name = red door cafe ; near = nob hill or chinatown )`. A value is
said where its words stand in the text, in their order; `or` and `and` part values of which each is to be said. Values
that are not told word by word (yes, no, none, dont_care, true, false) and slots without a value are not counted.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

from dragoman.errors import DataError
from dragoman.measures.metrics import Measurement

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

_ACT = re.compile(r"\s*\S+?\s*\((.*)\)\s*", re.DOTALL)
_PARTED = re.compile(r"\s+(?:or|and)\s+")
_UNSAID = frozenset({"", "yes", "no", "none", "dont_care", "dontcare", "true", "false"})


@dataclass(frozen=True, slots=True)
class SlotErrors:
    """What a text says of an act: how many values were to be said, which are lost, and which are made up."""

    wanted: int
    lost: tuple[str, ...]
    made_up: tuple[str, ...]


def values_of(act: str) -> tuple[str, ...]:
    """The values that an act asks to be said, as words between spaces."""
    found = _ACT.fullmatch(act)
    if found is None:
        raise DataError(
            f"{act!r} is not a dialogue act",
            place="acts",
            remedy="Give acts such as `inform ( name = red door cafe ; food = thai )`.",
        )
    slots = (slot.partition("=") for slot in found[1].split(";"))
    values = (" ".join(each.split()) for _, _, value in slots for each in _PARTED.split(value.strip(" '\"")))
    return tuple(value for value in values if value not in _UNSAID)


def lexicon(acts: Iterable[str], texts: Iterable[str]) -> frozenset[str]:
    """The values of the acts by which made-up ones are known: those that texts say mostly where an act asks for them.

    A value that people also say unasked, as they say `restaurant` of every restaurant, tells nothing.
    """
    pairs = [(frozenset(values_of(act)), text) for act, text in zip(acts, texts, strict=True)]
    known = frozenset(value for values, _ in pairs for value in values)
    asked, unasked = Counter[str](), Counter[str]()
    for values, text in pairs:
        for value in _said(text, known | values, before=values):
            (asked if value in values else unasked)[value] += 1
    return frozenset(value for value in known if asked[value] > unasked[value])


def slot_errors(act: str, text: str, known: AbstractSet[str]) -> SlotErrors:
    """The slots that a text loses, and those that it makes up: values that are known, but not of its act."""
    values = values_of(act)
    said = _said(text, known | set(values), before=frozenset(values))
    lost = tuple(value for value in values if value not in said)
    return SlotErrors(len(values), lost, tuple(value for value in said if value not in values))


def slot_error_rate(acts: Sequence[str], texts: Sequence[str], known: AbstractSet[str]) -> Measurement:
    """Slots lost and made up, against all slots of the acts, in percent."""
    if len(acts) != len(texts):
        raise DataError(
            f"{len(acts)} acts and {len(texts)} texts", place="acts", remedy="Give one text for each act, in order."
        )
    found = [slot_errors(act, text, known) for act, text in zip(acts, texts, strict=True)]
    wanted = sum(each.wanted for each in found)
    if not wanted:
        raise DataError("no act has a slot to be said", place="acts", remedy="Give the acts that the texts are for.")
    lost, made_up = sum(len(each.lost) for each in found), sum(len(each.made_up) for each in found)
    return Measurement(
        name="slot_error_rate",
        value=100 * (lost + made_up) / wanted,
        signature=f"unit:slot|known:{len(known)}|dragoman:{version('dragoman')}",
        higher_is_better=False,
        count=len(texts),
        detail=f"{lost} lost and {made_up} made up, of {wanted}",
    )


def _said(text: str, known: AbstractSet[str], *, before: AbstractSet[str]) -> list[str]:
    """The values that stand in a text, each on words of its own: long ones first, of one length those in `before`."""
    rest = f" {' '.join(text.split())} "
    found = []
    for value in sorted(known, key=lambda value: (-len(value.split()), value not in before, value)):
        place = f" {value} "
        if place in rest:
            found.append(value)
            rest = rest.replace(place, " | ")
            rest = rest.replace(place, " | ")  # where one ends, the next may begin
    return found
