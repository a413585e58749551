"""A clean stop: what happens when a signal asks a run to end."""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING, Any

from dragoman.cli import console
from dragoman.errors import Interrupted

if TYPE_CHECKING:
    from collections.abc import Iterator


class Signals:
    """Requests to stop. Before training, they end the program at once; later it goes on to the next update."""

    def __init__(self, *, early: str = "stopped before training began; run it again to begin") -> None:
        self._number: int | None = None
        self._training = False
        self._early = early

    def begun(self) -> None:
        """From now on, as from the first question on, it is left to whoever asks for the signal to stop."""
        self._training = True

    def received(self) -> int | None:
        """The signal that has asked to stop, if any."""
        self._training = True  # of several ranks only the first tells that it has begun
        return self._number

    @contextlib.contextmanager
    def heard(self) -> Iterator[None]:
        """A block in which the signals are heard."""
        before = {number: signal.signal(number, self._hear) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _hear(self, number: int, _frame: Any) -> None:
        if not self._training:
            raise Interrupted(number, self._early)
        if self._number is not None:  # asked twice: at once, whatever is lost since the last checkpoint
            raise Interrupted(number, "stopped at once; run it again to go on from the last checkpoint")
        self._number = number
        console.note("stopping after this update")
