"""Preparing a store: pairs are encoded in parallel, in order, and written once, in memory that stays flat.

`prepare` takes a store that is already there, as long as its fingerprint says that nothing has changed: neither
the data, nor the tokenizers, nor the longest lengths.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np

from dragoman.data.corpus import Reading
from dragoman.data.encoding import Chunk
from dragoman.data.store import FACTS, FORMAT, CorpusFacts, Facts, Store, open_store
from dragoman.data.workers import in_order
from dragoman.devices import cores
from dragoman.errors import DataError, FileError
from dragoman.files import STANDARD, disk_errors, new_folder, sha256
from dragoman.settings import Meta, Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import ExitStack

    from dragoman.data.corpus import Pair
    from dragoman.data.encoding import Column, Encoded, Encoder, LeftOut
    from dragoman.data.store import Sequences

_CHUNK_CHARACTERS = 1 << 20
_FEW_CHUNKS = 8
"""So little is encoded sooner than a process starts."""
_NAMED = 10
"""How many left-out pairs are named by file and line."""


class StoreSettings(Settings, frozen=True, kw_only=True):
    """How a corpus becomes a store."""

    longest_source: Annotated[int, Meta(ge=1)] = 512
    """Pairs whose source has more tokens (or feature vectors) are left out, and counted."""

    longest_target: Annotated[int, Meta(ge=1)] = 512
    """Pairs whose target has more tokens are left out, and counted."""

    workers: Annotated[int, Meta(ge=0)] | None = None
    """Processes that encode; 0 is this one alone. Without a number: one for each processor core."""

    def processes(self) -> int:
        """The number of processes, on this machine."""
        return cores() if self.workers is None else self.workers


@dataclass(frozen=True, slots=True)
class Part:
    """One corpus of the store. Its pairs can come from any iterable; `identity` changes whenever they do."""

    pairs: Iterable[Pair]
    identity: str
    source_prefix: tuple[int, ...] = ()
    """Ids put before each source, such as a language tag."""
    target_prefix: tuple[int, ...] = ()


def identity(files: Iterable[Path | str]) -> str:
    """The identity of a corpus that is read from these files: their contents, hashed.

    Standard input cannot be known again before it is read: it is new every time.
    """
    digests = []
    for file in files:
        if str(file) == STANDARD:
            digests.append(secrets.token_hex())
            continue
        with disk_errors(file, "read"):
            digests.append(sha256(Path(file)))
    return " ".join(digests)


def fingerprint(parts: Sequence[Part], encoder: Encoder) -> str:
    """The fingerprint of the store that would be made of these parts."""
    facts = (FORMAT, encoder.identity(), [(p.identity, p.source_prefix, p.target_prefix) for p in parts])
    return hashlib.sha256(msgspec.json.encode(facts)).hexdigest()


def prepare(folder: Path, parts: Sequence[Part], *, encoder: Encoder, workers: int) -> Store:
    """The store of these parts: the one in the folder if it is theirs, else a new one in its place."""
    wanted = fingerprint(parts, encoder)
    if folder.exists():
        if not (folder / FACTS).exists():
            raise FileError(
                "exists and is not a store", place=str(folder), remedy="Remove it, or choose another folder."
            )
        with contextlib.suppress(FileError):  # damaged: it is made again
            store = open_store(folder)
            if store.facts.fingerprint == wanted:
                return store
        with disk_errors(folder, "remove"):
            shutil.rmtree(folder)
    return write(folder, parts, encoder=encoder, workers=workers)


def write(folder: Path, parts: Sequence[Part], *, encoder: Encoder, workers: int) -> Store:
    """A new store; the folder appears when it is complete."""
    with new_folder(folder) as fresh, contextlib.ExitStack() as stack:
        writer = _Writer(fresh, parts, encoder=encoder, stack=stack)
        chunks = _chunks(parts, encoder.chunk_pairs)
        few = list(itertools.islice(chunks, _FEW_CHUNKS))
        more = next(chunks, None)
        rest = itertools.chain(few, () if more is None else (more,), chunks)
        encoded = in_order(encoder, rest, workers=0 if more is None else workers)
        with contextlib.closing(encoded):
            for each in encoded:
                writer.add(each)
        writer.finish()
    return open_store(folder)


def _chunks(parts: Sequence[Part], most: int) -> Iterator[Chunk]:
    first = 0
    for number, part in enumerate(parts):
        pairs: list[Pair] = []
        characters = 0
        for pair in part.pairs:
            pairs.append(pair)
            characters += len(pair.source) + len(pair.target)
            if len(pairs) == most or characters > _CHUNK_CHARACTERS:
                yield _chunk(pairs, part, number=number, first=first)
                first += len(pairs)
                pairs, characters = [], 0
        if pairs:
            yield _chunk(pairs, part, number=number, first=first)
            first += len(pairs)


def _chunk(pairs: Sequence[Pair], part: Part, *, number: int, first: int) -> Chunk:
    return Chunk(
        number,
        first,
        sources=[p.source for p in pairs],
        targets=[p.target for p in pairs],
        files=[p.file for p in pairs],
        lines=[p.line for p in pairs],
        source_prefix=part.source_prefix,
        target_prefix=part.target_prefix,
    )


class _Writer:
    """The files of a store in the making."""

    def __init__(self, folder: Path, parts: Sequence[Part], *, encoder: Encoder, stack: ExitStack) -> None:
        self._folder, self._parts, self._encoder = folder, parts, encoder
        self._examples = [0] * len(parts)
        self._source = _SideFiles(folder, "source", stack) if encoder.source else None
        self._target = _SideFiles(folder, "target", stack)
        self._empty = _LeftOutFile(folder / "empty.numbers", stack)
        self._too_long = _LeftOutFile(folder / "too_long.numbers", stack)

    def add(self, encoded: Encoded) -> None:
        if self._source is not None:
            assert encoded.source is not None
            self._source.add(encoded.source)
        self._target.add(encoded.target)
        self._empty.add(encoded.empty)
        self._too_long.add(encoded.too_long)
        self._examples[encoded.part] += len(encoded.target.sequences)

    def finish(self) -> None:
        empty, too_long = self._empty, self._too_long
        if not any(self._examples):
            raise DataError(
                f"no example is left: {empty.count:,} pairs have an empty side, {too_long.count:,} are too long",
                place=(empty.places + too_long.places + ["the corpus"])[0],
                remedy="Check the corpus, and the longest lengths allowed.",
            )
        facts = Facts(
            fingerprint=fingerprint(self._parts, self._encoder),
            corpora=tuple(
                CorpusFacts(examples=n, source_prefix=p.source_prefix, target_prefix=p.target_prefix)
                for n, p in zip(self._examples, self._parts, strict=True)
            ),
            source=self._encoder.source.facts() if self._encoder.source else None,
            target=self._encoder.target.facts(),
            empty=empty.count,
            too_long=too_long.count,
            first_empty=tuple(empty.places),
            first_too_long=tuple(too_long.places),
            unusable=sum(reading.skipped.total() for reading in self._readings()),
            first_unusable=tuple(itertools.chain.from_iterable(map(_places, self._readings())))[:_NAMED],
        )
        (self._folder / FACTS).write_bytes(msgspec.json.format(msgspec.json.encode(facts), indent=1))

    def _readings(self) -> list[Reading]:
        """The passes over corpora that can tell what they skipped."""
        return [part.pairs for part in self._parts if isinstance(part.pairs, Reading)]


def _places(reading: Reading) -> Iterator[str]:
    """Where the first few lines were skipped, and why."""
    return (f"{reason}: {place}" for reason, places in reading.examples.items() for place in places)


class _SideFiles:
    """The files of one side; those of the text appear with the first text."""

    def __init__(self, folder: Path, name: str, stack: ExitStack) -> None:
        self._sequences = _ArrayFiles(folder / f"{name}.values", folder / f"{name}.offsets", stack)
        self._folder, self._name, self._stack = folder, name, stack
        self._text: _ArrayFiles | None = None

    def add(self, column: Column) -> None:
        self._sequences.add(column.sequences)
        if column.text is None:
            return
        if self._text is None:
            names = (f"{self._name}.text", f"{self._name}.text_offsets")
            self._text = _ArrayFiles(self._folder / names[0], self._folder / names[1], self._stack)
        self._text.add(column.text)


class _ArrayFiles:
    """The values of an array, and where each sequence begins."""

    def __init__(self, values: Path, offsets: Path, stack: ExitStack) -> None:
        self._values = stack.enter_context(values.open("wb"))
        self._offsets = stack.enter_context(offsets.open("wb"))
        self._offsets.write(np.zeros(1, np.uint64).tobytes())
        self._end = 0

    def add(self, sequences: Sequences) -> None:
        self._values.write(sequences.values.tobytes())
        self._offsets.write((self._end + np.cumsum(sequences.lengths)).astype(np.uint64).tobytes())
        self._end += len(sequences.values)


class _LeftOutFile:
    """The numbers of pairs that were left out, and the places of the first few."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self._numbers = stack.enter_context(path.open("wb"))
        self.count = 0
        self.places: list[str] = []

    def add(self, left_out: LeftOut) -> None:
        self._numbers.write(np.array(left_out.numbers, np.uint64).tobytes())
        self.count += len(left_out.numbers)
        self.places += left_out.places[: _NAMED - len(self.places)]
