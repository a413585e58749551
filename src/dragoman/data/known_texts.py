"""Known data sets written out as lines of text, part by part: to look at, to translate, to evaluate on."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dragoman.data import known
from dragoman.data.corpus import Known, build
from dragoman.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from dragoman.data.corpus import Pair


@dataclass(frozen=True, slots=True)
class Written:
    """A part that was written: its name, how many lines, and its files, the sources first."""

    part: str
    lines: int
    files: tuple[Path, ...]


def write(name: str, folder: Path) -> Iterator[Written]:
    """The parts of a set that are on this machine, while they are written into the folder.

    Sources go to PART.source and targets to PART.target. Where a source may have several right targets, it is written
    once, and the others go to PART.target2 and so on, with an empty line where there are fewer.
    """
    for part, of_set in known.present(name).items():
        pairs = build(Known(set=name, part=part), on_bad="skip").read()
        columns = _grouped(pairs) if of_set.several else _columns(pairs)
        names = [f"{part}.source", f"{part}.target", *(f"{part}.target{n}" for n in range(2, len(columns)))]
        files = tuple(folder / each for each in names)
        for file, lines in zip(files, columns, strict=True):
            write_atomically(file, "".join(f"{line}\n" for line in lines).encode())
        yield Written(part, len(columns[0]), files)


def _columns(pairs: Iterable[Pair]) -> list[list[str]]:
    sources, targets = [], []
    for pair in pairs:
        sources.append(pair.source)
        targets.append(pair.target)
    return [sources, targets]


def _grouped(pairs: Iterable[Pair]) -> list[list[str]]:
    """Each source once, in the order of their first appearance; then their first targets, their second ones, ..."""
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for pair in pairs:
        found[pair.source][pair.target] = None
    most = max(map(len, found.values()))
    padded = [(*targets, *[""] * (most - len(targets))) for targets in found.values()]
    return [list(found), *map(list, zip(*padded, strict=True))]
