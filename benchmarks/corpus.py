"""How fast corpora are read and checked, and whether a corpus that exceeds the memory is read as fast as one in it.

    python benchmarks/corpus.py                    500,000 pairs in every format; and a corpus of three times 512 MiB
                                                   in a process limited to 512 MiB
    python benchmarks/corpus.py --limit 2048       the same with three times 2,048 MiB, which takes 6 GiB of disk
    python benchmarks/corpus.py --save             also writes benchmarks/results/DATE-corpus.json

`floor` is the same machine reading the same two text files line by line and decoding them, without a single check.
"in memory" is a corpus of 100 MiB whose bytes the operating system holds; "streamed" is the large one. Wanted: 95
percent of the speed in memory. The two take turns, and the best of each counts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import record
from dragoman.data.clean import Cleaner, CleanSettings
from dragoman.data.corpus import Jsonl, Mono, Parquet, TextFiles, Tsv, build

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dragoman.data.corpus import CorpusSettings

MEBIBYTE = 1 << 20
WANTED = 0.95
ROUNDS = 5


def sentences(count: int, seed: int) -> list[str]:
    """Made-up sentences of 4 to 20 words, with accents."""
    generator = random.Random(seed)
    words = ["le", "chat", "élan", "house", "to", "pie", "entarté", "with", "a", "Übung", "me", "word"]
    return [" ".join(generator.choices(words, k=generator.randint(4, 20))) for _ in range(count)]


def written(folder: Path, pairs: int) -> dict[str, CorpusSettings]:
    """The same corpus in every format."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    few = sentences(5000, 1), sentences(5000, 2)
    sides = [[each[i % 5000] for i in range(pairs)] for each in few]
    text = ["".join(f"{line}\n" for line in side).encode() for side in sides]
    paths = {
        name: str(folder / name) for name in ("a.en", "a.fr", "a.en.gz", "a.fr.gz", "a.tsv", "a.jsonl", "a.parquet")
    }
    for name, content in zip(("a.en", "a.fr"), text, strict=True):
        Path(paths[name]).write_bytes(content)
        Path(paths[f"{name}.gz"]).write_bytes(gzip.compress(content, 6))
    rows = list(zip(*sides, strict=True))
    Path(paths["a.tsv"]).write_text("".join(f"{s}\t{t}\n" for s, t in rows))
    Path(paths["a.jsonl"]).write_text(
        "".join(json.dumps({"source": s, "target": t}, ensure_ascii=False) + "\n" for s, t in rows)
    )
    pq.write_table(pa.table({"source": sides[0], "target": sides[1]}), paths["a.parquet"])
    return {
        "text": TextFiles(source=paths["a.en"], target=paths["a.fr"]),
        "text.gz": TextFiles(source=paths["a.en.gz"], target=paths["a.fr.gz"]),
        "tsv": Tsv(file=paths["a.tsv"]),
        "jsonl": Jsonl(file=paths["a.jsonl"]),
        "parquet": Parquet(file=paths["a.parquet"]),
        "mono": Mono(file=paths["a.en"]),
    }


def floor(source: str, target: str) -> Iterable[tuple[str, str]]:
    """Two files, decoded and put side by side, with nothing checked."""
    with Path(source).open("rb") as one, Path(target).open("rb") as other:
        yield from ((s[:-1].decode(), t[:-1].decode()) for s, t in zip(one, other, strict=True))


def rate(make: Callable[[], Iterable[object]], *, repeats: int = 3) -> float:
    """Items a second, the best of a few runs."""
    best = 0.0
    for _ in range(repeats):
        start = time.perf_counter()
        count = sum(1 for _ in make())
        best = max(best, count / (time.perf_counter() - start))
    return best


def streamed(folder: Path, limit_mib: int) -> dict[str, float]:
    """Pairs a second from a corpus in memory, and from one of three times the limit on memory."""
    few = [s.encode() for s in sentences(5000, 3)]
    block = b"\n".join(few) + b"\n"
    rates = {"in memory": 0.0, "streamed": 0.0}
    for name, mebibytes in (("in memory", 100), ("streamed", 3 * limit_mib)):
        with (folder / name).open("wb") as stream:
            for _ in range(mebibytes * MEBIBYTE // 2 // len(block)):
                stream.write(block)
    for _ in range(ROUNDS):
        for name, best in rates.items():
            command = [sys.executable, __file__, "--read", str(folder / name), "--limit", str(limit_mib)]
            rates[name] = max(best, float(subprocess.check_output(command)))
    return {"limit_mib": limit_mib, **rates, "ratio": rates["streamed"] / rates["in memory"]}


def read_under(limit_mib: int, path: str) -> float:
    """Pairs a second from a file, taken as both sides, in a process that may use so much memory."""
    resource.setrlimit(resource.RLIMIT_AS, (limit_mib * MEBIBYTE, limit_mib * MEBIBYTE))
    return rate(lambda: build(TextFiles(source=path, target=path)), repeats=1)


def main() -> int:
    """Measure, print, and keep the result if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=500_000)
    parser.add_argument("--limit", type=int, default=512, metavar="MIB", help="0 leaves the large corpus out")
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--read", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.read:
        print(read_under(given.limit, given.read))
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpora = written(folder, given.pairs)
        found: dict[str, object] = {"pairs": given.pairs}
        found["floor"] = rate(lambda: floor(str(folder / "a.en"), str(folder / "a.fr")))
        found["read"] = {kind: rate(lambda c=settings: build(c)) for kind, settings in corpora.items()}  # type: ignore[misc]
        settings = CleanSettings(duplicates="keep")
        found["clean"] = rate(lambda: Cleaner(settings).judge(build(corpora["text"])), repeats=1)
        flat = streamed(folder, given.limit) if given.limit else {"ratio": WANTED}
        if given.limit:
            found["flat memory"] = flat
    print(json.dumps(found, indent=2))
    kept = flat["ratio"] >= WANTED
    if given.limit:
        print(f"wanted: {WANTED:.0%} of the speed in memory: {'reached' if kept else 'NOT REACHED'}")
    if given.save:
        record.save("corpus", found)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
