"""From published files to a data set on this machine: fetched, checked, and laid out as the catalogue says.

A set becomes visible whole, with a manifest, in one rename. Until then the published files wait in the cache, so
that a fetch that was stopped goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import urllib.parse
import zipfile
from typing import TYPE_CHECKING, BinaryIO, assert_never

import msgspec

from dragoman import files
from dragoman.data import built_in, catalog, download
from dragoman.errors import DownloadError, FileError, SettingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from dragoman.data.catalog import Entry, Original
    from dragoman.data.download import Patience, Progress

HOST = "https://raw.githubusercontent.com"

_CUT = 17_000
"""Lines of the one set that is cut: those that are commonly used for train and dev."""

_DEV = 1_000
_LARGEST_TEXT = 1 << 28
"""The size that no text in an archive has: a bomb is refused before it is unpacked."""


class _Recorded(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the first download of a file was, for a file of which the catalogue knows no checksum."""

    bytes: int
    sha256: str


def mirror() -> str:
    """The address under which the published files are looked for."""
    named = os.environ.get("DRAGOMAN_MIRROR", "") or HOST
    if urllib.parse.urlsplit(named).scheme not in ("http", "https"):
        raise SettingError(
            f"{named!r} is not an address of the web",
            place="DRAGOMAN_MIRROR",
            remedy="Give one that begins with https://, or unset it; for a folder use DRAGOMAN_DATA.",
        )
    return named.rstrip("/")


def get(
    entry: Entry, *, to: Path | None = None, whole: bool = False, patience: Patience | None = None
) -> Iterator[Progress]:
    """Progress until a set is in the folder `to`, or, without one, anywhere on this machine.

    `whole` fetches what is published even when a local copy, which may leave files out, is here.
    """
    here = None if whole else catalog.present(entry)
    folder = (to or catalog.cache_folder()) / entry.name
    with files.locked(catalog.cache_folder() / "partial" / f"{entry.name}.lock", purpose=f"fetching {entry.name}"):
        if to is None and here is not None and here != folder:
            return
        if folder.exists() and _is_whole(folder, may_replace=to is None):
            return
        if entry.built_in:
            built_in.write(entry.name, folder)
        elif here is not None and here != folder:
            _copy(here, folder, entry)
        else:
            yield from _fetch(entry, folder, patience)


def _is_whole(folder: Path, *, may_replace: bool) -> bool:
    """Whether the folder is as it was made; a damaged one in our own cache is removed."""
    try:
        files.verify(folder)
    except FileError as damage:
        if not may_replace:
            raise FileError(
                f"is there already, and not a whole copy: {damage.problem} ({damage.place})",
                place=str(folder),
                remedy="Remove it, or name another folder.",
            ) from None
        with files.disk_errors(folder, "remove"):
            shutil.rmtree(folder)
        return False
    return True


def _copy(source: Path, folder: Path, entry: Entry) -> None:
    with files.new_folder(folder) as fresh:
        for name in entry.files:
            if (source / name).is_file():
                (fresh / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source / name, fresh / name)


# ---- fetching ----------------------------------------------------------------------------------------------------


def _fetch(entry: Entry, folder: Path, patience: Patience | None) -> Iterator[Progress]:
    partial = catalog.cache_folder() / "partial" / entry.name
    _check_room(entry, partial)
    host = mirror()
    here = []
    for original in entry.originals:
        path = partial / original.path
        yield from _fetch_original(original, path, host, patience)
        here.append((original, path))
    with files.new_folder(folder) as fresh:
        for original, path in here:
            make(original, path, fresh)
    shutil.rmtree(partial, ignore_errors=True)


def _fetch_original(original: Original, path: Path, host: str, patience: Patience | None) -> Iterator[Progress]:
    address = f"{original.repository}/HEAD/{original.path}"
    recorded = _records()
    known = recorded.get(address) if original.sha256 is None else None
    wanted = download.Wanted(
        url=f"{host}/{urllib.parse.quote(address)}",
        bytes=known.bytes if known else original.bytes,
        sha256=known.sha256 if known else original.sha256,
    )
    yield from download.fetch(wanted, path, patience=patience)
    if wanted.sha256 is None:
        recorded[address] = _Recorded(path.stat().st_size, files.sha256(path))
        files.write_atomically(_records_path(), msgspec.json.encode(recorded))


