"""The store: token ids (or feature vectors) of a corpus in a few large files, mapped into memory and never loaded.

A store is a folder. Each side is one long array with the offset at which each example begins, so that any example
is found at once, opening takes milliseconds whatever the size, and processes share the pages.

    store.json                  what the files hold: `Facts`
    target.values               token ids, uint16 where the vocabulary allows, else uint32
    target.offsets              uint64, one more than there are examples
    source.values, .offsets     the same; float32 vectors for feature sequences; none for monolingual text
    source.text, .text_offsets  UTF-8, where the text is kept to be cut anew in every epoch (and target.text…)
    empty.numbers               uint64: which pairs of the input were left out because a side was empty
    too_long.numbers            … and which because a side was too long
    manifest.json               size and SHA-256 of each file
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np

from dragoman.errors import FileError
from dragoman.files import disk_errors, verify

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from numpy.typing import DTypeLike, NDArray

FORMAT = 1
FACTS = "store.json"


class SideFacts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the files of one side hold."""

    dtype: Literal["uint16", "uint32", "float32"]
    """Of the values: the first two for token ids, the last for features."""
    width: int = 0
    """Numbers in a feature vector; 0 for token ids."""
    text: bool = False
    """Whether the text is kept beside the ids."""
    longest: int
    """Longest example allowed, in tokens or feature vectors."""


class CorpusFacts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of the corpora in the store; its examples stand together."""

    examples: int
    source_prefix: tuple[int, ...] = ()
    """Ids before each source, such as a language tag."""
    target_prefix: tuple[int, ...] = ()


class Facts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a store holds."""

    format: int = FORMAT
    fingerprint: str
    """Changes whenever data, tokenizers or lengths do."""
    corpora: tuple[CorpusFacts, ...]
    source: SideFacts | None
    """None in a monolingual store."""
    target: SideFacts
    empty: int
    """Pairs left out because a side was empty."""
    too_long: int
    """Pairs left out because a side was too long."""
    first_empty: tuple[str, ...] = ()
    """File and line of the first few of them."""
    first_too_long: tuple[str, ...] = ()
    unusable: int = 0
    """Lines of the corpora that nothing could be made of, and that were skipped as asked."""
    first_unusable: tuple[str, ...] = ()
    """File and line of the first few of them, with what is wrong."""

    @property
    def examples(self) -> int:
        """Examples in the store."""
        return sum(c.examples for c in self.corpora)


@dataclass(frozen=True, slots=True)
class Sequences:
    """Sequences of unequal length, one after the other: token ids, or feature vectors as rows."""

    values: NDArray[Any]
    lengths: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.lengths)


def joined(sequences: Collection[Sequence[int]], *, dtype: DTypeLike) -> Sequences:
    """Sequences of ids, put one after the other."""
    lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
    return Sequences(np.fromiter(chain.from_iterable(sequences), dtype, int(lengths.sum())), lengths)


@dataclass(frozen=True, slots=True)
class Array:
    """Sequences on disk: example i is `values[offsets[i] : offsets[i + 1]]`."""

    values: NDArray[Any]
    offsets: NDArray[np.uint64]

    def lengths(self) -> NDArray[np.int32]:
        """The length of every example."""
        return np.diff(self.offsets).astype(np.int32)

    def take(self, examples: NDArray[np.int64]) -> Sequences:
        """The sequences of some examples, in their order, in one reading of the mapped memory."""
        starts = self.offsets[examples].astype(np.int64)
        lengths = self.offsets[examples + 1].astype(np.int64) - starts
        return Sequences(self.values[spread(starts, lengths)], lengths)


