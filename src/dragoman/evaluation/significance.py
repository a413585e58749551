"""Whether one set of outputs is really better than another for the same sources, or by luck.

Two paired tests over the counts of lines (`measures/statistics.py`):

- the bootstrap (Koehn 2004) draws test sets of the same size from the lines, with replacement, and measures both
  outputs on each: it gives intervals, and how often the one is better;
- approximate randomisation (Riezler and Maxwell 2005) exchanges the outputs of each line by the toss of a coin: how
  often is the difference at least as large as the one observed, if it does not matter whose output is whose?

Random numbers are drawn as sacreBLEU draws them, so that the same seed gives the same p-values, with one exception:
a trial whose difference *equals* the observed one speaks for luck here, and not there. Between equal outputs
sacreBLEU therefore finds a significant difference, and with metrics that take few values it finds too many.

Legend of shapes: N lines, R resamples or trials, K counts of a line.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Annotated

import numpy as np

from dragoman.errors import DataError
from dragoman.settings import Meta, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dragoman.measures.statistics import Statistics

    Array = NDArray[np.float64]

_TOGETHER = 1_000
"""Resamples or trials whose random numbers are drawn at once."""
_ROUNDING = 1e-9
"""Differences closer than this are equal."""
_CELLS = 1 << 22
"""Most numbers of a matrix that is held at once."""


class SignificanceSettings(Settings, frozen=True, kw_only=True):
    """How two sets of outputs are compared."""

    resamples: Annotated[int, Meta(ge=100, le=1_000_000)] = 1_000
    """Test sets that the bootstrap draws."""
    trials: Annotated[int, Meta(ge=100, le=1_000_000)] = 10_000
    """Exchanges of approximate randomisation."""
    seed: Annotated[int, Meta(ge=0)] = 12345
    """Of the random numbers: the same seed gives the same answer."""
    level: Annotated[float, Meta(gt=0, lt=0.5)] = 0.05
    """Chance of error that is accepted: intervals hold the rest, and a lower p-value is called significant."""
    power: Annotated[float, Meta(gt=0, lt=1)] = 0.8
    """How surely the smallest detectable difference would be found."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Bounds that the value lies between, as surely as the level says."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:.2f} to {self.high:.2f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Significance:
    """What the tests say about one metric of two sets of outputs, `value` being that of the first."""

    name: str
    value: float
    interval: Interval
    against: float
    against_interval: Interval
    difference: float
    """The first value less the second."""
    difference_interval: Interval
    better: float
    """Share of the bootstrap's test sets on which the first is better."""
    worse: float
    """Share on which it is worse; the rest are ties."""
    p_bootstrap: float
    """How often the bootstrap's differences lie as far from their mean as the observed one does from zero."""
    p_randomization: float
    """How often a difference as large as the observed one arises where it does not matter whose output is whose."""
    detectable: float
    """Smallest true difference that a test set like this one would show, by a two-sided test, with the power asked."""
    lines: int
    settings: SignificanceSettings
    higher_is_better: bool

    @property
    def is_significant(self) -> bool:
        """Whether approximate randomisation finds the difference too large for luck."""
        return self.p_randomization < self.settings.level

    def verdict(self, first: str, second: str) -> str:
        """What the tests say, in a sentence that calls the two by these names."""
        if self.better == self.worse == self.difference == 0:
            return f"{self.name}: {first} and {second} are equal."
        if not self.is_significant:
            return f"{self.name}: the difference of {self.difference:+.2f} may be luck."
        winner = first if (self.difference > 0) == self.higher_is_better else second
        return f"{self.name}: {winner} is better; luck alone does as much in {self.p_randomization:.2%} of cases."

    @property
    def reach(self) -> str:
        """How small a difference these lines can show, in a sentence."""
        often = f"in {self.settings.power:.0%} of cases"
        return f"These {self.lines:,} lines show a difference of {self.detectable:.2f} {often}."

    @property
    def signature(self) -> str:
        """How the tests were made."""
        s = self.settings
        return f"bs:{s.resamples}|ar:{s.trials}|seed:{s.seed}|level:{s.level:g}|power:{s.power:g}"


def compare(first: Statistics, second: Statistics, *, settings: SignificanceSettings | None = None) -> Significance:
    """Both paired tests of one metric on two sets of outputs for the same lines."""
    settings = settings or SignificanceSettings()
    _refuse_unpaired(first, second)
    values = bootstrap(first, settings), bootstrap(second, settings)
    differences_R = values[0] - values[1]
    observed = first.value() - second.value()
    sign = 1 if first.higher_is_better else -1
    return Significance(
        name=first.name,
        value=first.value(),
        interval=_interval(values[0], settings.level),
        against=second.value(),
        against_interval=_interval(values[1], settings.level),
        difference=observed,
        difference_interval=_interval(differences_R, settings.level),
        better=float((sign * differences_R > 0).mean()),
        worse=float((sign * differences_R < 0).mean()),
        p_bootstrap=_p_bootstrap(differences_R, observed),
        p_randomization=_p_randomization(first, second, settings),
        detectable=_detectable(differences_R, settings),
        lines=len(first),
        settings=settings,
        higher_is_better=first.higher_is_better,
    )


def interval(statistics: Statistics, *, settings: SignificanceSettings | None = None) -> Interval:
    """The bounds of a metric's value by the bootstrap."""
    settings = settings or SignificanceSettings()
    return _interval(bootstrap(statistics, settings), settings.level)


def bootstrap(statistics: Statistics, settings: SignificanceSettings) -> Array:
    """The value on each test set that is drawn; the same seed draws the same lines, whatever the counts are of."""
    drawn = _resampled(len(statistics), settings)
    return np.concatenate([statistics.values(times_RN @ statistics.counts_NK) for times_RN in drawn])


def _resampled(lines: int, settings: SignificanceSettings) -> Iterator[Array]:
    """How often each line is in each test set, some test sets at a time."""
    generator = np.random.default_rng(settings.seed)
    for count in _portions(settings.resamples, min(_TOGETHER, max(1, _CELLS // lines))):
        chosen_RN = generator.choice(lines, size=(count, lines), replace=True)
        rows_RN = chosen_RN + lines * np.arange(count)[:, None]
        yield np.bincount(rows_RN.ravel(), minlength=count * lines).reshape(count, lines).astype(np.float64)


def _p_bootstrap(differences_R: Array, observed: float) -> float:
    sizes_R = np.abs(differences_R)
    return _share((sizes_R - sizes_R.mean() >= abs(observed) - _ROUNDING).sum(), len(sizes_R))


def _p_randomization(first: Statistics, second: Statistics, settings: SignificanceSettings) -> float:
    generator = np.random.default_rng(settings.seed)
    observed = abs(first.value() - second.value())
    total_1K = (first.counts_NK + second.counts_NK).sum(0, keepdims=True)
    extreme = 0
    for count in _portions(settings.trials, _TOGETHER):
        exchanged_RN = generator.integers(2, size=(count, len(first)), dtype=bool)
        for rows_RN in np.array_split(exchanged_RN, -(-exchanged_RN.size // _CELLS)):
            kept_RN = rows_RN.astype(np.float64)
            one_RK = kept_RN @ second.counts_NK + (1 - kept_RN) @ first.counts_NK
            sizes_R = np.abs(first.values(one_RK) - first.values(total_1K - one_RK))
            extreme += int((sizes_R >= observed - _ROUNDING).sum())
    return _share(extreme, settings.trials)


def _share(extreme: int, trials: int) -> float:
    """A p-value that is never nothing: the observed difference counts as one trial."""
    return (int(extreme) + 1) / (trials + 1)


def _detectable(differences_R: Array, settings: SignificanceSettings) -> float:
    """Standard error of the difference, times the quantiles of level and power: the usual sample-size formula."""
    normal = NormalDist()
    spread = float(differences_R.std(ddof=1))
    return (normal.inv_cdf(1 - settings.level / 2) + normal.inv_cdf(settings.power)) * spread


def _interval(values_R: Array, level: float) -> Interval:
    low, high = np.quantile(values_R, [level / 2, 1 - level / 2])
    return Interval(float(low), float(high))


def _portions(total: int, most: int) -> Iterator[int]:
    while total > 0:
        yield min(total, most)
        total -= most


def _refuse_unpaired(first: Statistics, second: Statistics) -> None:
    assert first.name == second.name, "one metric"
    if len(first) != len(second):
        raise DataError(
            f"{len(first)} outputs against {len(second)}",
            place="--against",
            remedy="Compare outputs for the same lines of the same sources.",
        )
