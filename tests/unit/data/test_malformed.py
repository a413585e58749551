"""Malformed corpora: a table of what can be wrong with a line, in every format, place and setting; and mutants.

Whatever the bytes, a reading ends soon, and either in pairs that stand where their lines stand, or in an error that
names the file, the line and the remedy.
"""

import bz2
import gzip
import io
import itertools
import json
import lzma
import random
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from dragoman.data.corpus import Features, Jsonl, Mono, Parquet, TextFiles, Tsv, build
from dragoman.data.lines import Reason
from dragoman.errors import DataError, FileError, UserError

LONGEST = 5000
LINES = 9
WORDS = [f"word{i} é{i}" for i in range(LINES)]

KINDS: dict[str, tuple[bytes, Reason | None]] = {
    "stray byte": (b"a\xffb", Reason.ENCODING),
    "continuation byte alone": (b"a\x80", Reason.ENCODING),
    "cut character": (b"a\xe2\x82", Reason.ENCODING),
    "surrogate": (b"\xed\xa0\x80", Reason.ENCODING),
    "over-long form of NUL": (b"\xc0\x80", Reason.ENCODING),
    "beyond Unicode": (b"\xf5\x80\x80\x80", Reason.ENCODING),
    "UTF-16": ("ab".encode("utf-16"), Reason.ENCODING),
    "Latin-1": ("déjà".encode("latin-1"), Reason.ENCODING),
    "NUL": (b"a\0b", Reason.NUL),
    "NUL alone": (b"\0", Reason.NUL),
    "CR": (b"a\rb", Reason.LINE_BREAK),
    "two CR": (b"a\r\rb", Reason.LINE_BREAK),
    "line tabulation": (b"a\x0bb", Reason.LINE_BREAK),
    "form feed": (b"a\x0c", Reason.LINE_BREAK),
    "file separator": (b"\x1ca", Reason.LINE_BREAK),
    "group separator": (b"a\x1db", Reason.LINE_BREAK),
    "record separator": (b"a\x1eb", Reason.LINE_BREAK),
    "next line": ("a\x85b".encode(), Reason.LINE_BREAK),
    "line separator": ("a\u2028b".encode(), Reason.LINE_BREAK),
    "paragraph separator": ("a\u2029".encode(), Reason.LINE_BREAK),
    "nothing": (b"", Reason.EMPTY),
    "spaces": (b"   ", Reason.EMPTY),
    "no-break and ideographic spaces": ("\u00a0\u3000".encode(), Reason.EMPTY),
    "one byte too many": (b"x" * (LONGEST + 1), Reason.TOO_LONG),
    "far too long": (b"xy " * LONGEST, Reason.TOO_LONG),
    "far too long and not UTF-8": (b"\xff" * 3 * LONGEST, Reason.TOO_LONG),
    "nearly too long": (b"x" * 4000, None),
    "bidi controls": ("\u202ea\u2066b\u2069\u200f".encode(), None),
    "zero-width characters": ("a\u200bb\u200d\u2060".encode(), None),
    "zero-width no-break space inside": ("a\ufeffb".encode(), None),
    "combining marks": ("a\u0301\u0327\u0489".encode(), None),
    "not a character": ("\ufffe\uffff\U0010ffff".encode(), None),
    "private use": ("\ue000\U000f0000".encode(), None),
    "replacement character": ("a\ufffd".encode(), None),
    "escape and bell": (b"\x1b[31ma\x07", None),
    "delete": (b"a\x7fb", None),
    "quotes and backslashes": (rb"""a "b' \\" \n""", None),
}
FORMATS = ("source", "target", "tsv", "jsonl", "mono", "parquet")
CASES = [
    (kind, form, place, on_bad)
    for kind, form, place, on_bad in itertools.product(KINDS, FORMATS, (1, 5, LINES), ("refuse", "skip"))
    # JSON has escapes of its own for what it cannot hold, which test_corpus.py looks at
    if not (form == "jsonl" and KINDS[kind][0] != KINDS[kind][0].translate(None, b'\\"\0\x0b\x0c\x1b\x07\x1c\x1d\x1e'))
]


