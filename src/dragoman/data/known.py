"""Known data sets as pairs: which parts each has, and what source and target are in them, however they are published.

A part is named by what it is for, with what tells it from others before it: `train`, `fre.dev`, `tok.en-de.test2016`.
Splits that a set does not bring are made here, from checksums of its words, so that they are the same everywhere.
"""

from __future__ import annotations

import difflib
import functools
import itertools
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol
from zlib import crc32

import msgspec

from dragoman.data import catalog
from dragoman.data.lines import Fault, Reason, checked
from dragoman.data.records import tsv, two_files
from dragoman.errors import DownloadError, SettingError

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dragoman.data.records import Record


class Reader(Protocol):
    """Reads the records of a part from its files."""

    def __call__(self, paths: Sequence[str], notes: Counter[str], *, longest: int) -> Iterator[Record]: ...


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a set: its files, under the folder of the set, and how they are read."""

    files: tuple[str, ...]
    read: Reader
    several: bool = False
    """Whether all targets that a source has here are right: to be judged by, not line by line."""


def known_sets() -> tuple[str, ...]:
    """The names of the sets whose parts are known."""
    return tuple(sorted(_parts()))


def parts(name: str) -> Mapping[str, Part]:
    """The parts of a set, by their names."""
    known = _parts()
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    raise SettingError(
        f"there is no data set {name!r} that is read by its name",
        place="set",
        remedy=f"Did you mean {close[0]!r}?" if close else f"Known here: {', '.join(known_sets())}.",
    )


def find(name: str, part: str) -> Part:
    """A part of a set by its name."""
    of_set = parts(name)
    if part in of_set:
        return of_set[part]
    close = difflib.get_close_matches(part, of_set, n=3, cutoff=0.4) or list(itertools.islice(of_set, 6))
    raise SettingError(f"{name} has no part {part!r}", place="part", remedy=f"It has {', '.join(close)} …")


def present(name: str) -> dict[str, Part]:
    """The parts of a set whose files are on this machine."""
    folder = catalog.locate(name)
    return {key: part for key, part in parts(name).items() if all((folder / file).is_file() for file in part.files)}


def paths(name: str, part: Part) -> tuple[str, ...]:
    """Where the files of a part are; raises DownloadError, with what fetches them, when they are not here."""
    return tuple(str(catalog.file(name, file)) for file in part.files)


@functools.cache
def _parts() -> Mapping[str, Mapping[str, Part]]:
    return {
        "django-pseudocode": _django(),
        "g2p-cmudict": _cmudict(),
        "g2p-sigmorphon2020": _g2p(),
        "geoquery": {part: Part((f"geo_{part}.tsv.gz",), _pairs) for part in ("train", "dev", "test")},
        "multi30k": _multi30k(),
        "rnnlg": _rnnlg(),
        "scan": _scan(),
        "sigmorphon2016": _inflection(),
        "tatoeba-en-fr": _tatoeba(),
    }


# ---- two files, or two columns -------------------------------------------------------------------------------------


def _pairs(paths: Sequence[str], notes: Counter[str], *, longest: int) -> Iterator[Record]:
    return tsv(paths[0], (1, 2), notes, columns=2, longest=longest)


def _turned(paths: Sequence[str], notes: Counter[str], *, longest: int) -> Iterator[Record]:
    return tsv(paths[0], (2, 1), notes, columns=2, longest=longest)


def _side_by_side(paths: Sequence[str], notes: Counter[str], *, longest: int) -> Iterator[Record]:
    return two_files(paths[0], paths[1], notes, longest=longest)


def _multi30k() -> dict[str, Part]:
    published = {"train": "train", "valid": "val", "test2016": "test_2016_flickr"}
    found = {}
    for source, target in itertools.permutations(("en", "de", "fr"), 2):
        for part, name in published.items():
            for kind, middle in (("tok", ".lc.norm.tok"), ("raw", "")):
                files = tuple(f"{kind}/{name}{middle}.{language}.gz" for language in (source, target))
                found[f"{kind}.{source}-{target}.{part}"] = Part(files, _side_by_side)
    return found


def _tatoeba() -> dict[str, Part]:
    readers: tuple[tuple[str, Reader], ...] = (("en-fr", _pairs), ("fr-en", _turned))
    return {
        f"{direction}.{part}": Part((f"{part}.tsv.gz",), reader)
        for direction, reader in readers
        for part in ("train", "dev")
    }


SPELT = ("ady", "arm", "bul", "dut", "fre", "geo", "gre", "hin", "hun", "ice", "jpn", "kor", "lit", "rum", "vie")
"""Languages of the sets of spelling to sound."""


def _g2p() -> dict[str, Part]:
    files = {part: tuple(f"{part}/{language}_{part}.tsv.gz" for language in SPELT) for part in ("train", "dev", "test")}
    spelt = {
        f"{language}.{part}": Part((file,), _pairs)
        for part in files
        for language, file in zip(SPELT, files[part], strict=True)
    }
    whose = {f"language.{part}": Part(each, _languages, several=part != "train") for part, each in files.items()}
    return spelt | whose


def _languages(paths: Sequence[str], notes: Counter[str], *, longest: int) -> Iterator[Record]:
    """Each word, of whatever language, with the name of its language."""
    for language, path in zip(SPELT, paths, strict=True):
        for source, _ in _pairs((path,), notes, longest=longest):
            yield Fault(source.reason, f"{source.detail}, in {path}") if isinstance(source, Fault) else source, language


# ---- a dictionary with several sounds a word -----------------------------------------------------------------------

_DEV_OF = 50
"""One word of so many is held out of the dictionary's training part."""


