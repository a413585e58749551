"""COMET, through the program `comet-score` of an environment of its own: its package cannot live beside ours."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dragoman.errors import DataError, FileError
from dragoman.files import write_atomically
from dragoman.measures.metrics import Measurement
from dragoman.measures.statistics import Statistics
from dragoman.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.evaluation.evaluate import TestSet

PROGRAM = "comet-score"
_PACKAGE = "unbabel-comet"
_SEGMENT = re.compile(r"\tSegment (\d+)\tscore: (\S+)$", re.MULTILINE)
_BREAKS = re.compile(r"\s+")


class CometSettings(Settings, frozen=True, kw_only=True):
    """How COMET is computed."""

    model: str = "Unbabel/wmt22-comet-da"
    """The model; it is fetched by the program itself when it is not there yet."""
    gpus: int = 0
    """GPUs that the program may use."""


def comet(outputs: Sequence[str], test: TestSet, *, settings: CometSettings | None = None) -> Statistics:
    """The score of each line, against its first reference, as counts: their value is the mean, times 100."""
    settings = settings or CometSettings()
    path = program()
    if not test.sources:
        raise DataError("COMET looks at the sources too", place="--src", remedy="Name the file of sources.")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        references = [each[0] for each in test.references]
        for name, lines in (("src", test.sources), ("out", outputs), ("ref", references)):
            write_atomically(place / name, "".join(f"{_BREAKS.sub(' ', line)}\n" for line in lines).encode())
        files = ["-s", str(place / "src"), "-t", str(place / "out"), "-r", str(place / "ref")]
        command = [path, *files, "--model", settings.model, "--gpus", str(settings.gpus)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Statistics("comet", _parsed(done, len(outputs)))


def program() -> str:
    """Where comet-score is; FileError where it is nowhere."""
    found = shutil.which(PROGRAM)
    if found is None:
        raise FileError(
            "is not on the PATH",
            place=PROGRAM,
            remedy="Install unbabel-comet into an environment of its own, and put its bin folder at the end of PATH.",
        )
    return found


def measurement(found: Statistics, *, settings: CometSettings | None = None) -> Measurement:
    """The mean over all lines."""
    settings = settings or CometSettings()
    return Measurement(
        name="comet",
        value=found.value(),
        signature=f"model:{settings.model}|nrefs:1|scale:100|version:{_version()}",
        higher_is_better=True,
        count=len(found),
    )


def _version() -> str:
    """Of the package that the program belongs to, by what is installed beside it."""
    packages = Path(program()).resolve().parent.parent.glob("lib/python*/site-packages")
    found = [each.version for place in packages for each in distributions(name=_PACKAGE, path=[str(place)])]
    return found[0] if found else "unknown"


def _parsed(done: subprocess.CompletedProcess[str], lines: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The score of each segment beside a one, from what the program prints."""
    last = done.stderr.strip().rsplit("\n", 1)[-1]
    if done.returncode != 0:
        raise FileError(f"failed with code {done.returncode}: {last}", place=PROGRAM, remedy="Run it by itself first.")
    scores = {int(number): score for number, score in _SEGMENT.findall(done.stdout)}
    try:
        values = [float(scores[line]) for line in range(lines)]
    except (KeyError, ValueError):
        raise FileError(
            f"printed {len(scores)} scores for {lines} lines", place=PROGRAM, remedy="Use unbabel-comet 2 or newer."
        ) from None
    return np.array([values, [1.0] * lines]).T
