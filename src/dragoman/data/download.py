"""One file from the web: fetched piece by piece, gone on with after a cut, and checked before it counts.

The bytes grow in the file itself. Beside it, while it grows, lies a note of what the server called this version
(its ETag), so that a file that changes between two attempts is never joined from two halves.
"""

from __future__ import annotations

import contextlib
import http.client
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from dragoman import files
from dragoman.errors import DownloadError, FileError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CHUNK = 1 << 16
_LARGEST = 64 << 30
"""Where a file whose size nobody told us is given up."""

_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
_LONGEST_WAIT = 60.0
_ELSEWHERE = "Name another host in DRAGOMAN_MIRROR, or a folder that holds a copy in DRAGOMAN_DATA."


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file to fetch: its address, and its size and SHA-256 where they are known."""

    url: str
    bytes: int | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a file is: bytes that are here, bytes in all where that is known, and what there is to say about it."""

    url: str
    done: int
    total: int | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to try: attempts without a new byte, seconds to wait after the first, seconds of silence."""

    attempts: int = 5
    wait: float = 1.0
    silence: float = 30.0


class _Version(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the server called the version of which the first bytes are here."""

    url: str
    name: str


class _Cut(Exception):  # noqa: N818 - an event that the next attempt mends
    """An attempt that ended too early: why, and how many seconds the server asks us to wait."""

    def __init__(self, reason: str, *, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.reason, self.wait = reason, wait


def fetch(wanted: Wanted, path: Path, *, patience: Patience | None = None) -> Iterator[Progress]:
    """Progress until the file at `path` is the wanted one; raises DownloadError when it cannot be had."""
    if _is_complete(wanted, path):
        yield Progress(wanted.url, path.stat().st_size, wanted.bytes)
        return
    resumed = _here(path) > 0
    yield from _persist(wanted, path, patience or Patience())
    if not _matches(wanted, path) and resumed:  # the part that was here was not of this file: once more, from the start
        _forget(path)
        yield from _persist(wanted, path, patience or Patience())
    if not _matches(wanted, path):
        found = files.sha256(path)
        _forget(path)
        raise DownloadError(
            f"the file has the SHA-256 {found}, and should have {wanted.sha256}",
            place=wanted.url,
            remedy=f"It was changed on the way, or where it is published; nothing of it is kept. {_ELSEWHERE}",
        )
    _version_path(path).unlink(missing_ok=True)


def _persist(wanted: Wanted, path: Path, patience: Patience) -> Iterator[Progress]:
    """Attempts until one reaches the end of the file; only those that bring nothing new are counted."""
    failures, furthest = 0, _here(path)
    while True:
        try:
            yield from _attempt(wanted, path, patience)
        except _Cut as cut:
            failures = 1 if _here(path) > furthest else failures + 1
            furthest = max(furthest, _here(path))
            if failures >= patience.attempts:
                raise DownloadError(
                    f"cannot fetch the file: {cut.reason} ({patience.attempts} attempts)",
                    place=wanted.url,
                    remedy=f"Check the connection and run this again: it goes on where it stopped. {_ELSEWHERE}",
                ) from None
            wait = min(_LONGEST_WAIT, max(cut.wait, patience.wait * 2 ** (failures - 1)))
            yield Progress(wanted.url, _here(path), wanted.bytes, f"{cut.reason}; trying again in {wait:g} s")
            time.sleep(wait)
        else:
            return


# ---- one attempt -------------------------------------------------------------------------------------------------


def _attempt(wanted: Wanted, path: Path, patience: Patience) -> Iterator[Progress]:
    """One request, and its body to the end of the file; raises _Cut where another attempt may go on."""
    _check_scheme(wanted.url)
    have, version = _here(path), _known_version(wanted, path)
    if have and not version and not wanted.sha256:  # nothing could tell whether two halves fit
        have = 0
    request = urllib.request.Request(wanted.url, headers={"User-Agent": "dragoman"})  # noqa: S310 - see _check_scheme
    if have:
        request.add_header("Range", f"bytes={have}-")
        if version:
            request.add_header("If-Range", version)
    try:
        with _opened(request, patience) as response:
            at, total = _extent(response, have)
            _check_size(wanted, total)
            if at == 0:
                _forget(path)  # first, lest the bytes of one version be called another
            _remember_version(wanted, path, response)
            yield from _receive(response, path, at=at, total=total or wanted.bytes, url=wanted.url)
    except urllib.error.HTTPError as answer:
        _explain(answer, wanted, path)


@contextlib.contextmanager
def _opened(request: urllib.request.Request, patience: Patience) -> Iterator[http.client.HTTPResponse]:
    """The answer to a request; whatever goes wrong with the connection, now or later, is a _Cut."""
    try:
        with urllib.request.urlopen(request, timeout=patience.silence) as response:  # noqa: S310 - see _check_scheme
            yield response
    except urllib.error.HTTPError:
        raise
    except urllib.error.URLError as error:
        raise _Cut(f"{urllib.parse.urlsplit(request.full_url).hostname} cannot be reached: {error.reason}") from None
    except TimeoutError:
        raise _Cut(f"no byte came for {patience.silence:g} seconds") from None
    except (http.client.HTTPException, ConnectionError) as error:
        raise _Cut(f"the connection broke ({type(error).__name__})") from None


def _check_scheme(url: str) -> None:
    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        raise DownloadError("not an address of the web", place=url, remedy="Give one that begins with https://.")


def _extent(response: http.client.HTTPResponse, have: int) -> tuple[int, int | None]:
    """Where the body of an answer begins in the file, and the size of the whole file if the server says it."""
    if response.status == 206:
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
        if found is None or int(found[1]) > have:
            raise _Cut("the server sent another part than it was asked for")
        return int(found[1]), None if found[2] == "*" else int(found[2])
    length = response.headers.get("Content-Length", "")
    return 0, int(length) if length.isdigit() else None


def _check_size(wanted: Wanted, total: int | None) -> None:
    if None not in (wanted.bytes, total) and total != wanted.bytes:
        raise DownloadError(
            f"the server has a file of {total:,} bytes, and it should be {wanted.bytes:,}",
            place=wanted.url,
            remedy=f"It was changed where it is published. {_ELSEWHERE}",
        )


def _receive(
    response: http.client.HTTPResponse, path: Path, *, at: int, total: int | None, url: str
) -> Iterator[Progress]:
    done = at
    with files.continuing(path, at=at) as stream:
        _check_room(path, done, total)
        while chunk := _read(response):
            stream.write(chunk)
            done += len(chunk)
            if done > (_LARGEST if total is None else total):
                raise DownloadError(
                    f"the server sends more than the {total or _LARGEST:,} bytes of the file",
                    place=url,
                    remedy=_ELSEWHERE,
                )
            yield Progress(url, done, total)
    if total is not None and done < total:
        raise _Cut(f"the connection ended after {done:,} of {total:,} bytes")


def _read(response: http.client.HTTPResponse) -> bytes:
    """The next bytes of a body; errors of the network leave as what they are, not as errors of the disk."""
    try:
        return response.read1(_CHUNK)
    except TimeoutError:
        raise _Cut("the server fell silent") from None
    except (http.client.HTTPException, OSError) as error:
        raise _Cut(f"the connection broke ({type(error).__name__})") from None


def _check_room(path: Path, done: int, total: int | None) -> None:
    free = files.free_bytes(path)
    if None not in (total, free) and (total or 0) - done > (free or 0):
        raise FileError(
            f"the disk is too full: {(total or 0) - done:,} bytes needed, {free:,} free",
            place=str(path),
            remedy="Make room; or name another cache folder in XDG_CACHE_HOME.",
        )


def _explain(answer: urllib.error.HTTPError, wanted: Wanted, path: Path) -> None:
    """Raise what an answer that is not a file means."""
    answer.close()
    said = f"the server answered {answer.code} {answer.reason}"
    if answer.code == 416:
        total = re.fullmatch(r"bytes \*/(\d+)", answer.headers.get("Content-Range", ""))
        if total is not None and int(total[1]) == _here(path):
            return  # all of it was here already
        _forget(path)
        raise _Cut(said)
    if answer.code in _BUSY:
        wait = answer.headers.get("Retry-After", "")
        raise _Cut(said, wait=float(wait) if wait.isdigit() else 0.0)
    reason = "the file is not there any more" if answer.code in (404, 410) else "the server refuses"
    raise DownloadError(f"{reason}: {said}", place=wanted.url, remedy=_ELSEWHERE)


# ---- what is here ------------------------------------------------------------------------------------------------


def _here(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _matches(wanted: Wanted, path: Path) -> bool:
    return wanted.sha256 is None or files.sha256(path) == wanted.sha256


def _is_complete(wanted: Wanted, path: Path) -> bool:
    """Whether the file is here, which only its SHA-256 can tell."""
    if wanted.sha256 is None or not path.is_file() or wanted.bytes not in (None, _here(path)):
        return False
    return _matches(wanted, path)


def _version_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.version")


def _known_version(wanted: Wanted, path: Path) -> str:
    try:
        version = msgspec.json.decode(_version_path(path).read_bytes(), type=_Version)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    return version.name if version.url == wanted.url else ""


def _remember_version(wanted: Wanted, path: Path, response: http.client.HTTPResponse) -> None:
    name = response.headers.get("ETag", "")
    if not name or name.startswith("W/"):  # a weak one does not promise the same bytes
        name = response.headers.get("Last-Modified", "")
    files.write_atomically(_version_path(path), msgspec.json.encode(_Version(wanted.url, name)))


def _forget(path: Path) -> None:
    path.unlink(missing_ok=True)
    _version_path(path).unlink(missing_ok=True)
