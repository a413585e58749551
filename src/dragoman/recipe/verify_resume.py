"""The proof, on a user's own run, that a killed run goes on as if it had never stopped.

Two runs by the recipe, shortened but otherwise the user's own, are made by processes of their own: one undisturbed, the
other killed twice by SIGKILL, at a checkpoint's door and at a moment drawn at random, and started again each time. Then
what they have come to is compared by SHA-256.
"""

from __future__ import annotations

import contextlib
import hashlib
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.errors import FileError, ModelError
from dragoman.files import disk_errors, locked
from dragoman.recipe.folder import LOCK, PURPOSE, RUN_FILE
from dragoman.recipe.prepared import prepare_data
from dragoman.recipe.sharing import share_prepared
from dragoman.recipe.toml import settings_to_toml
from dragoman.training import checkpoint
from dragoman.training.events import Progress, Skipped, Validated, read_events
from dragoman.training.loop import CHECKPOINTS, EVENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dragoman.recipe.schema import Recipe

_UPDATES, _VALIDATIONS = 12, 2
_SENTENCES = 20
_TIMES = ("seconds", "tokens_per_second")
"""What no two runs have in common."""
_PAUSE = 0.02


@dataclass(frozen=True, slots=True)
class Compared:
    """One sort of what the two runs have come to, as hashes."""

    what: str
    undisturbed: str
    resumed: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a run that is killed ends as one that is not."""

    updates: int
    killed_after: tuple[int, ...]
    """The last update in the log when the kills came."""
    compared: tuple[Compared, ...]

    @property
    def identical(self) -> bool:
        """Whether every bit is the same."""
        return all(each.undisturbed == each.resumed for each in self.compared)


def verify_resume(recipe: Recipe, folder: Path) -> Verdict:
    """What comes of killing and resuming a run by the recipe; the folder takes the prepared data and nothing else."""
    with locked(folder / LOCK, purpose=PURPOSE):
        prepare_data(recipe, folder)
        with disk_errors(folder, "write"), tempfile.TemporaryDirectory(prefix="verify-", dir=folder) as place:
            runs = [Path(place) / name for name in ("undisturbed", "killed")]
            short = shortened(recipe)
            for each in runs:
                _lay_out(each, short, folder)
            updates = short.training.steps
            _train(runs[0], until=updates)
            killed = _killed(runs[1], updates)
            _train(runs[1], until=updates)
            compared = tuple(
                Compared(what, one, other)
                for (what, one), (_, other) in zip(*(_outcome(each, updates) for each in runs), strict=True)
            )
    return Verdict(updates, killed, compared)


def shortened(recipe: Recipe) -> Recipe:
    """The recipe for a few updates, with validations and checkpoints among them."""
    training = recipe.training
    updates = min(_UPDATES, training.steps)
    schedule = msgspec.structs.replace(training.schedule, warmup=min(training.schedule.warmup, updates))
    return msgspec.structs.replace(
        recipe,
        training=msgspec.structs.replace(
            training,
            steps=updates,
            schedule=schedule,
            log_every=1,
            validate_every=max(1, updates // _VALIDATIONS),
            checkpoint_every=max(1, updates // 4),
            patience=None,
        ),
        evaluation=msgspec.structs.replace(
            recipe.evaluation, sentences=min(_SENTENCES, recipe.evaluation.sentences or _SENTENCES)
        ),
    )


def _lay_out(run: Path, recipe: Recipe, folder: Path) -> None:
    """A folder for the run, with links to the prepared data."""
    run.mkdir()
    (run / RUN_FILE).write_text(settings_to_toml(recipe), encoding="utf-8")
    share_prepared(folder, run)


# ---- running and killing -------------------------------------------------------------------------------------------


def _killed(run: Path, updates: int) -> tuple[int, ...]:
    """The updates after which the run was killed."""
    draw = random.Random()
    found = []
    for share in (0.25, 0.6):
        _train(run, until=None, kill_at=max(1, int(share * updates)), delay=draw.uniform(0, 0.3))
        found.append(_logged(run))
    return tuple(found)


def _train(run: Path, *, until: int | None, kill_at: int = 0, delay: float = 0.0) -> None:
    """Train in a process of its own: to the end, or until it is killed some time after an update was logged."""
    command = [sys.executable, "-m", "dragoman", "--quiet", "train", "--out", str(run)]
    with (run / "errors.txt").open("wb") as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        try:
            while process.poll() is None:
                if until is None and _logged(run) >= kill_at:
                    time.sleep(delay)
                    break
                time.sleep(_PAUSE)
        finally:
            process.kill()  # SIGKILL; whoever has ended does not mind
            code = process.wait()
    if code > 0 or (until is not None and code):
        said = (run / "errors.txt").read_text(encoding="utf-8", errors="replace").strip()
        raise ModelError(
            f"training ended with code {code}: {said.removeprefix('error: ')}",
            place="--verify-resume",
            remedy="Try --dry-run first.",
        )


def _logged(run: Path) -> int:
    """The last update that the log tells of."""
    with contextlib.suppress(FileError, msgspec.MsgspecError):
        return max((event.step for event in read_events(run / EVENTS)), default=0)
    return 0


# ---- comparing -----------------------------------------------------------------------------------------------------


def _outcome(run: Path, updates: int) -> Iterator[tuple[str, str]]:
    """What a run has come to: weights, optimizer, averages, the rest of the state, and what was logged."""
    found = checkpoint.load(run / CHECKPOINTS / f"step-{updates}")
    for part, what in (("model", "weights"), ("optimizer", "optimizer"), ("average", "averages")):
        hashed = hashlib.sha256()
        for name, array in sorted(found.tensors.items()):
            if name.startswith(f"{part}|"):
                hashed.update(name.encode() + array.tobytes())
        yield what, hashed.hexdigest()
    state = msgspec.structs.replace(found.state, seconds=0.0, events=0)
    yield "random state", hashlib.sha256(msgspec.json.encode(state)).hexdigest()
    logged = [_untimed(e) for e in read_events(run / EVENTS) if isinstance(e, Progress | Validated | Skipped)]
    yield "logged losses", hashlib.sha256(msgspec.json.encode(logged)).hexdigest()


def _untimed(event: Any) -> dict[str, Any]:
    return {key: value for key, value in msgspec.to_builtins(event).items() if key not in _TIMES}
