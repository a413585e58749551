"""Settings: the frozen, keyword-only struct that all settings derive from, and its way in from TOML.

A settings class looks like this; the string under a field is its help text:

    class Clean(Settings, frozen=True, kw_only=True):
        max_ratio: Annotated[float, Meta(ge=1)] = 3.0
        '''Longest allowed ratio of the two lengths.'''

Alternatives are tagged unions: classes with `tag_field="kind", tag="name"`. Ranges hold in
constructors too, `check()` compares fields with each other, and every mistake is a SettingError that names the
dotted key. A table that names no kind is of its field's default kind. TOML has no null: the word "nothing" stands for
it where a field may be without a value.
"""

from __future__ import annotations

import ast
import difflib
import functools
import inspect
import itertools
import math
import re
import textwrap
import tomllib
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Meta

from dragoman.errors import SettingError

__all__ = ["NOTHING", "Explanation", "Meta", "Settings", "assign", "decode", "explain", "fields", "parse_toml"]

S = TypeVar("S", bound="Settings")

NOTHING = "nothing"
"""The word for None in a document."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Values that are checked when they are made, however they are made."""

    def __post_init__(self) -> None:
        for name, annotation in _hints(type(self)).items():
            value = getattr(self, name)
            try:
                checked = msgspec.convert(value, annotation, strict=True)
            except msgspec.ValidationError as error:
                raise _refused(type(self), name, value, error) from None
            if isinstance(checked, float) and not math.isfinite(checked):
                raise SettingError(f"{checked!r} is not a finite number", place=name, remedy=_remedy(type(self), name))
            if type(checked) is not type(value):  # a list given for a tuple, say
                msgspec.structs.force_setattr(self, name, checked)
        self.check()

    def check(self) -> None:
        """Raise SettingError where two fields contradict each other."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """One field: its dotted key, and what a user needs to know of it."""

    key: str
    meaning: str
    type: str
    range: str
    default: str

    def __str__(self) -> str:
        lines = [f"{self.key}: {self.type}", *textwrap.wrap(self.meaning, 88)]
        if self.range:
            lines.append(f"range: {self.range}")
        return "\n  ".join([*lines, f"default: {self.default}"])


def decode(document: Mapping[str, Any], kind: type[S], *, place: str = "") -> S:
    """The settings that a document holds; `place` is the file it came from."""
    document = _with_kinds(document, kind)
    try:
        _refuse_unknown(document, kind, (), place)
    except _UnknownKeyError as unknown:
        raise SettingError(
            f"unknown setting {unknown.key!r}",
            place=_place(place, ".".join((*unknown.path, unknown.key))),
            remedy=_elsewhere(unknown.key, kind) or _nearest(unknown.key, unknown.known),
        ) from None
    try:
        return msgspec.convert(_with_none(document, kind), kind, strict=True)
    except msgspec.ValidationError as error:
        key, problem = _split(str(error))
        cause = error.__cause__
        if isinstance(cause, SettingError):
            inner = f"{key}.{cause.place}" if key and cause.place else key or cause.place
            raise SettingError(cause.problem, place=_place(place, inner), remedy=cause.remedy) from None
        raise SettingError(
            f"{problem}, got {_given(document, key)!r}", place=_place(place, key), remedy=_remedy(kind, key)
        ) from None


def parse_toml(text: str, *, place: str) -> dict[str, Any]:
    """The document in a TOML text."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingError(f"not valid TOML: {error}", place=place, remedy="Mend the line it names.") from None


def assign(document: Mapping[str, Any], assignments: Sequence[str]) -> dict[str, Any]:
    """The document with each `a.b=value` put in; values are TOML, and a bare word is a string."""
    result = _copied(document)
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        parts = key.strip().split(".")
        if not equals or not all(parts):
            raise SettingError(
                f"{assignment!r} is not of the form key=value", place="--set", remedy="Write --set a.b=value."
            )
        table = result
        for part in parts[:-1]:
            table = table.setdefault(part, {})
            if not isinstance(table, dict):
                raise SettingError(
                    f"{part!r} holds a value, not a table",
                    place=f"--set {key}",
                    remedy="Set the whole value.",
                )
        table[parts[-1]] = _value(text.strip())
    return result


def fields(kind: type[Settings], *, prefix: str = "") -> Iterator[Explanation]:
    """An explanation of every field, nested ones included, with dotted keys."""
    documentation = _documentation(kind)
    for field in msgspec.structs.fields(kind):
        annotation = _hints(kind)[field.name]
        key = f"{prefix}{field.name}"
        nested = _settings_in(annotation)
        yield Explanation(
            key=key,
            meaning=documentation.get(field.name, ""),
            type=_type_name(annotation),
            range=_range(annotation),
            default=_default(field),
        )
        if any(each.__struct_config__.tag for each in nested):
            yield _kinds(key, nested, _default(field))
        for each in nested:
            tag = each.__struct_config__.tag
            yield from fields(each, prefix=f"{key}({tag})." if len(nested) > 1 else f"{key}.")


