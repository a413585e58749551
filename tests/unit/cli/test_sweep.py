"""The verb sweep, used as a user does."""

from __future__ import annotations

import json

import pytest
import torch

from dragoman.cli.main import main

RUN = """
text = { source = { kind = "characters" } }
store = { workers = 0 }
model = { kind = "recurrent", size = 8 }
evaluation = { metric = "character_error_rate" }
[data]
train = [{ kind = "text", source = "train.src", target = "train.tgt" }]
[data.valid]
kind = "text"
source = "valid.src"
target = "valid.tgt"
[training]
steps = 2
threads = 1
batch_tokens = 300
schedule = { kind = "constant" }
validate_every = 2
"""


@pytest.fixture
def sweep(capsys, monkeypatch, digit_files):
    """A function that runs the verb where the digits are, and gives exit code and what was printed."""
    monkeypatch.chdir(digit_files)
    (digit_files / "run.toml").write_text(RUN)
    threads = torch.get_num_threads()

    def program(*arguments):
        with pytest.raises(SystemExit) as end:
            main(["sweep", *arguments])
        captured = capsys.readouterr()
        return end.value.code or 0, captured.out, captured.err

    yield program
    torch.set_num_threads(threads)


def test_one_command_says_what_mattered(sweep):
    given = ("run.toml", "--vary", "model.size=8,16", "--vary", "decoding.beam=1", "--repeats", "2", "--out", "out")
    code, out, err = sweep(*given)
    assert code == 0, err
    lines = out.splitlines()
    assert lines[0].split() == ["setting", "value", "trials", "character_error_rate", "below", "the", "best"]
    assert "8 (run file)" in out
    assert "16" in out
    assert "between best and worst" in out
    assert "chance" in out
    assert lines[-1] == "out/best"
    assert "trial 1 of 6: as in the run file" in err
    assert "trial 2 of 6: model.size = 16" in err
    assert "trial 4 of 6: as in the run file (seed + 1)" in err
    assert "runs that differ in their seed alone:" in err
    code, out, err = sweep("--out", "out", "--json")  # the folder is enough, and all is done
    assert code == 0, err
    assert "trial" not in err
    found = json.loads(out)
    assert (found["folder"], found["model"], len(found["trials"])) == ("out", "out/best", 6)
    assert {each["setting"] for each in found["mattered"]} == {"model.size", "decoding.beam"}
    assert found["best"]["run"] in {"001", "002", "004", "005"}


def test_without_training_it_lists_what_would_be_tried(sweep, digit_files):
    code, out, _ = sweep("run.toml", "--vary", "model.size=16..64", "--points", "2", "--dry-run", "--out", "out")
    assert (code, out) == (0, "   1  as in the run file\n   2  model.size=16\n   3  model.size=64\n")
    code, out, _ = sweep("run.toml", "--dry-run", "--out", "out")  # the architecture, when nothing is named
    assert "model.cell=lstm" in out
    code, out, _ = sweep("run.toml", "--explore", "training", "--dry-run", "--json", "--out", "out")
    assert "training.batch_tokens" in {key for choice in json.loads(out)["choices"] for key in choice}
    code, out, _ = sweep("run.toml", "--explore", "search", "--method", "random", "--dry-run", "--out", "out")
    assert out == "20 trials, each chosen when its turn comes; the first is the run file itself\n"
    assert not (digit_files / "out").exists()


def test_an_earlier_sweep_is_forgotten_only_by_a_new_one(sweep, digit_files):
    given = ("run.toml", "--vary", "model.size=16", "--fresh", "--out", "out")
    assert sweep(*given)[0] == 0
    trials = digit_files / "out" / "trials.jsonl"
    before = trials.read_bytes()
    code, out, _ = sweep(*given, "--dry-run")
    assert (code, out) == (0, "   1  as in the run file\n   2  model.size=16\n")
    code, _, err = sweep("run.toml", "--vary", "model.size=x", "--fresh", "--out", "out")
    assert code == 2, err
    assert trials.read_bytes() == before
    assert (digit_files / "out" / "best").exists()
    code, _, err = sweep(*given)
    assert code == 0, err
    assert "trial 1 of 2" in err
    assert trials.read_bytes() != before


def test_a_trial_that_comes_to_nothing(sweep):
    given = ("--vary", "model.tied_output=true", "--vary", "model.embedding_size=4", "--method", "grid")
    code, out, err = sweep("run.toml", *given, "--out", "out")
    assert code == 3, err
    assert "came to nothing" in err
    assert "as in the run file" in out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("run.toml", "--vary", "model.size"), "not of the form key=values"),
        (("run.toml", "--vary", "model.size=8,x"), "model.size"),
        (("run.toml", "--src", "train.src", "--vary", "model.size=8"), "either a run file or corpora"),
        (("--vary", "model.size=8"), "there is no run here yet"),
        (("--source-lang", "en", "--vary", "model.size=8"), "Languages are of corpora"),
    ],
)
def test_what_is_refused(sweep, arguments, problem):
    code, out, err = sweep(*arguments, "--out", "out")
    assert (code, out) == (2, "")
    assert problem in err


def test_corpora_alone(sweep, digit_files):
    given = ("--src", "train.src", "--tgt", "train.tgt", "--valid-src", "valid.src", "--valid-tgt", "valid.tgt")
    settings = ("--set", "training.steps=2", "--set", "training.threads=1", "--set", "evaluation.metric=loss")
    code, out, err = sweep(*given, *settings, "--vary", "training.clip=0.5", "--out", "out", "--json")
    assert code == 0, err
    assert [each["settings"] for each in json.loads(out)["trials"]] == [{}, {"training.clip": 0.5}]
    assert "Chosen by dragoman train" in (digit_files / "out" / "run.toml").read_text()
