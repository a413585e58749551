"""A dry run: the data prepared, a few updates made on a model that is thrown away, and what a real run would take.

The updates are the very ones that training makes: the batch whose sentences are longest, which needs the most memory,
and then some of the first epoch, which tell the time. Nothing is written but the prepared data, which a run can use.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from dragoman.bundle import weights
from dragoman.devices import autocast, choose, memory, seed_everything, set_threads
from dragoman.errors import ModelError
from dragoman.files import free_bytes, locked
from dragoman.recipe.folder import LOCK, PURPOSE
from dragoman.recipe.prepared import prepare_data, training_loader
from dragoman.recipe.run import fresh_bundle
from dragoman.training.average import Best, Exponential, NoAverage, Recent
from dragoman.training.build import build_parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dragoman.data.batch import Batch
    from dragoman.data.loader import Loader
    from dragoman.recipe.prepared import Data
    from dragoman.recipe.schema import Recipe
    from dragoman.training.loop import Parts

_TIMED = 5
"""Updates whose time is taken."""
_STATUS = Path("/proc/self/status")
_PEAK_RESET = Path("/proc/self/clear_refs")


@dataclass(frozen=True, slots=True, kw_only=True)
class LongestBatch:
    """The batch that needs the most memory."""

    rows: int
    source_length: int
    """Tokens of its longest source; 0 where there is none."""
    target_length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """What a run would take, as far as a few updates tell."""

    examples: int
    empty: int
    """Pairs left out because a side was empty."""
    too_long: int
    """Pairs left out because a side was too long."""
    valid_examples: int
    source_vocabulary: int
    """Pieces; 0 where there is no source of text."""
    target_vocabulary: int
    parameters: int
    device: str
    updates: int
    batches_per_epoch: int
    epochs: float
    padding: float
    """Share of the places in batches that hold nothing."""
    longest_batch: LongestBatch
    loss: float
    """Per token, before anything is learned: near the logarithm of the vocabulary's size."""
    seconds_per_update: float
    tokens_per_second: float
    """Target tokens."""
    seconds: float
    """All updates, validations and checkpoints not counted."""
    memory: int
    """Bytes at the peak."""
    memory_available: int
    """Bytes that could be had."""
    disk: int
    """Bytes that the folder of the run grows to."""
    disk_free: int | None
    """Bytes; nothing where that cannot be known."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What would keep the run from its end."""
        found = []
        if self.memory > self.memory_available:
            found.append(
                f"{self.memory / 2**20:,.0f} MiB of memory needed, {self.memory_available / 2**20:,.0f} are free: "
                "lower training.batch_tokens, or use a smaller model"
            )
        if self.disk_free is not None and self.disk > self.disk_free:
            found.append(
                f"{self.disk / 2**20:,.0f} MiB of disk needed, {self.disk_free / 2**20:,.0f} are free: "
                "make room, or choose another folder"
            )
        if not self.valid_examples:
            found.append("no validation data: the last model is kept, not the best one")
        return tuple(found)


def dry_run(recipe: Recipe, folder: Path) -> DryRun:
    """What a run by the recipe in the folder would take; UserError for whatever would stop it."""
    with locked(folder / LOCK, purpose=PURPOSE):
        set_threads(recipe.training.threads)
        device = choose(recipe.training.device)
        available = _available(device)
        prepared = prepare_data(recipe, folder)
        seed_everything(recipe.training.seed)
        bundle = fresh_bundle(recipe, prepared)
        loader = training_loader(recipe, prepared)
        parts = build_parts(
            recipe.training,
            bundle=bundle,
            loader=loader,
            validate=None,
            device=device,
            recipe="dry run",
        )
        order = loader.order
        longest = _longest(loader)
        with _peak(device) as peak:
            loss = _update(recipe, parts, [longest])
        speed = _speed(recipe, parts)
    batches = len(order.plan(0))
    sizes = (bundle.description.source_vocabulary, bundle.description.target_vocabulary)
    updates = recipe.training.steps
    return DryRun(
        examples=len(prepared.train),
        empty=prepared.train.facts.empty,
        too_long=prepared.train.facts.too_long,
        valid_examples=0 if prepared.valid is None else len(prepared.valid),
        source_vocabulary=0 if longest.source_ids_BS is None else sizes[0] or sizes[1],
        target_vocabulary=sizes[1],
        parameters=sum(p.numel() for p in bundle.model.parameters()),
        device=str(device),
        updates=updates,
        batches_per_epoch=batches,
        epochs=updates * recipe.training.accumulate / batches,
        padding=order.padding(),
        longest_batch=LongestBatch(
            rows=longest.rows,
            source_length=0 if longest.source_lengths_B is None else int(longest.source_lengths_B.max()),
            target_length=int(longest.target_lengths_B.max()),
        ),
        loss=loss,
        seconds_per_update=speed.seconds_per_update,
        tokens_per_second=speed.tokens_per_second,
        seconds=updates * speed.seconds_per_update,
        memory=peak() + _snapshots(recipe, parts),
        memory_available=available,
        disk=_disk(recipe, parts, prepared),
        disk_free=free_bytes(folder),
    )


