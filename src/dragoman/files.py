"""The only door to disk: atomic writes, folders with a manifest, text streams, checksums.

What is written here appears whole or not at all: new bytes go to a fresh name, are flushed to the disk, and take
their final name in one rename, after which the parent folder is flushed too. A folder carries `manifest.json`, the
size and SHA-256 of each of its files, so that damage is found when it is opened and not years later in a result.
"""

from __future__ import annotations

import bz2
import contextlib
import errno
import fcntl
import gzip
import hashlib
import io
import lzma
import os
import re
import shutil
import stat
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import msgspec

from dragoman.errors import FileError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator

MANIFEST = "manifest.json"
STANDARD = "-"
"""The name that stands for standard input or output."""

_BUFFER = 1 << 20
_NEWLINE = 0x0A
_BOMB_BYTES, _BOMB_RATIO = 16 << 20, 300
_LONGEST_MANIFEST = 64 << 20
_DAMAGED = (gzip.BadGzipFile, zlib.error, lzma.LZMAError, EOFError)


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    bytes: int
    sha256: str


class _Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: int
    files: dict[str, _File]


# ---- writing -----------------------------------------------------------------------------------------------------


def write_atomically(path: Path, data: bytes) -> None:
    """The file at `path` holds `data`, or, if this fails, what it held before."""
    with replacing(path) as stream:
        stream.write(data)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A stream whose bytes replace the file at `path` when the block ends well, compressed by its ending."""
    with disk_errors(path, "write") as effort:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():  # /dev/null or a pipe: there is nothing to replace
            with path.open("wb") as special, _compressing(special, path) as stream:
                yield stream
            return
        _remove_abandoned(path)
        fresh, raw = _fresh_file(path)
        try:
            with raw:
                with _compressing(raw, path) as stream:
                    yield stream
                raw.flush()
                os.fsync(raw.fileno())
                fresh.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                effort.bytes = fresh.stat().st_size
                fresh.unlink(missing_ok=True)
            raise
        _flush_folder(path.parent)


@contextlib.contextmanager
def continuing(path: Path, *, at: int) -> Iterator[BinaryIO]:
    """A stream that goes on after the first `at` bytes of a file, and keeps what was written if the block fails."""
    with disk_errors(path, "write") as effort:
        path.parent.mkdir(parents=True, exist_ok=True)
        effort.bytes = at
        with path.open("r+b" if at else "wb") as stream:
            stream.truncate(at)
            stream.seek(at)
            try:
                yield stream
            finally:
                effort.bytes = stream.tell()
            stream.flush()
            os.fsync(stream.fileno())


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A fresh folder to fill; when the block ends well it gets its manifest and becomes `path`."""
    fresh = path.with_name(f"{path.name}.tmp")
    with disk_errors(path, "write") as effort:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            raise FileError("already exists", place=str(path), remedy="Remove it, or choose another folder.")
        with _fresh_folder(fresh):
            try:
                yield fresh
                _write_manifest(fresh)
                fresh.rename(path)
            except BaseException:
                with contextlib.suppress(OSError):
                    effort.bytes = sum(p.lstat().st_size for p in _entries(fresh))
                shutil.rmtree(fresh, ignore_errors=True)
                raise
        _flush_folder(path.parent)


@contextlib.contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """A fresh folder to fill; when the block ends well it takes the place of `path`.

    A folder cannot be replaced in one step. Between the two renames the old one is beside it: see `whole`.
    """
    old, fresh = _old(path), path.with_name(f"{path.name}.new")
    with disk_errors(path, "write"):
        if old.exists() and not path.exists():
            old.rename(path)
        for left in (old, fresh):
            if left.exists():
                shutil.rmtree(left)
    with new_folder(fresh) as filling:
        yield filling
    with disk_errors(path, "write"):
        if path.exists():
            path.rename(old)
        fresh.rename(path)
        _flush_folder(path.parent)
        if old.exists():
            shutil.rmtree(old)


def whole(path: Path) -> Path:
    """Where the folder is: at `path`, or beside it if a replacement was cut short."""
    return _old(path) if not path.exists() and _old(path).exists() else path


