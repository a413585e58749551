"""Scalars of NumPy are read without NumPy, as numbers that are the same; whatever is none is refused."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.interop.numpy_scalars import Kind, number


@pytest.mark.parametrize(
    "value",
    [
        np.float64(-12.5),
        np.float32(0.1),
        np.float16(0.5),
        np.int64(-(2**40)),
        np.int8(-3),
        np.uint16(65535),
        np.bool_(True),
        np.float64("inf"),
        np.float64(3.25).astype(">f8"),
    ],
)
def test_a_scalar_becomes_the_same_number(value):
    array = np.asarray(value)
    for kind in (array.dtype, array.dtype.newbyteorder(">")):
        _, arguments, state = kind.__reduce__()
        ours = Kind(*arguments)
        ours.__setstate__(state)
        assert number(ours, array.astype(kind).tobytes()) == value


@pytest.mark.parametrize("code", ["O8", "O", "V8", "U4", "M8", [("a", "O")], 8, None])
def test_a_kind_that_is_no_number_is_refused(code):
    with pytest.raises((TypeError, ValueError), match="number"):
        Kind(code, False, True)


@pytest.mark.parametrize("data", [b"", b"1234", b"123456789", "12345678", None])
def test_data_that_are_no_scalar_are_refused(data):
    with pytest.raises(ValueError, match="scalar"):
        number(Kind("f8", False, True), data)


def test_a_kind_with_parts_is_refused():
    kind = Kind("f8", False, True)
    with pytest.raises(ValueError, match="number"):
        kind.__setstate__((3, "<", ("f8", (2,)), None, None, -1, -1, 0))
