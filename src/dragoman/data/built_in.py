"""Data sets that this program makes itself, as files: drawn by chance from a fixed seed, and the same everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman import files

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from dragoman.data.numerals import Numeral


def write(name: str, folder: Path) -> None:
    """Write the set of this name into a new folder."""
    match name:
        case "phrasebook":
            _write_phrasebook(folder)
        case "numerals":
            _write_numerals(folder)
        case _:
            raise AssertionError(f"the catalogue names {name!r}, which nobody publishes and nothing here makes")


def _write_phrasebook(folder: Path) -> None:
    """Write the text, the same cut into words, and the gold alignment of those words."""
    from dragoman.data import phrasebook

    splits, words = phrasebook.splits(), phrasebook.words
    with files.new_folder(folder) as fresh:
        for part, phrases in (("train", splits.train), ("dev", splits.dev), ("test", splits.test)):
            _write_lines(fresh / f"{part}.en", (p.english for p in phrases))
            _write_lines(fresh / f"{part}.fr", (p.french for p in phrases))
            _write_lines(fresh / f"{part}.words.en", (" ".join(words(p.english)) for p in phrases))
            _write_lines(fresh / f"{part}.words.fr", (" ".join(words(p.french)) for p in phrases))
            _write_lines(fresh / f"{part}.align", (_pharaoh(p.alignment) for p in phrases))


def _pharaoh(alignment: Iterable[tuple[int, int]]) -> str:
    """The links as aligners write them: `0-0 1-2`, positions from 0."""
    return " ".join(f"{source}-{goal}" for source, goal in alignment)


def _write_numerals(folder: Path) -> None:
    """Write an array for each numeral, and for each part a list of arrays and one of words."""
    from dragoman.data import numerals

    splits = numerals.splits()
    with files.new_folder(folder) as fresh:
        for part, drawn in (("train", splits.train), ("dev", splits.dev), ("test", splits.test)):
            _write_arrays(fresh, part, drawn)
            _write_lines(fresh / f"{part}.arrays", (_array_name(part, each) for each in drawn))
            _write_lines(fresh / f"{part}.words", (each.words for each in drawn))


def _write_arrays(folder: Path, part: str, drawn: Sequence[Numeral]) -> None:
    import numpy as np

    (folder / part).mkdir()
    for each in drawn:
        np.save(folder / _array_name(part, each), each.frames, allow_pickle=False)


def _array_name(part: str, numeral: Numeral) -> str:
    return f"{part}/{numeral.number:04}.npy"


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    files.write_atomically(path, "".join(f"{line}\n" for line in lines).encode())