def corpus_of(folder, form, contents):
    """The settings and the file to be named of a corpus in which one side has these contents, line by line."""
    other = [f"other{i}".encode() for i in range(1, LINES + 1)]

    def put(name, lines):
        path = folder / name
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        return str(path)

    match form:
        case "source":
            name = put("a.src", contents)
            return TextFiles(source=name, target=put("a.tgt", other)), name
        case "target":
            name = put("a.tgt", contents)
            return TextFiles(source=put("a.src", other), target=name), name
        case "tsv":
            name = put("a.tsv", [b"\t".join(pair) for pair in zip(contents, other, strict=True)])
            return Tsv(file=name), name
        case "jsonl":
            rows = [b'{"source": "' + c + b'", "target": "' + o + b'"}' for c, o in zip(contents, other, strict=True)]
            name = put("a.jsonl", rows)
            return Jsonl(file=name), name
        case "mono":
            name = put("a.txt", contents)
            return Mono(file=name), name
        case _:
            name = str(folder / "a.parquet")
            column = pa.array(contents, pa.large_binary())
            texts = pa.Array.from_buffers(pa.large_string(), len(column), column.buffers())
            pq.write_table(pa.table({"source": texts, "target": [o.decode() for o in other]}), name)
            return Parquet(file=name), name


def test_the_table_is_as_large_as_promised():
    assert len(CASES) >= 1000


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_bad_line_has_the_documented_outcome(tmp_path, case):
    kind, form, place, on_bad = case
    content, reason = KINDS[kind]
    contents = [word.encode() for word in WORDS]
    contents[place - 1] = content
    settings, name = corpus_of(tmp_path, form, contents)
    reading = build(settings, on_bad=on_bad, longest_line=LONGEST + (28 if form == "jsonl" else 0)).read()
    if reason is None or on_bad == "skip":
        pairs = list(reading)
        skipped = [] if reason is None else [place]
        assert [pair.line for pair in pairs] == [n for n in range(1, LINES + 1) if n not in skipped]
        for pair in pairs:
            side = pair.source if form in ("source", "tsv", "jsonl", "parquet") else pair.target
            other = pair.target if form in ("source", "tsv", "jsonl", "parquet") else pair.source
            assert form == "jsonl" or side.encode() == contents[pair.line - 1]
            assert other in (f"other{pair.line}", "")
        assert reading.skipped == dict.fromkeys([reason] if reason else [], 1)
    else:
        with pytest.raises(DataError) as caught:
            list(reading)
        assert caught.value.place == f"{name}:{place}"
        assert caught.value.problem.startswith(reason.value)
        assert caught.value.remedy


# ---- what concerns a file as a whole -----------------------------------------------------------------------------


def gzip_bomb():
    packed = io.BytesIO()
    with gzip.open(packed, "wb") as stream:
        for _ in range(40):
            stream.write(b"\0" * (1 << 20))
    return packed.getvalue()


TEXT = "".join(f"a line of text, number {i * 7919 % 1000}\n" for i in range(3000)).encode()
DAMAGED = {
    "cut.gz": gzip.compress(TEXT)[:-40],
    "cut.bz2": bz2.compress(TEXT)[:-40],
    "cut.xz": lzma.compress(TEXT)[:-40],
    "cut.zst": zstandard.ZstdCompressor().compress(TEXT)[:-40],
    "plain.gz": TEXT,
    "plain.bz2": TEXT,
    "plain.xz": TEXT,
    "plain.zst": TEXT,
    "sum.gz": gzip.compress(TEXT)[:-8] + b"\0" * 8,
    "bomb.gz": gzip_bomb(),
    "bomb.bz2": bz2.compress(b"\0" * (40 << 20)),
    "bomb.xz": lzma.compress(b"\0" * (40 << 20)),
    "bomb.zst": zstandard.ZstdCompressor().compress(b"\0" * (40 << 20)),
    "plain.parquet": TEXT,
    "empty.parquet": b"",
    "magic.parquet": b"PAR1" + b"\xff" * 100 + b"PAR1",
}


@pytest.mark.parametrize("on_bad", ["refuse", "skip"])
@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_refused_whatever_happens_to_bad_lines(tmp_path, name, on_bad):
    path = tmp_path / name
    path.write_bytes(DAMAGED[name])
    settings = Parquet(file=str(path)) if name.endswith("parquet") else Mono(file=str(path))
    started = time.monotonic()
    with pytest.raises((FileError, DataError)) as caught:
        list(build(settings, on_bad=on_bad))
    assert time.monotonic() - started < 10
    assert caught.value.place.startswith(str(path))


def test_a_line_of_a_hundred_megabytes_is_skipped(tmp_path):
    path = tmp_path / "a.tsv"
    with path.open("wb") as stream:
        stream.write(b"a\tb\n")
        for _ in range(100):
            stream.write(b"x" * (1 << 20))
        stream.write(b"\nc\td\n")
    started = time.monotonic()
    reading = build(Tsv(file=str(path)), on_bad="skip").read()
    assert [pair.line for pair in reading] == [1, 3]
    assert reading.skipped == {Reason.TOO_LONG: 1}
    assert time.monotonic() - started < 10


# ---- mutants -----------------------------------------------------------------------------------------------------

TOKENS = [content for content, _ in KINDS.values() if len(content) < 20]
TOKENS += [b"\n", b"\r\n", b"\t", b"\n\n", b'"', b"{", b"}"]


