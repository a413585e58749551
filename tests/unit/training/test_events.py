"""The log of a run: what is read is what was told, and what came after a checkpoint is cut off."""

from __future__ import annotations

import math
from typing import get_args

import msgspec
import pytest

from dragoman.errors import FileError
from dragoman.training.events import Braked, Event, EventLog, Progress, Skipped, Split, read_events

EVENTS = [Split(step=n, rows=2, parts=n) for n in range(1, 6)]


def test_what_is_read_is_what_was_told(tmp_path):
    told = [
        *EVENTS,
        Skipped(step=3, reason="objective nan", examples=(1, 2)),
        Braked(step=3, back_to=1, brake=0.1 + 0.2),
    ]
    log = EventLog(tmp_path / "log", length=0)
    for event in told:
        log.append(event)
        assert list(read_events(tmp_path / "log"))[-1] == event  # readers need not wait for the end
    log.close()
    assert list(read_events(tmp_path / "log")) == told


def test_what_came_after_the_length_is_written_again(tmp_path):
    path = tmp_path / "log"
    log = EventLog(path, length=0)
    log.append(EVENTS[0])
    log.append(EVENTS[1])
    length = log.settle()
    log.append(EVENTS[2])
    log.close()
    again = EventLog(path, length=length)
    assert again.length == length
    assert list(read_events(path)) == EVENTS[:2]
    again.append(EVENTS[3])
    again.close()
    assert list(read_events(path)) == [*EVENTS[:2], EVENTS[3]]


@pytest.mark.parametrize("left", [0, 10])
def test_a_log_that_was_cut_or_removed_is_not_filled_with_zeros(tmp_path, left):
    path = tmp_path / "log"
    path.write_bytes(b'{"event":"split",'[:left])
    log = EventLog(path, length=500)
    assert log.length == left
    log.close()
    assert b"\0" not in path.read_bytes()


def test_a_line_that_a_crash_cut_short_is_passed_over(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(msgspec.json.encode(EVENTS[0]) + b"\n" + msgspec.json.encode(EVENTS[1])[:-3])
    assert list(read_events(path)) == EVENTS[:1]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileError, match="cannot write"):
        EventLog(tmp_path / "missing" / "log", length=0)


def test_every_event_has_a_name_of_its_own():
    names = [each.__struct_config__.tag for each in get_args(Event)]
    assert len(set(names)) == len(names) == 10


def test_perplexity():
    progress = dict.fromkeys(("epoch", "objective", "norm", "rate", "seconds", "tokens_per_second"), 1.0)
    made = Progress(step=1, loss=math.log(20), tokens=1, skipped=0, **progress)
    assert made.perplexity == pytest.approx(20)
    assert msgspec.structs.replace(made, loss=1e4).perplexity == math.inf
