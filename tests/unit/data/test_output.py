import gzip
from pathlib import Path

import numpy as np
import pytest

from dragoman.data.corpus import Features, Jsonl, Mono, Pair, TextFiles, Tsv, build
from dragoman.data.output import part_names, writing
from dragoman.errors import DataError, SettingError

PAIRS = [Pair("a b", "é", "file", 1), Pair('"c"', "\\d", "file", 2)]


@pytest.mark.parametrize(
    ("names", "settings"),
    [
        (("o.en", "o.fr"), lambda a, b: TextFiles(source=a, target=b)),
        (("o.en.gz", "o.fr.xz"), lambda a, b: TextFiles(source=a, target=b)),
        (("o.tsv",), lambda a: Tsv(file=a)),
        (("o.tsv.bz2",), lambda a: Tsv(file=a)),
        (("o.jsonl.zst",), lambda a: Jsonl(file=a)),
    ],
)
def test_what_is_written_is_read_back(tmp_path, names, settings):
    paths = [tmp_path / name for name in names]
    with writing(paths, one_sided=False) as write:
        for pair in PAIRS:
            write(pair)
    found = build(settings(*map(str, paths)))
    assert [(pair.source, pair.target) for pair in found] == [(pair.source, pair.target) for pair in PAIRS]


def test_text_without_sources_is_plain_text(tmp_path):
    with writing([tmp_path / "o.txt"], one_sided=True) as write:
        write(Pair("", "a", "file", 1))
    assert [pair.target for pair in build(Mono(file=str(tmp_path / "o.txt")))] == ["a"]


def test_files_appear_together_or_not_at_all(tmp_path):
    (tmp_path / "o.en").write_text("old\n")
    half_good = tmp_path / "in.tsv"
    half_good.write_text("a\tb\nc\n")
    with pytest.raises(DataError), writing([tmp_path / "o.en", tmp_path / "o.fr"], one_sided=False) as write:
        list(map(write, build(Tsv(file=str(half_good)))))
    half_good.unlink()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"o.en": "old\n"}


def test_a_tab_cannot_go_into_tsv(tmp_path):
    with (
        pytest.raises(DataError, match="file:7: a text with a tab"),
        writing([tmp_path / "o.tsv"], one_sided=False) as write,
    ):
        write(Pair("a\tb", "c", "file", 7))
    assert not list(tmp_path.iterdir())


def test_lists_of_arrays_name_them_from_where_they_lie(tmp_path):
    (tmp_path / "deep").mkdir()
    np.save(tmp_path / "deep" / "x.npy", np.zeros(3))
    (tmp_path / "list").write_text("deep/x.npy\n")
    (tmp_path / "text").write_text("a\n")
    corpus = build(Features(source=str(tmp_path / "list"), target=str(tmp_path / "text")))
    with writing([tmp_path / "new", tmp_path / "new.text"], one_sided=False, arrays=True) as write:
        for pair in corpus:
            write(pair)
    assert (tmp_path / "new").read_text() == "deep/x.npy\n"
    with (
        pytest.raises(DataError, match="would lie outside") as caught,
        writing([tmp_path / "other" / "new", tmp_path / "t"], one_sided=False, arrays=True) as write,
    ):
        write(next(iter(corpus)))
    assert str(tmp_path) in caught.value.remedy


@pytest.mark.parametrize(
    ("names", "one_sided", "words"),
    [
        (["a", "b", "c"], False, "3 files"),
        (["a", "b"], True, "2 files"),
        (["a", "./a"], False, "both sides"),
        (["-"], False, "standard output"),
        (["a.parquet"], False, "Parquet"),
        (["a.jsonl", "b"], False, "JSON lines"),
        (["a.jsonl.gz"], True, "JSON lines"),
    ],
)
def test_files_that_cannot_be_written(names, one_sided, words):
    with pytest.raises(SettingError, match=words), writing([Path(n) for n in names], one_sided=one_sided):
        pass


@pytest.mark.parametrize(
    ("files", "one_sided", "expected"),
    [
        (["x/all.en", "x/all.fr"], False, ["test.en", "test.fr"]),
        (["all.en.gz", "all.fr"], False, ["test.en.gz", "test.fr"]),
        (["a.txt", "b.txt"], False, ["test.source.txt", "test.target.txt"]),
        (["a", "b.txt"], False, ["test.source", "test.target.txt"]),
        (["all.tsv.xz"], False, ["test.tsv.xz"]),
        (["all.jsonl"], False, ["test.jsonl"]),
        (["all.parquet"], False, ["test.jsonl"]),
        (["all.txt.gz"], True, ["test.txt.gz"]),
        (["all"], True, ["test"]),
    ],
)
def test_parts_are_named_after_the_corpus(files, one_sided, expected):
    assert part_names("test", files, one_sided=one_sided) == expected


def test_packed_output_does_not_depend_on_the_time(tmp_path):
    for name in ("a.gz", "b.gz"):
        with writing([tmp_path / name], one_sided=True) as write:
            write(Pair("", "x", "file", 1))
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"x\n"
