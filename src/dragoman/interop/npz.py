"""Foreign weights in NumPy's archives: names and shapes are read from the heads of the arrays, and no pickle ever."""

from __future__ import annotations

import contextlib
import struct
import tokenize
import zipfile
import zlib
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from numpy.lib import format as npy

from dragoman.errors import FileError
from dragoman.files import disk_errors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Npz"]

_SUFFIX = ".npy"
_MOST_SWOLLEN = 16
"""An archive that unpacks to so many times its size was made to fill memories."""
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    tokenize.TokenError,
    SyntaxError,
    ValueError,
    TypeError,
    EOFError,
    RuntimeError,
    LookupError,
    ArithmeticError,
)


@dataclass(frozen=True, slots=True)
class _Head:
    shape: tuple[int, ...]
    kind: np.dtype[Any]


class Npz:
    """The arrays of an archive, read one at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._opened() as archive:
            entries = archive.infolist()
            if sum(entry.file_size for entry in entries) > _MOST_SWOLLEN * path.stat().st_size:
                raise ValueError("it unpacks to far more than it is")
            self._heads = {entry.filename.removesuffix(_SUFFIX): _head(archive, entry) for entry in entries}

    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The shape of each array, by name."""
        return {name: head.shape for name, head in self._heads.items()}

    def read(self, name: str) -> NDArray[Any]:
        """One of them."""
        with self._opened() as archive, archive.open(f"{name}{_SUFFIX}") as stored:
            found: NDArray[Any] = npy.read_array(stored, allow_pickle=False)
        return found

    @contextlib.contextmanager
    def _opened(self) -> Iterator[zipfile.ZipFile]:
        with disk_errors(self.path, "read"):
            try:
                with zipfile.ZipFile(self.path) as archive:
                    yield archive
            except _DAMAGED as error:
                raise FileError(f"damaged: {error}", place=str(self.path), remedy="Fetch the model again.") from None


def _head(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> _Head:
    """What an array is, without the array; ValueError where it is none, or claims more than the archive holds."""
    with archive.open(entry) as stored:
        shape, kind = _declared(stored)
    size = kind.itemsize
    for axis in shape:
        size *= axis
    if kind.kind not in "fiu" or min(shape, default=0) < 0 or size > entry.file_size:
        raise ValueError(f"{entry.filename} is no array of numbers, or not whole")
    return _Head(shape, kind)


def _declared(stored: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = npy.read_magic(stored)
    if version == (1, 0):
        shape, _, kind = npy.read_array_header_1_0(stored)
    elif version == (2, 0):
        shape, _, kind = npy.read_array_header_2_0(stored)
    else:
        raise ValueError(f"arrays of version {version} are not known here")
    return shape, kind
