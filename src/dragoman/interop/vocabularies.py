"""Vocabularies of other libraries: pieces and their numbers, in the files that Marian, JoeyNMT and others write."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
import sentencepiece

from dragoman.errors import FileError, ModelError
from dragoman.interop.checkpoints import small_text
from dragoman.interop.plain_yaml import scalar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["look", "of_sentencepiece"]

_REMEDY = "Check that the files belong together, and fetch them again."
_NUMBER = re.compile(r"[0-9]{1,9}")


def look(path: Path) -> dict[str, int]:
    """The number of each piece: in YAML or JSON a line says it, in plain text it is that of the line."""
    text = small_text(path)
    if path.suffix == ".json" or text.lstrip()[:1] == "{":
        try:
            found = msgspec.json.decode(text, type=dict[str, int])
        except msgspec.MsgspecError as error:
            raise FileError(f"is no vocabulary: {error}", place=str(path), remedy=_REMEDY) from None
        pairs = list(found.items())
    elif path.suffix in (".yml", ".yaml"):
        pairs = list(_lines(text, str(path)))
    else:
        pairs = [(piece, number) for number, piece in enumerate(text.removesuffix("\n").split("\n"))]
    numbers = dict(pairs)
    if not numbers or len(numbers) < len(pairs) or len(set(numbers.values())) < len(pairs) or min(numbers.values()) < 0:
        raise FileError("is no vocabulary: a piece or a number stands twice", place=str(path), remedy=_REMEDY)
    return numbers


def of_sentencepiece(model: bytes, place: str) -> dict[str, int]:
    """The number of each piece of a sentencepiece model."""
    try:
        processor: Any = sentencepiece.SentencePieceProcessor(model_proto=model)
    except (RuntimeError, ValueError) as error:
        raise ModelError(f"no sentencepiece model: {error}", place=place, remedy=_REMEDY) from None
    return {str(processor.id_to_piece(number)): number for number in range(processor.vocab_size())}


def _lines(text: str, place: str) -> Iterator[tuple[str, int]]:
    """Pairs of `piece: number`. Any character may stand in a piece that has no quotes, other than YAML would have it;
    a long one stands behind `? `, and its number on the line below.
    """
    waiting: str | None = None
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")  # noqa: PLW2901 - the same line
        if not line.strip():
            continue
        if waiting is None and line.startswith("? "):
            waiting = line[2:]
            continue
        key, _, written = (waiting, "", line.removeprefix(":")) if waiting is not None else line.rpartition(":")
        waiting = None
        try:
            piece = str(scalar(key.strip(" "))) if key[:1] in "\"'" and key else key
        except ValueError as error:
            raise FileError(str(error), place=f"{place}, line {number}", remedy=_REMEDY) from None
        if not _NUMBER.fullmatch(written.strip()):
            raise FileError("is no piece with its number", place=f"{place}, line {number}", remedy=_REMEDY)
        yield piece, int(written)
