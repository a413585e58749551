"""Feature sources: arrays of numbers in .npy files, named line by line. Nothing that could run code is opened."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np

from dragoman.data.lines import Fault, Reason

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

_LONGEST_HEADER = 10_000


class ArrayFolder:
    """The folder beside a list of arrays: it holds them all, and they all have vectors of the same size."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._root = folder.resolve()
        self._size: int | None = None

    def path(self, name: str) -> str | Fault:
        """The path of the array so named, or why it cannot be used. Only its header is read."""
        try:
            path = (self._folder / name).resolve()
            if not path.is_relative_to(self._root):
                return Fault(Reason.ARRAY, f"{name!r} lies outside the folder of the list")
            if not path.is_file():
                return Fault(Reason.ARRAY, f"{name!r} is not a file")
            with path.open("rb") as stream:
                shape = _shape(stream, path.stat().st_size)
        except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: symlinks in a circle
            return Fault(Reason.ARRAY, f"{name!r}: {error}")
        self._size = self._size or shape[-1]
        if shape[-1] != self._size:
            return Fault(Reason.ARRAY, f"{name!r} has vectors of {shape[-1]} numbers; the first had {self._size}")
        return str(path)


def _shape(stream: BinaryIO, size: int) -> tuple[int, ...]:
    """The shape that an array's header declares, checked against the size of the file."""
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"unknown .npy version {version}")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    try:
        with warnings.catch_warnings(action="error"):
            shape, _, kind = read(stream, max_header_size=_LONGEST_HEADER)
    except Exception as error:  # noqa: BLE001 - numpy lets errors of Python's tokenizer escape
        raise ValueError(f"unreadable header: {error}") from None
    if kind.hasobject or kind.kind not in "fiu":
        raise ValueError(f"holds {kind}, not numbers")
    if len(shape) not in (1, 2) or min(shape) < 1:
        raise ValueError(f"has the shape {shape}; a vector, or one row a frame, is needed")
    expected = stream.tell() + math.prod(shape) * kind.itemsize
    if size != expected:
        raise ValueError(f"has {size:,} bytes where its header promises {expected:,}")
    return shape
