"""Encoding: from some pairs of a corpus to what a store keeps of them. It runs in worker processes, by chunks."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dragoman.data.store import Sequences, SideFacts, joined
from dragoman.errors import DataError, TextError
from dragoman.files import disk_errors, sha256
from dragoman.text.build import save

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dragoman.text.tokenizer import Tokenizer

_CHUNK_TEXTS, _CHUNK_ARRAYS = 1_000, 16
_UINT16_IDS = 1 << 16


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some pairs of one part of the input, as columns, which travel to other processes faster than rows."""

    part: int
    first: int
    """The number of its first pair in the whole input."""
    sources: list[str]
    targets: list[str]
    files: list[str]
    lines: list[int]
    source_prefix: tuple[int, ...] = ()
    target_prefix: tuple[int, ...] = ()

    def place(self, row: int) -> str:
        """File and line of a pair."""
        return f"{self.files[row]}:{self.lines[row]}"


@dataclass(frozen=True, slots=True)
class Column:
    """What is kept of one side of a chunk."""

    sequences: Sequences
    text: Sequences | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Pairs that are not kept: their numbers in the whole input, and their places."""

    numbers: list[int]
    places: list[str]


@dataclass(frozen=True, slots=True)
class Encoded:
    """What is kept of a chunk."""

    part: int
    source: Column | None
    target: Column
    empty: LeftOut
    too_long: LeftOut


@dataclass(frozen=True, slots=True)
class TextEncoder:
    """One side of the pairs as token ids."""

    tokenizer: Tokenizer
    longest: int
    """Longest example in tokens, the prefix included; longer ones are left out."""
    keep_text: bool = False
    """Keep the text too, so that it can be cut anew in every epoch. Without effect where there is but one way."""

    def sequences(self, texts: list[str], chunk: Chunk) -> list[list[int]]:
        """The ids of each text."""
        try:
            return self.tokenizer.encode_all(texts)
        except TextError:
            for row, text in enumerate(texts):
                try:
                    self.tokenizer.encode(text)
                except TextError as error:
                    place = f"{chunk.place(row)}, {error.place}" if error.place else chunk.place(row)
                    raise TextError(error.problem, place=place, remedy=error.remedy) from None
            raise

    def column(self, sequences: Sequence[list[int]], texts: Sequence[str], prefix: tuple[int, ...]) -> Column:
        """The ids, each sequence after the prefix, and the texts if they are kept."""
        if prefix:
            sequences = [[*prefix, *ids] for ids in sequences]
        ids = joined(sequences, dtype=self._dtype())
        if not self._keeps():
            return Column(ids)
        encoded = [text.encode() for text in texts]
        return Column(ids, Sequences(np.frombuffer(b"".join(encoded), np.uint8), _lengths(encoded)))

    def facts(self) -> SideFacts:
        """What the store says of this side."""
        return SideFacts(dtype=self._dtype(), longest=self.longest, text=self._keeps())

    def identity(self) -> str:
        """Changes whenever the ids of a text could."""
        with tempfile.TemporaryDirectory() as folder:
            save(self.tokenizer, Path(folder))
            saved = sorted(p for p in Path(folder).rglob("*") if p.is_file())
            digests = [f"{p.relative_to(folder).as_posix()} {sha256(p)}" for p in saved]
        return "\n".join([repr(self.facts()), *digests])

    def _dtype(self) -> Literal["uint16", "uint32"]:
        return "uint16" if len(self.tokenizer.vocabulary) <= _UINT16_IDS else "uint32"

    def _keeps(self) -> bool:
        return self.keep_text and self.tokenizer.stochastic


@dataclass(frozen=True, slots=True)
class FeatureEncoder:
    """One side of the pairs as feature vectors; the text names an .npy array: one vector, or one for each frame."""

    width: int
    """Numbers in a vector: see `feature_width`."""
    longest: int
    """Longest example in vectors; longer ones are left out."""

    def sequences(self, texts: list[str], chunk: Chunk) -> list[NDArray[np.float32]]:
        """The vectors in each array; of an array that is too long, just enough of them to tell."""
        try:
            return [self._vectors(path) for path in texts]
        except DataError:
            for row, path in enumerate(texts):
                try:
                    self._vectors(path)
                except DataError as error:
                    raise DataError(error.problem, place=chunk.place(row), remedy=error.remedy) from None
            raise

    def column(self, sequences: Sequence[NDArray[np.float32]], texts: Sequence[str], prefix: tuple[int, ...]) -> Column:  # noqa: ARG002 - as TextEncoder
        """The vectors, one after the other."""
        assert not prefix, "ids cannot be put before vectors"
        empty = np.empty((0, self.width), np.float32)
        return Column(Sequences(np.concatenate([empty, *sequences]), _lengths(sequences)))

    def facts(self) -> SideFacts:
        """What the store says of this side."""
        return SideFacts(dtype="float32", width=self.width, longest=self.longest)

    def identity(self) -> str:
        """Changes whenever the vectors of an array could."""
        return repr(self.facts())

    def _vectors(self, path: str) -> NDArray[np.float32]:
        array = _array(path)
        if array.ndim not in (1, 2) or array.shape[-1] != self.width or array.dtype.kind not in "fiu":
            raise DataError(
                f"{path} holds {array.dtype} values of shape {array.shape}, not vectors of {self.width} numbers",
                remedy="Every array of a corpus is a vector, or one vector a row, and all have the same size.",
            )
        vectors = np.array(array.reshape(-1, self.width)[: self.longest + 1], dtype=np.float32)
        if not np.isfinite(vectors).all():
            raise DataError(f"{path} holds values that are not finite numbers", remedy="Mend or remove the array.")
        return vectors


def feature_width(path: str) -> int:
    """How many numbers each vector in an .npy array has."""
    shape = _array(path).shape
    return int(shape[-1]) if shape else 0


@dataclass(frozen=True, slots=True)
class Encoder:
    """A function from some pairs to what a store keeps of them."""

    source: TextEncoder | FeatureEncoder | None
    """None for monolingual text."""
    target: TextEncoder

    def __call__(self, chunk: Chunk) -> Encoded:
        targets = self.target.sequences(chunk.targets, chunk)
        sources = None if self.source is None else self.source.sequences(chunk.sources, chunk)
        kept, empty, too_long = self._sifted(_lengths(targets), None if sources is None else _lengths(sources), chunk)
        source = None
        if self.source is not None and sources is not None:
            chosen: list[Any] = [sources[i] for i in kept]
            source = self.source.column(chosen, [chunk.sources[i] for i in kept], chunk.source_prefix)
        target = self.target.column([targets[i] for i in kept], [chunk.targets[i] for i in kept], chunk.target_prefix)
        return Encoded(chunk.part, source, target, _left_out(empty, chunk), _left_out(too_long, chunk))

    @property
    def chunk_pairs(self) -> int:
        """How many pairs are encoded at a time."""
        return _CHUNK_ARRAYS if isinstance(self.source, FeatureEncoder) else _CHUNK_TEXTS

    def identity(self) -> str:
        """Changes whenever what is kept of a pair could."""
        return f"{self.source.identity() if self.source else None}\n{self.target.identity()}"

    def _sifted(
        self, target_lengths: NDArray[np.int64], source_lengths: NDArray[np.int64] | None, chunk: Chunk
    ) -> tuple[list[int], list[int], list[int]]:
        """The rows to keep, those with an empty side, and those with a side that is too long."""
        empty = target_lengths == 0
        too_long = target_lengths + len(chunk.target_prefix) > self.target.longest
        if self.source is not None and source_lengths is not None:
            empty |= source_lengths == 0
            too_long |= source_lengths + len(chunk.source_prefix) > self.source.longest
        rows = [np.flatnonzero(mask).tolist() for mask in (~(empty | too_long), empty, too_long & ~empty)]
        return rows[0], rows[1], rows[2]


def _left_out(rows: list[int], chunk: Chunk) -> LeftOut:
    return LeftOut([chunk.first + row for row in rows], [chunk.place(row) for row in rows])


def _lengths(sequences: Sequence[Any]) -> NDArray[np.int64]:
    return np.fromiter(map(len, sequences), np.int64, len(sequences))


def _array(path: str) -> NDArray[Any]:
    with disk_errors(path, "read"):
        try:
            array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise DataError(f"{path} is not a plain .npy array: {error}", remedy="Write it with numpy.save.") from None
    return array
