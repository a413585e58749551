"""Pairs written to disk: two text files, TSV, JSON lines, or one text file where pairs have no source.

All files of one writing appear when it has ended well, and none of them before.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from dragoman.errors import DataError, SettingError
from dragoman.files import STANDARD, replacing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import BinaryIO

    from dragoman.data.corpus import Pair

COMPRESSED = frozenset({".gz", ".xz", ".bz2", ".zst"})
JSON_ENDINGS = frozenset({".jsonl", ".ndjson"})


def ending(file: str) -> str:
    """The ending of a file's name that tells its format, whatever it is compressed with."""
    path = Path(file)
    return path.with_suffix("").suffix if path.suffix in COMPRESSED else path.suffix


def part_names(part: str, files: Sequence[str], *, one_sided: bool) -> list[str]:
    """Names for the files of a part of a corpus, formed after those of the corpus itself."""
    packed = [Path(file).suffix if Path(file).suffix in COMPRESSED else "" for file in files]
    endings = [ending(file) for file in files]
    if len(files) == 1 and not one_sided:
        kept = endings[0] in (*JSON_ENDINGS, ".tsv")
        return [f"{part}{endings[0] if kept else '.jsonl'}{packed[0]}"]
    if len(files) == 2 and (endings[0] == endings[1] or not all(endings)):
        endings = [f".source{endings[0]}", f".target{endings[1]}"]
    return [f"{part}{end}{pack}" for end, pack in zip(endings, packed, strict=True)]


@contextlib.contextmanager
def writing(paths: Sequence[Path], *, one_sided: bool, arrays: bool = False) -> Iterator[Callable[[Pair], None]]:
    """A function that writes one pair to the files; `arrays` tells that sources are paths of arrays."""
    refuse_unusable(paths, one_sided=one_sided)
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(replacing(path)) for path in paths]
        write = _writer(paths, streams, one_sided=one_sided)
        yield (lambda pair: write(_relative(pair, paths[0]))) if arrays else write


def refuse_unusable(paths: Sequence[Path], *, one_sided: bool) -> None:
    """Raise SettingError unless the paths are one file, or, for pairs, two different ones."""
    problem = ""
    if len(paths) > 2 - one_sided:
        problem = f"{len(paths)} files to write, where one{'' if one_sided else ' or two'} can be"
    elif len({p.resolve() for p in paths}) < len(paths):
        problem = f"both sides would go to {paths[0]}"
    elif any(str(p) == STANDARD for p in paths):
        problem = "standard output is kept for the report"
    elif folder := next((p for p in paths if p.is_dir()), None):
        problem = f"{folder} is a folder"
    elif any(p.suffix == ".parquet" for p in paths):
        problem = "Parquet is read, not written"
    elif ending(str(paths[0])) in JSON_ENDINGS and (one_sided or len(paths) == 2):
        problem = "JSON lines hold pairs, in one file"
    if problem:
        raise SettingError(problem, place="--out", remedy="Give -o OUT, or, for pairs, -o SOURCES -o TARGETS.")


def _writer(paths: Sequence[Path], streams: Sequence[BinaryIO], *, one_sided: bool) -> Callable[[Pair], None]:
    first, last = streams[0], streams[-1]

    def two(pair: Pair) -> None:
        first.write(f"{pair.source}\n".encode())
        last.write(f"{pair.target}\n".encode())

    def target(pair: Pair) -> None:
        first.write(f"{pair.target}\n".encode())

    def json(pair: Pair) -> None:
        first.write(msgspec.json.encode({"source": pair.source, "target": pair.target}) + b"\n")

    def tsv(pair: Pair) -> None:
        if "\t" in pair.source or "\t" in pair.target:
            raise DataError(
                "a text with a tab cannot be written as TSV",
                place=f"{pair.file}:{pair.line}",
                remedy="Write two files, or a file that ends in .jsonl.",
            )
        first.write(f"{pair.source}\t{pair.target}\n".encode())

    if len(streams) == 2:
        return two
    if ending(str(paths[0])) in JSON_ENDINGS:
        return json
    return target if one_sided else tsv


def _relative(pair: Pair, list_file: Path) -> Pair:
    """The pair with its array named as a list in this place has to name it."""
    folder = list_file.parent.resolve()
    if not Path(pair.source).is_relative_to(folder):
        raise DataError(
            f"the array {pair.source} would lie outside the folder of the list",
            place=str(list_file),
            remedy=f"Write it into {os.path.commonpath([pair.source, folder])}: arrays lie beside their list or below.",
        )
    return msgspec.structs.replace(pair, source=Path(pair.source).relative_to(folder).as_posix())