# ---- updates -------------------------------------------------------------------------------------------------------


def _longest(loader: Loader) -> Batch:
    """The batch of the first epoch that needs the most memory: rows times the square of their length."""
    plan, order = loader.order.plan(0), loader.order
    examples = plan.slots % len(order.target_lengths)
    widths = [
        np.maximum.reduceat(lengths[examples].astype(np.int64), plan.starts[:-1])
        for lengths in (order.source_lengths, order.target_lengths)
    ]
    number = int((np.diff(plan.starts) * (widths[0] + widths[1]) ** 2).argmax())
    with contextlib.closing(loader.batches(int(plan.starts[number]))) as batches:
        return next(batches)


@dataclass(frozen=True, slots=True)
class _Speed:
    seconds_per_update: float
    tokens_per_second: float


def _speed(recipe: Recipe, parts: Parts) -> _Speed:
    """How quick the first few updates are, their batches' preparation included; one more goes before, to warm up."""
    tokens = 0
    with contextlib.closing(parts.loader.batches()) as batches:
        _update(recipe, parts, list(itertools.islice(batches, recipe.training.accumulate)))
        began = time.perf_counter()
        for _ in range(_TIMED):
            group = list(itertools.islice(batches, recipe.training.accumulate))
            _update(recipe, parts, group)
            tokens += sum(batch.target_tokens for batch in group)
    seconds = time.perf_counter() - began
    return _Speed(seconds / _TIMED, tokens / seconds)


def _update(recipe: Recipe, parts: Parts, group: Sequence[Batch]) -> float:
    """The loss per token of an update that learns nothing."""
    parts.model.zero_grad(set_to_none=True)
    tokens = sum(batch.target_tokens for batch in group)
    nll = 0.0
    try:
        with autocast(parts.device, recipe.training.precision):
            for batch in group:
                nll += parts.objective(parts.model, batch.to(parts.device), scale=1 / tokens).nll
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise ModelError(
            f"a batch of {group[0].rows} examples does not fit into memory",
            place="training.batch_tokens",
            remedy="Lower it, leave out long examples with store.longest_source and _target, or use a smaller model.",
        ) from error
    if recipe.training.clip is not None:
        torch.nn.utils.clip_grad_norm_(parts.model.parameters(), recipe.training.clip)
    parts.optimizer.step(0.0)  # at no rate: its moments take their memory, and the weights stay
    parts.average.update()
    _wait(parts.device)
    return nll / tokens


def _wait(device: torch.device) -> None:
    """Return when the device has finished what it was given."""
    match device.type:
        case "cuda":
            torch.cuda.synchronize(device)
        case "mps":
            torch.mps.synchronize()


# ---- memory --------------------------------------------------------------------------------------------------------


def _available(device: torch.device) -> int:
    """Bytes that this process holds or could still get on the device."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return memory().available + _resident("VmRSS")


class _Peak:
    """The peak of memory since a block began; known when it has ended."""

    def __init__(self) -> None:
        self.bytes = 0

    def __call__(self) -> int:
        return self.bytes


@contextlib.contextmanager
def _peak(device: torch.device) -> Iterator[_Peak]:
    """A block whose peak of memory is found: the GPU's, or the process's."""
    found = _Peak()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        yield found
        found.bytes = torch.cuda.max_memory_allocated(device)
        return
    with contextlib.suppress(OSError):
        _PEAK_RESET.write_text("5")  # Linux forgets the peak so far; where it does not, preparation may count
    yield found
    found.bytes = max(_resident("VmHWM"), _resident("VmRSS")) or _most_ever()


def _resident(field: str) -> int:
    """A figure of the process's memory as Linux tells it, in bytes; 0 elsewhere."""
    with contextlib.suppress(OSError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) << 10
    return 0


def _most_ever() -> int:
    """The most memory that the process has ever held, where the system tells no more (macOS, in bytes)."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _snapshots(recipe: Recipe, parts: Parts) -> int:
    """Bytes of the snapshots that an average gathers only later."""
    match recipe.training.average:
        case Recent(count=count) | Best(count=count):
            return count * _weight_bytes(parts)
        case Exponential() | NoAverage():
            return 0


# ---- disk ----------------------------------------------------------------------------------------------------------


def _disk(recipe: Recipe, parts: Parts, prepared: Data) -> int:
    """Checkpoints (with the one being written), the best model (with its predecessor) and the prepared data."""
    own = _weight_bytes(parts)
    states = sum(value.nbytes for part in (parts.optimizer, parts.average) for value in part.state().values())
    checkpoint = own + states + _snapshots(recipe, parts)
    stores = [each.folder for each in (prepared.train, prepared.valid) if each is not None]
    data = sum(path.stat().st_size for folder in stores for path in folder.iterdir())
    return (recipe.training.keep + 1) * checkpoint + 2 * own + data


def _weight_bytes(parts: Parts) -> int:
    return sum(value.nbytes for value in weights(parts.model).values())
