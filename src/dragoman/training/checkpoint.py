"""Checkpoints: everything a run needs to go on as if it had never stopped. No torch here.

A checkpoint is a folder `step-N`: the tensors in safetensors, the rest as JSON of a closed form, and a manifest. It is
written beside its final place and renamed once it is whole on the disk; the newest that verifies is the one that
counts.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from dragoman.errors import FileError
from dragoman.files import disk_errors, new_folder, verify, write_atomically

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from numpy.typing import NDArray

FORMAT = 1
TENSORS, STATE = "tensors.safetensors", "state.json"
_NAME = re.compile(r"step-(\d+)")


class Interval(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sums over the updates since progress was last told."""

    objective: float = 0.0
    nll: float = 0.0
    tokens: int = 0
    norm: float = 0.0
    """Of the last gradient."""


class RunState(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run remembers beside its tensors."""

    format: int = FORMAT
    step: int = 0
    """Updates made, those left out included."""
    position: int = 0
    """Examples taken from the data."""
    tokens: int = 0
    """Target tokens learned from."""
    seconds: float = 0.0
    """Time spent training, over all sessions."""
    interval: Interval = Interval()
    best: float | None = None
    """The best value of the validation metric so far."""
    best_loss: float | None = None
    """The loss there, which decides between equal values."""
    best_step: int = 0
    """Where it was reached."""
    stalls: int = 0
    """Validations since then."""
    cuts: int = 0
    """How often a plateau has cut the learning rate."""
    brake: float = 1.0
    """What divergence has cut the learning rate to: a share."""
    skipped: int = 0
    """Updates left out because loss or gradient was not finite."""
    skips_in_a_row: int = 0
    """Of those, the last ones without any other between them."""
    events: int = 0
    """Bytes of the event log that belong to this state."""
    randomness: bytes
    """Every random state."""
    recipe: str
    """The settings that must not change within a run: see `identity`."""
    data: str
    """Fingerprint of the prepared data."""


class _Format(msgspec.Struct, frozen=True, kw_only=True):
    format: int


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint as it was read."""

    folder: Path
    state: RunState
    tensors: dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Found:
    """The newest checkpoint that can be used, and what was wrong with newer ones."""

    checkpoint: Checkpoint | None
    problems: tuple[str, ...]


def save(parent: Path, state: RunState, tensors: Mapping[str, NDArray[Any]]) -> Path:
    """The folder of the new checkpoint."""
    folder = place(parent, state.step)
    with new_folder(folder) as fresh:
        with disk_errors(folder, "write"):
            save_file(dict(tensors), fresh / TENSORS)
        write_atomically(fresh / STATE, msgspec.json.format(msgspec.json.encode(state), indent=1))
        with disk_errors(folder, "write"):
            (fresh / TENSORS).chmod((fresh / STATE).stat().st_mode)  # safetensors lets nobody else read
    return folder


def place(parent: Path, step: int) -> Path:
    """The folder of the checkpoint after a step."""
    return parent / f"step-{step}"


def newest(parent: Path, *, until: int | None = None) -> Found:
    """The newest checkpoint that verifies, of those up to a step."""
    problems: list[str] = []
    for step, folder in reversed(_folders(parent)):
        if until is not None and step > until:
            continue
        try:
            return Found(load(folder), tuple(problems))
        except FileError as error:
            problems.append(str(error))
    return Found(None, tuple(problems))


def load(folder: Path) -> Checkpoint:
    """The checkpoint in a folder; FileError where it is damaged."""
    verify(folder)
    state = read_state(folder)
    try:
        with disk_errors(folder, "read"):
            tensors = load_file(folder / TENSORS)
    except SafetensorError as error:
        raise _not_one(folder, error) from None
    return Checkpoint(folder, state, tensors)


def read_state(folder: Path) -> RunState:
    """The state in a checkpoint, without its tensors; FileError where it cannot be read."""
    with disk_errors(folder / STATE, "read"):
        written = (folder / STATE).read_bytes()
    try:
        known = msgspec.json.decode(written, type=_Format).format
        if known != FORMAT:
            raise FileError(f"format {known} is not known here", place=str(folder), remedy="Use a newer dragoman.")
        return msgspec.json.decode(written, type=RunState)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _not_one(folder, error) from None


def latest_state(parent: Path) -> RunState | None:
    """The state of the newest checkpoint that has a readable one."""
    for _, folder in reversed(_folders(parent)):
        with contextlib.suppress(FileError):
            return read_state(folder)
    return None


def prune(parent: Path, *, keep: int) -> None:
    """Remove all but the newest `keep` checkpoints, and what earlier removals and savings left unfinished."""
    assert keep >= 2
    with disk_errors(parent, "remove"):
        for left in parent.glob("step-*.tmp"):
            shutil.rmtree(left)
        for _, folder in _folders(parent)[:-keep]:
            gone = folder.rename(folder.with_name(f"{folder.name}.tmp"))  # a half-removed one must not look whole
            shutil.rmtree(gone)


def set_aside(parent: Path, *, after: int) -> None:
    """Rename the checkpoints after a step, from which a run goes on anew, so that they do not count any more."""
    with disk_errors(parent, "rename"):
        for step, folder in _folders(parent):
            if step > after:
                aside = folder.with_name(f"{folder.name}.aside")
                shutil.rmtree(aside, ignore_errors=True)
                folder.rename(aside)


def remove_all(parent: Path) -> None:
    """Remove every checkpoint, whole or not; other things in the folder stay."""
    with disk_errors(parent, "remove"):
        for _, folder in _folders(parent):  # oldest first: cut short, this leaves a run that can go on
            shutil.rmtree(folder)
        for left in (*parent.glob("step-*.tmp"), *parent.glob("step-*.aside")):
            shutil.rmtree(left)


def _folders(parent: Path) -> list[tuple[int, Path]]:
    """The checkpoints with their steps, oldest first."""
    return sorted((int(m[1]), p) for p in parent.glob("step-*") if (m := _NAME.fullmatch(p.name)))


def _not_one(folder: Path, error: Exception) -> FileError:
    return FileError(f"not a checkpoint: {error}", place=str(folder), remedy="Use an older checkpoint.")
