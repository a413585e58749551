"""Sentencepiece models, built of the pieces that a `tokenizer.json` lists.

A sentencepiece model is a message of protocol buffers; these are its fields that matter:

    1  piece        1 text, 2 score, 3 type
    2  training     3 algorithm, 35 bytes for what is unknown, 40 to 43 numbers of special pieces
    3  tidying      1 name, 2 the compiled table of characters, 3 to 5 what happens to spaces
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Literal

from dragoman.text.messages import bytes_field, number_field

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Kind", "sentencepiece_model"]

Kind = Literal["normal", "unknown", "control", "unused", "byte"]

_KINDS: dict[Kind, int] = {"normal": 1, "unknown": 2, "control": 3, "unused": 5, "byte": 6}
_ALGORITHMS = {"unigram": 1, "bpe": 2}


def sentencepiece_model(
    pieces: Iterable[tuple[str, float, Kind]],
    *,
    algorithm: Literal["unigram", "bpe"],
    characters: bytes,
    byte_fallback: bool = False,
    tidy_spaces: bool = True,
) -> bytes:
    """The model of these pieces, one of which is unknown; `characters` is the compiled table by which texts are tidied.

    Its own numbers of begin, end and padding are switched off: nobody asks it for them.
    """
    nowhere = (1 << 64) - 1  # -1
    written = bytearray()
    unknown = 0
    for number, (text, score, kind) in enumerate(pieces):
        unknown = number if kind == "unknown" else unknown
        inner = bytes_field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + number_field(3, _KINDS[kind])
        written += bytes_field(1, inner)
    training = (
        number_field(3, _ALGORITHMS[algorithm]) + number_field(35, int(byte_fallback)) + number_field(40, unknown)
    )
    training += b"".join(number_field(field, nowhere) for field in (41, 42, 43))
    tidying = bytes_field(1, b"imported") + bytes_field(2, characters) + number_field(3, 1)
    tidying += number_field(4, int(tidy_spaces)) + number_field(5, 1)
    return bytes(written + bytes_field(2, training) + bytes_field(3, tidying))
