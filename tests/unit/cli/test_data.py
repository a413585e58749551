"""The verbs of `dragoman data` that look at corpora, used as a user does, with good and with wrong input."""

import io
import itertools
import json
import sys

import pytest

from dragoman.cli.main import main
from dragoman.data import fingerprints

GOOD = [(f"sentence number {i}", f"phrase numéro {i}") for i in range(1, 51)]


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """A function that runs the program here, and returns its exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)

    def program(*arguments):
        with pytest.raises(SystemExit) as end:
            main(["data", *arguments])
        captured = capsys.readouterr()
        return end.value.code, captured.out, captured.err

    return program


@pytest.fixture
def corpus(tmp_path):
    """A good corpus in two files and in TSV, and one with bad lines."""
    (tmp_path / "all.en").write_text("".join(f"{s}\n" for s, _ in GOOD))
    (tmp_path / "all.fr").write_text("".join(f"{t}\n" for _, t in GOOD))
    (tmp_path / "all.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in GOOD))
    (tmp_path / "bad.tsv").write_bytes(b"a good\tun bon\nlonely\n\xff\tb\nsame\tsame\n")
    return tmp_path


def test_clean_shows_a_table_and_writes_what_is_left(run, corpus):
    (corpus / "some.tsv").write_text("a good one\tun bon\nsame\tsame\na 1\tun 2\na good one\tun bon\n")
    code, out, err = run("clean", "some.tsv", "-o", "clean.en", "-o", "clean.fr")
    assert code == 0
    assert [line.split()[-2:] for line in out.splitlines()[2:6]] == [["1", "25.00%"]] * 4
    assert "identical sides, for example:\n  some.tsv:2\n    same\n    same\n" in out
    assert "Nothing was written" not in err
    assert (corpus / "clean.en").read_text() == "a good one\n"
    assert (corpus / "clean.fr").read_text() == "un bon\n"


def test_clean_without_a_place_to_write_says_so(run, corpus):
    code, out, err = run("clean", "all.en", "all.fr")
    assert code == 0
    assert "kept" in out
    assert "Nothing was written" in err


def test_clean_gives_json(run, corpus):
    code, out, _ = run("clean", "bad.tsv", "--on-bad", "skip", "--json")
    found = json.loads(out)
    assert code == 3
    assert (found["pairs"], found["kept"], found["dropped"]) == (2, 1, {"identical sides": 1})
    assert found["examples"]["identical sides"] == [{"source": "same", "target": "same", "file": "bad.tsv", "line": 4}]
    assert found["lines"] == 4
    assert found["skipped"] == {"wrong number of columns": 1, "not UTF-8": 1}
    assert found["skipped_examples"]["not UTF-8"] == ["bad.tsv:3: byte 0xFF at position 1"]


def test_bad_lines_are_refused_by_default_and_nothing_is_written(run, corpus):
    code, out, err = run("clean", "bad.tsv", "-o", "clean.tsv")
    assert (code, out) == (2, "")
    assert "bad.tsv:2: wrong number of columns: 1 where 2 are expected." in err
    assert "Traceback" not in err
    assert not (corpus / "clean.tsv").exists()


def test_skipped_lines_are_reported_and_make_the_exit_code_three(run, corpus):
    code, out, err = run("clean", "bad.tsv", "-o", "clean.tsv", "--on-bad", "skip")
    assert code == 3
    assert "warning: skipped 1 of 4 lines: not UTF-8\n  bad.tsv:3: byte 0xFF at position 1\n" in err
    assert "skipped" not in out
    assert (corpus / "clean.tsv").read_text() == "a good\tun bon\n"


def test_settings_are_set_and_explained(run, corpus):
    code, out, _ = run("clean", "all.tsv", "--set", "clean.max_length=2", "--json")
    assert json.loads(out)["dropped"] == {"too long": 50}
    code, out, _ = run("clean", "--explain", "max_ratio")
    assert code == 0
    assert out.startswith("clean.max_ratio: float\n  How many times longer than the other a side may be.\n")


def test_a_full_memory_for_duplicates_is_warned_of(run, corpus, monkeypatch):
    monkeypatch.setattr(fingerprints, "_FILL", 10 / (1 << 17))
    code, _, err = run("clean", "all.tsv", "--set", "clean.duplicate_memory=1")
    assert code == 0
    assert "40 texts did not fit into the memory for duplicates" in err


def test_standard_input_is_read(run, corpus, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((corpus / "all.tsv").read_bytes())))
    code, _, _ = run("clean", "-", "--set", "corpus.kind=tsv", "-o", "clean.jsonl")
    assert code == 0
    assert len((corpus / "clean.jsonl").read_text().splitlines()) == 50


def test_text_on_a_terminal_cannot_move_the_cursor(run, corpus):
    (corpus / "some.tsv").write_text("\x1b[2Jsame\t\x1b[2Jsame\ngood\tbon\n")
    _, out, _ = run("clean", "some.tsv")
    assert "\x1b" not in out
    assert r"\u001b[2Jsame" in out


def test_stats_shows_counts_and_a_histogram(run, corpus):
    code, out, _ = run("stats", "all.en", "all.fr")
    assert code == 0
    assert out.startswith("train: 50 pairs, of which 0 have come before\n")
    assert "source: how long, in words\n  3 50 ████" in out
    assert "Latin 100.0%" in out


def test_stats_warns_of_sentences_that_parts_share(run, corpus):
    (corpus / "test.en").write_text("Sentence  number 7\nnew\n")
    (corpus / "test.fr").write_text("autre\nnouveau\n")
    code, out, err = run("stats", "all.en", "all.fr", "--with", "test=test.en,test.fr")
    assert code == 0
    assert "warning: 1 source sentences of test (50.0%) occur in train: Sentence  number 7" in err
    code, out, _ = run("stats", "all.en", "all.fr", "--with", "test=test.en,test.fr", "--json")
    parts = json.loads(out)
    assert [part["statistics"]["name"] for part in parts] == ["train", "test"]
    assert parts[1]["statistics"]["overlaps"][0]["sentences"] == 1


def test_a_known_set_is_named_by_its_name_and_its_part(run, data_folder):
    data_folder("geoquery")
    code, out, _ = run(
        "stats", "geoquery", "train", "--with", "dev=geoquery,dev", "--set", "corpus.kind=known", "--json"
    )
    assert code == 0
    assert [part["statistics"]["pairs"] for part in json.loads(out)] == [480, 120]


def test_stats_of_text_for_a_language_model(run, corpus):
    code, out, _ = run("stats", "all.en", "--json")
    assert code == 0
    assert json.loads(out)[0]["statistics"]["source"] is None


def test_stats_count_what_was_mended(run, corpus):
    (corpus / "windows.tsv").write_bytes(b"\xef\xbb\xbfa\tb\r\nc\td\r\n")
    code, _, err = run("stats", "windows.tsv")
    assert code == 0
    assert "byte order mark dropped: 1 time\n" in err
    assert "line ended in CR LF: 2 times" in err


def test_split_makes_a_folder_of_parts(run, corpus):
    code, out, _ = run("split", "all.en", "all.fr", "--out", "parts", "--valid", "5", "--test", "0.1")
    assert code == 0
    assert [line.split()[:2] for line in out.splitlines()[2:]] == [["train", "40"], ["valid", "5"], ["test", "5"]]
    found = [(corpus / "parts" / f"{p}.en").read_text().splitlines() for p in ("train", "valid", "test")]
    assert sorted(itertools.chain(*found)) == sorted(s for s, _ in GOOD)
    assert (corpus / "parts" / "manifest.json").is_file()


def test_split_depends_on_its_seed(run, corpus):
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert run("split", "all.tsv", "--out", name, "--test", "10", "--seed", seed)[0] == 0
    test = {name: (corpus / name / "test.tsv").read_text() for name in "abc"}
    assert test["a"] == test["b"] != test["c"]


def test_split_gives_json_and_reports_skips(run, corpus):
    code, out, _ = run("split", "bad.tsv", "--out", "parts", "--test", "1", "--on-bad", "skip", "--json")
    assert code == 3
    found = json.loads(out)
    assert found["pairs"] == {"train": 1, "valid": 0, "test": 1}
    assert found["files"] == {"train": ["train.tsv"], "test": ["test.tsv"]}


def test_a_split_that_fails_leaves_nothing(run, corpus):
    assert run("split", "bad.tsv", "--out", "parts", "--test", "1")[0] == 2
    assert not any(path.name.startswith("parts") for path in corpus.iterdir())


WRONG = {
    "clean missing.en all.fr": "missing.en: cannot read: No such file",
    "clean all.en bad.tsv": "bad.tsv:3: not UTF-8",
    "stats all.en all.fr all.tsv": "3 files, but a corpus of kind",
    "stats all.en --set corpus.kind=text": "1 file, but a corpus of kind 'text' has 2",
    "stats all.tsv --set corpus.kind=excel": "there is no kind 'excel'",
    "stats all.en all.fr --set corpus.kind=tvs": "there is no kind 'tvs'. Did you mean 'tsv'?",
    "stats scan --set corpus.kind=known": "Give the data set's name and that of its part.",
    "stats all.tsv --set corpus.colums=3": "Did you mean 'columns'?",
    "stats all.tsv --with test": "not of the form NAME=FILE",
    "stats all.tsv --with test=a,b": "2 files, where 1 are expected",
    "stats all.tsv --with train=all.tsv": "two parts have the same name",
    "stats all.tsv --with a=all.tsv --with a=all.tsv": "two parts have the same name",
    "clean all.tsv --set clean.max_ratio=0": "clean.max_ratio: ",
    "clean all.tsv --set clean.ratio=2": "unknown setting 'ratio'",
    "clean all.tsv --set max_ratio": "not of the form key=value",
    "clean all.tsv -o -": "standard output is kept for the report",
    "clean all.tsv -o .": ". is a folder",
    "clean all.tsv -o a -o a": "both sides would go to a",
    "clean all.tsv --explain nonsense": "is not a setting",
    "clean all.tsv --on-bad maybe": "refuse",
    "clean": "Missing argument",
    "split all.tsv --out parts": "both parts are empty",
    "split all.tsv --out . --test 5": "already exists",
    "split all.tsv --out parts --test 60": "leave none of 50",
    "split all.tsv --out parts --test -1": "split.test",
    "split - --out parts --test 5": "only a corpus of text files can be split",
    "split all.tsv --test 5": "--out",
}


@pytest.mark.parametrize("command", WRONG)
def test_mistakes_get_one_clear_message(run, corpus, command):
    code, out, err = run(*command.split())
    assert (code, out) == (2, "")
    assert WRONG[command] in err
    assert "Traceback" not in err


def test_output_may_replace_input(run, corpus):
    assert run("clean", "all.en", "all.fr", "-o", "all.en", "-o", "all.fr", "--set", "clean.max_length=3")[0] == 0
    assert len((corpus / "all.en").read_text().splitlines()) == 50
