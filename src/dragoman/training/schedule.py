"""Learning-rate schedules: functions from a step to the share of the full rate that is in force there.

Steps count from 1. Every schedule warms up linearly unless its warm-up is zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, assert_never

from dragoman.settings import Meta, Settings

Steps = Annotated[int, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]


class InverseSquareRoot(Settings, frozen=True, kw_only=True, tag_field="kind", tag="inverse_square_root"):
    """Up linearly, then down with the square root of the step, as in the first Transformer."""

    warmup: Steps = 2000
    """Steps until the full rate is reached."""


class Cosine(Settings, frozen=True, kw_only=True, tag_field="kind", tag="cosine"):
    """Up linearly, then down along half a cosine to the end of training."""

    warmup: Steps = 1000
    """Steps until the full rate is reached."""
    floor: Share = 0.0
    """Share of the rate that is left at the end."""


class Linear(Settings, frozen=True, kw_only=True, tag_field="kind", tag="linear"):
    """Up linearly, then down linearly to the end of training."""

    warmup: Steps = 1000
    """Steps until the full rate is reached."""
    floor: Share = 0.0
    """Share of the rate that is left at the end."""


class WarmupStableDecay(Settings, frozen=True, kw_only=True, tag_field="kind", tag="warmup_stable_decay"):
    """Up linearly, level for most of the run, then down at the end: a level run can be prolonged later."""

    warmup: Steps = 1000
    """Steps until the full rate is reached."""
    decay: Share = 0.2
    """Share of all steps over which the rate falls at the end."""
    floor: Share = 0.0
    """Share of the rate that is left at the end."""


class Plateau(Settings, frozen=True, kw_only=True, tag_field="kind", tag="plateau"):
    """Up linearly, then level; cut whenever the validation metric has stood still for a while."""

    warmup: Steps = 1000
    """Steps until the full rate is reached."""
    patience: Annotated[int, Meta(ge=1)] = 3
    """Validations without a new best before the rate is cut."""
    factor: Annotated[float, Meta(gt=0, lt=1)] = 0.5
    """What the rate is multiplied with at a cut."""


class Constant(Settings, frozen=True, kw_only=True, tag_field="kind", tag="constant"):
    """Up linearly, then level."""

    warmup: Steps = 0
    """Steps until the full rate is reached."""


ScheduleSettings = InverseSquareRoot | Cosine | Linear | WarmupStableDecay | Plateau | Constant


def looks_ahead(settings: ScheduleSettings) -> bool:
    """Whether the rate at a step depends on how long the whole run is."""
    match settings:
        case Cosine() | Linear() | WarmupStableDecay():
            return True
        case InverseSquareRoot() | Plateau() | Constant():
            return False
        case _:
            assert_never(settings)


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule made from its settings and the length of the run."""

    settings: ScheduleSettings
    steps: int

    def __call__(self, step: int, *, cuts: int = 0) -> float:
        """The share of the full rate at a step; `cuts` are those that a plateau has caused so far."""
        warmup = self.settings.warmup
        if step < warmup:
            return step / warmup
        match self.settings:
            case InverseSquareRoot():
                return math.sqrt(max(warmup, 1) / max(step, 1))
            case Cosine(floor=floor):
                return floor + (1 - floor) * (1 + math.cos(math.pi * self._share_done(step, warmup))) / 2
            case Linear(floor=floor):
                return floor + (1 - floor) * (1 - self._share_done(step, warmup))
            case WarmupStableDecay(decay=decay, floor=floor):
                start = max(warmup, round(self.steps * (1 - decay)))
                return 1.0 if step <= start else floor + (1 - floor) * (1 - self._share_done(step, start))
            case Plateau(factor=factor):
                return float(factor**cuts)
            case Constant():
                return 1.0
            case _:
                assert_never(self.settings)

    def cuts_after(self, stalls: int) -> int:
        """How many cuts (one or none) follow from so many validations without a new best."""
        return int(isinstance(self.settings, Plateau) and stalls > 0 and stalls % self.settings.patience == 0)

    def _share_done(self, step: int, start: int) -> float:
        return min(1.0, (step - start) / max(1, self.steps - start))
