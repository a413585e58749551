"""Following a run: a live bar on a terminal, a line now and then elsewhere, and a clean stop.

Whatever trains from the command line is followed here.
"""

from __future__ import annotations

import contextlib
import math
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, assert_never

from dragoman.cli import console, corpora
from dragoman.cli.stopping import Signals
from dragoman.training.events import (
    Braked,
    Finished,
    NotCompiled,
    Prepared,
    Progress,
    Saved,
    Skipped,
    Split,
    Started,
    Validated,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dragoman.training.events import Event

_SECONDS_BETWEEN_LINES = 10.0
_SPEED_OVER_SECONDS = 1800.0
"""How far back the bar looks for the time that is left: far enough to hold some validations."""


@dataclass(frozen=True, slots=True)
class Followed:
    """How a run has ended."""

    finished: Finished | None
    """Nothing in a process that is not the first of several: what happens is told to that one."""
    unusable: int
    """Pairs of the corpora that were left out because they could not be used."""

    @property
    def skipped(self) -> bool:
        """Whether anything was left out that was meant to be used."""
        return bool(self.unusable or (self.finished and self.finished.skipped))


class Followable(Protocol):
    """Whatever trains, and tells of it."""

    def events(self, stop: Callable[[], int | None]) -> Iterator[Event]:
        """What happens, while it happens; `stop` is asked for a signal."""
        ...


def follow(run: Followable) -> Followed:
    """How the run has ended, after it was shown. A signal stops it after the next update."""
    signals = Signals()
    finished, unusable = None, 0
    with signals.heard(), _screen() as show:
        for event in run.events(signals.received):
            match event:
                case Prepared():
                    unusable = event.unusable
                case Started():
                    signals.begun()
                case Finished():
                    finished = event
            show(event)
    return Followed(finished, unusable)


# ---- progress ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _screen() -> Iterator[Callable[[Event], None]]:
    if console.quiet() or not sys.stderr.isatty():
        yield _Lines()
        return
    with _bar() as show:
        yield show


class _Lines:
    """Progress as a line now and then."""

    def __init__(self) -> None:
        self._last = -math.inf  # the first one is said at once
        self._steps = 0

    def __call__(self, event: Event) -> None:
        if isinstance(event, Started):
            self._steps = event.steps
        if not isinstance(event, Progress):
            _tell(event)
            return
        if time.monotonic() - self._last < _SECONDS_BETWEEN_LINES and event.step < self._steps:
            return
        self._last = time.monotonic()
        console.note(
            f"step {event.step:,} of {self._steps:,} · epoch {event.epoch:.1f} · loss {event.loss:.3f} · "
            f"perplexity {event.perplexity:.1f} · {event.tokens_per_second:,.0f} tokens/s"
        )


@contextlib.contextmanager
def _bar() -> Iterator[Callable[[Event], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    told, left = TextColumn("{task.description}"), TextColumn("left")
    columns = (BarColumn(bar_width=20), MofNCompleteColumn(), told, TimeElapsedColumn(), left, TimeRemainingColumn())
    screen = Console(stderr=True, highlight=False)
    with Bar(*columns, console=screen, transient=True, speed_estimate_period=_SPEED_OVER_SECONDS) as bar:
        task = bar.add_task("preparing", total=None)
        last_score = ""

        def show(event: Event) -> None:
            nonlocal last_score
            match event:
                case Started():
                    bar.reset(task, total=event.steps, completed=event.step, description="training")
                case Progress():
                    speed = f"{event.tokens_per_second:,.0f} tokens/s"
                    bar.update(task, completed=event.step, description=f"loss {event.loss:.3f} · {speed}{last_score}")
                case Validated():
                    last_score = f" · {event.metric} {event.value:.2f}"
                case _:
                    pass
            _tell(event)

        yield show


# ---- everything else -----------------------------------------------------------------------------------------------


def _tell(event: Event) -> None:
    """Say what happened; progress is shown elsewhere."""
    match event:
        case Prepared():
            _tell_prepared(event)
        case Started():
            for problem in event.problems:
                console.warn(f"a checkpoint cannot be used, an older one is: {problem}")
            begun = f"going on after update {event.step:,}" if event.step else "beginning"
            console.note(f"{begun} of {event.steps:,}, {event.parameters:,} parameters")
        case Validated():
            _tell_validated(event)
        case Skipped():
            console.warn(f"update {event.step:,} was left out: {event.reason}")
        case Split():
            console.warn(f"update {event.step:,} did not fit into memory and is made in {event.parts} parts")
        case NotCompiled():
            console.warn(f"torch.compile does not work here, so the model runs as it is: {event.reason}")
        case Braked():
            console.warn(f"back to update {event.back_to:,}, at {event.brake:g} of the learning rate")
        case Finished():
            best = "" if event.best is None else f"; the best was {event.best:.2f} at update {event.best_step:,}"
            console.note(f"{event.reason}{best}")
        case Progress() | Saved():
            pass
        case _:
            assert_never(event)


def _tell_prepared(event: Prepared) -> None:
    console.note(f"{event.examples:,} training examples")
    if event.unusable:
        console.warn(f"skipped {event.unusable:,} lines that cannot be used")
        for place in event.places:
            console.note(f"  {place}")
    for what, count in (("empty", event.empty), ("too long", event.too_long)):
        if count:
            console.warn(f"left out {count:,} pairs with a side that is {what}")


def _tell_validated(event: Validated) -> None:
    star = " (best)" if event.best else ""
    console.note(f"step {event.step:,} · {event.metric} {event.value:.2f}{star} · loss {event.others['loss']:.3f}")
    for sample in event.samples[:1]:
        console.note(f"    {corpora.shown(sample.source)}\n  → {corpora.shown(sample.output)}")
        console.note(f"  = {corpora.shown(sample.reference)}")
