"""Where choices come from: chance when a corpus is drawn, exhaustive search when a sentence is looked up.

A construction never asks which: it calls `pick` and `chance`.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

T = TypeVar("T")
Built = TypeVar("Built")


class DeadEnd(Exception):  # noqa: N818 - an event of the search, not a mistake
    """No choice is left: this derivation cannot be finished."""


class Draw(Protocol):
    """Makes the choices of one derivation."""

    def pick(self, options: Sequence[T]) -> T:
        """One of the options."""

    def chance(self, share: float) -> bool:
        """True in this share of the cases."""


class Chance:
    """Choices by `random.Random(seed)`; only `random()` is used, whose values no Python version changes."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed).random

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, each equally likely."""
        if not options:
            raise DeadEnd
        return options[int(self._random() * len(options))]

    def chance(self, share: float) -> bool:
        """True in this share of the cases."""
        return self._random() < share


class Search:
    """Every sequence of choices in turn; entries whose English forms are not in the sentence are left out."""

    def __init__(self, sentence: str) -> None:
        self._sentence = f" {_spaced(sentence)} "
        self._path: list[int] = []
        self._sizes: list[int] = []
        self._depth = 0
        self._filtered: dict[int, tuple[Sequence[Any], list[Any]]] = {}

    def pick(self, options: Sequence[T]) -> T:
        """The next option on the present path."""
        fitting: list[T]
        _, fitting = self._filtered.get(id(options)) or self._filter(options)
        return fitting[self._step(len(fitting))]

    def _filter(self, options: Sequence[T]) -> tuple[Sequence[T], list[T]]:
        """The options that fit, kept beside the originals so that these live as long as their id is a key."""
        fitting = [option for option in {id(option): option for option in options}.values() if self._fits(option)]
        self._filtered[id(options)] = options, fitting
        return options, fitting

    def chance(self, share: float) -> bool:
        """Both cases, unless one is impossible."""
        return bool(self._step(2)) if 0 < share < 1 else share >= 1

    def all(self, build: Callable[[Draw], Built]) -> Iterator[Built]:
        """What `build` makes, for each sequence of choices."""
        while True:
            self._depth = 0
            with suppress(DeadEnd):
                yield build(self)
            del self._path[self._depth :], self._sizes[self._depth :]
            while self._path and self._path[-1] + 1 == self._sizes[-1]:
                self._path.pop()
                self._sizes.pop()
            if not self._path:
                return
            self._path[-1] += 1

    def _step(self, size: int) -> int:
        if not size:
            raise DeadEnd
        if self._depth == len(self._path):
            self._path.append(0)
            self._sizes.append(size)
        self._depth += 1
        return self._path[self._depth - 1]

    def _fits(self, option: object) -> bool:
        cues: tuple[str, ...] = getattr(option, "cues", ())
        return not cues or any(f" {_spaced(cue)} " in self._sentence for cue in cues)


@cache
def _spaced(text: str) -> str:
    """The words of a text in small letters, with single spaces between them, endings such as 'm apart."""
    return " ".join(re.findall(r"'?[\w-]+", text.lower()))
