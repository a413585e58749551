"""The catalogue of known data sets: what each is, where it is published, and where its files are on this machine.

A set is looked for in the folder that the environment variable DRAGOMAN_DATA names, then in the user's cache. Both
are laid out alike: a folder for each set, with text files that are mostly packed by gzip.
"""

from __future__ import annotations

import csv
import functools
import os
import sys
import tomllib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast, get_args

from dragoman import files as disk
from dragoman.errors import DownloadError, FileError

if TYPE_CHECKING:
    from collections.abc import Iterable

Making = Literal["keep", "pack", "cut", "halve", "pairs"]
"""How a published file becomes ours; see dragoman.data.originals."""

_ABSENT = "-"


@dataclass(frozen=True, slots=True)
class Original:
    """A published file: where it is, its size and SHA-256 where they are known, and the files that it becomes."""

    repository: str
    path: str
    bytes: int | None
    sha256: str | None
    making: Making
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A data set: its name and what it is, its licence and source, and what to know before using it."""

    name: str
    title: str
    licence: str
    source: str
    note: str
    originals: tuple[Original, ...]

    @property
    def built_in(self) -> bool:
        """Whether this program writes the set itself."""
        return not self.originals

    @property
    def bytes(self) -> int:
        """How much is downloaded for it, as far as that is known."""
        return sum(original.bytes or 0 for original in self.originals)

    @property
    def files(self) -> tuple[str, ...]:
        """The names of its files, under its folder; none for a set that is built in."""
        return tuple(sorted(name for original in self.originals for name in original.files))


@functools.cache
def entries() -> tuple[Entry, ...]:
    """Every known data set."""
    folder = resources.files("dragoman.data")
    sets = tomllib.loads((folder / "catalog.toml").read_text("utf-8"))
    rows = list(csv.DictReader((folder / "catalog.tsv").read_text("utf-8").splitlines(), delimiter="\t"))
    assert {row["set"] for row in rows} <= set(sets), "catalog.tsv names a set that catalog.toml does not describe"
    return tuple(
        Entry(name=name, originals=tuple(_original(row) for row in rows if row["set"] == name), **described)
        for name, described in sets.items()
    )


def _original(row: dict[str, str]) -> Original:
    assert row["making"] in get_args(Making), row
    return Original(
        repository=row["repository"],
        path=row["path"],
        bytes=None if row["bytes"] == _ABSENT else int(row["bytes"]),
        sha256=None if row["sha256"] == _ABSENT else row["sha256"],
        making=cast("Making", row["making"]),
        files=tuple(row["files"].split()),
    )


def find(name: str) -> Entry:
    """The data set of this name, or the only one whose name contains it."""
    known = {entry.name: entry for entry in entries()}
    if name in known:
        return known[name]
    inside = [entry for entry in known.values() if name and name in entry.name]
    if len(inside) == 1:
        return inside[0]
    problem = f"{name!r} may be {_either(e.name for e in inside)}" if inside else f"there is no data set {name!r}"
    raise DownloadError(problem, place="catalogue", remedy=_nearest(name, inside or list(known.values())))


def _nearest(name: str, choices: list[Entry]) -> str:
    import difflib

    names = [entry.name for entry in choices]
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"Did you mean {close[0]!r}?" if close else f"Known here: {', '.join(names)}."


def _either(names: Iterable[str]) -> str:
    return " or ".join(names)


# ---- where the sets are ------------------------------------------------------------------------------------------


def local_folder() -> Path | None:
    """The folder of data sets that DRAGOMAN_DATA names."""
    named = os.environ.get("DRAGOMAN_DATA")
    return Path(named).expanduser() if named else None


def cache_folder() -> Path:
    """The folder in which fetched sets are kept."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    if Path(named).is_absolute():  # anything else is to be ignored, says the standard that names the variable
        return Path(named) / "dragoman"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "dragoman"
    return Path.home() / ".cache" / "dragoman"


def present(entry: Entry) -> Path | None:
    """The folder of a set that is on this machine: the local copy first, then the one in the cache."""
    local = local_folder()
    if local is not None and _holds(local / entry.name, entry):
        return local / entry.name
    cached = cache_folder() / entry.name
    return cached if (cached / disk.MANIFEST).is_file() else None


def _holds(folder: Path, entry: Entry) -> bool:
    """Whether a folder has something of the set; a local copy may leave out what it does not need."""
    if entry.built_in:
        return folder.is_dir()
    return any((folder / name).is_file() for name in entry.files)


def locate(name: str) -> Path:
    """The folder of a data set; raises DownloadError, with the command that fetches it, when it is not here."""
    entry = find(name)
    remedy = f"Fetch it with: dragoman data get {entry.name}"
    folder = present(entry)
    if folder is None:
        local = local_folder()
        looked = " and ".join(map(str, filter(None, (local, cache_folder()))))
        raise DownloadError(f"the data set {entry.name!r} is not here (looked in {looked})", remedy=remedy)
    if (folder / disk.MANIFEST).is_file():
        try:
            disk.verify(folder, contents=False)
        except FileError as damage:
            raise DownloadError(damage.problem, place=damage.place, remedy=remedy) from None
    return folder


def files(name: str) -> tuple[Path, ...]:
    """The files of a data set that are on this machine."""
    folder = locate(name)
    return tuple(sorted(p for p in folder.rglob("*") if p.is_file() and p.name != disk.MANIFEST))


def file(name: str, inner: str) -> Path:
    """One file of a data set; raises DownloadError when this copy of the set leaves it out."""
    path = locate(name) / inner
    if not path.is_file():
        raise DownloadError(
            "this copy of the data set leaves the file out",
            place=str(path),
            remedy=f"Fetch the whole set with `dragoman data get {name} --whole --to FOLDER`, "
            "and name that folder in DRAGOMAN_DATA.",
        )
    return path
