"""Files that an imported tokenizer came with, kept as they were, so that the model can go back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.files import disk_errors, write_atomically

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_FOLDER = "original"


def write(files: Mapping[str, bytes], folder: Path) -> None:
    """Keep the files beside a tokenizer."""
    if files:
        (folder / _FOLDER).mkdir()
    for name, data in files.items():
        write_atomically(folder / _FOLDER / name, data)


def read(folder: Path) -> dict[str, bytes]:
    """The files that are kept beside a tokenizer."""
    kept = folder / _FOLDER
    if not kept.is_dir():
        return {}
    with disk_errors(kept, "read"):
        return {path.name: path.read_bytes() for path in sorted(kept.iterdir()) if path.is_file()}
