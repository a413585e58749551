"""English verbs: their forms, from rules and a table of the irregular ones.

Persons are counted 0 to 2: I; you, we, they; he, she, it.
"""

# ruff: noqa: E501 - tables of words read best with one group to a line

from __future__ import annotations

from functools import cache
from typing import NamedTuple

_IRREGULAR = """
be was been, beat beat beaten, become became become, begin began begun, bite bit bitten, break broke broken,
bring brought brought, build built built, buy bought bought, catch caught caught, choose chose chosen,
come came come, cost cost cost, cut cut cut, do did done, draw drew drawn, drink drank drunk, drive drove driven,
eat ate eaten, fall fell fallen, feed fed fed, feel felt felt, find found found, fly flew flown,
forget forgot forgotten, forgive forgave forgiven, shake shook shaken, get got got, give gave given, go went gone, grow grew grown, have had had, hear heard heard,
hide hid hidden, hit hit hit, hold held held, hurt hurt hurt, keep kept kept, know knew known, leave left left,
lend lent lent, lose lost lost, make made made, meet met met, pay paid paid, put put put, read read read,
ride rode ridden, run ran run, say said said, see saw seen, sell sold sold, send sent sent, show showed shown,
sing sang sung, sit sat sat, sleep slept slept, speak spoke spoken, spend spent spent, stand stood stood,
steal stole stolen, swim swam swum, take took taken, teach taught taught, tell told told, think thought thought,
throw threw thrown, understand understood understood, wake woke woken, wear wore worn, win won won, write wrote written
"""
_DOUBLED = frozenset(
    [
        "begin",
        "cancel",
        "chat",
        "cut",
        "drop",
        "forget",
        "get",
        "hit",
        "jog",
        "plan",
        "put",
        "run",
        "shop",
        "sit",
        "stop",
        "swim",
        "travel",
        "win",
        "hug",
    ]
)
_VOWELS = "aeiou"
BE_PRESENT = ("am", "are", "is")
BE_PAST = ("was", "were", "was")


class EnglishForms(NamedTuple):
    """The forms of an English verb."""

    base: str
    third: str
    past: str
    participle: str
    ing: str


@cache
def _irregular() -> dict[str, tuple[str, str]]:
    rows = (row.split() for row in _IRREGULAR.split(","))
    return {base: (past, participle) for base, past, participle in rows}


@cache
def english_forms(base: str) -> EnglishForms:
    """The forms of the verb."""
    past, participle = _irregular().get(base) or (_with_ed(base), _with_ed(base))
    return EnglishForms(base, _third(base), past, participle, _ing(base))


def _third(base: str) -> str:
    if base in ("be", "have"):
        return {"be": "is", "have": "has"}[base]
    if base.endswith(("s", "sh", "ch", "x", "z", "o")):
        return base + "es"
    if base.endswith("y") and base[-2] not in _VOWELS:
        return base[:-1] + "ies"
    return base + "s"


def _with_ed(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in _VOWELS:
        return base[:-1] + "ied"
    return base + base[-1] * (base in _DOUBLED) + "ed"


def _ing(base: str) -> str:
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and not base.endswith("ee") and base != "be":
        return base[:-1] + "ing"
    return base + base[-1] * (base in _DOUBLED) + "ing"
