"""How fast texts are encoded, normalisation included, beside sentencepiece itself on the same texts in the same run.

The texts are Multi30k, English and German, found through DRAGOMAN_DATA; without it the built-in phrasebook. Wanted: 80
percent of the library's own throughput. Rounds alternate, and the median ratio of a round counts.

    python benchmarks/text.py           prints the figures
    python benchmarks/text.py --save    also writes benchmarks/results/DATE-text.json
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import sentencepiece

import record
from dragoman.data import phrasebook
from dragoman.text.build import TextSettings, train_tokenizers
from dragoman.text.subword import BpeSettings

if TYPE_CHECKING:
    from collections.abc import Callable

WANTED = 0.8


def texts() -> tuple[str, list[str]]:
    """The texts and their name."""
    folder = Path(os.environ.get("DRAGOMAN_DATA", "")) / "multi30k" / "raw"
    if not folder.is_dir():
        phrases = list(phrasebook.generate(seed=1, count=30_000))
        return "phrasebook", [p.english for p in phrases] + [p.french for p in phrases]
    found = []
    for language in ("en", "de"):
        with gzip.open(folder / f"train.{language}.gz", "rt", encoding="utf-8") as stream:
            found += [line.rstrip("\n") for line in stream]
    return "multi30k en and de, raw", found


def seconds(work: Callable[[], object]) -> float:
    """How long the work takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    name, lines = texts()
    half = len(lines) // 2
    settings = TextSettings(source=BpeSettings(dropout=0.1), vocabulary_size=8_000)
    trained = train_tokenizers(settings, sources=lines[:half], targets=lines[half:]).source
    library = sentencepiece.SentencePieceProcessor(model_proto=trained.model)  # type: ignore[attr-defined] # a Subword
    tokens = sum(map(len, trained.encode_all(lines)))
    generator = random.Random(1)
    pairs = [
        (seconds(lambda: library.encode(lines, num_threads=1)), seconds(lambda: trained.encode_all(lines)))
        for _ in range(options.rounds)
    ]
    ratio = statistics.median(theirs / ours for theirs, ours in pairs)
    for _ in range(2):  # the first pass looks at most words for the first time
        drawn = seconds(lambda: [trained.sample(line, generator) for line in lines])
    figures = {
        "texts": name,
        "library_tokens_per_second": round(tokens / statistics.median(theirs for theirs, _ in pairs)),
        "ours_tokens_per_second": round(tokens / statistics.median(ours for _, ours in pairs)),
        "ratio": round(ratio, 3),
        "sampling_tokens_per_second": round(tokens / drawn),
    }
    for key, value in figures.items():
        print(f"{key.replace('_', ' '):28} {value if isinstance(value, str) else f'{value:,}'}")
    print(f"wanted: a ratio of {WANTED}: {'reached' if ratio >= WANTED else 'NOT REACHED'}")
    if options.save:
        record.save("text", figures)
    return 0 if ratio >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
