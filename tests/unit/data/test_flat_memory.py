"""Memory does not grow with the corpus: reading, cleaning and counting under a limit that the corpus exceeds."""

import gzip
import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
import numpy
from dragoman.data.clean import Cleaner, CleanSettings, Tally
from dragoman.data.corpus import TextFiles, build
from dragoman.data import stats
from dragoman.data.stats import Sentences, measure

source, target, extra, what = sys.argv[1:]
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit = int(extra) if int(extra) > 1 << 30 else used + int(extra)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
corpus = build(TextFiles(source=source, target=target))
match what:
    case "read":
        print(sum(1 for _ in corpus))
    case "clean":
        tally = Tally()
        for verdict in Cleaner(CleanSettings(duplicate_memory=1)).judge(corpus):
            tally.add(verdict)
        print(tally.kept + tally.dropped.total())
    case "stats":
        stats.MOST_WORDS = 1_000
        print(measure(corpus, Sentences("a", mebibytes=1), mebibytes=1).pairs)
    case "hold":
        print(len(list(corpus)))
"""


def corpus_of(folder, lines):
    """Two packed files with so many lines of about 100 bytes each, made quickly."""
    paths = [folder / "a.en.gz", folder / "a.fr.gz"]
    for path, word in zip(paths, ("word", "mot"), strict=True):
        with gzip.open(path, "wb", compresslevel=1) as stream:
            for start in range(0, lines, 10_000):
                block = (f"{i:>9} {word} {i * 7919:x} " + "and more " * 8 for i in range(start, start + 10_000))
                stream.write("\n".join(block).encode() + b"\n")
    return [str(path) for path in paths]


def run(files, extra, what):
    command = [sys.executable, "-c", PROGRAM, *files, str(extra), what]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return corpus_of(tmp_path_factory.mktemp("small"), 120_000)


@pytest.mark.parametrize("what", ["read", "clean", "stats"])
def test_a_corpus_three_times_the_memory_that_may_be_added(small, what):
    found = run(small, 8 << 20, what)  # two sides of 12 MB
    assert found.stdout.strip() == "120000", found.stderr[-500:]


def test_the_limit_is_one(small):
    assert "MemoryError" in run(small, 8 << 20, "hold").stderr


@pytest.mark.slow
def test_a_corpus_of_six_gigabytes_is_read_and_cleaned_in_two(tmp_path):
    files = corpus_of(tmp_path, 32_000_000)
    for what in ("read", "clean"):
        found = run(files, 2 << 30, what)
        assert found.stdout.strip() == "32000000", found.stderr[-500:]
