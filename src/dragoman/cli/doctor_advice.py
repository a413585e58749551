"""What `dragoman doctor` makes of the facts: what is wrong, what could be better, and what to do about each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dragoman.cli.doctor_facts import Facts

_GIB = 1 << 30
_LITTLE_MEMORY, _LEAST_MEMORY = 4 * _GIB, _GIB
_LITTLE_DISK, _LEAST_DISK = 5 * _GIB, _GIB
_SLOW_DISK = 20e6
_WORTH_IT = 1.5


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to know: a problem, which stands in the way, or a hint; and the remedy."""

    level: Literal["problem", "hint"]
    what: str
    remedy: str


def remarks(facts: Facts) -> list[Remark]:
    """Everything that is to be said about the facts, problems first."""
    everything = [
        *_about_packages(facts),
        *_about_torch(facts),
        *_about_threads(facts),
        *_about_formats(facts),
        *_about_memory(facts),
        *_about_disk(facts),
        *_about_sets(facts),
    ]
    return sorted(everything, key=lambda remark: remark.level, reverse=True)


def _about_packages(facts: Facts) -> Iterator[Remark]:
    missing: dict[str, list[str]] = {}
    for package in facts.packages:
        if package.old:
            yield Remark(
                "problem",
                f"{package.name} {package.installed} is too old: {package.needed} is needed",
                f'pip install --upgrade "{package.name}>={package.needed}"',
            )
        elif package.installed is None:
            missing.setdefault(package.extra, []).append(package.name)
    for extra, names in missing.items():
        what = f"{', '.join(names)}: not installed"
        if extra:
            yield Remark("hint", f"{what} (the extra {extra!r})", f'pip install "dragoman[{extra}]"')
        else:
            yield Remark("problem", what, "pip install dragoman")


def _about_torch(facts: Facts) -> Iterator[Remark]:
    torch = facts.torch
    if torch is None:
        if not any(package.name == "torch" for package in facts.packages):
            yield Remark("problem", "torch: not installed", "pip install torch")
        return
    if torch.fault:
        yield Remark(
            "problem",
            f"torch {torch.version} is installed and cannot be imported: {torch.fault}",
            "Install it again: pip install --force-reinstall torch",
        )
    elif torch.built_for != "CPU" and not torch.accelerators:
        yield Remark(
            "hint",
            f"torch {torch.version} is built for {torch.built_for}, and no GPU works here",
            "Bring the GPU's driver up to date, or look what else uses it."
            if facts.nvidia
            else "Install torch's CPU build: it is smaller by gigabytes and does the same here.",
        )
    elif torch.built_for == "CPU" and facts.nvidia and not torch.accelerators:
        yield Remark(
            "hint",
            f"there seems to be an NVIDIA GPU, and torch {torch.version} is built for the CPU alone",
            "Install torch's CUDA build to use it.",
        )


def _about_threads(facts: Facts) -> Iterator[Remark]:
    cores, wanted = facts.processor.cores, facts.threads_wanted
    if wanted.isdigit() and int(wanted) < cores:
        yield Remark(
            "hint",
            f"OMP_NUM_THREADS={wanted}, and {cores} cores may be used",
            "Unset it, unless other programs need the cores.",
        )
    if cores == 1:
        yield Remark(
            "hint",
            "one core: training will be slow",
            "If this is a container or a batch job, ask for more cores.",
        )


def _about_formats(facts: Facts) -> Iterator[Remark]:
    if facts.processor.architecture in ("x86_64", "AMD64") and "avx2" not in facts.processor.features:
        yield Remark(
            "hint",
            "the processor has no AVX2 (or a virtual machine hides it): everything is several times slower",
            "Let the virtual machine pass the processor's own features on, or use another machine.",
        )
    single, half = facts.peaks.get("float32"), facts.peaks.get("bfloat16")
    if single and half and half > _WORTH_IT * single:
        yield Remark(
            "hint",
            f"large matrix products are {half / single:.1f} times as fast in bfloat16",
            'For large models try training.precision = "bfloat16".',
        )
    elif single and half and half < single:
        yield Remark(
            "hint", "bfloat16 is slower than float32 on this processor", 'Leave training.precision at "float32".'
        )


def _about_memory(facts: Facts) -> Iterator[Remark]:
    available = facts.memory.available
    if available < _LITTLE_MEMORY:
        yield Remark(
            "problem" if available < _LEAST_MEMORY else "hint",
            f"{available / _GIB:.1f} GiB of memory free, of {facts.memory.total / _GIB:.1f}",
            "Close other programs, raise the container's limit, or set a smaller training.batch_tokens.",
        )


def _about_disk(facts: Facts) -> Iterator[Remark]:
    disk = facts.disk
    if disk.fault:
        yield Remark("problem", f"nothing can be written here: {disk.fault}", "Work in a folder of your own.")
    if disk.free is not None and disk.free < _LITTLE_DISK:
        yield Remark(
            "problem" if disk.free < _LEAST_DISK else "hint",
            f"{disk.free / _GIB:.1f} GiB of disk free in {disk.folder}",
            "Make room, or work on another disk: checkpoints of large models need several gigabytes.",
        )
    if disk.speed is not None and disk.speed < _SLOW_DISK:
        yield Remark(
            "hint",
            f"the disk of {disk.folder} writes {disk.speed / 1e6:.0f} MB a second",
            "Work on a local disk, or set a larger training.checkpoint_every.",
        )


def _about_sets(facts: Facts) -> Iterator[Remark]:
    sets = facts.sets
    if sets.local is not None and not sets.local_sets:
        yield Remark(
            "problem",
            f"DRAGOMAN_DATA names {sets.local}, where no known data set is",
            "Name the folder that holds the sets' folders, or unset it. `dragoman data list` shows their names.",
        )
    for name in sets.damaged:
        yield Remark("problem", f"the data set {name} in {sets.cache} is damaged", f"dragoman data get {name}")
    for name in sets.unfinished:
        yield Remark("hint", f"a fetch of the data set {name} was not finished", f"dragoman data get {name}")
