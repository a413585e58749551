"""Word alignments of a store's examples: from files in Pharaoh's format, or learned from the pairs themselves.

Links are between words, the stretches between white space, so they hold for every way of cutting a text into pieces.
They are kept in memory, four bytes a link.
"""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from dragoman.data.lines import Fault, checked
from dragoman.errors import DataError
from dragoman.files import disk_errors, write_atomically
from dragoman.measures.alignment import Link, read_pharaoh, symmetrize, write_pharaoh
from dragoman.measures.lexicon import learn_lexicon

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from dragoman.data.corpus import Corpus, Pair
    from dragoman.data.store import Store
    from dragoman.measures.alignment import Alignment

__all__ = ["Alignments", "learn_alignments", "learned_alignments", "read_alignments"]

_MOST_WORDS, _LONGEST_LINE = 1 << 16, 1 << 20


@dataclass(frozen=True, slots=True)
class Alignments:
    """The links of each example: those of example i are `links[offsets[i] : offsets[i + 1]]`."""

    offsets: NDArray[np.int64]
    links: NDArray[np.uint16]
    """Source and target word of each."""
    corpus_ends: NDArray[np.int64]
    source_prefixes: tuple[int, ...]
    """Ids that stand before each source of a corpus, such as a language tag: no words."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, example: int) -> list[tuple[int, int]]:
        """The links of an example, in order."""
        found = self.links[self.offsets[example] : self.offsets[example + 1]].tolist()
        return [(source, target) for source, target in found]

    def source_prefix(self, example: int) -> int:
        """How many ids stand before an example's source."""
        return self.source_prefixes[int(np.searchsorted(self.corpus_ends, example, side="right"))]

    @classmethod
    def of(cls, alignments: Iterable[Alignment], store: Store) -> Alignments:
        """These alignments, one for each example of the store."""
        lengths, links = [], []
        for each in alignments:
            lengths.append(len(each))
            links.append(np.array(sorted(each), dtype=np.uint16).reshape(-1, 2))
        assert len(lengths) == len(store), "an alignment for each example"
        return cls(
            np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
            np.concatenate(links),
            store.corpus_ends(),
            tuple(len(corpus.source_prefix) for corpus in store.facts.corpora),
        )


def read_alignments(files: Sequence[str], corpora: Sequence[Corpus], store: Store) -> Alignments:
    """The alignments in the files, a file for each corpus and a line for each of its lines."""
    if len(files) != len(corpora):
        raise DataError(
            f"{len(files)} files of alignments for {len(corpora)} corpora",
            place="training.objective.alignments",
            remedy="Name one file for each corpus of data.train, in their order.",
        )
    return Alignments.of(_kept(chain.from_iterable(map(_read, files, corpora)), store), store)


def learn_alignments(corpora: Sequence[Corpus], store: Store) -> Alignments:
    """The alignments that a lexicon in either direction finds, made one (grow-diag-final-and)."""
    sources, targets = _Numbered(), _Numbered()
    for pair in chain.from_iterable(corpora):
        sources.add(pair.source)
        targets.add(pair.target)
    forward = learn_lexicon(sources.texts, targets.texts, source_size=len(sources))
    backward = learn_lexicon(targets.texts, sources.texts, source_size=len(targets))

    def found() -> Iterator[Alignment]:
        for source, target in zip(sources.texts, targets.texts, strict=True):
            turned = frozenset(Link(link.target, link.source) for link in backward.align(target, source))
            yield symmetrize(forward.align(source, target), turned, method="grow-diag-final-and")

    return Alignments.of(_kept(found(), store), store)


def learned_alignments(folder: Path, corpora: Sequence[Corpus], store: Store) -> Alignments:
    """As `learn_alignments`; they are kept in the folder, a line for each example, where they are found again."""
    path = folder / f"{store.facts.fingerprint[:16]}.pharaoh"
    if path.exists():
        with disk_errors(path, "read"):
            lines = path.read_text(encoding="utf-8").splitlines()
        return Alignments.of((read_pharaoh(line, place=f"{path}:{n}").sure for n, line in enumerate(lines, 1)), store)
    alignments = learn_alignments(corpora, store)
    written = "".join(f"{write_pharaoh(Link(*link) for link in alignments[i])}\n" for i in range(len(store)))
    with disk_errors(folder, "write"):
        folder.mkdir(parents=True, exist_ok=True)
    write_atomically(path, written.encode())
    return alignments


class _Numbered:
    """Texts as the numbers of their words."""

    def __init__(self) -> None:
        self.texts: list[array[int]] = []
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, text: str) -> None:
        numbers = self._numbers
        self.texts.append(array("q", [numbers.setdefault(word, len(numbers)) for word in text.split()]))


def _kept(alignments: Iterable[Alignment], store: Store) -> Iterator[Alignment]:
    """Those whose pairs are in the store."""
    gone = {*store.left_out("empty").tolist(), *store.left_out("too_long").tolist()}
    return (each for number, each in enumerate(alignments) if number not in gone)


def _read(file: str, corpus: Corpus) -> Iterator[Alignment]:
    """The alignment of each pair of the corpus, from the line of its own number."""
    lines = enumerate(checked(file, longest=_LONGEST_LINE, notes=Counter()), 1)
    line, text = 0, ""
    reading = corpus.read()
    for pair in reading:
        while line < pair.line:
            line, text = _next(lines, file, pair)
        place = f"{file}:{line}"
        alignment = read_pharaoh(text, place=place).sure
        _check(alignment, pair, place)
        yield alignment
    if (more := sum(1 for _ in lines)) != reading.lines - line:
        raise DataError(
            f"has {line + more:,} lines, but {corpus.files[0]} has {reading.lines:,}",
            place=file,
            remedy="Give an alignment for each line of the corpus, in their order.",
        )


def _next(lines: Iterator[tuple[int, str | Fault]], file: str, pair: Pair) -> tuple[int, str]:
    found = next(lines, None)
    if found is None:
        raise DataError(
            f"ends before line {pair.line} of {pair.file}",
            place=file,
            remedy="Give an alignment for each line of the corpus, in their order; an empty line means none.",
        )
    line, text = found
    if isinstance(text, Fault):
        raise DataError(f"{text.reason}: {text.detail}", place=f"{file}:{line}", remedy="Mend the line.")
    return line, text


def _check(alignment: Alignment, pair: Pair, place: str) -> None:
    sides = [("source", max((s for s, _ in alignment), default=-1), len(pair.source.split()))]
    sides.append(("target", max((t for _, t in alignment), default=-1), len(pair.target.split())))
    for side, last, words in sides:
        if last >= min(words, _MOST_WORDS):
            raise DataError(
                f"names {side} word {last} of {words}",
                place=place,
                remedy=f"Words are counted from 0, between white space; the pair is {pair.file}:{pair.line}.",
            )