def seeds(folder):
    """Corpora to be mutated: for each, the files, and the settings that read them."""
    sides = [[f"source {i} word" for i in range(40)], [f"target {i} mot é" for i in range(40)]]
    text = ["".join(f"{line}\n" for line in side).encode() for side in sides]
    rows = list(zip(*sides, strict=True))
    tsv = "".join(f"{s}\t{t}\n" for s, t in rows).encode()
    table = io.BytesIO()
    pq.write_table(pa.table({"source": sides[0], "target": sides[1]}), table, row_group_size=16)
    array = io.BytesIO()
    np.save(array, np.ones((3, 4), dtype=np.float32))
    names = {n: str(folder / n) for n in ("a.en", "a.fr", "a.tsv", "a.tsv.gz", "a.tsv.bz2", "a.tsv.xz", "a.tsv.zst")}
    jsonl = "".join(json.dumps({"source": s, "target": t}) + "\n" for s, t in rows).encode()
    files = {"a.en": text[0], "a.fr": text[1]}
    yield files, TextFiles(source=names["a.en"], target=names["a.fr"])
    yield files, TextFiles(source=names["a.en"], target=names["a.fr"])
    yield {"a.tsv": tsv}, Tsv(file=names["a.tsv"])
    yield {"a.jsonl": jsonl}, Jsonl(file=str(folder / "a.jsonl"))
    yield {"a.en": text[0]}, Mono(file=names["a.en"])
    yield {"a.parquet": table.getvalue()}, Parquet(file=str(folder / "a.parquet"))
    yield (
        {"list": b"x.npy\n" * 40, "a.fr": text[1], "x.npy": array.getvalue()},
        Features(source=str(folder / "list"), target=names["a.fr"]),
    )
    for packed, pack in ((".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)):
        yield {f"a.tsv{packed}": pack(tsv)}, Tsv(file=names[f"a.tsv{packed}"])
    yield {"a.tsv.zst": zstandard.ZstdCompressor().compress(tsv)}, Tsv(file=names["a.tsv.zst"])


def mutated(content, rng):
    """The bytes after a few changes of the kinds that disks, editors and people make."""
    found = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at = rng.randrange(len(found) + 1)
        end = min(len(found), at + rng.choice((1, 1, 4, 30)))
        match rng.randrange(7):
            case 0:
                found[at:at] = rng.choice(TOKENS)
            case 1:
                del found[at:end]
            case 2 if at < len(found):
                found[at] ^= 1 << rng.randrange(8)
            case 3:
                found[at:at] = found[at:end]
            case 4:
                found[at:end] = bytes(end - at)
            case 5:
                del found[at:]
            case _:
                found[at:end] = rng.randbytes(end - at)
    return bytes(found)


def line_of(content, number):
    """Line `number` of a file, by the plainest reading."""
    return content.removeprefix(b"\xef\xbb\xbf").split(b"\n")[number - 1].removesuffix(b"\r").decode()


def check_mutants(folder, *, count, seed):
    """Read so many mutants, and hold every outcome against what is documented; the outcomes, counted."""
    rng, outcomes = random.Random(seed), {"pairs": 0, "refused": 0}
    every = list(seeds(folder))
    for number in range(count):
        files, settings = every[number % len(every)]
        changed = rng.choice(list(files))
        contents = {name: mutated(body, rng) if name == changed else body for name, body in files.items()}
        for name, body in contents.items():
            (folder / name).write_bytes(body)
        reading = build(settings, on_bad=rng.choice(("refuse", "skip")), longest_line=LONGEST).read()
        started = time.monotonic()
        error = None
        try:
            pairs = list(reading)
        except UserError as caught:
            error = caught
        assert time.monotonic() - started < 10
        outcomes["refused" if error else "pairs"] += 1
        if error:
            assert error.remedy
            assert error.place.startswith(str(folder)), error
            about_a_line = isinstance(error, DataError) and "no usable pair" not in error.problem
            assert not about_a_line or isinstance(settings, Parquet) or error.place.rpartition(":")[2].isdigit()
            continue
        assert len(pairs) + reading.skipped.total() == reading.lines
        if isinstance(settings, TextFiles):
            for pair in pairs:
                assert pair.source == line_of(contents["a.en"], pair.line)
                assert pair.target == line_of(contents["a.fr"], pair.line)
    return outcomes


def test_two_thousand_mutants(tmp_path):
    outcomes = check_mutants(tmp_path, count=2000, seed=1)
    assert min(outcomes.values()) > 300, "both outcomes are met"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(25))
def test_fifty_thousand_mutants(tmp_path, seed):
    check_mutants(tmp_path, count=2000, seed=100 + seed)
