"""What a training run tells: frozen values, in the order in which things happen, and their log on disk.

Everything that watches a run (bar, log, report, early stopping, tests) reads these. The log holds one event a line as
JSON; a stop cuts off at most what came after the last checkpoint, and a resumed run writes that again.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.files import disk_errors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO


class _Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    step: int
    """Updates made before or with this event."""


class Prepared(_Event, frozen=True, kw_only=True, tag="prepared"):
    """Tokenizers and training data are ready. Not in the log, for it is not about training."""

    examples: int
    empty: int
    """Pairs left out because a side was empty."""
    too_long: int
    """Pairs left out because a side was too long."""
    unusable: int = 0
    """Lines of the corpora left out because nothing could be made of them."""
    places: tuple[str, ...] = ()
    """File and line of the first few of these, with what is wrong."""


class Started(_Event, frozen=True, kw_only=True, tag="started"):
    """The run begins, or goes on from a checkpoint."""

    steps: int
    """Updates until the end."""
    parameters: int
    examples: int
    """Examples of an epoch."""
    tokens: int
    """Target tokens learned from so far."""
    problems: tuple[str, ...] = ()
    """Why newer checkpoints than the one it goes on from could not be used."""


class Progress(_Event, frozen=True, kw_only=True, tag="progress"):
    """Some updates were made; the figures are about those since the last such event."""

    epoch: float
    """Passes over the data, with the share of the current one."""
    objective: float
    """What is made small, per target token."""
    loss: float
    """Negative log-likelihood per target token: (1/T) Σ J_t."""
    norm: float
    """Norm of the last gradient, before it was clipped."""
    rate: float
    """Share of the full learning rate in force."""
    tokens: int
    """Target tokens learned from in all."""
    seconds: float
    """Time these updates took."""
    tokens_per_second: float
    skipped: int
    """Updates left out so far because loss or gradient was not finite."""

    @property
    def perplexity(self) -> float:
        """E to the loss, infinite where that is too large to say."""
        import math

        return math.exp(self.loss) if self.loss < 700 else math.inf


class Skipped(_Event, frozen=True, kw_only=True, tag="skipped"):
    """An update was left out."""

    reason: str
    examples: tuple[int, ...]
    """The first examples of its batches, by their number in the store."""


class Split(_Event, frozen=True, kw_only=True, tag="split"):
    """A batch did not fit into memory and was computed in parts."""

    rows: int
    parts: int


class NotCompiled(_Event, frozen=True, kw_only=True, tag="not_compiled"):
    """torch.compile was asked for and does not work here: the model runs as it is."""

    reason: str


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One validation sentence as the model has it now."""

    source: str
    output: str
    reference: str


class Validated(_Event, frozen=True, kw_only=True, tag="validated"):
    """The model was tried on the validation data."""

    metric: str
    value: float
    signature: str
    tokens: int
    """Target tokens learned from so far."""
    best: bool
    """Whether this is the best value so far."""
    stalls: int
    """Validations since the best one."""
    others: dict[str, float]
    """Other figures by name, the loss per token among them."""
    samples: tuple[Sample, ...]
    seconds: float


class Saved(_Event, frozen=True, kw_only=True, tag="saved"):
    """A checkpoint was written. The log does not tell of it: it would have to hold its own length."""

    folder: str
    seconds: float


class Braked(_Event, frozen=True, kw_only=True, tag="braked"):
    """Nothing was finite for a while: the run goes back to a checkpoint, with a lower rate."""

    back_to: int
    brake: float


class Finished(_Event, frozen=True, kw_only=True, tag="finished"):
    """The run is over."""

    reason: str
    best: float | None
    best_step: int
    tokens: int
    """Target tokens learned from."""
    skipped: int
    """Updates left out because loss or gradient was not finite."""
    seconds: float


Event = Prepared | Started | Progress | Skipped | Split | NotCompiled | Validated | Saved | Braked | Finished


class EventLog:
    """The log of a run, appended to. Of what a stopped run left, the first `length` bytes stay."""

    def __init__(self, path: Path, *, length: int) -> None:
        with disk_errors(path, "write"):
            self._stream: BinaryIO = path.open("ab")
            self._stream.truncate(min(length, self._stream.tell()))
            self._stream.seek(0, os.SEEK_END)
        self._path = path

    @property
    def length(self) -> int:
        """Bytes written so far."""
        return self._stream.tell()

    def append(self, event: Event) -> None:
        """Write an event; it is on its way to the disk when this returns."""
        with disk_errors(self._path, "write"):
            self._stream.write(msgspec.json.encode(event) + b"\n")
            self._stream.flush()

    def settle(self) -> int:
        """The length of the log, all of which is on the disk."""
        with disk_errors(self._path, "write"):
            os.fsync(self._stream.fileno())
        return self.length

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


def read_events(path: Path) -> Iterator[Event]:
    """The events of a log; a line that a crash cut short is passed over."""
    decoder: Any = msgspec.json.Decoder(Event)
    with disk_errors(path, "read"), path.open("rb") as stream:
        for line in stream:
            if line.endswith(b"\n"):
                yield decoder.decode(line)