def _old(path: Path) -> Path:
    return path.with_name(f"{path.name}.old")


def _fresh_file(path: Path) -> tuple[Path, BinaryIO]:
    """A new file beside `path`, locked for as long as it is open, so that others see that its writer lives."""
    while True:
        fresh = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
        raw = fresh.open("xb")
        if _lock(raw.fileno()) and os.fstat(raw.fileno()).st_nlink:  # nobody takes it for abandoned, or has
            return fresh, raw
        raw.close()


def _remove_abandoned(path: Path) -> None:
    """Remove what writers of `path` left behind when they were killed."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}\.tmp")
    for left in [p for p in path.parent.iterdir() if pattern.fullmatch(p.name)]:
        with contextlib.suppress(OSError), left.open("rb") as stream:
            if _lock(stream.fileno()):
                left.unlink()


@contextlib.contextmanager
def _fresh_folder(fresh: Path) -> Iterator[None]:
    """The folder `fresh`, new and empty, and nobody else's while the block runs."""
    if fresh.is_dir() and not fresh.is_symlink():
        with _descriptor(fresh) as left:
            if not _lock(left):
                raise FileError(
                    "another process is writing here", place=str(fresh), remedy="Wait for it, or stop it first."
                )
            shutil.rmtree(fresh)
    fresh.mkdir()
    with _descriptor(fresh) as descriptor:
        _lock(descriptor)
        yield


