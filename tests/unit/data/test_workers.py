"""Work spread over processes: order kept, errors passed on, nothing left behind."""

from __future__ import annotations

import itertools
import multiprocessing
import operator
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from dragoman.data.workers import AHEAD, WorkerLost, in_order
from dragoman.errors import TextError
from dragoman.text.build import TextSettings, train_tokenizer
from dragoman.text.symbols import SymbolSettings

square = partial(operator.pow, 2)


@pytest.fixture(autouse=True)
def nothing_left_behind():
    threads = threading.active_count()
    yield
    assert not multiprocessing.active_children()
    assert threading.active_count() == threads


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_results_come_in_the_order_of_the_items(workers):
    assert list(in_order(square, range(50), workers=workers)) == [2**i for i in range(50)]


def test_work_is_done_elsewhere():
    # eval is work that a fresh process can import, as this test module is not
    seen = set(in_order(eval, ["__import__('os').getpid()"] * 20, workers=2))
    assert seen
    assert os.getpid() not in seen


def test_items_are_taken_only_as_fast_as_results():
    items = itertools.count()
    results = in_order(square, items, workers=1)
    for _ in range(5):
        next(results)
    results.close()
    assert next(items) <= 5 + AHEAD


def test_an_endless_input_can_be_closed_early():
    results = in_order(square, itertools.count(), workers=2)
    assert next(results) == 1
    results.close()


@pytest.mark.parametrize("end", ["close", "error"])
def test_work_that_nobody_asks_for_is_not_waited_for(end):
    def items():
        yield from ["1", "__import__('time').sleep(3600)", "2"]
        if end == "error":
            raise ZeroDivisionError
        yield from itertools.repeat("3")

    results = in_order(eval, items(), workers=1)
    if end == "close":
        assert next(results) == 1
        results.close()
    else:
        with pytest.raises(ZeroDivisionError):
            list(results)


def test_an_error_in_a_worker_arrives_as_it_was_raised():
    tokenizer = train_tokenizer(SymbolSettings(), TextSettings(), texts=["a b"], size=None)
    results = in_order(tokenizer.encode, ["a", "\ud800"], workers=1)
    assert len(next(results)) == 1
    with pytest.raises(TextError, match="surrogate"):
        next(results)


def test_an_error_in_the_input_ends_the_workers():
    def items():
        yield 1
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(in_order(square, items(), workers=1))


def test_a_worker_that_dies_is_reported():
    with pytest.raises(WorkerLost, match="workers = 0"):
        list(in_order(os._exit, range(3), workers=1))


def test_workers_end_when_their_parent_is_killed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import itertools, operator, multiprocessing
        from functools import partial
        from dragoman.data.workers import in_order
        if __name__ == "__main__":
            for i in in_order(partial(operator.mod, 7), itertools.count(1), workers=2):
                if i == 7:
                    print(*(p.pid for p in multiprocessing.active_children()), flush=True)
        """)
    )
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as parent:
        children = [int(pid) for pid in parent.stdout.readline().split()]
        parent.send_signal(signal.SIGKILL)
    assert len(children) == 2
    deadline = time.monotonic() + 10
    while any(map(_lives, children)):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_an_interrupt_while_workers_start_is_left_to_their_parent(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import itertools, operator
        from functools import partial
        from dragoman.data.workers import in_order
        if __name__ == "__main__":
            try:
                for i in in_order(partial(operator.mod, 7), itertools.count(1), workers=2):
                    print(i, flush=True)
            except KeyboardInterrupt:
                print("interrupted", flush=True)
        """)
    )
    for delay in (0.1, 0.3, 0.5, 0.7, 0.9):
        with subprocess.Popen(
            [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        ) as whole:
            time.sleep(delay)
            os.killpg(whole.pid, signal.SIGINT)
            out, err = whole.communicate(timeout=30)
        if "interrupted" in out:  # else it was not yet ready to be interrupted itself
            assert not err


def _lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
