"""Work spread over processes, with the results in the order of the items and memory that stays flat.

Processes are spawned, so they inherit no lock, no thread and no open file. They end with the generator that uses
them, and also when this process is killed: nothing is left behind either way. A generator that is closed early, or
that an error ends, does not wait for work that nobody will ask for.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import pickle
import signal
import tempfile
import threading
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dragoman.errors import DragomanError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from concurrent.futures import Future

Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD = 3
"""Items under way for each process: one in work, one waiting, one finished."""


def in_order(work: Callable[[Item], Result], items: Iterable[Item], *, workers: int) -> Generator[Result, None, None]:
    """The result of each item, in the order of the items; without workers all is done in this process.

    `work` is sent once to each process. Items are taken from the iterable only as fast as results are.
    """
    if workers == 0:
        yield from map(work, items)
        return
    with tempfile.TemporaryDirectory(prefix="dragoman-") as folder:
        packed = Path(folder) / "work"
        packed.write_bytes(pickle.dumps(work))
        yield from _spread(packed, items, workers)


def _spread(packed: Path, items: Iterable[Item], workers: int) -> Generator[Any, None, None]:
    context = multiprocessing.get_context("spawn")
    theirs, ours = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(packed, theirs))
    under_way: deque[Future[Any]] = deque()
    try:
        for item in items:
            with _interrupts_held():
                under_way.append(pool.submit(_do, item))
            if len(under_way) >= AHEAD * workers:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
    except BrokenProcessPool as error:
        raise WorkerLost from error
    finally:
        if under_way:  # nobody will ask for it: who is at work ends at once
            ours.close()
        pool.shutdown(cancel_futures=True)
        ours.close()
        theirs.close()


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """A block in which Ctrl-C waits, here and in processes that start meanwhile, until they know what to do with it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class WorkerLost(DragomanError):  # noqa: N818 - the name says what happened
    """A worker process ended without an answer."""

    def __init__(self) -> None:
        super().__init__(
            "a worker process ended without an answer: it was killed (is memory short?) or could not start. "
            "A script that uses workers must start its work under `if __name__ == '__main__':`. "
            "Without workers (workers = 0) all is done in one process."
        )


# ---- inside a worker ---------------------------------------------------------------------------------------------

_packed = Path()
"""Where the function lies that this process was started for. It does not come through the pipe by which a process
starts: of one that ends before it has read a long message, its parent would never hear."""


def _begin(packed: Path, wanted: connection.Connection) -> None:
    global _packed  # noqa: PLW0603 - the only place where a pool's initializer can leave something
    _packed = packed
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is told too, and shuts down in order
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_when_not_wanted, args=(wanted,), daemon=True).start()


def _end_when_not_wanted(wanted: connection.Connection) -> None:
    """The parent closes its end of the pipe, or is killed, which closes it too."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    connection.wait([wanted, parent.sentinel])
    os._exit(1)


@functools.cache
def _work() -> Callable[[Any], Any]:
    """The function, unpacked at the first item and not before: what is wrong with it is reported like any error."""
    work: Callable[[Any], Any] = pickle.loads(_packed.read_bytes())  # noqa: S301 - packed by our own parent process
    return work


def _do(item: Any) -> Any:
    return _work()(item)
