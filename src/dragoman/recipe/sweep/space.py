"""What a sweep varies: settings by their dotted keys, each with the values it tries or the range it draws from."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, assert_never

import msgspec

from dragoman.errors import SettingError
from dragoman.recipe.schema import Recipe
from dragoman.settings import explain

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Point", "Range", "Varied", "parse", "space_of"]

Point = dict[str, Any]
"""The values of the varied settings by their names; a setting that is not there is as in the run file."""

_SEVERAL = "+"
_LOGARITHMIC_FROM = 10
"""A range whose ends lie this many times apart is one of magnitudes."""


class Range(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Numbers between two ends, both included: whole ones if the ends are whole."""

    low: int | float
    high: int | float

    @property
    def whole(self) -> bool:
        """Whether its numbers are whole."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    @property
    def by_magnitude(self) -> bool:
        """Whether steps are factors: where the ends are positive, and one is ten times the other or more."""
        return self.low > 0 and self.high >= _LOGARITHMIC_FROM * self.low

    def at(self, share: float) -> int | float:
        """The number so far on the way from the lower end to the upper."""
        if self.by_magnitude:
            value: float = self.low * (self.high / self.low) ** share
        else:
            value = self.low + (self.high - self.low) * share
        return self.rounded(value)

    def rounded(self, value: float) -> int | float:
        """The number, whole or to four digits, within the range."""
        near = round(value) if self.whole else float(f"{value:.4g}")
        return min(max(near, self.low), self.high)

    def spread(self, count: int) -> tuple[int | float, ...]:
        """So many numbers at even distances, ends included."""
        return tuple(dict.fromkeys(self.at(i / (count - 1)) for i in range(count)))


class Varied(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A setting that is varied, or several that always have the same value."""

    keys: tuple[str, ...]
    values: tuple[Any, ...] | Range

    @property
    def name(self) -> str:
        """The keys, as they are written on the command line."""
        return _SEVERAL.join(self.keys)

    def tried(self, count: int) -> tuple[Any, ...]:
        """The values, of a range so many."""
        return self.values.spread(count) if isinstance(self.values, Range) else self.values


def space_of(vary: Mapping[str, Sequence[Any] | Range]) -> tuple[Varied, ...]:
    """What is varied, checked for names that are no settings, and for settings that have nothing to choose from."""
    space = tuple(_varied(name, values) for name, values in vary.items())
    keys = [key for each in space for key in each.keys]
    for key in keys:
        if keys.count(key) > 1:
            raise SettingError("is varied twice", place=key, remedy="Name all of its values at once.")
    return space


def parse(text: str) -> tuple[str, Sequence[Any] | Range]:
    """The name and the values in KEY=VALUE,VALUE or KEY=LOW..HIGH, as on the command line."""
    name, equals, written = text.partition("=")
    if not equals or not name.strip() or not written.strip():
        raise SettingError(
            f"{text!r} is not of the form key=values",
            place="--vary",
            remedy="Write --vary a.b=1,2,3 or --vary a.b=0.001..0.01.",
        )
    low, dots, high = written.partition("..")
    if dots:
        ends = [_number(each) for each in (low, high)]
        if None in ends:
            raise SettingError(
                f"{written!r} is not a range of numbers", place=f"--vary {name}", remedy="Write it as 0.001..0.01."
            )
        return name.strip(), Range(*ends)  # type: ignore[arg-type] # neither is nothing
    return name.strip(), _values(written)


def _varied(name: str, values: Sequence[Any] | Range) -> Varied:
    keys = tuple(key.strip() for key in name.split(_SEVERAL))
    for key in keys:
        _refuse_unknown(key)
        if key.startswith("data.") or key == "training.seed":
            raise SettingError(
                "runs could not be compared if this were varied",
                place=key,
                remedy="Leave it out; --repeats trains with several seeds.",
            )
    match values:
        case Range():
            if not (math.isfinite(values.low) and math.isfinite(values.high) and values.low < values.high):
                raise SettingError(
                    f"a range from {values.low} to {values.high} has nothing in it",
                    place=name,
                    remedy="Give two finite ends, the smaller one first.",
                )
            return Varied(keys=keys, values=values)
        case Sequence() if not isinstance(values, str) and len(values):
            plain = msgspec.to_builtins(list(values))
            return Varied(keys=keys, values=tuple(each for i, each in enumerate(plain) if each not in plain[:i]))
        case Sequence():
            raise SettingError("there are no values to try", place=name, remedy="Give a list of values, or a Range.")
        case _:
            assert_never(values)


def _refuse_unknown(key: str) -> None:
    try:
        found = [re.sub(r"\([^)]*\)", "", each.key) for each in explain(Recipe, key)]
    except SettingError as error:
        raise SettingError(error.problem, place="--vary", remedy=error.remedy) from None
    if not any(f"{each}.".startswith(f"{key}.") for each in found):
        raise SettingError("is the end of a key, not all of it", place=key, remedy=f"Write {found[0]}.")


def _values(written: str) -> list[Any]:
    """The values between commas: as TOML, or a bare word each."""
    try:
        return list(tomllib.loads(f"values = [{written}]")["values"])
    except tomllib.TOMLDecodeError:
        return [_value(each.strip()) for each in written.split(",")]


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _number(text: str) -> int | float | None:
    value = _value(text.strip())
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