def _kinds(key: str, alternatives: Sequence[type[Settings]], default: str) -> Explanation:
    """The key that chooses among alternatives, each with the first line of its docstring."""
    tags = [str(each.__struct_config__.tag) for each in alternatives]
    meanings = [(inspect.getdoc(each) or "").partition("\n")[0] for each in alternatives]
    return Explanation(
        key=f"{key}.kind",
        meaning=" ".join(f"{tag}: {meaning}" for tag, meaning in zip(tags, meanings, strict=True)),
        type="choice",
        range=" | ".join(map(repr, tags)),
        default=default.removeprefix("kind=").replace("'", '"'),
    )


def explain(kind: type[Settings], key: str) -> list[Explanation]:
    """The explanations whose key is `key`, lies under it, or ends with it."""
    everything = list(fields(kind))
    plain = {e.key: re.sub(r"\([^)]*\)", "", e.key) for e in everything}

    def within(whole: str) -> list[Explanation]:
        return [
            e for e in everything if f"{e.key}.".startswith(f"{whole}.") or f"{plain[e.key]}.".startswith(f"{whole}.")
        ]

    ending = dict.fromkeys(name for e in everything for name in (plain[e.key], e.key) if name.endswith(f".{key}"))
    found = within(key) or list(dict.fromkeys(e for whole in ending for e in within(whole)))
    if not found:
        raise SettingError(
            f"{key!r} is not a setting", place="--explain", remedy=_nearest(key, sorted(set(plain.values())))
        )
    return found


# ---- unknown keys ----------------------------------------------------------------------------------------------


class _UnknownKeyError(Exception):
    """A key that is no field of its table."""

    def __init__(self, key: str, path: tuple[str, ...], known: Sequence[str]) -> None:
        super().__init__(key)
        self.key, self.path, self.known = key, path, known


def _refuse_unknown(document: Any, annotation: Any, path: tuple[str, ...], place: str) -> None:
    if isinstance(document, list | tuple):
        for item_type in _item_types(annotation):
            for index, item in enumerate(document):
                _refuse_unknown(item, item_type, (*path, str(index)), place)
        return
    if not isinstance(document, Mapping):
        return
    kinds = _settings_in(annotation)
    kind = _chosen(kinds, document)
    if kind is None:
        _refuse_unknown_kind(kinds, document, path, place)
        return
    names = {f.name: _hints(kind)[f.name] for f in msgspec.structs.fields(kind)}
    for key, value in document.items():
        if key == "kind" and kind.__struct_config__.tag is not None:
            continue
        if key not in names:
            raise _UnknownKeyError(key, path, sorted(names))
        _refuse_unknown(value, names[key], (*path, key), place)


def _chosen(kinds: Sequence[type[Settings]], document: Mapping[str, Any]) -> type[Settings] | None:
    """The alternative that the document names; nothing when the decoder has to complain itself."""
    if len(kinds) == 1:
        return kinds[0]
    named = [k for k in kinds if k.__struct_config__.tag == document.get("kind")]
    return named[0] if named else None


def _refuse_unknown_kind(
    kinds: Sequence[type[Settings]], document: Mapping[str, Any], path: tuple[str, ...], place: str
) -> None:
    named = document.get("kind")
    if kinds and isinstance(named, str):
        known = sorted(str(k.__struct_config__.tag) for k in kinds)
        raise SettingError(
            f"there is no kind {named!r}", place=_place(place, ".".join((*path, "kind"))), remedy=_nearest(named, known)
        )


def _elsewhere(key: str, kind: type[Settings]) -> str:
    """Where a key belongs that stands in the wrong table; nothing where no table has it, or several do."""
    plain = {re.sub(r"\([^)]*\)", "", field.key) for field in fields(kind)}
    belongs = [name for name in plain if name.rpartition(".")[2] == key]
    return f"Did you mean {belongs[0]!r}?" if len(belongs) == 1 else ""


