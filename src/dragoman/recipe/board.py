"""Curves and samples for TensorBoard, from the events of a run as they pass by. Needs the extra `board`."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from dragoman.errors import MissingExtra
from dragoman.training.events import Braked, Progress, Started, Validated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from dragoman.training.events import Event


def on_board(events: Iterable[Event], folder: Path) -> Iterator[Event]:
    """The events, of which those with figures are written into the folder; a resumed run goes on in the same curves."""
    kind = _writer_class()
    with contextlib.ExitStack() as stack:
        writer: Any = None
        for event in events:
            match event:
                case Started(step=step) | Braked(back_to=step):  # what was logged after this step does not count
                    stack.close()
                    writer = kind(str(folder), purge_step=step + 1)
                    stack.callback(writer.close)
                case Progress():
                    for name, value in _figures(event).items():
                        writer.add_scalar(name, value, event.step)
                case Validated():
                    _write_validation(writer, event)
                case _:
                    pass
            yield event


def _writer_class() -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise MissingExtra("tensorboard", extra="board", purpose="training.tensorboard") from None
    return SummaryWriter


def _figures(event: Progress) -> dict[str, float]:
    return {
        "loss/training": event.loss,
        "training/objective": event.objective,
        "training/gradient norm": event.norm,
        "training/share of the rate": event.rate,
        "training/tokens per second": event.tokens_per_second,
        "training/updates left out": event.skipped,
    }


def _write_validation(writer: Any, event: Validated) -> None:
    writer.add_scalar("loss/validation", event.others["loss"], event.step)
    if event.metric != "loss":
        writer.add_scalar(f"validation/{event.metric}", event.value, event.step)
    for number, each in enumerate(event.samples):
        shown = "\n".join(
            f"    {text}" for text in (each.source, each.output, each.reference)
        )  # as code: nothing is markup
        writer.add_text(f"sample {number + 1}", shown, event.step)
    writer.flush()