def spread(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """All the positions in some stretches: of those that begin at 5 and 9, of lengths 2 and 3, it is 5 6 9 10 11."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum())


@dataclass(frozen=True, slots=True)
class Side:
    """One side of every example: what the model reads, and the text it was made from where that is kept."""

    sequences: Array
    text: Array | None
    longest: int
    """Longest example allowed."""
    prefixes: tuple[tuple[int, ...], ...]
    """For each corpus, the ids before each example."""

    def texts(self, examples: NDArray[np.int64]) -> list[str]:
        """The texts of some examples."""
        assert self.text is not None, "the store keeps no text"
        taken = self.text.take(examples)
        joined, ends = taken.values.tobytes(), np.cumsum(taken.lengths).tolist()
        return [joined[a:b].decode() for a, b in zip([0, *ends], ends, strict=False)]


@dataclass(frozen=True, slots=True)
class Store:
    """An open store. It travels to other processes as its path."""

    folder: Path
    facts: Facts
    source: Side | None
    target: Side

    def __len__(self) -> int:
        return self.facts.examples

    def __reduce__(self) -> tuple[Any, ...]:
        return open_store, (self.folder,)

    def corpus_ends(self) -> NDArray[np.int64]:
        """For each corpus, the example after its last."""
        return np.cumsum([c.examples for c in self.facts.corpora], dtype=np.int64)

    def corpus_of(self, examples: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of the corpus that each example comes from."""
        return np.searchsorted(self.corpus_ends(), examples, side="right")

    def left_out(self, reason: str) -> NDArray[np.uint64]:
        """The numbers, counted through all corpora from 0, of the pairs left out as `empty` or `too_long`."""
        return _mapped(self.folder / f"{reason}.numbers", np.dtype(np.uint64))


def open_store(folder: Path, *, contents: bool = False) -> Store:
    """The store in a folder, with the sizes of its files verified, and their contents on request."""
    verify(folder, contents=contents)
    facts = read_facts(folder)
    source = None
    if facts.source is not None:
        source = _side(folder, "source", facts.source, tuple(c.source_prefix for c in facts.corpora))
    target = _side(folder, "target", facts.target, tuple(c.target_prefix for c in facts.corpora))
    store = Store(folder, facts, source, target)
    for side in filter(None, (store.source, store.target)):
        for array in filter(None, (side.sequences, side.text)):
            if len(array.offsets) != len(store) + 1 or array.offsets[-1] != len(array.values):
                raise _damaged(folder, "its files do not fit together")
    return store


def read_facts(folder: Path) -> Facts:
    """What the store in a folder holds, by its own account."""
    path = folder / FACTS
    with disk_errors(path, "read"):
        written = path.read_bytes()
    try:
        facts = msgspec.json.decode(written, type=Facts)
    except msgspec.MsgspecError as error:
        raise _damaged(path, f"unreadable: {error}") from None
    if facts.format != FORMAT:
        raise _damaged(path, f"of format {facts.format}, not {FORMAT}")
    return facts


def _side(folder: Path, name: str, facts: SideFacts, prefixes: tuple[tuple[int, ...], ...]) -> Side:
    values = _mapped(folder / f"{name}.values", np.dtype(facts.dtype))
    if facts.width:
        values = values.reshape(-1, facts.width)
    sequences = Array(values, _mapped(folder / f"{name}.offsets", np.dtype(np.uint64)))
    text = None
    if facts.text:
        offsets = _mapped(folder / f"{name}.text_offsets", np.dtype(np.uint64))
        text = Array(_mapped(folder / f"{name}.text", np.dtype(np.uint8)), offsets)
    return Side(sequences, text, facts.longest, prefixes)


def _mapped(path: Path, dtype: np.dtype[Any]) -> NDArray[Any]:
    with disk_errors(path, "read"):
        if path.stat().st_size == 0:  # an empty file cannot be mapped
            return np.empty(0, dtype)
        # The plain view indexes faster than numpy's subclass, and keeps the map open just as well.
        return np.memmap(path, dtype, mode="r").view(np.ndarray)


def _damaged(place: Path, problem: str) -> FileError:
    return FileError(
        f"not a usable store: {problem}", place=str(place), remedy="Remove the folder: it is made again from the data."
    )
