"""Which values a sweep tries next: a function of what is varied and of what earlier trials found, and of nothing else.

    each     the run file, and then one setting after the other at each of its values, all others as they were
    grid     all combinations
    random   combinations drawn by chance
    tune     combinations drawn near those that were good (optuna's TPE; needs the extra `tune`)

Where each point is tried with several seeds, `each` and `grid` go through all points with the first seed, then with
the second; the others stay with a point until it has had them all.
"""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from dragoman.errors import MissingExtra
from dragoman.recipe.sweep.space import Range

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dragoman.recipe.sweep.space import Point, Varied

__all__ = ["ABSENT", "Method", "Proposal", "Scored", "listed", "proposed"]

Method = Literal["each", "grid", "random", "tune"]

Proposal = tuple["Point", int]
"""A point, and which of the seeds it is tried with."""
Scored = tuple["Point", float | None]
"""A point that was tried, and the value it came to; nothing if it failed."""

ABSENT = object()
"""The value of a setting that is as in the run file."""


def listed(method: Method, space: Sequence[Varied], *, points: int, repeats: int) -> list[Proposal] | None:
    """All that will be tried, of ranges so many points; nothing where that depends on chance or outcomes."""
    match method:
        case "each":
            found = [{}, *({each.name: value} for each in space for value in each.tried(points))]
        case "grid":
            found = [{}, *_combinations(space, points)]
        case _:
            return None
    return [(point, seed) for seed in range(repeats) for point in found]


def proposed(
    method: Method, space: Sequence[Varied], done: Sequence[Scored], *, seed: int, repeats: int, higher: bool
) -> Proposal:
    """What a search by chance or by outcomes tries after so many trials; the run file itself is the first."""
    number, repeat = divmod(len(done), repeats)
    if repeat:
        return done[-1][0], repeat
    if number == 0:
        return {}, 0
    if method == "tune":
        means = [_mean(done[i : i + repeats]) for i in range(0, len(done), repeats)]
        return _tuned(space, means, seed=seed + number, higher=higher), 0
    draw = random.Random(f"{seed} {number}")
    return {each.name: value for each in space if (value := _drawn(each, draw)) is not ABSENT}, 0


def _combinations(space: Sequence[Varied], points: int) -> Iterator[Point]:
    for values in itertools.product(*(_options(each.tried(points)) for each in space)):
        yield {each.name: value for each, value in zip(space, values, strict=True) if value is not ABSENT}


def _options(values: Sequence[Any]) -> tuple[Any, ...]:
    """What there is to choose from: a single value is tried beside that of the run file."""
    return (ABSENT, *values) if len(values) == 1 else tuple(values)


def _drawn(varied: Varied, draw: random.Random) -> Any:
    if isinstance(varied.values, Range):
        return varied.values.at(draw.random())
    return draw.choice(_options(varied.values))


def _mean(scored: Sequence[Scored]) -> Scored:
    values = [value for _, value in scored if value is not None]
    return scored[0][0], sum(values) / len(values) if values else None


# ---- optuna --------------------------------------------------------------------------------------------------------


def _tuned(space: Sequence[Varied], done: Sequence[Scored], *, seed: int, higher: bool) -> Point:
    """What optuna asks for when it is told of all that was tried."""
    optuna = _optuna()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        direction="maximize" if higher else "minimize", sampler=optuna.samplers.TPESampler(seed=seed)
    )
    distributions = {each.name: _distribution(optuna, each) for each in space}
    for point, value in done:
        known = {each.name: _option(each, point) for each in space}
        if None in known.values():
            continue  # the run file's own values need not be among those that are tried
        state = optuna.trial.TrialState.FAIL if value is None else optuna.trial.TrialState.COMPLETE
        study.add_trial(optuna.trial.create_trial(params=known, distributions=distributions, value=value, state=state))
    asked = study.ask(distributions).params
    chosen = {each.name: _value(each, asked[each.name]) for each in space}
    return {name: value for name, value in chosen.items() if value is not ABSENT}


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise MissingExtra("optuna", extra="tune", purpose="a sweep by the method tune") from None
    return optuna


def _distribution(optuna: Any, varied: Varied) -> Any:
    if not isinstance(varied.values, Range):
        return optuna.distributions.CategoricalDistribution(range(len(_options(varied.values))))
    ends, log = (varied.values.low, varied.values.high), varied.values.by_magnitude
    if varied.values.whole:
        return optuna.distributions.IntDistribution(*ends, log=log)
    return optuna.distributions.FloatDistribution(*ends, log=log)


def _option(varied: Varied, point: Point) -> Any:
    """What optuna knows the value by: its place among the options, or the number itself; nothing if it is neither."""
    value = point.get(varied.name, ABSENT)
    if isinstance(varied.values, Range):
        return None if value is ABSENT else value
    options = _options(varied.values)
    return next((i for i, each in enumerate(options) if each is value or _same(each, value)), None)


def _same(one: Any, other: Any) -> bool:
    return ABSENT not in (one, other) and msgspec.json.encode(one) == msgspec.json.encode(other)


def _value(varied: Varied, asked: Any) -> Any:
    if isinstance(varied.values, Range):
        return varied.values.rounded(asked)
    return _options(varied.values)[asked]
