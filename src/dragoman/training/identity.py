"""The identity of a run: the settings that stay the same from its first update to its last.

It is kept in every checkpoint as one line of JSON, so that a change can be refused by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def identity(settings: Mapping[str, Any]) -> str:
    """The identity that settings, by name, make up."""
    return msgspec.json.encode(settings, order="sorted").decode()


def refuse_changes(before: str, now: str, *, place: str) -> None:
    """Raise SettingError, naming what differs, unless the two identities of a run are the same."""
    if before == now:
        return
    was, is_now = (dict(_flat(msgspec.json.decode(each))) for each in (before, now))
    changed = [key for key in sorted(was.keys() | is_now.keys()) if was.get(key) != is_now.get(key)]
    told = [f"{key} was {_shown(was.get(key))} and is {_shown(is_now.get(key))}" for key in changed[:5]]
    more = f" (and {len(changed) - 5} more)" if len(changed) > 5 else ""
    raise SettingError(
        f"the settings are not those that this run began with: {'; '.join(told)}{more}",
        place=place,
        remedy="Restore them to go on, choose another folder, or start over with --fresh.",
    )


def _flat(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys with what is no table."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(inner, f"{key}.{name}" if key else name)
    else:
        yield key, value


def _shown(value: Any) -> str:
    return "not there" if value is None else msgspec.json.encode(value).decode()
