"""What our weights are called elsewhere: maps written as data, read both ways.

A weight of ours may be several of theirs, whose rows stand below each other: queries, keys and values, for one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import torch

from dragoman.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from torch import Tensor

__all__ = ["Stack", "Tensors", "WeightNames", "give", "take"]

_LAYER = re.compile(r"layers\.(\d+)\.(.+)\.(weight|bias)")
_REMEDY = "Check that the configuration and the weights belong together, and fetch both again."


class Tensors(Protocol):
    """Foreign weights that are read one at a time, their shapes known beforehand."""

    @property
    def place(self) -> str:
        """Where they come from."""
        ...

    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The shape of each, by name."""
        ...

    def read(self, name: str) -> Tensor:
        """One of them."""
        ...


@dataclass(frozen=True, slots=True)
class Stack:
    """The names of a stack of layers."""

    ours: str
    theirs: str
    layers: str
    """What the list of layers is called."""
    parts: Mapping[str, tuple[str, ...]]
    """Of a layer: our part, and theirs."""
    ends: Mapping[str, str]
    """Of the stack: our part, and theirs."""


@dataclass(frozen=True, slots=True)
class WeightNames:
    """The names of a family of models."""

    stacks: tuple[Stack, ...]
    tables: Mapping[str, tuple[str, ...]]
    """Weights with a row for each piece: all names that the same table may have; a file may hold one or all of them."""
    others: Mapping[str, str] = field(default_factory=dict)
    computed: tuple[str, ...] = ()
    """Names of what is computed here, and may be stored there."""

    def theirs(self, ours: str) -> tuple[str, ...]:
        """The foreign weights that make up one of ours."""
        if ours in self.others:
            return (self.others[ours],)
        for stack in self.stacks:
            if not ours.startswith(f"{stack.ours}."):
                continue
            rest = ours.removeprefix(f"{stack.ours}.")
            if match := _LAYER.fullmatch(rest):
                number, part, kind = match.groups()
                return tuple(f"{stack.theirs}.{stack.layers}.{number}.{name}.{kind}" for name in stack.parts[part])
            part, _, kind = rest.rpartition(".")
            return (f"{stack.theirs}.{stack.ends[part]}.{kind}",)
        raise KeyError(ours)


class _Rows(Protocol):
    """How the rows of tables are put elsewhere."""

    def __call__(self, ours: str, table_VX: Tensor, /) -> Tensor: ...


def take(
    names: WeightNames, source: Tensors, *, shapes: Mapping[str, tuple[int, ...]], rows: _Rows
) -> dict[str, Tensor]:
    """Weights of ours, by the shapes that they must have, out of foreign ones; `rows` renumbers tables.

    All shapes are compared before anything is read, and a foreign weight that nobody asks for is refused.
    """
    declared = source.shapes()
    parts = {ours: _parts(names, ours, declared) for ours in shapes}
    for ours, shape in shapes.items():
        if ours not in names.tables:
            _check(source.place, parts[ours], declared, shape)
    wanted = {name for each in parts.values() for name in each}
    same = {name for every in names.tables.values() for name in every}
    strange = sorted(n for n in declared.keys() - wanted - same if not n.endswith(names.computed or ("\0",)))
    if strange:
        raise ModelError(
            f"there are weights that this architecture does not have: {', '.join(strange[:3])}",
            place=source.place,
            remedy="This is a variant that is not known here.",
        )
    found = {}
    for ours in shapes:
        if not parts[ours]:
            continue  # a table that the file does not have: whoever asked fills it
        value = torch.cat([source.read(name).float() for name in parts[ours]])
        found[ours] = rows(ours, value) if ours in names.tables else value
    return found


def give(
    names: WeightNames, weights: Mapping[str, Tensor], *, shapes: Mapping[str, tuple[int, ...]], rows: _Rows
) -> dict[str, Tensor]:
    """Foreign weights, by the shapes that they must have there, out of ours; of a table that has many names, the first.

    `shapes` need not name tables; `rows` renumbers them.
    """
    found = {}
    for ours, value in weights.items():
        if ours in names.tables:
            found[names.tables[ours][0]] = rows(ours, value)
            continue
        theirs = names.theirs(ours)
        sizes = [shapes[name][0] for name in theirs] if len(theirs) > 1 else [value.shape[0]]
        found |= dict(zip(theirs, torch.split(value, sizes), strict=True))
    return found


def _parts(names: WeightNames, ours: str, declared: Collection[str]) -> tuple[str, ...]:
    if ours in names.tables:
        return tuple(name for name in names.tables[ours] if name in declared)[:1]
    return names.theirs(ours)


def _check(
    place: str, theirs: tuple[str, ...], declared: Mapping[str, tuple[int, ...]], shape: tuple[int, ...]
) -> None:
    if missing := [name for name in theirs if name not in declared]:
        raise ModelError(f"there are no weights {missing[0]}", place=place, remedy=_REMEDY)
    given = [declared[name] for name in theirs]
    if any(len(each) != len(shape) or each[1:] != shape[1:] for each in given) or sum(e[0] for e in given) != shape[0]:
        raise ModelError(
            f"{' and '.join(theirs)} have the shapes {given}, and should make {shape}", place=place, remedy=_REMEDY
        )
