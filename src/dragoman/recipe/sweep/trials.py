"""What is kept of a sweep: its plan, what came of each trial, and what all of them came to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.errors import FileError
from dragoman.files import disk_errors
from dragoman.recipe.sweep.effects import Effect
from dragoman.recipe.sweep.proposals import Method
from dragoman.recipe.sweep.space import Varied

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["PLAN", "TRIALS", "Found", "Plan", "Trial", "kept_plan", "ranked", "read_trials"]

PLAN, TRIALS = "plan.json", "trials.jsonl"


class Trial(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What came of one choice."""

    number: int
    settings: dict[str, Any]
    """What differs from the run file."""
    seed: int
    run: str
    """Folder of its run; several trials share one if they differ in nothing that training knows of."""
    value: float | None
    """Of the metric, for the best model of the run; nothing if there was none."""
    loss: float | None
    """Per token of the validation data."""
    parameters: int
    steps: int
    best_step: int
    seconds: float
    """Of training, and of searching where that was varied."""
    tokens_per_second: float
    problem: str = ""
    """Why it came to nothing."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a sweep has found so far."""

    metric: str
    signature: str
    higher_is_better: bool
    trials: tuple[Trial, ...]
    mattered: tuple[Effect, ...]
    """Each varied setting, by how much it did, the most first."""
    noise: float | None
    """Standard deviation of the metric among runs that differ in their seed alone, where there are such."""
    best: Trial | None

    @property
    def ranked(self) -> list[Trial]:
        """The trials that came to a value, the best first."""
        return ranked(self.trials, higher=self.higher_is_better)


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What has to stay as it is while a sweep goes on."""

    space: tuple[Varied, ...]
    method: Method
    repeats: int
    points: int
    seed: int


def kept_plan(folder: Path) -> Plan | None:
    """The plan of the sweep in a folder, if there is one."""
    path = folder / PLAN
    if not path.exists():
        return None
    with disk_errors(path, "read"):
        try:
            return msgspec.convert(msgspec.json.decode(path.read_bytes())["plan"], Plan)
        except (msgspec.MsgspecError, UnicodeDecodeError, KeyError, TypeError) as error:
            raise FileError(f"not a plan: {error}", place=str(path), remedy="Start over with --fresh.") from None


def read_trials(folder: Path) -> Iterator[Trial]:
    """The trials that are kept in the folder of a sweep."""
    path = folder / TRIALS
    if not path.exists():
        return
    with disk_errors(path, "read"):
        lines = path.read_bytes().splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            yield msgspec.json.decode(line, type=Trial)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise FileError(
                f"not a trial: {error}", place=f"{path}:{number}", remedy="Start over with --fresh."
            ) from None


def ranked(trials: Iterable[Trial], *, higher: bool) -> list[Trial]:
    """The trials that came to a value, the best first; of equals the one of the smaller loss."""
    known = [(each.value, each.loss or 0.0, each) for each in trials if each.value is not None]
    ordered = sorted(known, key=lambda each: (-each[0] if higher else each[0], each[1]))
    return [each for *_, each in ordered]
