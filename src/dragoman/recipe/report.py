"""The report of a run: one page that needs nothing else, made from what lies in the run's folder, at any time.

Curves come from events.jsonl, settings from run.toml, facts about the data from the prepared store.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never
from xml.etree.ElementTree import Element

import msgspec

from dragoman.data.store import FACTS, read_facts
from dragoman.errors import FileError
from dragoman.files import disk_errors, write_atomically
from dragoman.pages.chart import Chart, Curve, Points, draw, shown, thinned
from dragoman.pages.elements import figure, table, text
from dragoman.pages.page import page
from dragoman.recipe.folder import REPORT, RUN_FILE
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
    read_events,
)
from dragoman.training.loop import EVENTS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dragoman.training.events import Event

_ROWS = 50
"""Rows of the table behind a chart."""


@dataclass(slots=True)
class History:
    """What the events of a run add up to."""

    started: Started | None = None
    finished: Finished | None = None
    progress: list[Progress] = field(default_factory=list)
    validations: list[Validated] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    def add(self, event: Event) -> None:
        """Take an event into account."""
        match event:
            case Started():
                self.started, self.finished = event, None
            case Progress():
                self.progress.append(event)
            case Validated():
                self.validations.append(event)
            case Skipped():
                self.troubles.append(f"Update {event.step:,} was left out: {event.reason}.")
            case Split():
                self.troubles.append(
                    f"Update {event.step:,} did not fit into memory: it was made in {event.parts} parts."
                )
            case NotCompiled():
                self.troubles.append(f"torch.compile does not work here, so the model runs as it is: {event.reason}.")
            case Braked():
                self.troubles.append(
                    f"Update {event.step:,}: the run went back to {event.back_to:,}, at {event.brake:.0%} of the rate."
                )
                self.progress = [e for e in self.progress if e.step <= event.back_to]
                self.validations = [e for e in self.validations if e.step <= event.back_to]
            case Finished():
                self.finished = event
            case Prepared() | Saved():
                pass
            case _:
                assert_never(event)

    @property
    def best(self) -> Validated | None:
        """The best validation so far."""
        return next((each for each in reversed(self.validations) if each.best), None)


def write_report(folder: Path, *, first: Sequence[Element] = ()) -> Path:
    """The page about the run in the folder, as it stands now; sections that are given come first."""
    path = folder / REPORT
    write_atomically(path, report(folder, first=first).encode())
    return path


def report(folder: Path, *, first: Sequence[Element] = ()) -> str:
    """The page as HTML."""
    history = read_history(folder / EVENTS)
    sections = [
        *first,
        *([text("h2", "The run")] if first else []),
        *_overview(history),
        *_curves(history),
        *_samples(history),
        *_troubles(history),
        *_data(folder),
        *_settings(folder),
    ]
    return page(f"Training of {folder.resolve().name}", sections)


def read_history(path: Path) -> History:
    """What the log of a run says."""
    history = History()
    try:
        for event in read_events(path):
            history.add(event)
    except msgspec.MsgspecError as error:
        raise FileError(
            f"not a log of events: {error}", place=str(path), remedy="Use the log of another copy of the run."
        ) from None
    return history


# ---- sections ------------------------------------------------------------------------------------------------------


def _overview(history: History) -> list[Element]:
    rows: list[tuple[str, str]] = []
    started, finished, best = history.started, history.finished, history.best
    done = max([e.step for e in (*history.progress, *history.validations)], default=0)
    if started is not None:
        rows.append(("State", finished.reason if finished else f"at update {max(done, started.step):,}, not finished"))
        rows.append(("Updates", f"{done:,} of {started.steps:,}"))
        rows.append(("Parameters", f"{started.parameters:,}"))
        rows.append(("Examples an epoch", f"{started.examples:,}"))
    if best is not None:
        rows.append(("Best", f"{best.metric} {best.value:.2f} at update {best.step:,}"))
        rows.append(("Signature", best.signature))
    if history.progress:
        last = history.progress[-1]
        rows.append(("Passes over the data", f"{last.epoch:.2f}"))
        rows.append(("Target tokens learned from", f"{last.tokens:,}"))
        spent = sum(e.seconds for e in history.progress)
        rows.append(("Time in updates", f"{spent / 60:,.1f} minutes"))
        rows.append(("Time in validation", f"{sum(e.seconds for e in history.validations) / 60:,.1f} minutes"))
        rows.append(("Perplexity at the end", f"{last.perplexity:.2f} (training)"))
        rows.append(("Updates left out", f"{last.skipped:,}"))
    return [table(rows)] if rows else [text("p", "Nothing has happened yet.")]


def _curves(history: History) -> list[Element]:
    charts = _charts(history)
    if not charts:
        return []
    grid = Element("div", {"class": "charts"})
    for chart in charts:
        columns = [(curve, ("update", curve.name)) for curve in chart.curves]
        values = [table(_rows(curve), names, numbers=True) for curve, names in columns]
        grid.append(figure(chart.title, draw(chart), values))
    return [text("h2", "Curves"), grid]


def _rows(curve: Curve) -> list[tuple[str, str]]:
    return [(f"{x:,.0f}", shown(y)) for x, y in thinned(curve.points, _ROWS)]


def _charts(history: History) -> list[Chart]:
    progress, validations = history.progress, history.validations
    heard = [(e.step, e.others["loss"]) for e in validations if "loss" in e.others]
    losses = (
        Curve("training", _points([(e.step, e.loss) for e in progress])),
        Curve("validation", _points(heard), marked=True),
    )
    drawn = tuple(curve for curve in losses if curve.points)
    charts = [Chart("loss", "Loss: negative log-likelihood", "nats per target token", drawn)]
    best = history.best
    if best is not None and best.metric != "loss":
        values = _points([(e.step, e.value) for e in validations if e.metric == best.metric])
        name = f"Validation: {best.metric}, the best one ringed"
        curve = Curve(best.metric, values, marked=True)
        charts.append(Chart("metric", name, best.metric, (curve,), best=(best.step, best.value)))
    rate = Curve("rate", _points([(e.step, e.rate) for e in progress]))
    speed = Curve("speed", _points([(e.step, e.tokens_per_second) for e in progress]))
    charts.append(Chart("rate", "Learning rate", "share of the full rate", (rate,), from_zero=True))
    charts.append(Chart("speed", "Speed", "target tokens a second", (speed,), from_zero=True))
    return [chart for chart in charts if chart.curves and all(curve.points for curve in chart.curves)]


def _points(pairs: Sequence[tuple[int, float]]) -> Points:
    return tuple((float(x), y) for x, y in pairs)


def _samples(history: History) -> list[Element]:
    shown_ones = [each for each in history.validations if each.samples]
    if not shown_ones:
        return []
    last, best = shown_ones[-1], history.best
    sections = [text("h2", "Samples"), *_sample_table(last, "Of the last validation")]
    if best is not None and best.samples and best.step != last.step:
        sections += _sample_table(best, "Of the best one")
    return sections


def _sample_table(event: Validated, name: str) -> list[Element]:
    rows = [(each.source, each.output, each.reference) for each in event.samples]
    samples = table(rows, ("source", "output", "reference"), foreign=True)
    samples.set("class", "samples")
    return [text("p", f"{name}, at update {event.step:,}:"), samples]


def _troubles(history: History) -> list[Element]:
    found = [*(history.started.problems if history.started else ()), *history.troubles]
    if not found:
        return []
    listed = Element("ul")
    for each in found[-_ROWS:]:
        listed.append(text("li", each))
    earlier = [text("p", f"The last {_ROWS} of {len(found):,}:")] if len(found) > _ROWS else []
    return [text("h2", "Trouble"), *earlier, listed]


def _data(folder: Path) -> list[Element]:
    rows = []
    for name in ("train", "valid"):
        if not (folder / "data" / name / FACTS).exists():
            continue
        facts = read_facts(folder / "data" / name)
        rows.append((name, f"{facts.examples:,}", f"{facts.empty:,}", f"{facts.too_long:,}", facts.fingerprint[:12]))
    columns = ("part", "examples", "left out: empty", "left out: too long", "fingerprint")
    return [text("h2", "Data"), table(rows, columns)] if rows else []


def _settings(folder: Path) -> list[Element]:
    path = folder / RUN_FILE
    if not path.exists():
        return []
    with disk_errors(path, "read"):
        written = path.read_text(encoding="utf-8", errors="replace")
    return [text("h2", "Settings"), text("pre", written)]