def _cmudict() -> dict[str, Part]:
    train, test = "cmudict.train.tsv.gz", "cmudict.test.tsv.gz"
    return {
        "train": Part((train,), partial(_words, held_out=False)),
        "dev": Part((train,), partial(_words, held_out=True), several=True),
        "test": Part((test,), _pairs, several=True),
    }


def _words(paths: Sequence[str], notes: Counter[str], *, longest: int, held_out: bool) -> Iterator[Record]:
    """The pairs of the words that are, or are not, held out: all that is said of a word is on one side."""
    for source, target in _pairs(paths, notes, longest=longest):
        if isinstance(source, Fault) or (crc32(source.encode()) % _DEV_OF == 0) == held_out:
            yield source, target


# ---- lines of English and of Python --------------------------------------------------------------------------------

_DJANGO_TRAIN = 16_000


def _django() -> dict[str, Part]:
    train, test = ("anno.txt.gz", "code.txt.gz"), ("anno.test.txt.gz", "code.test.txt.gz")
    return {
        "train": Part(train, partial(_slice, first=0, last=_DJANGO_TRAIN)),
        "dev": Part(train, partial(_slice, first=_DJANGO_TRAIN, last=None)),
        "test": Part(test, _side_by_side),
    }


def _slice(
    paths: Sequence[str], notes: Counter[str], *, longest: int, first: int, last: int | None
) -> Iterator[Record]:
    return itertools.islice(_side_by_side(paths, notes, longest=longest), first, last)


# ---- commands and actions ------------------------------------------------------------------------------------------

_COMMAND = re.compile(r"IN: (.+?) OUT: (.+)")


def _scan() -> dict[str, Part]:
    published = {"simple": "simple", "length": "length", "jump": "addprim_jump", "turn-left": "addprim_turn_left"}
    return {
        f"{split}.{part}": Part((f"tasks_{part}_{name}.txt.gz",), _commands)
        for split, name in published.items()
        for part in ("train", "test")
    }


def _commands(paths: Sequence[str], notes: Counter[str], *, longest: int) -> Iterator[Record]:
    for line in checked(paths[0], longest=longest, notes=notes):
        if isinstance(line, Fault):
            yield line, line
        elif found := _COMMAND.fullmatch(line.strip()):
            yield found[1], found[2]
        else:
            fault = Fault(Reason.FIELD, "not of the form `IN: … OUT: …`")
            yield fault, fault


# ---- inflection ----------------------------------------------------------------------------------------------------


_INFLECTED = (
    "arabic", "finnish", "georgian", "german", "hungarian", "maltese", "navajo", "russian", "spanish", "turkish",
)  # fmt: skip


def _inflection() -> dict[str, Part]:
    return {
        f"{language}.{part}": Part((f"{language}.{part}.tsv.gz",), _forms)
        for language in _INFLECTED
        for part in ("train", "dev", "test")
    }


def _forms(paths: Sequence[str], notes: Counter[str], *, longest: int) -> Iterator[Record]:
    """The tags and then the letters of the lemma, as symbols between spaces; and the form."""
    for line in checked(paths[0], longest=longest, notes=notes):
        if isinstance(line, Fault):
            yield line, line
            continue
        cells = line.split("\t")
        if len(cells) != 3:
            fault = Fault(Reason.COLUMNS, f"{len(cells)} where 3 are expected")
            yield fault, fault
            continue
        lemma, tags, form = cells
        yield inflection_source(lemma, tags.split(",")), form


def inflection_source(lemma: str, tags: Iterable[str]) -> str:
    """What an inflection model of these sets reads: tags, then the letters of the lemma, a space being `_`."""
    return " ".join([*tags, *lemma.replace(" ", "_")])


# ---- dialogue acts and what is said --------------------------------------------------------------------------------


def _rnnlg() -> dict[str, Part]:
    return {
        f"{domain}.{part}": Part((f"{domain}.{part}.json.gz",), _acts, several=part != "train")
        for domain in ("restaurant", "hotel", "laptop", "tv")
        for part in ("train", "valid", "test")
    }


def _acts(paths: Sequence[str], notes: Counter[str], *, longest: int) -> Iterator[Record]:
    """Each act with what a person says; what a program with rules says, the third of each row, is left alone."""
    lines = list(checked(paths[0], longest=longest, notes=notes))
    fault = next((line for line in lines if isinstance(line, Fault)), None)
    if fault is not None:
        yield fault, fault
        return
    document = "\n".join(line for line in lines if isinstance(line, str) and not line.startswith("#"))
    try:
        rows: Any = msgspec.json.decode(document, type=list[tuple[str, str, str]])
    except msgspec.MsgspecError as error:
        raise DownloadError(
            f"not the JSON that it was: {error}", place=paths[0], remedy="Fetch the data set again."
        ) from None
    for act, said, _ in rows:
        yield act_words(act), said


def act_words(act: str) -> str:
    """A dialogue act as words between spaces: `inform ( name = trattoria contadina ; pricerange = moderate )`."""
    return " ".join(re.sub(r"([()=;])", r" \1 ", act.replace("'", "")).split())