def _lock(descriptor: int, *, wait: bool = False) -> bool:
    """Whether nobody else holds the lock of this file or folder; ours until the descriptor is closed."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        return error.errno not in (errno.EAGAIN, errno.EACCES)  # a disk that knows no locks stops nobody
    return True


@contextlib.contextmanager
def locked(path: Path, *, purpose: str, wait: bool = False) -> Iterator[None]:
    """Hold the lock file at `path` while the block runs.

    When another process holds it: wait for that one, or raise FileError.
    """
    with disk_errors(path, "lock"):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
    try:
        if not _lock(descriptor, wait=wait):
            raise FileError(
                f"another process holds this lock: it is {purpose}",
                place=str(path),
                remedy="Wait for it, or stop it first.",
            )
        yield
    finally:
        os.close(descriptor)


def _entries(folder: Path) -> list[Path]:
    """Everything in a folder that is not itself a folder; a link counts as what it is, a link."""
    return sorted(p for p in folder.rglob("*") if p.is_symlink() or not p.is_dir())


def _write_manifest(folder: Path) -> None:
    entries = {}
    for path in _entries(folder):
        if not _is_regular(path):
            raise FileError(
                "only regular files can be kept in a folder with a manifest", place=str(path), remedy="Copy it."
            )
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
        entries[path.relative_to(folder).as_posix()] = _File(path.stat().st_size, sha256(path))
    with (folder / MANIFEST).open("wb") as stream:
        stream.write(_canonical(_Manifest(1, entries)))
        stream.flush()
        os.fsync(stream.fileno())
    for inner in [p for p in folder.rglob("*") if p.is_dir()]:
        _flush_folder(inner)
    _flush_folder(folder)


def _is_regular(path: Path) -> bool:
    """Whether this is a file with contents of its own: no link, pipe or device, which could be endless."""
    return stat.S_ISREG(path.lstat().st_mode)


def _canonical(manifest: _Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest, order="sorted"), indent=1)


def _flush_folder(folder: Path) -> None:
    with _descriptor(folder) as descriptor:
        os.fsync(descriptor)


@contextlib.contextmanager
def _descriptor(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


# ---- verifying ---------------------------------------------------------------------------------------------------


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def verify(folder: Path, *, contents: bool = True) -> None:
    """Raise FileError unless the folder holds just what its manifest says; without `contents`, by sizes alone."""
    remedy = "The folder is damaged or incomplete: use another copy, or make it again."
    with disk_errors(folder, "read"):
        manifest = _read_manifest(folder, remedy)
        present = {p.relative_to(folder).as_posix() for p in _entries(folder)} - {MANIFEST}
        for name in sorted(present ^ set(manifest.files)):
            problem = "not in the manifest" if name in present else "missing"
            raise FileError(problem, place=str(folder / name), remedy=remedy)
        for name, expected in manifest.files.items():
            path = folder / name
            if not _is_regular(path) or path.stat().st_size != expected.bytes:
                raise FileError(f"not the file of {expected.bytes} bytes", place=str(path), remedy=remedy)
            if contents and sha256(path) != expected.sha256:
                raise FileError("its contents have changed (SHA-256 differs)", place=str(path), remedy=remedy)


def _read_manifest(folder: Path, remedy: str) -> _Manifest:
    path = folder / MANIFEST
    try:
        if not _is_regular(path) or path.stat().st_size > _LONGEST_MANIFEST:
            raise FileError("not the file that was written there", place=str(path), remedy=remedy)
        written = path.read_bytes()
        manifest = msgspec.json.decode(written, type=_Manifest)
    except FileNotFoundError:
        raise FileError(f"has no {MANIFEST}", place=str(folder), remedy=remedy) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise FileError(f"unreadable: {error}", place=str(path), remedy=remedy) from None
    if manifest.format != 1 or _canonical(manifest) != written:
        raise FileError("altered, or of a newer format", place=str(path), remedy=remedy)
    return manifest


# ---- errors of the disk ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Effort:
    """How many bytes had been written when the disk refused."""

    bytes: int = 0


@contextlib.contextmanager
def disk_errors(path: Path | str, action: str) -> Iterator[_Effort]:
    """Errors of the operating system become FileErrors that say what to do."""
    effort = _Effort()
    try:
        yield effort
    except OSError as error:
        named = str(error.filename or path)
        vague = named.endswith(".tmp") or os.sep not in named  # a name of ours, or one inside a folder being removed
        raise FileError(
            f"cannot {action}: {error.strerror or error}",
            place=str(path) if vague else named,
            remedy=_remedy(error, Path(path), effort.bytes),
        ) from error


def _remedy(error: OSError, path: Path, written: int) -> str:
    match error.errno:
        case errno.ENOENT:
            return "Check the name; a relative path starts at the current folder."
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return "Check the permissions, or choose another place."
        case errno.ENOSPC | errno.EDQUOT:
            needed = f"more than {written:,} bytes needed, " if written else ""
            free = free_bytes(path)
            known = "an unknown number of" if free is None else f"{free:,}"
            return f"The disk is full ({needed}{known} bytes free there): make room, or choose another place."
        case errno.EISDIR:
            return "Name a file, not a folder."
        case errno.EIO:
            return "The disk reports a fault: check it, or choose another place."
        case _:
            return "Check the path and the disk."


def free_bytes(path: Path) -> int | None:
    """How many bytes are free on the disk where `path` is, or would be; nothing when that cannot be known."""
    for folder in (path, *path.absolute().parents):
        with contextlib.suppress(OSError):
            return shutil.disk_usage(folder).free
    return None


# ---- streams -----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def reading(source: Path | str) -> Iterator[BinaryIO]:
    """The bytes of a file, decompressed by its ending (.gz .xz .bz2 .zst), or of standard input for `-`."""
    if str(source) == STANDARD:
        yield sys.stdin.buffer
        return
    path = Path(source)
    with disk_errors(path, "read"), path.open("rb") as raw:
        try:
            with _decompressing(raw, path) as stream:
                yield stream
        except _DAMAGED as error:
            raise FileError(
                f"damaged or not compressed as its ending says: {error}",
                place=str(path),
                remedy="Fetch or compress the file again.",
            ) from None
        except OSError as error:
            if error.errno is None:  # bz2 has no error class of its own
                raise FileError(f"damaged: {error}", place=str(path), remedy="Fetch the file again.") from None
            raise


def lines(source: Path | str, *, longest: int) -> Iterator[bytes]:
    """Each line without its newline; of one over `longest` bytes just the first `longest` + 1, so memory is flat."""
    with reading(source) as stream:
        while line := stream.readline(longest + 1):
            if line[-1] == _NEWLINE:
                yield line[:-1]
                continue
            yield line
            if len(line) > longest:
                _skip_line(stream)


def _skip_line(stream: BinaryIO) -> None:
    while (rest := stream.readline(_BUFFER)) and rest[-1] != _NEWLINE:
        pass


@contextlib.contextmanager
def _decompressing(raw: io.BufferedReader, path: Path) -> Iterator[BinaryIO]:
    match path.suffix:
        case ".gz":
            unpacked: BinaryIO = cast("BinaryIO", gzip.GzipFile(fileobj=raw))
        case ".bz2":
            unpacked = cast("BinaryIO", bz2.BZ2File(raw))
        case ".xz":
            unpacked = cast("BinaryIO", lzma.LZMAFile(raw))  # noqa: SIM115 - closed below
        case ".zst":
            unpacked = cast("BinaryIO", _ZstandardReader(raw))
        case _:
            yield raw
            return
    if not raw.peek(1):
        raise EOFError("the file is empty")
    with unpacked:
        yield io.BufferedReader(_Guarded(unpacked, raw, path), _BUFFER)


class _ZstandardReader(io.RawIOBase):
    """Unpacked bytes of one or more frames. The package's own reader takes a truncated file for a whole one."""

    _CHUNK = 2048  # of which each byte unpacks to 32 KiB at most

    def __init__(self, raw: BinaryIO) -> None:
        self._package = _zstandard()
        self._raw, self._unread = raw, memoryview(b"")  # a view: what is left is not copied at each reading
        self._frame: Any = None

    def read(self, size: int = -1) -> bytes:
        while not self._unread:
            packed = self._raw.read(self._CHUNK)
            if not packed and self._frame is not None:
                raise EOFError("the file ends inside a frame")
            if not packed:
                return b""
            self._unread = memoryview(self._unpack(packed))
        end = len(self._unread) if size < 0 else size
        data, self._unread = bytes(self._unread[:end]), self._unread[end:]
        return data

    def _unpack(self, packed: bytes) -> bytes:
        unpacked = b""
        while packed:
            self._frame = self._frame or self._package.ZstdDecompressor().decompressobj()
            try:
                unpacked += self._frame.decompress(packed)
            except self._package.ZstdError as error:
                raise zlib.error(str(error)) from None
            packed = self._frame.unused_data
            if self._frame.eof:
                self._frame = None
        return unpacked


