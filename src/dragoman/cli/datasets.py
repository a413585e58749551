"""`dragoman data list` and `dragoman data get`: the data sets that the catalogue knows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dragoman.cli import console

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dragoman.data.catalog import Entry
    from dragoman.data.download import Progress


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of a table.")
def list_(*, as_json: bool) -> None:
    """The data sets that can be fetched: what each is, its licence, its size, and where it is if it is here."""
    from dragoman.data import catalog

    entries = [(entry, catalog.present(entry)) for entry in catalog.entries()]
    if as_json:
        console.json([_described(entry, folder) for entry, folder in entries])
        return
    console.table(
        ["name", "size", "here", "licence", "what it is"],
        [[e.name, _size(e), "yes" if folder else "no", e.licence, e.title] for e, folder in entries],
    )
    console.note("Fetch one with: dragoman data get NAME")


def _described(entry: Entry, folder: Path | None) -> dict[str, object]:
    return {
        "name": entry.name,
        "title": entry.title,
        "licence": entry.licence,
        "source": entry.source,
        "note": entry.note,
        "bytes": entry.bytes,
        "files": entry.files,
        "folder": None if folder is None else str(folder),
    }


def _size(entry: Entry) -> str:
    return "built in" if entry.built_in else f"{max(0.1, entry.bytes / 1e6):.1f} MB"


@click.command()
@click.argument("name")
@click.option(
    "--to",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Put the set into FOLDER/NAME, instead of the cache.",
)
@click.option("--whole", is_flag=True, help="Fetch all that is published, even if DRAGOMAN_DATA has a copy.")
@click.option(
    "--pairs",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Also write its parts into FOLDER as lines of text: PART.source, PART.target.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document: the set, its folder and its files.")
def get(name: str, *, to: Path | None, whole: bool, pairs: Path | None, as_json: bool) -> None:
    """Fetch the data set NAME (or the only one whose name contains NAME) and print its folder.

    A fetch that was stopped goes on where it stopped. What is fetched is checked against the published SHA-256, kept
    in the cache ($XDG_CACHE_HOME/dragoman), and found from then on by its name. DRAGOMAN_DATA names a folder of sets
    that are on this machine already; DRAGOMAN_MIRROR names another host to fetch from.
    """
    from dragoman.data import catalog, known, originals

    entry = catalog.find(name)
    if pairs is not None:
        known.parts(entry.name)  # nothing is fetched for a set that is no pairs
    fetch(entry, originals.get(entry, to=to, whole=whole))
    elsewhere = (to or catalog.cache_folder()) / entry.name
    folder = elsewhere if to is not None or whole else catalog.locate(entry.name)
    if entry.note:
        console.note(entry.note)
    console.note(f"Licence: {entry.licence}. Source: {entry.source}.")
    parts = {} if pairs is None else _write_pairs(entry.name, pairs)
    if as_json:
        inside = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
        console.json({**_described(entry, folder), "files": inside, "parts": parts})
    else:
        console.out(str(folder))


def _write_pairs(name: str, folder: Path) -> dict[str, int]:
    """How many lines each part has, after they were written."""
    from dragoman.data import known_texts

    parts = {}
    for written in known_texts.write(name, folder):
        console.note(f"{written.part}: {written.lines:,} lines in {', '.join(map(str, written.files))}")
        parts[written.part] = written.lines
    return parts


def fetch(entry: Entry, events: Iterable[Progress]) -> None:
    """Follow the fetching of a data set to its end."""
    total = max(1, entry.bytes // 1024)
    for _ in console.progress(_kibibytes(events), total=total, label=entry.name, unit="KiB"):
        pass


def _kibibytes(events: Iterable[Progress]) -> Iterator[None]:
    """One tick for each KiB that is new, file after file; bytes fetched once more do not count twice."""
    furthest: dict[str, int] = {}
    ticks = 0
    for event in events:
        if event.note:
            console.note(event.note)
        furthest[event.url] = max(furthest.get(event.url, 0), event.done)
        due = sum(furthest.values()) // 1024
        yield from (None for _ in range(due - ticks))
        ticks = due
