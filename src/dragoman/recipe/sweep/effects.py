"""What mattered: how much the outcome of a sweep's trials differs between the values of each setting."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.recipe.sweep.space import Range

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.recipe.sweep.proposals import Scored
    from dragoman.recipe.sweep.space import Point, Varied

__all__ = ["Effect", "Level", "effects", "noise"]

_MOST_LEVELS = 5
"""Distinct numbers of a range that are shown one by one; more are put together in thirds."""
_CLEAR = 2.0
"""Standard errors that a difference must exceed to count as more than chance."""


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """One value of a setting, or some that lie together."""

    value: Any
    """As it is in a run file; of values put together, the ends."""
    base: bool
    """Whether it is the value of the run file itself."""
    trials: int
    mean: float
    """Of the metric, over these trials."""


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """What a setting did to the metric."""

    setting: str
    levels: tuple[Level, ...]
    """From best to worst."""
    span: float
    """Distance between the means of the best and the worst of them."""
    share: float | None
    """Share of the variance among all trials that goes with this setting, less what chance would give it (epsilon
    squared); nothing where only one setting moved at a time, or no value was tried twice."""
    clear: bool | None
    """Whether the span is more than seeds alone explain; nothing without trials that differ in their seed alone."""


def effects(
    space: Sequence[Varied], scored: Sequence[Scored], base: Point, *, one_by_one: bool, higher: bool
) -> list[Effect]:
    """The effect of each setting that was tried at several values, the largest first; `base` has the run file's."""
    known = [(point, value) for point, value in scored if value is not None]
    spread = noise(known)
    found = []
    for each in space:
        counted = [(p, v) for p, v in known if not one_by_one or p.keys() <= {each.name}]
        valued = [(p.get(each.name, base[each.name]), v) for p, v in counted]
        if numbers := isinstance(each.values, Range):
            valued = [(value, outcome) for value, outcome in valued if isinstance(value, int | float)]
        groups = _groups(valued, numbers=numbers)
        if len(groups) > 1:
            found.append(_effect(each.name, groups, base[each.name], spread, shared=not one_by_one, higher=higher))
    return sorted(found, key=lambda effect: -effect.span)


def noise(scored: Sequence[Scored]) -> float | None:
    """The standard deviation among trials that differ in nothing but the seed; nothing where there are none."""
    squares, freedom = 0.0, 0
    for values in _grouped([(msgspec.json.encode(p, order="sorted"), v) for p, v in scored if v is not None]).values():
        mean = sum(values) / len(values)
        squares += sum((value - mean) ** 2 for value in values)
        freedom += len(values) - 1
    return math.sqrt(squares / freedom) if freedom else None


def _effect(
    name: str,
    groups: list[tuple[Any, list[float]]],
    base: Any,
    spread: float | None,
    *,
    shared: bool,
    higher: bool,
) -> Effect:
    ordered = sorted(groups, key=lambda group: _mean(group[1]), reverse=higher)
    (_, best), (_, worst) = ordered[0], ordered[-1]
    span = abs(_mean(best) - _mean(worst))
    clear = None if spread is None else span > _CLEAR * spread * math.sqrt(1 / len(best) + 1 / len(worst))
    levels = tuple(
        Level(value=value, base=_is(value, base), trials=len(values), mean=_mean(values)) for value, values in ordered
    )
    share = _explained([values for _, values in groups]) if shared else None
    return Effect(setting=name, levels=levels, span=span, share=share, clear=clear)


def _explained(groups: list[list[float]]) -> float | None:
    """The part of the variance that is between groups, less what chance would put there; nothing without repeats."""
    everything = [value for values in groups for value in values]
    freedom = len(everything) - len(groups)
    mean = _mean(everything)
    total = sum((value - mean) ** 2 for value in everything)
    if not freedom or not total:
        return None
    between = sum(len(values) * (_mean(values) - mean) ** 2 for values in groups)
    return max(0.0, (between - (len(groups) - 1) * (total - between) / freedom) / total)


def _groups(valued: list[tuple[Any, float]], *, numbers: bool) -> list[tuple[Any, list[float]]]:
    by_value = _grouped([(msgspec.json.encode(value), outcome) for value, outcome in valued])
    plain = [(msgspec.json.decode(value), outcomes) for value, outcomes in by_value.items()]
    if not numbers or len(plain) <= _MOST_LEVELS:
        return plain
    ordered = sorted((value, outcome) for value, outcome in valued)
    ends = [round(i * len(ordered) / 3) for i in range(4)]
    thirds = [ordered[a:b] for a, b in itertools.pairwise(ends)]
    return [([third[0][0], third[-1][0]], [outcome for _, outcome in third]) for third in thirds]


def _grouped(pairs: Sequence[tuple[bytes, float]]) -> dict[bytes, list[float]]:
    found: dict[bytes, list[float]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def _is(value: Any, base: Any) -> bool:
    return msgspec.json.encode(value) == msgspec.json.encode(base)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