class _Guarded(io.RawIOBase):
    """Unpacked bytes, until there are far more of them than text ever unpacks to."""

    def __init__(self, unpacked: BinaryIO, raw: BinaryIO, path: Path) -> None:
        self._unpacked, self._raw, self._path, self._count = unpacked, raw, path, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override] # the buffer of BufferedReader
        data = self._unpacked.read(len(buffer))
        buffer[: len(data)] = data
        self._count += len(data)
        if self._count > _BOMB_BYTES and self._count > _BOMB_RATIO * self._raw.tell():
            raise FileError(
                f"unpacks to more than {_BOMB_RATIO} times its size, as text never does",
                place=str(self._path),
                remedy="Check where the file comes from; unpack it yourself if it is meant to be so.",
            )
        return len(data)


@contextlib.contextmanager
def _compressing(raw: BinaryIO, path: Path) -> Iterator[BinaryIO]:
    match path.suffix:
        case ".gz":
            packed: BinaryIO = cast("BinaryIO", gzip.GzipFile("", "wb", 6, raw, mtime=0))
        case ".bz2":
            packed = cast("BinaryIO", bz2.BZ2File(raw, "wb"))
        case ".xz":
            packed = cast("BinaryIO", lzma.LZMAFile(raw, "wb"))  # noqa: SIM115 - closed below
        case ".zst":
            packed = _zstandard().ZstdCompressor().stream_writer(raw, closefd=False)
        case _:
            yield raw
            return
    with packed:
        yield packed


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingExtra("zstandard", extra="data", purpose="a .zst file") from None
    return zstandard
