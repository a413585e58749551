"""The verb distill, used as a user does: a student in one command, the same again, and what is refused."""

from __future__ import annotations

import json
import shutil

import pytest
import torch

from dragoman.cli.main import main

STUDENT = """
[text]
source = { kind = "characters" }
[store]
workers = 0
[model]
kind = "recurrent"
cell = "gru"
size = 8
[training]
steps = 2
threads = 1
batch_tokens = 400
schedule = { kind = "constant" }
validate_every = 2
checkpoint_every = 2
[evaluation]
metric = "error_rate"
"""
SAMPLED = ("--sample", "--nbest", "4", "--seed", "3", "--max-length", "5", "--student", "student.toml")


@pytest.fixture
def distill(capsys, monkeypatch, reverser, digit_files):
    """A function that runs the verb where the teacher and the digits are, and gives exit code and what was printed."""
    monkeypatch.chdir(digit_files)
    shutil.copytree(reverser, digit_files / "teacher")
    (digit_files / "student.toml").write_text(STUDENT)
    threads = torch.get_num_threads()

    def program(*arguments):
        with pytest.raises(SystemExit) as end:
            main(["distill", *arguments])
        captured = capsys.readouterr()
        return end.value.code or 0, captured.out, captured.err

    yield program
    torch.set_num_threads(threads)


def test_one_command_makes_a_student(distill):
    given = ("teacher", "--src", "train.src", "--valid-src", "valid.src", "--valid-tgt", "valid.tgt", "--out", "out")
    code, out, err = distill(*given, *SAMPLED)
    assert code == 3, err  # some sources got no output that can be learned from
    lines = out.splitlines()
    assert lines[0].split() == ["parameters", "error_rate", "seconds"]
    assert [line.split()[0] for line in lines[2:4]] == ["teacher", "student"]
    assert lines[-1] == "out/best"
    assert "The teacher translates the sources." in err
    assert "pairs to learn from, of 60 sources" in err
    assert "outputs left out: without an end, empty, or going in circles" in err
    assert "The student learns from the teacher's outputs, in out/sequences." in err
    assert "greedily, on 10 validation pairs: nrefs:1" in err
    code, out, err = distill(*given, *SAMPLED, "--json")
    assert "The teacher translates" not in err
    found = json.loads(out)
    assert found["model"] == "out/best"
    assert found["taught"]["sources"] == 60
    assert found["outcome"]["teacher"].keys() == {"parameters", "value", "seconds"}


def test_settings_of_the_search_and_of_the_student(distill, digit_files):
    options = ("--sample", "--seed", "3", "--student", "student.toml")
    settings = ("--set", "decoding.nbest=3", "--set", "training.steps=1", "--set", "words.training.steps=1")
    code, _, err = distill("teacher", "--src", "train.src", "--words", "--out", "out", *options, *settings, "--quiet")
    assert code in (0, 3), err
    for run in ("sequences", "words"):
        assert "steps = 1" in (digit_files / "out" / run / "run.toml").read_text()
    pairs = (digit_files / "out" / "taught" / "train" / "pairs.jsonl").read_text().splitlines()
    sources = [json.loads(line)["source"] for line in pairs]
    assert 1 < max(map(sources.count, sources)) <= 3


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("teacher",), "Missing option '--src'"),
        (("nowhere", "--src", "train.src", "--out", "o"), "nowhere/model.json: cannot read"),
        (("teacher", "--src", "missing", "--out", "o"), "missing: cannot read"),
        (("teacher", "--src", "train.src", "--originals", "--out", "o"), "sources alone are given"),
        (("teacher", "--src", "train.src", "--nearest", "chrf", "--out", "o"), "sources alone are given"),
        (("teacher,teacher", "--src", "train.src", "--words", "--out", "o"), "come from one teacher"),
        (("teacher", "--src", "train.src", "--greedy", "--nbest", "2", "--out", "o"), "--nbest means nothing"),
        (("teacher", "--src", "-", "--valid-src", "valid.src", "--out", "o"), "standard input can be read only once"),
        (("teacher", "--src", "train.src", "--out", "o", "--set", "training.step=1", *SAMPLED), "Did you mean 'steps'"),
    ],
)
def test_mistakes(distill, arguments, complaint):
    code, out, err = distill(*arguments)
    assert (code, out) == (2, ""), err
    assert complaint in err
    assert "Traceback" not in err
