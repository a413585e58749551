"""What `dragoman doctor` finds out: facts about this machine and this installation, none of them judged yet."""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import os
import platform
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from dragoman import devices, files
from dragoman.data import catalog
from dragoman.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_DEVELOPERS = "dev"
"""The extra of those who work on the program itself."""

_TRIAL_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class Package:
    """A package that is needed: the oldest version that will do, the installed one, and the extra that asks for it."""

    name: str
    needed: str
    installed: str | None
    extra: str

    @property
    def old(self) -> bool:
        """Whether it is installed and too old."""
        return self.installed is not None and _numbers(self.installed) < _numbers(self.needed)


@dataclass(frozen=True, slots=True)
class Torch:
    """The state of torch: its version and the platform that it is built for, its threads; or why it cannot be used."""

    version: str
    built_for: str
    threads: int
    accelerators: tuple[devices.Accelerator, ...]
    fault: str


@dataclass(frozen=True, slots=True)
class Disk:
    """A folder in which the program writes: free bytes, and what a trial gave (bytes a second, or why it failed)."""

    folder: str
    free: int | None
    speed: float | None
    fault: str


@dataclass(frozen=True, slots=True)
class Sets:
    """The data sets on this machine: the local folder, the cache, and which are whole, damaged, or not finished."""

    local: str | None
    local_sets: tuple[str, ...]
    cache: str
    cached: tuple[str, ...]
    damaged: tuple[str, ...]
    unfinished: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that is found out. Peaks are billions of operations a second; nothing where not measured."""

    dragoman: str
    python: str
    system: str
    processor: devices.Processor
    peaks: Mapping[str, float | None]
    threads_wanted: str
    memory: devices.Memory
    disk: Disk
    torch: Torch | None
    nvidia: bool
    packages: tuple[Package, ...]
    sets: Sets


def gather(*, measure: bool = True) -> Facts:
    """The facts about this machine; with `measure`, speeds too, which takes a few seconds."""
    torch = _torch()
    return Facts(
        dragoman=_installed("dragoman") or "not installed",
        python=platform.python_version(),
        system=platform.platform(terse=True),
        processor=devices.processor(),
        peaks=dict(_peaks(measure=measure and torch is not None and not torch.fault)),
        threads_wanted=os.environ.get("OMP_NUM_THREADS", ""),
        memory=devices.memory(),
        disk=_disk(Path.cwd(), measure=measure),
        torch=torch,
        nvidia=Path("/proc/driver/nvidia").is_dir() or shutil.which("nvidia-smi") is not None,
        packages=tuple(_packages()),
        sets=_sets(),
    )


# ---- packages ----------------------------------------------------------------------------------------------------


def _packages() -> Iterator[Package]:
    """The packages that the installed program asks for, those of developers left out."""
    try:
        asked = importlib.metadata.requires("dragoman") or []
    except importlib.metadata.PackageNotFoundError:
        return
    for line in sorted(asked):
        name = re.split(r"[^\w.-]", line, maxsplit=1)[0]
        oldest = re.search(r">=\s*([\w.]+)", line)
        extra = re.search(r"""extra\s*==\s*['"]([\w-]+)""", line)
        if (extra is None or extra[1] != _DEVELOPERS) and name != "dragoman":
            yield Package(name, oldest[1] if oldest else "0", _installed(name), extra[1] if extra else "")


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, as far as they go, without the zeros at the end: 2.13.0+cpu is (2, 13)."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(part) for part in found[0].split(".")] if found else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def _torch() -> Torch | None:
    """What can be said of torch; nothing when it is not installed."""
    try:
        torch = importlib.import_module("torch")
    except ModuleNotFoundError as missing:
        if missing.name == "torch":
            return None
        return Torch(_installed("torch") or "", "", 0, (), str(missing))
    except (ImportError, OSError) as broken:  # a library of the system is missing or does not fit
        return Torch(_installed("torch") or "", "", 0, (), str(broken))
    cuda, hip = torch.version.cuda, getattr(torch.version, "hip", None)
    built_for = f"CUDA {cuda}" if cuda else f"ROCm {hip}" if hip else "CPU"
    return Torch(str(torch.__version__), built_for, torch.get_num_threads(), devices.accelerators(), "")


# ---- speeds ------------------------------------------------------------------------------------------------------


def _peaks(*, measure: bool) -> Iterator[tuple[str, float | None]]:
    """The peak of each number format, with a thread for each core; nothing where it cannot be measured."""
    formats = get_args(devices.NumberFormat)
    if not measure:
        yield from ((name, None) for name in formats)
        return
    import torch

    before = torch.get_num_threads()
    devices.set_threads()
    try:
        for name in formats:
            peak = None
            with contextlib.suppress(RuntimeError, AttributeError, NotImplementedError):  # not on this processor
                peak = devices.measure_peak(name)
            yield name, peak
    finally:
        torch.set_num_threads(before)


def _disk(folder: Path, *, measure: bool) -> Disk:
    speed, fault = None, ""
    if measure:
        trial = folder / f".dragoman-doctor-{os.getpid()}"
        data = os.urandom(1 << 20)
        try:
            start = time.perf_counter()
            with files.replacing(trial) as stream:
                for _ in range(_TRIAL_BYTES // len(data)):
                    stream.write(data)
            speed = _TRIAL_BYTES / (time.perf_counter() - start)
            trial.unlink()
        except (UserError, OSError) as error:
            fault = str(error)
    return Disk(str(folder), files.free_bytes(folder), speed, fault)


# ---- data sets ---------------------------------------------------------------------------------------------------


def _sets() -> Sets:
    local, cache = catalog.local_folder(), catalog.cache_folder()
    known = [entry.name for entry in catalog.entries()]
    whole, damaged = [], []
    for name in known:
        if (cache / name).is_dir():
            try:
                files.verify(cache / name, contents=False)
                whole.append(name)
            except UserError:
                damaged.append(name)
    return Sets(
        local=None if local is None else str(local),
        local_sets=tuple(name for name in known if local is not None and (local / name).is_dir()),
        cache=str(cache),
        cached=tuple(whole),
        damaged=tuple(damaged),
        unfinished=tuple(name for name in known if (cache / "partial" / name).is_dir()),
    )
