"""What does each device of a training step bring? The step is made with and without it, in turns, in one process.

One model (the tiny Transformer unless another is named), our batches of 4,096 tokens, the whole update of a run. Times
are those of the processor, which a busy machine changes less than those of the clock; page faults are in them. A ratio
of 1.2 says that without the device a step takes 1.2 times as long.

    python benchmarks/training_step.py                      tiny, float32
    python benchmarks/training_step.py --precision bfloat16 --model base --turns 5
    python benchmarks/training_step.py --profile            where the time goes, operator by operator
    python benchmarks/training_step.py --save               keeps the result under benchmarks/results
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import training

if TYPE_CHECKING:
    from collections.abc import Iterator

MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1


@contextlib.contextmanager
def _returned_memory() -> Iterator[None]:
    """The C library's own thresholds: large blocks are mapped for each use and given back at once."""
    from dragoman.devices import keep_freed_memory

    library = ctypes.CDLL(None)
    library.mallopt(MMAP_THRESHOLD, 1 << 17)
    library.mallopt(TRIM_THRESHOLD, 1 << 17)
    library.malloc_trim(0)
    try:
        yield
    finally:
        keep_freed_memory()


def _torchs_dropout() -> Any:
    from dragoman.models import dropout

    return mock.patch.object(dropout, "_draws_itself", return_value=False)


def _no_dropout() -> Any:
    from dragoman.models import dropout

    stack = contextlib.ExitStack()
    stack.enter_context(mock.patch.object(dropout, "drop", lambda values, _rate: values))
    if hasattr(dropout, "drop_onto"):
        stack.enter_context(mock.patch.object(dropout, "drop_onto", lambda x, values, _rate: x + values))
    return stack


def _torchs_products() -> Any:
    from dragoman.models import linear

    return mock.patch.object(linear, "_goes_through_onednn", return_value=False)


def _whole_loss() -> Any:
    from dragoman.training.objectives import pieces

    return mock.patch.object(pieces, "ROWS_AT_ONCE", 1 << 30)


def _other_attention(precision: str) -> Any:
    from dragoman.models import attention

    name = "plain" if precision == "float32" else "fused"
    other = "fused" if precision == "float32" else "plain"
    return mock.patch.object(attention, other, getattr(attention, name))


def _ways(precision: str) -> dict[str, Any]:
    """The step without one device each, by what stands in its place."""
    ways = {
        "memory given back at once": _returned_memory,
        "torch's dropout": _torchs_dropout,
        "no dropout at all": _no_dropout,
        "the loss in one piece": _whole_loss,
        "the other formula of attention": lambda: _other_attention(precision),
    }
    if precision == "float32":
        ways["torch's own products"] = _torchs_products
    return ways


def _spent(engine: training.Engine, updates: int) -> tuple[float, int]:
    """Seconds of the processor per token, and pages that had to be cleared."""
    before, faults = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    _, tokens, _ = engine(updates)
    return (time.process_time() - before) / tokens, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults


def _profiled(engine: training.Engine, updates: int) -> None:
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU]) as found:
        engine(updates)
    print(found.key_averages().table(sort_by="self_cpu_time_total", row_limit=30, max_name_column_width=50))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=training.MODELS, default="tiny")
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--updates", type=int, default=3, help="updates in a turn")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--profile", action="store_true", help="operators by their time, and nothing else")
    parser.add_argument("--data", type=Path, default=os.environ.get("DRAGOMAN_DATA"), help="folder of datasets")
    parser.add_argument("--cache", type=Path, default=Path("/tmp/dragoman-benchmark-training"))  # noqa: S108 - may be deleted at any time
    parser.add_argument("--save", action="store_true", help="keep the result, with today's date")
    arguments = parser.parse_args()
    if arguments.data is None:
        print("skipped: name the folder of datasets by --data or DRAGOMAN_DATA")
        return
    corpus = training.unpacked(Path(arguments.data), arguments.cache)
    folder = arguments.cache / f"step-{arguments.model}-{arguments.precision}"
    engine = training.Ours(arguments.model, corpus, folder, precision=arguments.precision, threads=arguments.threads)
    engine(3)
    if arguments.profile:
        _profiled(engine, arguments.updates)
        return
    ways = {"as it is": contextlib.nullcontext, **_ways(arguments.precision)}
    found: dict[str, list[tuple[float, int]]] = {name: [] for name in ways}
    for _ in range(arguments.turns):
        for name, way in ways.items():
            with way():
                engine(1)  # what has to be made anew for this way
                found[name].append(_spent(engine, arguments.updates))
    base = [seconds for seconds, _ in found["as it is"]]
    rows = []
    for name, turns in found.items():
        ratios = [seconds / other for (seconds, _), other in zip(turns, base, strict=True)]
        faults = statistics.median(count for _, count in turns) / arguments.updates
        row = {"way": name, "time": round(statistics.median(ratios), 3), "faults_per_update": round(faults)}
        row |= {"least": round(min(ratios), 3), "most": round(max(ratios), 3)}
        rows.append(row)
        print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    if arguments.save:
        import record

        given = {name: getattr(arguments, name) for name in ("model", "precision", "turns", "updates", "threads")}
        record.save("training-step", {**given, "rows": rows})


if __name__ == "__main__":
    sys.exit(main())