def _nearest(key: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    if close:
        return f"Did you mean {close[0]!r}?"
    return f"Known here: {', '.join(known)}." if len(known) <= 30 else "See --explain for what can be set."


# ---- tables without a kind -------------------------------------------------------------------------------------


def _with_kinds(document: Mapping[str, Any], kind: type[Settings]) -> dict[str, Any]:
    """The document where each table that could be of several kinds, and names none, is of its field's default kind."""
    result = dict(document)
    for field in msgspec.structs.fields(kind):
        value = result.get(field.name)
        if not isinstance(value, Mapping):
            continue
        kinds = _settings_in(_hints(kind)[field.name])
        default = type(field.default).__struct_config__.tag if isinstance(field.default, Settings) else None
        if len(kinds) > 1 and "kind" not in value and default is not None:
            value = {"kind": default, **value}
        chosen = _chosen(kinds, value)
        result[field.name] = value if chosen is None else _with_kinds(value, chosen)
    return result


# ---- the word for None -----------------------------------------------------------------------------------------


def _with_none(document: Any, annotation: Any) -> Any:
    """The document with None for the word, wherever a field may be without a value and is no text."""
    match document:
        case str():
            allowed = set(_parts(annotation))
            return None if document == NOTHING and types.NoneType in allowed and str not in allowed else document
        case list() | tuple():
            items = _item_types(annotation)
            return [_with_none(each, items[0]) for each in document] if items else document
        case Mapping():
            kind = _chosen(_settings_in(annotation), document)
            hints = {} if kind is None else _hints(kind)
            return {key: _with_none(value, hints[key]) if key in hints else value for key, value in document.items()}
        case _:
            return document


# ---- annotations -----------------------------------------------------------------------------------------------


@functools.cache
def _hints(kind: type[Settings]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind, include_extras=True)
    return {name: hints[name] for name in kind.__struct_fields__}


@functools.cache
def _documentation(kind: type[Settings]) -> dict[str, str]:
    """The string under each field, read from the source of the class and of those it derives from."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if each is Settings or not issubclass(each, Settings):
            continue
        tree = ast.parse(textwrap.dedent(inspect.getsource(each)))
        body = typing.cast("ast.ClassDef", tree.body[0]).body
        for field, below in itertools.pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                match below:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        found[field.target.id] = " ".join(text.split())
    return found


def _parts(annotation: Any) -> Iterator[Any]:
    """The annotation and the members of its unions, without their wrapping."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _parts(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from _parts(member)
    else:
        yield annotation


def _settings_in(annotation: Any) -> list[type[Settings]]:
    direct = [p for p in _parts(annotation) if isinstance(p, type) and issubclass(p, Settings)]
    return direct or [k for item in _item_types(annotation) for k in _settings_in(item)]


def _item_types(annotation: Any) -> list[Any]:
    sequences = [p for p in _parts(annotation) if get_origin(p) in (tuple, list)]
    return [a for p in sequences for a in get_args(p) if a is not Ellipsis]


def _metas(annotation: Any) -> Iterator[Meta]:
    if get_origin(annotation) is Annotated:
        yield from (m for m in annotation.__metadata__ if isinstance(m, Meta))
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from _metas(member)


def _range(annotation: Any) -> str:
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    bounds = [
        f"{sign} {_number(getattr(meta, name))}"
        for meta in _metas(annotation)
        for name, sign in signs.items()
        if getattr(meta, name) is not None
    ]
    choices = [" | ".join(repr(a) for a in get_args(p)) for p in _parts(annotation) if get_origin(p) is typing.Literal]
    return " and ".join(bounds + choices)


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _type_name(annotation: Any) -> str:
    names = []
    for part in _parts(annotation):
        if part is types.NoneType:
            names.append("nothing")
        elif isinstance(part, type) and issubclass(part, Settings):
            tag = part.__struct_config__.tag
            names.append(f"table kind={tag!r}" if tag else "table")
        elif get_origin(part) in (tuple, list):
            names.append(f"list of {' or '.join(_type_name(a) for a in _item_types(part))}")
        elif get_origin(part) is typing.Literal:
            names.append("choice")
        else:
            names.append(getattr(part, "__name__", str(part)))
    return " or ".join(dict.fromkeys(names))


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "none: must be given"
    value = field.default if field.default is not msgspec.NODEFAULT else typing.cast("Any", field.default_factory)()
    if value is None:
        return "nothing"
    if isinstance(value, Settings):
        tag = type(value).__struct_config__.tag
        return f"kind={tag!r}" if tag else "the defaults below"
    return msgspec.json.encode(value).decode()


# ---- messages --------------------------------------------------------------------------------------------------


def _place(file: str, key: str) -> str:
    return f"{file}: {key}" if file and key else file or key


def _split(message: str) -> tuple[str, str]:
    """The dotted key and the problem of a decoder's message, which ends in: - at `$.a.b[0]`."""
    problem, _, path = message.partition(" - at `$")
    key = re.sub(r"\[(\d+|\.\.\.)\]", r".\1", path.rstrip("`")).strip(".")
    return key, problem[:1].lower() + problem[1:]


def _given(document: Any, key: str) -> Any:
    value = document
    for part in key.split(".") if key else []:
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list | tuple) and part.isdigit():
            value = value[int(part)]
        else:
            return value
    return value


def _refused(kind: type[Settings], name: str, value: Any, error: Exception) -> SettingError:
    key, problem = _split(str(error))
    inner = f"{name}.{key}" if key else name
    return SettingError(f"{problem}, got {value!r}", place=inner, remedy=_remedy(kind, inner))


def _remedy(kind: type[Settings], key: str) -> str:
    plain = re.sub(r"\.(\d+|\.\.\.)(?=\.|$)", "", key)
    for each in fields(kind):
        if plain in (each.key, re.sub(r"\([^)]*\)", "", each.key)):
            wanted = f"{each.type}, {each.range}" if each.range else each.type
            return f"Give {wanted} (default: {each.default}). {each.meaning}".strip()
    return "Look at this table's keys with --explain."


def _copied(document: Mapping[str, Any]) -> dict[str, Any]:
    return {k: _copied(v) if isinstance(v, Mapping) else v for k, v in document.items()}


def _value(text: str) -> Any:
    try:
        document = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return document["value"] if len(document) == 1 else text  # more keys: the text went on in a second line
