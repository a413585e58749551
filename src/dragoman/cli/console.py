"""All that is printed: results to standard output; notes, warnings, errors and progress to standard error.

A bar is drawn when standard error is a terminal; elsewhere a line now and then says how far the work is.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from dragoman.pages.terminal import columns as aligned

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

T = TypeVar("T")

_SECONDS_BETWEEN_LINES = 20.0


def out(text: str = "") -> None:
    """One line of the result."""
    sys.stdout.write(f"{text}\n")


def json(value: Any) -> None:
    """The result as one line of JSON."""
    out(msgspec.json.encode(value, enc_hook=str).decode())


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """The result as aligned columns, numbers to the right."""
    cells = [[_cell(value) for value in row] for row in rows]
    for line in aligned(columns, cells):
        out(line)


def note(text: str) -> None:
    """A message for whoever watches; --quiet silences it."""
    if not quiet():
        say(text)


def warn(text: str) -> None:
    """A message about something that may be wrong."""
    say(_coloured("warning: ", "yellow") + text)


def error(text: str) -> None:
    """What went wrong, before the program ends."""
    say(_coloured("error: ", "red") + text)


def progress(
    items: Iterable[T], *, total: int | None = None, done: int = 0, label: str = "", unit: str = ""
) -> Iterator[T]:
    """The items, while a bar (or a line now and then) shows how far they are; `done` were so before."""
    if quiet():
        yield from items
    elif sys.stderr.isatty():
        yield from _bar(items, total, label, done)
    else:
        yield from _lines(items, total, label=f"{label}: ", unit=unit, done=done)


def quiet() -> bool:
    """Whether the user asked for silence."""
    context = click.get_current_context(silent=True)
    return bool(context and context.find_root().params.get("quiet"))


def _bar(items: Iterable[T], total: int | None, label: str, done: int) -> Iterator[T]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total, completed=done)
        for item in items:
            yield item
            bar.advance(task)


def _lines(items: Iterable[T], total: int | None, *, label: str, unit: str, done: int) -> Iterator[T]:
    start = last = time.monotonic()
    for count, item in enumerate(items):
        now = time.monotonic()
        if now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            share = f" of {total:,} ({(done + count) / total:.0%})" if total else ""
            say(f"{label}{done + count:,}{share} {unit}".rstrip() + f", {count / (now - start):,.0f}/s")
        yield item


def say(text: str) -> None:
    """A line to standard error."""
    sys.stdout.flush()
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _coloured(text: str, colour: str) -> str:
    return click.style(text, fg=colour, bold=True) if sys.stderr.isatty() and "NO_COLOR" not in os.environ else text


def _cell(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.2f}"
        case None:
            return ""
        case _:
            return str(value)
