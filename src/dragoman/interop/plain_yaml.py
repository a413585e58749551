"""The part of YAML that configurations of other libraries are written in.

Mappings and lists by indentation, lists and mappings in brackets, plain and quoted scalars, comments. Anchors, tags and
texts of several lines are refused: none of these files needs them, and reading them is where other readers were broken.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NoReturn

from dragoman.errors import FileError

__all__ = ["parse", "scalar"]

_DEEPEST = 20
_KEY = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s'"\[\]{},#&*!|>%@`-][^#]*?|-[^\s#][^#]*?)\s*:(?:\s+|$)""")
_TOKEN = re.compile(
    r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[\[\]{},:]|(?:[^\[\]{},:\s"']|:(?=\S))(?:[^\[\]{},:]|:(?=\S))*)"""
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,18}\.[0-9]{0,30}|\.[0-9]{1,30}|[0-9]{1,18})(?:[eE][-+]?[0-9]{1,3})?")
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "yes": True, "false": False, "no": False}


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    indent: int
    text: str


def parse(text: str, *, place: str) -> Any:
    """What a document says, in dictionaries, lists and scalars; FileError where it is written in other ways."""
    lines = []
    for number, raw in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        bare = _without_comment(raw)
        if bare.strip() and bare.strip() not in ("---", "..."):
            lines.append(_Line(number, len(bare) - len(bare.lstrip(" ")), bare.strip()))
    reader = _Reader(lines, place)
    return reader.document()


def scalar(text: str) -> Any:
    """The value of a scalar: a text in quotes is a text, whatever it looks like. ValueError where it is no scalar."""
    if text[:1] in ('"', "'"):
        return _unquoted(text)
    if text[:2] in ("- ", "? ") or (text and text[0] in "&*!|>%@`"):
        raise ValueError(f"{text[:20]!r} is YAML of a kind that is not read here")
    lower = text.lower()
    if lower in _WORDS:
        return _WORDS[lower]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


class _Reader:
    """Reads lines from the first to the last."""

    def __init__(self, lines: list[_Line], place: str) -> None:
        self._lines, self._place, self._next = lines, place, 0

    def document(self) -> Any:
        if not self._lines:
            return {}
        found = self._block(self._lines[0].indent, 0)
        if self._next < len(self._lines):
            self._refuse("its indentation")
        return found

    def _block(self, indent: int, depth: int) -> Any:
        if depth > _DEEPEST:
            self._refuse("its depth")
        text = self._lines[self._next].text
        if text == "-" or text.startswith("- "):
            return self._list(indent, depth)
        if _KEY.match(text):
            return self._mapping(indent, depth)
        self._next += 1
        return self._value(text, depth)

    def _list(self, indent: int, depth: int) -> list[Any]:
        found = []
        while (line := self._at(indent)) is not None and (line.text == "-" or line.text.startswith("- ")):
            rest = line.text[1:].strip()
            inner = line.indent + len(line.text) - len(rest)
            if rest and _KEY.match(rest):  # a mapping whose first key stands behind the dash
                self._lines[self._next] = _Line(line.number, inner, rest)
                found.append(self._mapping(inner, depth + 1))
            else:
                self._next += 1
                found.append(self._value(rest, depth) if rest else self._below(indent, depth))
        return found

    def _mapping(self, indent: int, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while (line := self._at(indent)) is not None:
            match = _KEY.match(line.text)
            if match is None:
                self._refuse("a line without a key")
            key, rest = str(self._scalar(match[1]) if match[1][0] in "\"'" else match[1]), line.text[match.end() :]
            self._next += 1
            found[key] = self._value(rest, depth) if rest else self._below(indent, depth, may_be_level=True)
        return found

    def _at(self, indent: int) -> _Line | None:
        """The next line, if it stands just there."""
        if self._next >= len(self._lines) or self._lines[self._next].indent < indent:
            return None
        if self._lines[self._next].indent > indent:
            self._refuse("its indentation")
        return self._lines[self._next]

    def _below(self, indent: int, depth: int, *, may_be_level: bool = False) -> Any:
        """What the lines further right say; a list may stand right below its key."""
        if self._next >= len(self._lines):
            return None
        line = self._lines[self._next]
        is_level = may_be_level and line.indent == indent and (line.text == "-" or line.text.startswith("- "))
        return self._block(line.indent, depth + 1) if line.indent > indent or is_level else None

    def _value(self, text: str, depth: int) -> Any:
        if text[:1] not in ("[", "{"):
            return self._scalar(text)
        while text.count("[") + text.count("{") > text.count("]") + text.count("}") and self._next < len(self._lines):
            text += f" {self._lines[self._next].text}"
            self._next += 1
        tokens = _TOKEN.findall(text)
        if "".join(tokens).replace(" ", "") != text.replace(" ", "").replace("\t", ""):
            self._refuse("what stands in brackets", read=True)
        found = self._bracketed(tokens, depth)
        if tokens:
            self._refuse("what stands behind brackets", read=True)
        return found

    def _bracketed(self, tokens: list[str], depth: int) -> Any:
        """One value of a list of tokens, which are taken from it."""
        if depth > _DEEPEST or not tokens:
            self._refuse("what stands in brackets", read=True)
        first = tokens.pop(0)
        if first not in ("[", "{"):
            return self._scalar(first.strip())
        close = {"[": "]", "{": "}"}[first]
        listed: list[Any] = []
        named: dict[str, Any] = {}
        while tokens and tokens[0] != close:
            value = self._bracketed(tokens, depth + 1)
            if first == "{":
                if not tokens or tokens.pop(0) != ":":
                    self._refuse("what stands in brackets", read=True)
                named[str(value)] = self._bracketed(tokens, depth + 1)
            else:
                listed.append(value)
            if tokens and tokens[0] == ",":
                tokens.pop(0)
            elif tokens[:1] != [close]:
                self._refuse("what stands in brackets", read=True)
        if not tokens:
            self._refuse("brackets that are not closed", read=True)
        tokens.pop(0)
        return named if first == "{" else listed

    def _scalar(self, text: str) -> Any:
        try:
            return scalar(text)
        except ValueError as error:
            self._refuse(str(error), read=True)

    def _refuse(self, what: str, *, read: bool = False) -> NoReturn:
        """Say at which line it is: the next one, or the last that was read."""
        line = self._lines[max(0, min(self._next - read, len(self._lines) - 1))].number
        raise FileError(
            f"cannot be read, for {what}", place=f"{self._place}, line {line}", remedy="Write it in plain YAML."
        )


def _without_comment(line: str) -> str:
    """The line without what stands behind a `#` outside of quotes."""
    if "#" not in line:
        return line.rstrip()
    quote = ""
    for place, character in enumerate(line):
        before = line[place - 1] if place else " "
        if quote:
            quote = "" if character == quote and not (quote == '"' and before == "\\") else quote
        elif character in "\"'" and before in " \t[{,:":
            quote = character
        elif character == "#" and before in " \t":
            return line[:place].rstrip()
    return line.rstrip()


def _unquoted(text: str) -> str:
    if len(text) < 2 or text[-1] != text[0]:
        raise ValueError("a quotation without an end")
    inner = text[1:-1]
    if text[0] == "'":
        return inner.replace("''", "'")
    return _ESCAPE.sub(_escaped, inner)


def _escaped(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code is None:
        return _ESCAPED.get(match[4], match[4])
    number = int(code, 16)
    if number > 0x10FFFF:
        raise ValueError("an escape that is no character")
    return chr(number)
