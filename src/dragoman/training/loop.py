"""The training loop: a generator of events over parts that are made elsewhere.

    for event in train(parts, settings, folder): ...

A run is a function of its settings and data: stopped at any moment and started again, it goes on from the newest
checkpoint and repeats what came after it, number for number. Between two updates nothing is kept that a checkpoint
does not hold.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec
import torch

from dragoman.bundle import load_weights, weights
from dragoman.devices import Precision, autocast, give_back_memory, random_state, restore_random_state
from dragoman.errors import FileError, Interrupted, ModelError
from dragoman.training import checkpoint
from dragoman.training.checkpoint import Interval, RunState
from dragoman.training.compiling import said
from dragoman.training.events import (
    Braked,
    EventLog,
    Finished,
    NotCompiled,
    Progress,
    Sample,
    Saved,
    Skipped,
    Split,
    Started,
    Validated,
)
from dragoman.training.identity import refuse_changes
from dragoman.training.objectives.objective import Sums

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

    from dragoman.data.batch import Batch
    from dragoman.data.loader import Loader
    from dragoman.models.seq2seq import Model
    from dragoman.training.average import Average
    from dragoman.training.checkpoint import Checkpoint
    from dragoman.training.compiling import Compiling
    from dragoman.training.distributed import Layout
    from dragoman.training.events import Event
    from dragoman.training.objectives.objective import Objective
    from dragoman.training.optimizer import Optimizer
    from dragoman.training.schedule import Schedule


E = TypeVar("E", bound="Event")

CHECKPOINTS, EVENTS = "checkpoints", "events.jsonl"

_LEAST_BRAKE = 1 / 64


@dataclass(frozen=True, slots=True)
class Validation:
    """What trying the model on validation data found."""

    metric: str
    value: float
    signature: str
    higher_is_better: bool
    loss: float
    """Negative log-likelihood per token, which decides between equal values."""
    samples: tuple[Sample, ...]
    others: dict[str, float]
    """Other figures by name."""


class Validate(Protocol):
    """Tries a model, and keeps it when it is the best so far."""

    def __call__(self, model: Model) -> Validation:
        """What was found."""
        ...

    def keep(self, model: Model, event: Validated) -> None:
        """Save the model as the best so far."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a run is made of."""

    model: Model
    objective: Objective
    optimizer: Optimizer
    schedule: Schedule
    average: Average
    loader: Loader
    validate: Validate | None
    device: torch.device
    layout: Layout
    """Where model, gradients and optimizer lie: here, or on many ranks."""
    compiling: Compiling | None = None
    """torch.compile of the model, if it was asked for."""
    recipe: str
    """The settings that must stay as they are while the run goes on: see `identity`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When things happen in a run. Numbers of updates, where nothing else is said."""

    steps: int
    precision: Precision
    accumulate: int
    clip: float | None
    log_every: int
    validate_every: int
    checkpoint_every: int
    keep: int
    """Checkpoints that are kept."""
    patience: int | None
    """Validations without a new best before the run ends."""
    skips_before_brake: int
    """Updates left out in a row before the run goes back to a checkpoint, at half the rate."""


def train(
    parts: Parts, limits: Limits, folder: Path, *, stop: Callable[[], int | None] = lambda: None
) -> Iterator[Event]:
    """The events of a run in a folder, from its newest checkpoint or from the start.

    `stop` is asked after each update: with a signal's number, a checkpoint is written and Interrupted raised.
    Nobody else may train in the folder. What readers of the events draw at random does not change the run. With many
    ranks the first one alone uses the folder, and a signal to any of them stops all.
    """
    run = _Run(parts, limits, folder)
    with contextlib.closing(run), contextlib.closing(run.events(stop)) as events:
        for event in events:
            random_before = random_state()
            yield event
            restore_random_state(random_before)


