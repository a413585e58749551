"""Settings and documents as TOML: what `dragoman.settings.parse_toml` and `decode` read, written.

A run file says only what differs from the defaults, and whatever a reason is given for. Tables of settings have
headings of their own, so that a comment can stand above each line.
"""

from __future__ import annotations

import json
import re
import textwrap
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.settings import NOTHING, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_WIDTH = 100


def to_toml(document: Mapping[str, Any]) -> str:
    """The document as TOML, each of its tables under a heading of its own; None is written as a word."""
    plain = {key: value for key, value in document.items() if not isinstance(value, dict)}
    blocks = [_lines(plain)] if plain else []
    for key, value in document.items():
        if isinstance(value, dict):
            blocks.append([f"[{_key(key)}]", *_lines(value)])
    return "\n".join("".join(f"{line}\n" for line in block) for block in blocks)


def settings_to_toml(settings: Settings, reasons: Mapping[str, str] | None = None, *, title: str = "") -> str:
    """The settings as TOML: what is not a default or has a reason, which stands above it; `reasons` have dotted keys.

    The title is a comment at the top.
    """
    head = "".join(f"{line}\n" for line in _comment(title))
    blocks = ["".join(f"{line}\n" for line in block) for block in _tables(settings, reasons or {}, ())]
    return "\n".join([head, *blocks] if head else blocks)


def inline(value: Any) -> str:
    """The value as TOML has it on one line."""
    return _value(_plain(value))


# ---- settings ------------------------------------------------------------------------------------------------------


def _tables(settings: Settings, reasons: Mapping[str, str], path: tuple[str, ...]) -> Iterator[list[str]]:
    """The table of the settings, and those of the settings inside, as lines."""
    own: list[str] = []
    inner: list[tuple[tuple[str, ...], Settings]] = []
    tag = type(settings).__struct_config__.tag
    if tag is not None:
        own.append(f"kind = {_value(tag)}")
    for field in msgspec.structs.fields(type(settings)):
        key, value = (*path, field.name), getattr(settings, field.name)
        if value == _default(field) and not _reasoned(".".join(key), reasons):
            continue
        if isinstance(value, Settings):
            inner.append((key, value))
        else:
            own += _comment(reasons.get(".".join(key), ""))
            own.append(f"{_key(field.name)} = {_value(_plain(value))}")
    if path:
        heading = f"[{'.'.join(map(_key, path))}]"
        yield [*_comment(reasons.get(".".join(path), "")), heading, *own]
    elif own:
        yield own
    for key, value in inner:
        yield from _tables(value, reasons, key)


def _plain(value: Any) -> Any:
    """The value as a document holds it, settings inside lists without what is a default."""
    match value:
        case Settings():
            tag = type(value).__struct_config__.tag
            fields = msgspec.structs.fields(type(value))
            kept = {f.name: _plain(v) for f in fields if (v := getattr(value, f.name)) != _default(f)}
            return kept if tag is None else {"kind": tag, **kept}
        case list() | tuple():
            return [_plain(each) for each in value]
        case _:
            return value


def _default(field: msgspec.structs.FieldInfo) -> Any:
    """The value that a document without the field would give it; none where it must be given."""
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


def _reasoned(key: str, reasons: Mapping[str, str]) -> bool:
    return any(each == key or each.startswith(f"{key}.") for each in reasons)


def _comment(text: str) -> list[str]:
    """The text as lines of comment, without what TOML forbids there."""
    visible = "".join(c if c.isprintable() else " " for c in text)
    return [f"# {line}" for line in textwrap.wrap(visible, _WIDTH)]


# ---- documents -----------------------------------------------------------------------------------------------------


def _lines(table: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {_value(value)}" for key, value in table.items()]


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _value(value: Any) -> str:
    match value:
        case None:
            return _text(NOTHING)
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return _text(value)
        case dict():
            return "{ " + ", ".join(_lines(value)) + " }" if value else "{}"
        case list() | tuple():
            return "[" + ", ".join(_value(each) for each in value) + "]"
        case _:
            return str(value)  # a date or a time


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
