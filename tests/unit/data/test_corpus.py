import bz2
import gzip
import io
import json
import lzma
import sys

import pytest
import zstandard

from dragoman.data.corpus import (
    DataSettings,
    Features,
    Jsonl,
    Mono,
    Pair,
    Parquet,
    TextFiles,
    Tsv,
    build,
)
from dragoman.data.lines import Reason
from dragoman.errors import DataError, FileError, SettingError
from dragoman.settings import decode, fields

PACKERS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda content: zstandard.ZstdCompressor().compress(content),
}


ONE_LESS_USUAL = '{"source": "one", "target": "un"}\n{"target": "d\\u0065ux", "x": 1, "source": "two"}'
OTHER_FIELDS = '{"en":"one","fr":"un"}\n{"en":"two","fr":"deux"}\n'


@pytest.fixture
def file(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


@pytest.mark.parametrize("packed", PACKERS)
def test_every_text_format_plain_or_packed_gives_the_same_pairs(file, packed):
    def put(name, content):
        return file(name + packed, PACKERS[packed](content.encode()))

    corpora = [
        TextFiles(source=put("a.en", "one\ntwo\n"), target=put("a.fr", "un\ndeux\n")),
        Tsv(file=put("a.tsv", "one\tun\ntwo\tdeux\n")),
        Tsv(file=put("b.tsv", "9\tun\tone\n9\tdeux\ttwo\n"), columns=3, source_column=3, target_column=2),
        Jsonl(
            file=put("a.jsonl", '{"source": "one", "target": "un"}\n{"target": "d\\u0065ux", "x": 1, "source": "two"}')
        ),
        Jsonl(
            file=put("b.jsonl", '{"en":"one","fr":"un"}\n{"en":"two","fr":"deux"}\n'),
            source_field="en",
            target_field="fr",
        ),
    ]
    for settings in corpora:
        corpus = build(settings)
        name = corpus.files[0]
        expected = [Pair("one", "un", name, 1), Pair("two", "deux", name, 2)]
        assert list(corpus) == expected
        assert list(corpus) == expected, "a corpus can be read again"


def test_text_for_a_language_model_has_no_sources(file):
    name = file("a.txt", "one\ntwo\n")
    assert list(build(Mono(file=name))) == [Pair("", "one", name, 1), Pair("", "two", name, 2)]


def test_standard_input_is_read_once(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\tb\n")))
    corpus = build(Tsv(file="-"))
    assert list(corpus) == [Pair("a", "b", "standard input", 1)]
    with pytest.raises(DataError, match="standard input: can be read only once"):
        list(corpus)


def test_a_bad_line_is_refused_with_its_place_and_the_remedy(file):
    name = file("a.tsv", "a\tb\nc\nd\te\n")
    pairs = iter(build(Tsv(file=name)))
    assert next(pairs).line == 1
    with pytest.raises(DataError) as caught:
        next(pairs)
    assert caught.value.place == f"{name}:2"
    assert caught.value.problem == "wrong number of columns: 1 where 2 are expected"
    assert "on_bad" in caught.value.remedy
    assert "columns" in caught.value.remedy


def test_skipped_lines_are_counted_by_reason_with_examples(file):
    name = file("a.tsv", "a\tb\n" + "c\n" * 5 + "\td\n" + "e\tf\r\n")
    reading = build(Tsv(file=name), on_bad="skip").read()
    assert [pair.line for pair in reading] == [1, 8]
    assert reading.lines == 8
    assert reading.skipped == {Reason.COLUMNS: 5, Reason.EMPTY: 1}
    assert reading.examples[Reason.COLUMNS] == [f"{name}:{n}: 1 where 2 are expected" for n in (2, 3, 4)]
    assert reading.examples[Reason.EMPTY] == [f"{name}:7: nothing in the source"]
    assert reading.notes.total() == 1


def test_two_readings_at_a_time_do_not_disturb_each_other(file):
    corpus = build(Tsv(file=file("a.tsv", "a\tb\nx\nc\td\n")), on_bad="skip")
    first, second = corpus.read(), corpus.read()
    for one, other in zip(first, second, strict=True):
        assert one == other
    assert first.skipped == second.skipped == {Reason.COLUMNS: 1}


def test_the_place_of_a_bad_side_is_that_sides_file(file):
    source, target = file("a.en", "a\nb\n"), file("a.fr", "c\n\n")
    with pytest.raises(DataError) as caught:
        list(build(TextFiles(source=source, target=target)))
    assert caught.value.place == f"{target}:2"
    assert caught.value.problem == "empty side: nothing in the target"


@pytest.mark.parametrize("on_bad", ["refuse", "skip"])
@pytest.mark.parametrize(("source", "target"), [(3, 2), (2, 3), (2, 50), (1, 0), (0, 1)])
def test_unequal_numbers_of_lines_are_refused_either_way(file, on_bad, source, target):
    a, b = file("a.en", "x\n" * source), file("a.fr", "y\n" * target)
    with pytest.raises(DataError) as caught:
        list(build(TextFiles(source=a, target=b), on_bad=on_bad))
    few, many = sorted(((source, a), (target, b)))
    assert caught.value.place == f"{few[1]}:{few[0] + 1}"
    assert caught.value.problem == f"has {few[0]} lines, but {many[1]} has {many[0]}"


@pytest.mark.parametrize(("content", "detail"), [("", "it is empty"), ("\n\n", "all its 2 lines were skipped")])
def test_a_corpus_without_a_usable_pair_is_refused(file, content, detail):
    with pytest.raises(DataError, match=detail):
        list(build(Mono(file=file("a", content)), on_bad="skip"))


def test_damage_is_named_with_the_line_before_it(file):
    packed = gzip.compress("".join(f"line {i * 7919}\n" for i in range(100_000)).encode())
    name = file("a.gz", packed[: len(packed) // 2])
    with pytest.raises(FileError) as caught:
        list(build(Mono(file=name), on_bad="skip"))
    assert caught.value.place.startswith(f"{name}, after line ")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", Reason.JSON),
        ("[]", Reason.FIELD),
        ("{", Reason.JSON),
        ('{"source": "a"}', Reason.FIELD),
        ('{"source": "a", "target": null}', Reason.FIELD),
        ('{"source": "a", "target": 3}', Reason.FIELD),
        ('{"source": "a", "target": "b"} x', Reason.JSON),
        ('{"source": "a", "target": "b", "more": ' + "[" * 20_000 + "]" * 20_000 + "}", Reason.JSON),
        (r'{"source": "a", "target": "\ud800"}', Reason.JSON),
        (r'{"source": "a\u0000", "target": "b"}', Reason.NUL),
        (r'{"source": "a", "target": "b\nc"}', Reason.LINE_BREAK),
        (r'{"source": "a\r", "target": "b"}', Reason.LINE_BREAK),
        (r'{"source": "a\u2028", "target": "b"}', Reason.LINE_BREAK),
        (r'{"source": "a", "target": " "}', Reason.EMPTY),
    ],
)
def test_json_that_holds_no_pair(file, line, reason):
    good = json.dumps({"source": "s", "target": "t"})
    reading = build(Jsonl(file=file("a.jsonl", f"{good}\n{line}\n{good}\n")), on_bad="skip").read()
    assert [pair.line for pair in reading] == [1, 3]
    assert reading.skipped == {reason: 1}


def test_settings_decode_from_a_run_file():
    document = {
        "train": [
            {"kind": "text", "source": "a.en", "target": "a.fr", "weight": 0.3},
            {"kind": "mono", "file": "c.txt", "target_language": "fr"},
        ],
        "valid": {"kind": "tsv", "file": "b.tsv"},
        "on_bad": "skip",
    }
    settings = decode(document, DataSettings)
    assert settings.train[0] == TextFiles(source="a.en", target="a.fr", weight=0.3)
    assert settings.train[1] == Mono(file="c.txt", target_language="fr")
    assert settings.valid == Tsv(file="b.tsv")
    assert all(each.meaning for each in fields(DataSettings))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Tsv(file="a", weight=0.0), "weight"),
        (lambda: Tsv(file="a", weight=float("nan")), "weight"),
        (lambda: Tsv(file="a", weight=float("inf")), "weight"),
        (lambda: Tsv(file="a", target_column=3), "column 3 of 2"),
        (lambda: TextFiles(source="-", target="-"), "standard input"),
        (lambda: Jsonl(file="a", source_field="x", target_field="x"), "both 'x'"),
        (lambda: Parquet(file="-"), "standard input"),
        (lambda: DataSettings(train=()), "length"),
        (lambda: DataSettings(train=(Mono(file="a"),), longest_line=0), "longest_line"),
        (lambda: Features(source="a", target="b", weight=-1.0), "weight"),
    ],
)
def test_settings_that_make_no_sense(make, words):
    with pytest.raises(SettingError, match=words):
        make()


@pytest.mark.parametrize(
    ("names", "lines"),
    [
        (("multi30k", "raw/train.en.gz", "raw/train.fr.gz"), 29_000),
        (("multi30k", "tok/val.lc.norm.tok.en.gz", "tok/val.lc.norm.tok.de.gz"), 1014),
        (("tatoeba-en-fr", "train.tsv.gz"), 138_305),
    ],
    ids=["multi30k raw", "multi30k tok", "tatoeba"],
)
def test_real_corpora_are_read_to_the_last_line(data_folder, names, lines):
    files = [str(data_folder(names[0]) / name) for name in names[1:]]
    settings = TextFiles(source=files[0], target=files[1]) if len(files) == 2 else Tsv(file=files[0])
    reading = build(settings).read()
    assert sum(1 for _ in reading) == reading.lines == lines
