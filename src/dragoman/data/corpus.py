"""Corpora: pairs of texts, read as a stream from files of any size, each pair with the file and line it came from.

What is wrong with a corpus never passes silently. A pair that cannot be used is refused with its file and line, or,
with `on_bad = "skip"`, left out, counted by reason and reported. Damaged files, and two files whose numbers of lines
differ, are refused either way: nobody can tell which of their lines belong together.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal, assert_never

import msgspec

from dragoman.data import known, records
from dragoman.data.lines import Fault, Reason
from dragoman.data.noise import NoiseSettings
from dragoman.errors import DataError, SettingError
from dragoman.files import STANDARD
from dragoman.settings import Meta, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dragoman.data.records import Opener, Record

EXAMPLES = 3
"""How many places are remembered for each reason to skip a pair."""
LONGEST_LINE = 100_000
"""Most bytes of a line, where nothing else is said."""

_REMEDIES = {
    Reason.COLUMNS: "Set `columns` if all lines are like this. ",
    Reason.FIELD: "Set `source_field` and `target_field` to what the file has. ",
    Reason.TOO_LONG: "Raise `longest_line` if it is meant to be so. ",
}
_NO_SOURCE = Fault(Reason.EMPTY, "nothing in the source")
_NO_TARGET = Fault(Reason.EMPTY, "nothing in the target")


class Pair(msgspec.Struct, frozen=True, gc=False):  # a dataclass takes nine times as long to make
    """Two texts that belong together, and where they stand. Monolingual text has an empty source."""

    source: str
    target: str
    file: str
    line: int


# ---- settings ----------------------------------------------------------------------------------------------------


class _Kind(Settings, frozen=True, kw_only=True):
    weight: float = 1.0
    """How often examples of this corpus are drawn, relative to the others; any number above 0."""
    source_language: str = ""
    """Language of the sources, which the model remembers; it finds out for itself which one it reads."""
    target_language: str = ""
    """Language of the targets, put before the source as a tag where a model serves several; nothing: no tag."""

    def check(self) -> None:
        if not (math.isfinite(self.weight) and self.weight > 0):
            raise SettingError(f"{self.weight} is no weight", place="weight", remedy="Give a number above 0.")


class TextFiles(_Kind, frozen=True, kw_only=True, tag_field="kind", tag="text"):
    """Two text files: line i of one belongs to line i of the other."""

    source: str
    """File with one source a line; may end in .gz, .xz, .bz2 or .zst; - is standard input."""
    target: str
    """File with one target a line."""

    def check(self) -> None:
        super().check()
        if self.source == self.target == STANDARD:
            raise SettingError(
                "both sides cannot come from standard input",
                place="target",
                remedy='Name a file for one, or give pairs as kind = "tsv".',
            )


class Tsv(_Kind, frozen=True, kw_only=True, tag_field="kind", tag="tsv"):
    """One file with columns separated by tabs, without quoting."""

    file: str
    """File with one pair a line; - is standard input."""
    columns: Annotated[int, Meta(ge=2, le=1000)] = 2
    """How many columns every line has."""
    source_column: Annotated[int, Meta(ge=1)] = 1
    """Number of the column that holds the source, counted from 1."""
    target_column: Annotated[int, Meta(ge=1)] = 2
    """Number of the column that holds the target, counted from 1."""

    def check(self) -> None:
        super().check()
        for name, value in (("source_column", self.source_column), ("target_column", self.target_column)):
            if value > self.columns:
                raise SettingError(
                    f"column {value} of {self.columns}", place=name, remedy="Set `columns` to what the file has."
                )


class _Fields(_Kind, frozen=True, kw_only=True):
    source_field: str = "source"
    """Field or column that holds the source."""
    target_field: str = "target"
    """Field or column that holds the target."""

    def check(self) -> None:
        super().check()
        if self.source_field == self.target_field:
            raise SettingError(
                f"source and target are both {self.source_field!r}", place="target_field", remedy="Name two fields."
            )


class Jsonl(_Fields, frozen=True, kw_only=True, tag_field="kind", tag="jsonl"):
    """One file with a JSON object a line; other fields than the two named are passed over."""

    file: str
    """File with one object a line; - is standard input."""


class Parquet(_Fields, frozen=True, kw_only=True, tag_field="kind", tag="parquet"):
    """One Parquet file with two text columns."""

    file: str
    """File to read; its row groups are read one after the other."""

    def check(self) -> None:
        super().check()
        if self.file == STANDARD:
            raise SettingError(
                "Parquet is not read from standard input", place="file", remedy="Name the file: its end is read first."
            )


class Mono(_Kind, frozen=True, kw_only=True, tag_field="kind", tag="mono"):
    """One text file for a language model; its pairs have an empty source."""

    file: str
    """File with one text a line; - is standard input."""


class Features(_Kind, frozen=True, kw_only=True, tag_field="kind", tag="features"):
    """Sources that are arrays of numbers: a vector, or one row a frame; the pair's source is the array's path."""

    source: str
    """File that names one .npy file a line, in its own folder or below it."""
    target: str
    """File with one target a line."""


class Known(_Kind, frozen=True, kw_only=True, tag_field="kind", tag="known"):
    """Pairs of a data set that the catalogue knows, whatever format it is published in."""

    set: str
    """Name of the data set, as in `dragoman data list`."""
    part: str
    """Which of its parts, such as train; `dragoman data get SET` names them."""

    def check(self) -> None:
        super().check()
        known.find(self.set, self.part)


CorpusSettings = TextFiles | Tsv | Jsonl | Parquet | Mono | Features | Known


class DataSettings(Settings, frozen=True, kw_only=True):
    """The table [data] of a run file."""

    train: Annotated[tuple[CorpusSettings, ...], Meta(min_length=1)]
    """Corpora to train on."""
    valid: CorpusSettings | None = None
    """Corpus to validate on."""
    noise: NoiseSettings | None = None
    """What is done to text without sources, so that a model which reads sources learns to restore it."""
    prompts: Literal["given", "learned"] = "given"
    """For a language model on pairs, whose sources are prompts before the answers: whether the loss is on the answer
    only, or on the prompt as well."""
    on_bad: Literal["refuse", "skip"] = "refuse"
    """What happens to a pair that cannot be used: refuse the corpus, or skip the pair and report it."""
    longest_line: Annotated[int, Meta(ge=1, le=1 << 30)] = LONGEST_LINE
    """Most bytes that a line may have."""


# ---- reading -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Corpus:
    """Pairs of one corpus, in order, as often as asked for; from standard input just once."""

    files: tuple[str, ...]
    """The file of the sources and that of the targets, which may be one."""
    opener: Opener
    """Source and target of each line, or what is wrong with them; the counter takes notes."""
    skips: bool
    """Whether pairs that cannot be used are left out, and not refused."""
    one_sided: bool
    """Whether sources are empty, as in text for a language model."""

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.read())

    def read(self) -> Reading:
        """A fresh pass over the corpus, which can tell afterwards what it skipped."""
        return Reading(self)


class Reading:
    """One pass over a corpus. Iterate once; what was skipped and mended is known when the pass has ended."""

    def __init__(self, corpus: Corpus) -> None:
        self.lines = 0
        """Lines looked at."""
        self.skipped: Counter[Reason] = Counter()
        """How many pairs were left out, by reason."""
        self.examples: dict[Reason, list[str]] = {}
        """The first few places of each reason."""
        self.notes: Counter[str] = Counter()
        """How often something harmless was mended."""
        self._pairs = self._read(corpus)

    def __iter__(self) -> Iterator[Pair]:
        return self._pairs

    def _read(self, corpus: Corpus) -> Iterator[Pair]:
        source_file, target_file = _shown(corpus.files[0]), _shown(corpus.files[-1])
        line, one_sided = 0, corpus.one_sided
        for line, (source, target) in enumerate(corpus.opener(self.notes), 1):
            if isinstance(source, Fault):
                self._skip(source, f"{source_file}:{line}", allowed=corpus.skips)
            elif isinstance(target, Fault):
                self._skip(target, f"{target_file}:{line}", allowed=corpus.skips)
            elif not (one_sided or source.strip()):
                self._skip(_NO_SOURCE, f"{source_file}:{line}", allowed=corpus.skips)
            elif not target.strip():
                self._skip(_NO_TARGET, f"{target_file}:{line}", allowed=corpus.skips)
            else:
                yield Pair(source, target, source_file, line)
        self.lines = line
        if line == self.skipped.total():
            detail = f"all its {line:,} lines were skipped" if line else "it is empty"
            raise DataError(
                f"no usable pair: {detail}", place=source_file, remedy="Check that this is the file you mean."
            )

    def _skip(self, fault: Fault, place: str, *, allowed: bool) -> None:
        if not allowed:
            raise DataError(
                f"{fault.reason}: {fault.detail}",
                place=place,
                remedy=_REMEDIES.get(fault.reason, "")
                + 'Mend the line, or set on_bad to "skip" to leave such lines out.',
            )
        self.skipped[fault.reason] += 1
        examples = self.examples.setdefault(fault.reason, [])
        if len(examples) < EXAMPLES:
            examples.append(f"{place}: {fault.detail}")


_SAME_PAIRS = frozenset(("kind", "weight", "source_language", "target_language", "file", "source", "target", "set"))
"""Fields that do not decide which pairs are read from files that hold the same."""


def manner(settings: CorpusSettings) -> str:
    """How the files of a corpus are read, in so far as other settings would find other pairs in them."""
    told = {key: value for key, value in msgspec.to_builtins(settings).items() if key not in _SAME_PAIRS}
    return msgspec.json.encode(told).decode() if told else ""


def build(
    settings: CorpusSettings, *, on_bad: Literal["refuse", "skip"] = "refuse", longest_line: int = LONGEST_LINE
) -> Corpus:
    """The corpus that the settings describe."""
    files, opener = _opener(settings, longest_line)
    if STANDARD in files:
        opener = _once(opener)
    return Corpus(files, opener, skips=on_bad == "skip", one_sided=isinstance(settings, Mono))


def _opener(settings: CorpusSettings, longest: int) -> tuple[tuple[str, ...], Opener]:
    match settings:
        case TextFiles(source=source, target=target):
            return (source, target), partial(records.two_files, source, target, longest=longest)
        case Tsv(file=file, columns=columns, source_column=source_column, target_column=target_column):
            wanted = (source_column, target_column)
            return (file,), partial(records.tsv, file, wanted, columns=columns, longest=longest)
        case Jsonl(file=file, source_field=source, target_field=target):
            return (file,), partial(records.jsonl, file, (source, target), longest=longest)
        case Parquet(file=file, source_field=source, target_field=target):
            return (file,), partial(records.parquet, file, (source, target), longest=longest)
        case Mono(file=file):
            return (file,), partial(records.mono, file, longest=longest)
        case Features(source=source, target=target):
            return (source, target), partial(records.features, source, target, longest=longest)
        case Known(set=name, part=named):
            part = known.find(name, named)
            files = known.paths(name, part)
            return files, partial(part.read, files, longest=longest)
        case _:
            assert_never(settings)


def _once(opener: Opener) -> Opener:
    """The same records, but a second pass is refused: standard input cannot be read again."""
    spent = False

    def opened(notes: Counter[str]) -> Iterator[Record]:
        nonlocal spent
        if spent:
            raise DataError(
                "can be read only once", place=_shown(STANDARD), remedy="Write it to a file, and name that."
            )
        spent = True
        return opener(notes)

    return opened


def _shown(file: str) -> str:
    return "standard input" if file == STANDARD else file
