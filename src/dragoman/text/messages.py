"""Fields of protocol-buffers messages, as sentencepiece models are made of them."""

from __future__ import annotations

__all__ = ["bytes_field", "number_field", "variable"]


def bytes_field(field: int, value: bytes) -> bytes:
    """A field of bytes, or of a message within."""
    return variable(field << 3 | 2) + variable(len(value)) + value


def number_field(field: int, value: int) -> bytes:
    """A field of a whole number."""
    return variable(field << 3) + variable(value)


def variable(value: int) -> bytes:
    """A number of variable length: seven bits a byte, the lowest first."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
