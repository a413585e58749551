"""Validation pairs taken out of a corpus that comes without any, so that no sentence of theirs is trained on."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from dragoman.data import corpus as corpora
from dragoman.data.corpus import DataSettings, Features, Mono, TextFiles
from dragoman.data.output import writing
from dragoman.data.preparation import identity
from dragoman.data.split import TEST, TRAIN, VALID, SplitSettings, split
from dragoman.errors import DataError, FileError, SettingError
from dragoman.files import STANDARD, disk_errors, new_folder, verify, write_atomically

if TYPE_CHECKING:
    from pathlib import Path

    from dragoman.data.corpus import Corpus
    from dragoman.data.split import Split

_SHARE, _LEAST, _MOST = 0.05, 1, 1_000
_ORIGIN = "origin.json"


class Origin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a corpus was divided from, and how."""

    files: tuple[str, ...]
    contents: str
    """Changes whenever the files do."""
    valid: int
    sides: Literal["both", "source"]
    """Whose sentences were kept apart."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A corpus without its validation pairs, and these pairs."""

    data: DataSettings
    origin: Origin

    @property
    def reason(self) -> str:
        """How the pairs were taken, in a sentence."""
        kept = "of theirs" if self.origin.sides == "both" else "among their sources"
        return (
            f"{self.origin.valid:,} pairs of {' and '.join(self.origin.files)}, held out so that no sentence {kept} "
            "is trained on"
        )


def hold_out(data: DataSettings, folder: Path) -> HeldOut:
    """The corpus of `data` divided into two parts in the folder; those that are there already stay if they are its."""
    if len(data.train) != 1 or isinstance(data.train[0], Features):
        raise SettingError(
            "validation pairs are taken from one corpus of texts alone",
            place="data.valid",
            remedy="Name a corpus to validate on.",
        )
    corpus = corpora.build(data.train[0], on_bad=data.on_bad, longest_line=data.longest_line)
    if STANDARD in corpus.files:
        raise SettingError(
            "standard input cannot be divided, for it is read only once",
            place="data.train",
            remedy="Write it to a file, or name a corpus to validate on.",
        )
    contents = identity(corpus.files)
    origin = _origin(folder)
    if origin is None or origin.contents != contents:
        if folder.exists():
            with disk_errors(folder, "remove"):
                shutil.rmtree(folder)
        origin = _divide(corpus, folder, contents)
    return HeldOut(_parts(data, folder, one_sided=corpus.one_sided), origin)


def is_part_of(data: DataSettings, whole: DataSettings, folder: Path) -> bool:
    """Whether `data` are these corpora, or what was made of them in the folder when pairs were held out."""
    if data.train == whole.train and data.valid == whole.valid:
        return True
    origin = _origin(folder)
    if origin is None or whole.valid is not None or len(whole.train) != 1:
        return False
    corpus = corpora.build(whole.train[0], on_bad=data.on_bad, longest_line=data.longest_line)
    made = _parts(whole, folder, one_sided=corpus.one_sided)
    return corpus.files == origin.files and (made.train, made.valid) == (data.train, data.valid)


def _origin(folder: Path) -> Origin | None:
    """What the parts in the folder were made from; nothing where there are none, or damaged ones."""
    with contextlib.suppress(FileError, msgspec.MsgspecError):
        verify(folder)
        return msgspec.json.decode((folder / _ORIGIN).read_bytes(), type=Origin)
    return None


def _divide(corpus: Corpus, folder: Path, contents: str) -> Origin:
    total = sum(1 for _ in corpus)
    wanted = min(_MOST, max(_LEAST, round(_SHARE * total)))
    if total < 2:
        raise DataError(
            "a single pair cannot be divided",
            place=corpus.files[0],
            remedy="Give more pairs, or a corpus to validate on.",
        )
    made, sides = _split(corpus, wanted)
    one_sided = corpus.one_sided
    origin = Origin(files=corpus.files, contents=contents, valid=made.sizes()[VALID], sides=sides)
    with new_folder(folder) as fresh:
        _write(made, corpus, fresh, one_sided=one_sided)
        write_atomically(fresh / _ORIGIN, msgspec.json.encode(origin))
    return origin


def _split(corpus: Corpus, wanted: int) -> tuple[Split, Literal["both", "source"]]:
    """The split by both sides, or, where few targets serve many sources, by the sources."""
    try:
        return split(corpus, SplitSettings(valid=wanted)), "both"
    except DataError:
        return split(corpus, SplitSettings(valid=wanted, sides="source")), "source"


def _write(made: Split, corpus: Corpus, folder: Path, *, one_sided: bool) -> None:
    with contextlib.ExitStack() as stack:
        writers: dict[str, Any] = {
            part: stack.enter_context(writing(_files(folder, part, one_sided=one_sided), one_sided=one_sided))
            for part in (TRAIN, VALID)
        }
        for part, pair in made.divide(corpus):
            assert part != TEST
            writers[part](pair)


def _files(folder: Path, part: str, *, one_sided: bool) -> list[Path]:
    return [folder / f"{part}.text"] if one_sided else [folder / f"{part}.source", folder / f"{part}.target"]


def _parts(data: DataSettings, folder: Path, *, one_sided: bool) -> DataSettings:
    """The settings with the two parts in place of the corpus."""
    first = data.train[0]
    train, valid = (
        [str(each.resolve()) for each in _files(folder, part, one_sided=one_sided)] for part in (TRAIN, VALID)
    )
    languages: dict[str, Any] = {"source_language": first.source_language, "target_language": first.target_language}
    parts = [
        Mono(file=names[0], **languages) if one_sided else TextFiles(source=names[0], target=names[1], **languages)
        for names in (train, valid)
    ]
    return msgspec.structs.replace(data, train=(parts[0],), valid=parts[1])
