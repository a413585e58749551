"""How fast a store is built, and in how much memory: generated pairs through a subword tokenizer.

    python benchmarks/store.py                   200,000 pairs
    python benchmarks/store.py --pairs 10000000  what the promise of less than 1 GiB is about
    python benchmarks/store.py --save            also writes benchmarks/results/DATE-store.json

Memory is the largest resident size of this process plus, for each worker, that of the largest worker.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import record
from dragoman.data.corpus import Pair
from dragoman.data.encoding import Encoder, TextEncoder
from dragoman.data.order import Order
from dragoman.data.preparation import Part, write
from dragoman.data.store import open_store
from dragoman.devices import cores
from dragoman.text.build import TextSettings, train_tokenizer
from dragoman.text.subword import BpeSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

GIBIBYTE = 1 << 30
SYLLABLES = [c + v for c in "bcdfghjklmnprstvz" for v in ("a", "e", "i", "o", "u", "en", "ar")]


def pairs(count: int) -> Iterator[Pair]:
    """Pairs of sentences of 5 to 45 words from 20,000 made-up ones, frequent and rare as in a language."""
    generator = random.Random(0)
    words = ["".join(generator.choices(SYLLABLES, k=generator.randint(1, 4))) for _ in range(20_000)]
    ranks = np.cumsum(1 / np.arange(1, len(words) + 1))
    sides = np.random.default_rng(0)
    for first in range(0, count, 1_000):
        drawn = np.searchsorted(ranks, sides.random((1_000, 90)) * ranks[-1]).tolist()
        lengths = sides.integers(5, 46, 1_000).tolist()
        for line, (ids, length) in enumerate(zip(drawn, lengths, strict=True), first + 1):
            if line > count:
                return
            source, target = ids[:length], ids[45 : 45 + length]
            yield Pair(" ".join([words[i] for i in source]), " ".join([words[i] for i in target]), "generated", line)


def measured(count: int, workers: int, folder: Path) -> dict[str, float]:
    """The figures of one build, and of using what was built."""
    sample = [text for pair in pairs(5_000) for text in (pair.source, pair.target)]
    tokenizer = train_tokenizer(BpeSettings(dropout=0.1), TextSettings(), texts=sample, size=10_000)
    side = TextEncoder(tokenizer, longest=512, keep_text=True)
    begin = time.perf_counter()
    write(folder, [Part(pairs(count), "")], encoder=Encoder(side, side), workers=workers)
    seconds = time.perf_counter() - begin
    # Linux counts in KiB, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit
    begin = time.perf_counter()
    store = open_store(folder)
    opening = time.perf_counter() - begin
    begin = time.perf_counter()
    Order.of(store, batch_tokens=4096, seed=1).plan(0)
    planning = time.perf_counter() - begin
    return {
        "pairs": count,
        "workers": workers,
        "pairs_per_second": round(count / seconds),
        "memory_gib": round((own + workers * children) / GIBIBYTE, 3),
        "disk_gib": round(sum(p.stat().st_size for p in folder.iterdir()) / GIBIBYTE, 3),
        "opening_milliseconds": round(1000 * opening, 1),
        "planning_seconds": round(planning, 2),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=200_000)
    parser.add_argument("--workers", type=int, default=cores())
    parser.add_argument(
        "--folder", type=Path, help="where the store is built for a while; a temporary folder if absent"
    )
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
        figures = measured(options.pairs, options.workers, Path(temporary) / "store")
    for name, value in figures.items():
        print(f"{name.replace('_', ' '):22} {value:,}")
    kept = figures["memory_gib"] < 1
    print(f"memory under 1 GiB: {'yes' if kept else 'NO'}")
    if options.save:
        record.save("store", figures)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
