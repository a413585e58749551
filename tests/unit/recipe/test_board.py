"""TensorBoard: figures and samples of a run, read back from what was written."""

from __future__ import annotations

import sys

import pytest

from dragoman.errors import MissingExtra
from dragoman.recipe.board import on_board
from dragoman.training.events import Braked, Finished, Progress, Sample, Started, Validated


def _progress(step, loss):
    return Progress(
        step=step, epoch=1.0, objective=loss, loss=loss, norm=2.0, rate=0.5, tokens=9, seconds=1.0,
        tokens_per_second=9.0, skipped=0,
    )  # fmt: skip


def _validated(step, value):
    sample = Sample(source="*a*", output="b", reference="c")
    return Validated(
        step=step, metric="bleu", value=value, signature="", tokens=9, best=True, stalls=0, others={"loss": 1.5},
        samples=(sample,), seconds=1.0,
    )  # fmt: skip


STARTED = Started(step=0, steps=9, parameters=1, examples=1, tokens=0)
FINISHED = Finished(step=4, reason="", best=2.0, best_step=4, tokens=9, skipped=0, seconds=1.0)


def _written(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(folder))
    found.Reload()
    return found


def test_events_pass_by_and_their_figures_are_written(tmp_path):
    events = [STARTED, _progress(2, 3.0), _validated(2, 1.0), _progress(4, 2.0), _validated(4, 2.0), FINISHED]
    assert list(on_board(iter(events), tmp_path)) == events
    found = _written(tmp_path)
    assert [(e.step, e.value) for e in found.Scalars("loss/training")] == [(2, 3.0), (4, 2.0)]
    assert [(e.step, e.value) for e in found.Scalars("validation/bleu")] == [(2, 1.0), (4, 2.0)]
    assert [e.value for e in found.Scalars("loss/validation")] == [1.5, 1.5]
    assert "sample 1/text_summary" in found.Tags()["tensors"]


@pytest.mark.parametrize(
    "again",
    [
        Started(step=2, steps=9, parameters=1, examples=1, tokens=0),
        Braked(step=4, back_to=2, brake=0.5),
    ],
)
def test_what_a_resumed_run_repeats_is_there_once(tmp_path, again):
    list(on_board(iter([STARTED, _progress(2, 3.0), _progress(4, 9.0), again, _progress(4, 2.0)]), tmp_path))
    assert [(e.step, e.value) for e in _written(tmp_path).Scalars("loss/training")] == [(2, 3.0), (4, 2.0)]


def test_without_tensorboard_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(MissingExtra, match=r"dragoman\[board\]"):
        list(on_board(iter([STARTED]), tmp_path))
