"""Models and lines of text named on the command line."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LONGEST_LINE = 1 << 20

models_argument = click.argument("model", metavar="MODEL[,MODEL…]")


def text_lines(files: Iterable[Path], *, arrays: bool = False) -> Iterator[str]:
    """Each line of the files, decoded; with `arrays` the path of the .npy file that it names beside its own file."""
    for file in files:
        for number, line in enumerate(_lines(file), 1):
            yield _array(file, number, line) if arrays else line


def text_pairs(sources: Path, targets: Path, *, arrays: bool = False) -> Iterator[tuple[str, str]]:
    """Each line of one file with the same line of the other; DataError where one of them ends before the other."""
    from dragoman.errors import DataError

    sides = (text_lines((sources,), arrays=arrays), text_lines((targets,)))
    for number, (source, target) in enumerate(itertools.zip_longest(*sides), 1):
        if source is None or target is None:
            short, long = (sources, targets) if source is None else (targets, sources)
            raise DataError(
                f"line {number} of {long} has no partner",
                place=f"{short}:{number}",
                remedy="Give two files with as many lines.",
            )
        yield source, target


def whole_texts(file: Path) -> list[str]:
    """The lines of a file that hold something."""
    return [line.strip() for line in text_lines((file,)) if line.strip()]


def _lines(file: Path) -> Iterator[str]:
    from dragoman.errors import DataError
    from dragoman.files import lines

    for number, line in enumerate(lines(file, longest=_LONGEST_LINE), 1):
        if len(line) > _LONGEST_LINE:
            raise DataError(
                f"a line of more than {_LONGEST_LINE:,} bytes",
                place=_place(file, number),
                remedy="Cut it into several lines.",
            )
        try:
            yield line.removesuffix(b"\r").decode()
        except UnicodeDecodeError as error:
            raise DataError(
                f"byte 0x{line[error.start]:02x} at position {error.start + 1} is not UTF-8",
                place=_place(file, number),
                remedy="Convert the file to UTF-8, for instance with iconv.",
            ) from None


def _array(file: Path, number: int, name: str) -> str:
    from dragoman.data.features import ArrayFolder
    from dragoman.data.lines import Fault
    from dragoman.errors import DataError

    found = ArrayFolder(Path() if str(file) == "-" else file.parent).path(name.strip())
    if isinstance(found, Fault):
        raise DataError(str(found), place=_place(file, number), remedy="Name a .npy file in the folder of the list.")
    return found


def _place(file: Path, number: int) -> str:
    return f"{'standard input' if str(file) == '-' else file}:{number}"
