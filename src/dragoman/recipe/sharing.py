"""Prepared data that several runs have in common: made once, and linked into the folder of each."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from dragoman.recipe.folder import START

if TYPE_CHECKING:
    from pathlib import Path

_SHARED = ("data", "text", START)


def share_prepared(folder: Path, run: Path) -> None:
    """Put what was prepared in a folder into that of a run, where the run has none of its own yet."""
    run.mkdir(parents=True, exist_ok=True)
    for name in _SHARED:
        if not (folder / name).exists() or (run / name).exists():
            continue
        unfinished = run / f"{name}.part"
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.copytree(folder / name, unfinished, copy_function=_linked)
        unfinished.rename(run / name)


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # a disk without links
        shutil.copy2(source, target)