class _Run:
    """A run in progress. All that must survive a stop is in `self._state` and in the parts' own tensors."""

    def __init__(self, parts: Parts, limits: Limits, folder: Path) -> None:
        self._parts, self._limits = parts, limits
        self._ranks = parts.layout.ranks
        self._checkpoints = folder / CHECKPOINTS
        self._problems: tuple[str, ...] = ()
        self._saved_step = -1
        self._state = self._resumed()
        self._log = EventLog(folder / EVENTS, length=self._state.events) if self._ranks.leads else None
        self._before = self._state.seconds  # spent in earlier sessions
        self._began = self._interval_began = time.monotonic()

    def close(self) -> None:
        if self._log is not None:
            self._log.close()

    def events(self, stop: Callable[[], int | None]) -> Generator[Event]:
        yield self._told(self._started())
        if self._saved_step < 0:
            yield self._save()
        batches = self._parts.loader.batches(self._state.position)
        while (reason := self._end()) is None:
            group = list(itertools.islice(batches, self._limits.accumulate))
            yield from self._update(group)
            if self._state.skips_in_a_row >= self._limits.skips_before_brake:
                yield self._brake()
                batches.close()
                batches = self._parts.loader.batches(self._state.position)
                continue
            yield from self._due()
            if (signal_number := self._asked(stop)) is not None:
                batches.close()
                if self._saved_step != self._state.step:
                    yield self._save()
                raise Interrupted(signal_number, f"stopped after update {self._state.step}; run it again to go on")
        batches.close()
        if self._saved_step != self._state.step:
            yield self._save()
        yield self._told(self._finished(reason))

    # ---- one update ----------------------------------------------------------------------------------------------

    def _update(self, group: Sequence[Batch]) -> Iterator[Event]:
        self._ranks.begin(self._state.step + 1)
        random_before = random_state()
        (total_tokens,) = self._ranks.sums(sum(batch.target_tokens for batch in group))
        parts = 1
        while True:
            try:
                own = self._gradients(group, parts, scale=self._parts.layout.scale(total_tokens))
                break
            except (RuntimeError, MemoryError) as error:
                if not _out_of_memory(error):
                    if self._parts.compiling is None or not self._parts.compiling.gives_up():
                        raise
                    restore_random_state(random_before)
                    yield self._told(NotCompiled(step=self._state.step, reason=said(error)))
                    continue
                if self._parts.layout.alike or parts >= max(batch.rows for batch in group):
                    raise ModelError(
                        "not even a single example fits into memory",
                        place=f"update {self._state.step + 1}",
                        remedy="Use a smaller model, or leave out long examples with store.longest_source and _target.",
                    ) from error
                parts *= 2
                restore_random_state(random_before)
            yield self._told(Split(step=self._state.step + 1, rows=sum(b.rows for b in group), parts=parts))
        objective, nll, tokens = self._ranks.sums(own.objective, own.nll, own.tokens)
        sums = Sums(objective, nll, int(tokens))
        self._parts.layout.add_gradients()
        norm = self._clipped()
        finite = math.isfinite(norm) and math.isfinite(sums.objective)
        if finite:
            self._parts.optimizer.step(self._rate(self._state.step + 1))
            self._parts.average.update()
        self._count(group, sums, norm, finite=finite)
        if not finite:
            examples = tuple(itertools.islice((int(e) for batch in group for e in batch.examples_B), 8))
            reason = f"objective {sums.objective}, gradient norm {norm}"
            yield self._told(Skipped(step=self._state.step, reason=reason, examples=examples))

    def _gradients(self, group: Sequence[Batch], parts: int, *, scale: float) -> Sums:
        """The sums over this rank's rows of some batches; their gradients, scaled, are in the parameters."""
        model, step = self._parts.model, self._state.step
        model.zero_grad(set_to_none=True)
        objective = nll = 0.0
        tokens = 0
        with autocast(self._parts.device, self._limits.precision):
            for batch in group:
                for piece in batch.split(parts) if batch.rows else ():
                    on_device = piece.to(self._parts.device)
                    sums = self._parts.objective(model, on_device, scale=scale, step=step)
                    objective, nll, tokens = objective + sums.objective, nll + sums.nll, tokens + sums.tokens
                if not batch.rows and self._parts.layout.alike:  # no rows of its own, but others wait for its passes
                    self._parts.objective(model, self._any_row(), scale=0.0, step=step)
        return Sums(objective, nll, tokens)

    def _any_row(self) -> Batch:
        alone = replace(self._parts.loader, rank=0, ranks=1, workers=0)
        with contextlib.closing(alone.batches()) as batches:
            batch = next(batches)
        return batch.split(batch.rows)[0].to(self._parts.device)

    def _clipped(self) -> float:
        """The norm of the gradient before it is clipped."""
        most = math.inf if self._limits.clip is None else self._limits.clip
        norm = torch.nn.utils.clip_grad_norm_(self._parts.model.parameters(), most)
        return float(self._parts.layout.whole(norm))

    def _count(self, group: Sequence[Batch], sums: Sums, norm: float, *, finite: bool) -> None:
        state = self._state
        interval = state.interval
        if finite:
            interval = Interval(
                objective=interval.objective + sums.objective,
                nll=interval.nll + sums.nll,
                tokens=interval.tokens + sums.tokens,
                norm=norm,
            )
        self._state = msgspec.structs.replace(
            state,
            step=state.step + 1,
            position=group[-1].position,
            tokens=state.tokens + (sums.tokens if finite else 0),
            interval=interval,
            skipped=state.skipped + (not finite),
            skips_in_a_row=0 if finite else state.skips_in_a_row + 1,
        )

    def _rate(self, step: int) -> float:
        return self._parts.schedule(step, cuts=self._state.cuts) * self._state.brake

    # ---- what is due after an update -----------------------------------------------------------------------------

    def _due(self) -> Iterator[Event]:
        step, limits = self._state.step, self._limits
        last = step >= limits.steps
        if step % limits.log_every == 0 or last:
            yield self._told(self._progress())
            give_back_memory()
        if step % limits.validate_every == 0 or last:
            self._parts.average.snapshot()
            if self._parts.validate is not None:
                yield self._told(self._validated(self._parts.validate))
        if step % limits.checkpoint_every == 0 and not self._state.skips_in_a_row:  # else the weights are in doubt
            yield self._save()

    def _progress(self) -> Progress:
        interval, now = self._state.interval, time.monotonic()
        seconds, self._interval_began = now - self._interval_began, now
        self._state = msgspec.structs.replace(self._state, interval=Interval())
        tokens = max(1, interval.tokens)
        return Progress(
            step=self._state.step,
            epoch=self._state.position / self._parts.loader.order.examples,
            objective=interval.objective / tokens,
            loss=interval.nll / tokens,
            norm=interval.norm,
            rate=self._rate(self._state.step),
            tokens=self._state.tokens,
            seconds=seconds,
            tokens_per_second=interval.tokens / max(seconds, 1e-9),
            skipped=self._state.skipped,
        )

    def _validated(self, validate: Validate) -> Validated:
        began, random_before = time.monotonic(), random_state()
        if self._parts.average.ranks:
            with torch.no_grad():
                model = self._parts.layout.usable()
                model.eval()
                alone = self._ranks.told(lambda: validate(model), Validation)
            self._parts.average.offer((alone.value if alone.higher_is_better else -alone.value, -alone.loss))
        with self._parts.average.swapped(), torch.no_grad():
            model = self._parts.layout.usable()
            model.eval()
            found = self._ranks.told(lambda: validate(model), Validation)
            event = self._judged(found, seconds=time.monotonic() - began)
            if event.best and self._ranks.leads:
                validate.keep(model, event)
        self._parts.model.train()
        restore_random_state(random_before)
        self._interval_began += time.monotonic() - began
        return event

    def _judged(self, found: Validation, *, seconds: float) -> Validated:
        state = self._state
        best = _is_best(found, state)
        stalls = 0 if best else state.stalls + 1
        self._state = msgspec.structs.replace(
            state,
            best=found.value if best else state.best,
            best_loss=found.loss if best else state.best_loss,
            best_step=state.step if best else state.best_step,
            stalls=stalls,
            cuts=state.cuts + self._parts.schedule.cuts_after(stalls),
        )
        return Validated(
            step=state.step,
            metric=found.metric,
            value=found.value,
            signature=found.signature,
            tokens=state.tokens,
            best=best,
            stalls=stalls,
            others=found.others,
            samples=found.samples,
            seconds=seconds,
        )

    # ---- beginnings, ends, checkpoints ---------------------------------------------------------------------------

    def _started(self) -> Started:
        return Started(
            step=self._state.step,
            steps=self._limits.steps,
            parameters=sum(p.numel() for p in self._parts.model.parameters()),
            examples=self._parts.loader.order.examples,
            tokens=self._state.tokens,
            problems=self._problems,
        )

    def _end(self) -> str | None:
        """Why the run is over; nothing while it is not."""
        state, patience = self._state, self._limits.patience
        if patience is not None and state.stalls >= patience:
            return f"no better for {state.stalls} validations"
        if state.step >= self._limits.steps:
            return f"all {self._limits.steps:,} updates were made"
        return None

    def _finished(self, reason: str) -> Finished:
        state = self._state
        return Finished(
            step=state.step,
            reason=reason,
            best=state.best,
            best_step=state.best_step,
            tokens=state.tokens,
            skipped=state.skipped,
            seconds=self._seconds(),
        )

    def _brake(self) -> Braked:
        """Go back to the newest checkpoint from before the trouble, at half the rate."""
        sound = self._state.step - self._state.skips_in_a_row
        found = self._ranks.found(lambda: checkpoint.newest(self._checkpoints, until=sound)).checkpoint
        brake = self._state.brake / 2
        if found is None or brake < _LEAST_BRAKE:
            raise ModelError(
                f"training diverges: {self._state.skips_in_a_row} updates in a row were not finite",
                place=f"update {self._state.step}",
                remedy="Lower the learning rate, lengthen the warm-up, or train in float32.",
            )
        step, skipped = self._state.step, self._state.skipped
        self._go_on_from(found)
        self._state = msgspec.structs.replace(found.state, brake=brake, skipped=skipped)
        return self._told(Braked(step=step, back_to=found.state.step, brake=brake))

    def _save(self) -> Saved:
        began = time.monotonic()
        events = 0 if self._log is None else self._log.settle()
        self._state = msgspec.structs.replace(
            self._state, events=events, seconds=self._seconds(), randomness=random_state()
        )
        tensors = self._tensors()
        if self._ranks.leads:
            checkpoint.save(self._checkpoints, self._state, tensors)
            checkpoint.prune(self._checkpoints, keep=self._limits.keep)
        self._ranks.meet()  # it is on the disk when any of them goes on
        self._saved_step = self._state.step
        path = checkpoint.place(self._checkpoints, self._state.step)
        return Saved(step=self._state.step, folder=str(path), seconds=time.monotonic() - began)

    def _resumed(self) -> RunState:
        """The state of the newest checkpoint, whose tensors the parts take over; or that of a fresh run."""
        found = self._ranks.found(lambda: checkpoint.newest(self._checkpoints))
        data = self._parts.loader.store.facts.fingerprint
        if found.checkpoint is None:
            if found.problems:
                raise FileError(
                    f"no checkpoint can be used: {found.problems[0]}",
                    place=str(self._checkpoints),
                    remedy="Start over with --fresh.",
                )
            return RunState(recipe=self._parts.recipe, data=data, randomness=random_state())
        state = found.checkpoint.state
        place = str(found.checkpoint.folder)
        refuse_changes(state.recipe, self._parts.recipe, place=place)
        if state.data != data:
            raise FileError(
                "the data are not those that this run began with",
                place=place,
                remedy="Restore them to go on, or start over with --fresh.",
            )
        self._problems = found.problems
        self._go_on_from(found.checkpoint)
        return state

    def _go_on_from(self, found: Checkpoint) -> None:
        if self._ranks.leads:
            checkpoint.set_aside(self._checkpoints, after=found.state.step)
        tensors: dict[str, dict[str, Tensor]] = {"model": {}, "optimizer": {}, "average": {}}
        for key, array in found.tensors.items():
            part, _, name = key.partition("|")
            tensors[part][name] = self._parts.layout.part(name, torch.from_numpy(array))
        load_weights(self._parts.model, tensors["model"])
        self._parts.optimizer.load(tensors["optimizer"])
        self._parts.average.load(tensors["average"])
        restore_random_state(found.state.randomness)
        self._saved_step = found.state.step

    def _tensors(self) -> dict[str, NDArray[Any]]:
        kinds: dict[str, Mapping[str, Tensor]] = {
            "model": weights(self._parts.model),
            "optimizer": self._parts.optimizer.state(),
            "average": self._parts.average.state(),
        }
        found = {}
        for kind, tensors in kinds.items():
            for name, value in tensors.items():
                whole = self._parts.layout.whole(value)
                if self._ranks.leads:
                    found[f"{kind}|{name}"] = whole.detach().cpu().contiguous().numpy()
        return found

    def _seconds(self) -> float:
        return self._before + time.monotonic() - self._began

    def _told(self, event: E) -> E:
        if self._log is not None:
            self._log.append(event)
        return event

    def _asked(self, stop: Callable[[], int | None]) -> int | None:
        """The signal, if any, that has asked one of the ranks to stop."""
        return int(max(numbers[0] for numbers in self._ranks.gathered(stop() or 0))) or None


def _is_best(found: Validation, state: RunState) -> bool:
    """Whether the value is better than the best so far, or equal to it with a smaller loss; no number never is."""
    if not math.isfinite(found.value):
        return False
    if state.best is None or state.best_loss is None:
        return True
    sign = 1 if found.higher_is_better else -1
    return (sign * found.value, -found.loss) > (sign * state.best, -state.best_loss)


def _out_of_memory(error: RuntimeError | MemoryError) -> bool:
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in str(error)
