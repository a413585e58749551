"""Lines of text, checked: every line of a file is a string that is safe to use, or a Fault that says what is wrong.

A line ends in LF. One CR directly before the LF belongs to the line's end; a byte order mark at the start of a file
is dropped; both are counted as notes. Everything else that other programs would read differently is a fault: bytes
that are not UTF-8, NUL, any other character at which programs break lines, and lines over the length allowed.

Whole blocks are checked at once; only a block in which something is wrong is looked at line by line.
"""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING

import msgspec

from dragoman import files
from dragoman.errors import FileError

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence
    from pathlib import Path

BYTE_ORDER_MARK = "byte order mark dropped"
WINDOWS_LINE_END = "line ended in CR LF"

_BLOCK = 1 << 16
_MARK = b"\xef\xbb\xbf"
_SLACK = 4  # a byte order mark and a CR do not count as length
_BREAKS = re.compile("[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")


class Reason(enum.StrEnum):
    """Why a line cannot be used."""

    ENCODING = "not UTF-8"
    NUL = "NUL character"
    LINE_BREAK = "line break inside the text"
    TOO_LONG = "over-long line"
    EMPTY = "empty side"
    COLUMNS = "wrong number of columns"
    JSON = "not a JSON object"
    FIELD = "missing field"
    ARRAY = "unusable array"


class Fault(msgspec.Struct, frozen=True):
    """What is wrong with a line: the kind of trouble, and what exactly."""

    reason: Reason
    detail: str


def checked(source: Path | str, *, longest: int, notes: Counter[str]) -> Iterator[str | Fault]:
    """Each line of a file as text, or as the fault in it; `notes` counts what was mended on the way."""
    count = 0
    try:
        for number, block in enumerate(blocks(source, longest=longest)):
            content = block
            if number == 0 and block.startswith(_MARK):
                notes[BYTE_ORDER_MARK] += 1
                content = block.removeprefix(_MARK)
            found = _fast(content, longest=longest, notes=notes) or _slow(content, longest=longest, notes=notes)
            yield from found
            count += len(found)
    except FileError as error:
        if not count:
            raise
        raise FileError(error.problem, place=f"{error.place}, after line {count:,}", remedy=error.remedy) from None


def blocks(source: Path | str, *, longest: int) -> Iterator[bytes]:
    """The bytes of a file, cut behind line ends; of a line that is too long just enough to see that it is."""
    rest, skipping = bytearray(), False
    with files.reading(source) as stream:
        while chunk := stream.read1(_BLOCK):  # type: ignore[attr-defined] # every buffered stream has it
            if skipping:
                _, newline, chunk = chunk.partition(b"\n")
                skipping = not newline
            end = chunk.rfind(b"\n") + 1
            if end:
                yield bytes(rest) + chunk[:end]
                rest = bytearray(chunk[end:])
            elif not skipping:
                rest += chunk
            if len(rest) > longest + _SLACK:
                yield bytes(rest[: longest + _SLACK + 1])
                rest, skipping = bytearray(), True
    if rest:
        yield bytes(rest)


def text_or_fault(content: bytes, *, longest: int) -> str | Fault:
    """The text that the bytes of one line stand for, or what is wrong with them."""
    if len(content) > longest:
        return Fault(Reason.TOO_LONG, f"more than {longest:,} bytes")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        hint = "; the file looks like UTF-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else ""
        return Fault(Reason.ENCODING, f"byte 0x{content[error.start]:02X} at position {error.start + 1}{hint}")
    return fault_in(text) or text


def fault_in(text: str) -> Fault | None:
    """What makes a text unfit to be one line of a file, if anything does."""
    if (place := text.find("\0")) >= 0:
        return Fault(Reason.NUL, f"U+0000 at character {place + 1}")
    if found := _BREAKS.search(text):
        return Fault(Reason.LINE_BREAK, f"U+{ord(found.group()):04X} at character {found.start() + 1}")
    return None


def fit(texts: Sequence[str]) -> bool:
    """Whether every one of many texts is fit to be a line: fault_in() for all of them at once."""
    joined = "\n".join(texts)
    return "\0" not in joined and "\r" not in joined and len((joined + ".").splitlines()) == max(len(texts), 1)


def _fast(block: bytes, *, longest: int, notes: Counter[str]) -> list[str | Fault]:
    """The lines of a block in which nothing is wrong; nothing where something is."""
    try:
        text = block.decode()
    except UnicodeDecodeError:
        return []
    windows = 0
    if "\r" in text:
        windows = text.count("\r\n")
        text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    if "\0" in text or "\r" in text or len((text + ".").splitlines()) != len(lines):
        return []
    if not lines[-1]:
        lines.pop()
    if len(block) > longest and max(map(len, lines), default=0) * 4 > longest:
        return []
    if windows:
        notes[WINDOWS_LINE_END] += windows
    return lines  # type: ignore[return-value] # a list of strings, to be read only


def _slow(block: bytes, *, longest: int, notes: Counter[str]) -> list[str | Fault]:
    """The lines of a block, each looked at by itself."""
    *whole, last = block.split(b"\n")
    found: list[str | Fault] = []
    for line in whole:
        content = line.removesuffix(b"\r")
        found.append(text_or_fault(content, longest=longest))
        if len(content) < len(line) and isinstance(found[-1], str):
            notes[WINDOWS_LINE_END] += 1
    if last:  # the file ends without LF
        found.append(text_or_fault(last, longest=longest))
    return found
