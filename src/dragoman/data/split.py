"""Leak-free splits: no sentence of one part, on either side, occurs in another part, on either side.

Pairs that share a sentence are tied together, and so are all pairs that a chain of such ties connects. Each group
goes to one part as a whole. Groups come in the order of a seeded hash of their smallest fingerprint, so the split
depends on the sentences and the seed, not on the order of the lines.

Sentences are compared without regard to case, white space and Unicode form. They are known by 64-bit fingerprints:
two that collide tie groups together that need not be, and never let a sentence leak. Memory is about 150 bytes a
pair at the peak.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from dragoman.data.fingerprints import fingerprint, folded
from dragoman.errors import DataError, SettingError
from dragoman.settings import Meta, Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from dragoman.data.corpus import Pair

TRAIN, VALID, TEST = "train", "valid", "test"


class SplitSettings(Settings, frozen=True, kw_only=True):
    """How a corpus is divided. What is neither for validation nor for testing is for training."""

    valid: Annotated[float, Meta(ge=0)] = 0.0
    """Pairs for validation: a count, or, below 1, a share."""
    test: Annotated[float, Meta(ge=0)] = 0.0
    """Pairs for testing: a count, or, below 1, a share."""
    sides: Literal["both", "source"] = "both"
    """Whose sentences must not recur; where many sources share a target, as labels do, only the source's can."""
    seed: Annotated[int, Meta(ge=0, le=(1 << 63) - 1)] = 1
    """Which of all splits of these sizes."""

    def check(self) -> None:
        for name, size in (("valid", self.valid), ("test", self.test)):
            if size >= 1 and size != int(size):
                raise SettingError(f"{size} is neither a count nor a share", place=name, remedy="Give 1000, or 0.05.")
        if not (self.valid or self.test):
            raise SettingError("both parts are empty", place="valid, test", remedy="Give at least one of them a size.")


@dataclass(frozen=True, slots=True)
class Split:
    """Which part each pair belongs to, by position."""

    parts: tuple[str, ...]
    places: NDArray[np.uint8]
    largest_group: int
    """Pairs in the largest group that had to stay together."""

    def sizes(self) -> dict[str, int]:
        """How many pairs each part has."""
        return {name: int((self.places == i).sum()) for i, name in enumerate(self.parts)}

    def divide(self, pairs: Iterable[Pair]) -> Iterator[tuple[str, Pair]]:
        """Each pair with the name of its part; the pairs must be those that the split was made from."""
        names, places = self.parts, self.places
        position = -1
        for position, pair in enumerate(pairs):
            if position >= len(places):
                break
            yield names[places[position]], pair
        if position + 1 != len(places):
            raise DataError(
                "the corpus has changed while it was split", place=f"pair {position + 1:,}", remedy="Split it again."
            )


def split(pairs: Iterable[Pair], settings: SplitSettings) -> Split:
    """The split that the settings ask for."""
    sentences = _sentences(pairs, both=settings.sides == "both")
    groups, sizes, order = _groups(sentences, settings.seed)
    total = len(groups)
    wanted = [_count(settings.valid, total), _count(settings.test, total)]
    if sum(wanted) >= total:
        raise SettingError(
            f"{sum(wanted):,} pairs for validation and testing leave none of {total:,} for training",
            place="valid, test",
            remedy="Ask for fewer.",
        )
    part_of_group = _filled(sizes, order, wanted)
    made = Split((TRAIN, VALID, TEST), part_of_group[groups], int(sizes.max()))
    _refuse_short(made, wanted, settings)
    return made


def _sentences(pairs: Iterable[Pair], *, both: bool) -> NDArray[np.uint64]:
    """The fingerprints of each pair's sentences, one row a pair."""
    held = array("Q")
    for pair in pairs:
        held.append(fingerprint(folded(pair.source or pair.target)))
        if both:
            held.append(fingerprint(folded(pair.target)))
    return np.frombuffer(held, dtype=np.uint64).reshape(-1, 2 if both else 1)


def _groups(sentences: NDArray[np.uint64], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The number of each pair's group, the size of each group, and the groups in the order of their hashes."""
    _, places = np.unique(sentences, return_inverse=True)
    labels = connected(places.reshape(sentences.shape))
    _, groups, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    smallest = np.full(len(sizes), np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(smallest, groups, sentences.min(axis=1))
    hashes = np.fromiter((fingerprint(f"{s}", seed=seed) for s in smallest), dtype=np.uint64, count=len(smallest))
    return groups, sizes, np.lexsort((smallest, hashes))


def connected(sentences: NDArray[np.int64]) -> NDArray[np.int64]:
    """A label for each pair (row), the same for all that shared sentences connect: the smallest sentence among them."""
    first, last = sentences[:, 0], sentences[:, -1]
    root = np.arange(int(sentences.max()) + 1)
    while True:
        one, other = root[first], root[last]
        if np.array_equal(one, other):
            return one
        np.minimum.at(root, np.maximum(one, other), np.minimum(one, other))  # the higher root hangs on the lower
        while not np.array_equal(above := root[root], root):
            root = above


def _count(size: float, total: int) -> int:
    return int(size) if size >= 1 else round(size * total)


def _filled(sizes: NDArray[np.int64], order: NDArray[np.int64], wanted: list[int]) -> NDArray[np.uint8]:
    """The part of each group: the first groups that fit fill testing, then validation; the rest is for training."""
    part = np.zeros(len(sizes), dtype=np.uint8)
    left = [0, *wanted]
    for group in order.tolist():
        size = int(sizes[group])
        for number in (2, 1):
            if size <= left[number]:
                part[group] = number
                left[number] -= size
                break
        if not any(left):
            break
    return part


def _refuse_short(made: Split, wanted: list[int], settings: SplitSettings) -> None:
    sizes = made.sizes()
    for name, count in zip((VALID, TEST), wanted, strict=True):
        if sizes[name] < count:
            other = 'set sides = "source"' if settings.sides == "both" else "ask for smaller parts"
            raise DataError(
                f"only {sizes[name]:,} of {count:,} pairs can be separated from the rest; shared sentences tie "
                f"{made.largest_group:,} pairs into one group",
                place=name,
                remedy=f"Drop repeated sentences (data clean --set clean.duplicates=either), or {other}.",
            )
