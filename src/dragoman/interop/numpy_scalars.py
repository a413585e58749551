"""Single numbers that NumPy has pickled, as numbers of Python: none of NumPy's own readers meets a stranger's bytes.

A pickle names a reader and gives it arguments. `STAND_INS` puts the two of this file in the place of those two that
scalars need; arrays, records and objects have other ones, or kinds that are refused here.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["STAND_INS", "Kind", "number"]

_FORMATS = {
    "b1": "?",
    "i1": "b",
    "i2": "h",
    "i4": "i",
    "i8": "q",
    "u1": "B",
    "u2": "H",
    "u4": "I",
    "u8": "Q",
    "f2": "e",
    "f4": "f",
    "f8": "d",
}
"""Formats of `struct` by NumPy's names of its kinds of numbers."""
_ORDERS = {"<": "<", ">": ">", "|": "<"}


class Kind:
    """What is needed of a dtype: a kind of number, and the order of its bytes."""

    def __init__(self, code: object, *_: object) -> None:
        if not isinstance(code, str) or code not in _FORMATS:
            raise TypeError(f"{code!r} is no kind of number")
        self.format = f"<{_FORMATS[code]}"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, order, *parts = state
        if order not in _ORDERS or any(part is not None for part in parts[:3]):
            raise ValueError("a dtype with parts is no kind of number")
        self.format = _ORDERS[order] + self.format[1:]


def number(kind: Kind, data: object) -> float:
    """The number that the bytes of a scalar stand for."""
    if not isinstance(data, bytes) or len(data) != struct.calcsize(kind.format):
        raise ValueError("these are not the bytes of a scalar")
    found: float = struct.unpack(kind.format, data)[0]
    return found


STAND_INS: list[Callable[..., Any] | tuple[Callable[..., Any], str]] = [
    (Kind, "numpy.dtype"),
    (number, "numpy._core.multiarray.scalar"),
    (number, "numpy.core.multiarray.scalar"),
]
"""Readers by the names that pickles call for, those of NumPy before version 2 too."""