def _records_path() -> Path:
    return catalog.cache_folder() / "checksums.json"


def _records() -> dict[str, _Recorded]:
    """The checksums of first downloads, by address."""
    try:
        return msgspec.json.decode(_records_path().read_bytes(), type=dict[str, _Recorded])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise FileError(
            f"cannot be read: {error}",
            place=str(_records_path()),
            remedy="Remove it: the checksums of files fetched from now on are recorded afresh.",
        ) from None


def _check_room(entry: Entry, partial: Path) -> None:
    """Raise FileError unless the disk takes the published files and, beside them, what is made of them."""
    needed, free = 2 * entry.bytes, files.free_bytes(partial)
    if free is not None and free < needed:
        raise FileError(
            f"the disk is too full for {entry.name}: about {needed:,} bytes needed, {free:,} free",
            place=str(partial),
            remedy="Make room; or name another cache folder in XDG_CACHE_HOME.",
        )


# ---- from a published file to ours -------------------------------------------------------------------------------


def make(original: Original, path: Path, folder: Path) -> None:
    """Write the files that a published file becomes."""
    targets = [folder / name for name in original.files]
    with files.disk_errors(path, "read"), path.open("rb") as stream:
        match original.making:
            case "keep" | "pack":  # a file whose name ends in .gz already is kept, byte for byte
                _write(targets[0], iter(lambda: stream.read(1 << 20), b""), plain=original.making == "keep")
            case "cut":
                _write(targets[0], (line for _, line in zip(range(_CUT), stream, strict=False)))
                _write(targets[1], stream)
            case "halve":
                header, *rows = _csv_rows(stream)
                _write(targets[0], [header, *rows[::2]])
                _write(targets[1], [header, *rows[1::2]])
            case "pairs":
                dev, train = split_pairs(_pairs(stream, original))
                for target, part in zip(targets, (dev, train), strict=True):
                    _write(target, (f"{source}\t{goal}\n".encode() for source, goal in part))
            case _:
                assert_never(original.making)


def _write(path: Path, pieces: Iterable[bytes], *, plain: bool = False) -> None:
    """Write a file, packed by its ending unless it is to stay as it is."""
    if plain:
        with files.continuing(path, at=0) as stream:
            stream.writelines(pieces)
        return
    with files.replacing(path) as stream:
        stream.writelines(pieces)


def _csv_rows(stream: Iterable[bytes]) -> list[bytes]:
    """The rows of a CSV file as they are written; a line break inside quotes does not end one."""
    rows, row = [], b""
    for line in stream:
        row += line
        if row.count(b'"') % 2 == 0:
            rows.append(row)
            row = b""
    return [*rows, row] if row else rows


def _pairs(stream: BinaryIO, original: Original) -> Iterator[tuple[str, str]]:
    """The pairs in the one text of a zip archive, whose other members are about it; nothing else is unpacked."""
    try:
        with zipfile.ZipFile(stream) as archive:
            (text,) = [i for i in archive.infolist() if i.filename.endswith(".txt") and not i.filename.startswith("_")]
            if text.file_size > _LARGEST_TEXT:
                raise ValueError(f"a text of {text.file_size:,} bytes")  # noqa: TRY301 - told to the user below
            with archive.open(text) as lines:
                for line in lines:
                    source, goal, *_ = line.decode().rstrip("\r\n").split("\t")
                    yield source, goal
    except (zipfile.BadZipFile, ValueError, EOFError, NotImplementedError, RuntimeError) as error:
        raise DownloadError(
            f"the archive is not what it was: {error}",
            place=original.path,
            remedy="Report it: its contents changed where it is published.",
        ) from None


def split_pairs(
    pairs: Iterable[tuple[str, str]], *, size: int = _DEV
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Dev and train: both in the order of each pair's SHA-256, no sentence of dev in train on either side."""
    shuffled = sorted(set(pairs), key=lambda pair: hashlib.sha256("\t".join(pair).encode()).digest())
    dev: list[tuple[str, str]] = []
    sources, goals = set(), set()
    for source, goal in shuffled:
        if len(dev) < size and source not in sources and goal not in goals:
            dev.append((source, goal))
            sources.add(source)
            goals.add(goal)
    train = [(source, goal) for source, goal in shuffled if source not in sources and goal not in goals]
    return dev, train
