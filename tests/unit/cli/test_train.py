"""The verb `train`, used as a user does: a run, run again, changed, started over; and what it refuses."""

from __future__ import annotations

import random

import pytest
import torch
from msgspec.structs import replace

from dragoman import bundle as bundles
from dragoman.cli.main import main
from dragoman.models import presets
from dragoman.recipe.schema import read_run_file
from dragoman.training import checkpoint
from dragoman.training.events import Finished, Progress, Started, read_events

RUN_FILE = """# reversing digits
[data]
train = [{ kind = "text", source = "train.src", target = "train.tgt" }]
valid = { kind = "text", source = "valid.src", target = "valid.tgt" }

[text]
source = { kind = "characters" }

[store]
workers = 0

[model]
kind = "transformer"
size = 16
encoder_layers = 1
decoder_layers = 1
attention = { heads = 2 }
feedforward = { size = 32 }

[training]
steps = 8
threads = 1
batch_tokens = 200
schedule = { kind = "constant" }
validate_every = 4
checkpoint_every = 4
log_every = 4

[evaluation]
metric = "exact_match"
"""


@pytest.fixture
def train(capsys, monkeypatch, tmp_path):
    """A function that runs the verb here, and returns its exit code, standard output and standard error."""
    draw = random.Random(0)
    monkeypatch.chdir(tmp_path)
    for name, count in (("train", 100), ("valid", 10)):
        digits = ["".join(draw.choices("0123456789", k=draw.randint(3, 8))) for _ in range(count)]
        (tmp_path / f"{name}.src").write_text("".join(f"{d}\n" for d in digits))
        (tmp_path / f"{name}.tgt").write_text("".join(f"{d[::-1]}\n" for d in digits))
    (tmp_path / "run.toml").write_text(RUN_FILE)
    threads = torch.get_num_threads()

    def program(*arguments):
        with pytest.raises(SystemExit) as end:
            main(["train", *arguments])
        captured = capsys.readouterr()
        return end.value.code or 0, captured.out, captured.err

    yield program
    torch.set_num_threads(threads)


def events(folder):
    return list(read_events(folder / "events.jsonl"))


def test_a_run_leaves_a_model_and_all_that_it_takes_to_go_on(train, tmp_path):
    code, out, err = train("run.toml", "--out", "out")
    assert (code, out) == (0, "out/best\n")
    assert "100 training examples" in err
    assert "beginning of 8" in err
    assert "step 4 · exact_match 0.00 (best) · loss" in err
    assert "all 8 updates were made" in err
    folder = tmp_path / "out"
    assert sorted(p.name for p in folder.iterdir() if p.name != ".lock") == [
        "best", "checkpoints", "data", "events.jsonl", "report.html", "run.toml", "text",
    ]  # fmt: skip
    assert (folder / "run.toml").read_text() == RUN_FILE
    assert sorted(p.name for p in (folder / "checkpoints").iterdir()) == ["step-4", "step-8"]
    description = bundles.load(folder / "best").description
    assert 0 <= description.alignment.error_rate <= 1
    facts = description.training
    finished = events(folder)[-1]
    assert (facts.metric, facts.steps, facts.value) == ("exact_match", finished.best_step, finished.best)
    assert facts.tokens > 0
    assert facts.signature


def test_a_preset_by_name_replaces_the_model_that_would_be_chosen(train, tmp_path):
    code, _, _ = train(
        "--src", "train.src", "--tgt", "train.tgt", "--out", "out", "--dry-run",
        "--set", "preset=gru_tiny", "--set", "model.size=16", "--set", "text.source.kind=characters",
    )  # fmt: skip
    assert code == 0
    written = (tmp_path / "out" / "run.toml").read_text()
    assert "# the preset gru_tiny, as you have set it\n[model]\n" in written
    assert read_run_file(tmp_path / "out" / "run.toml").recipe.architecture == replace(presets.gru_tiny(), size=16)


def test_run_again_it_has_nothing_left_to_do_and_can_be_prolonged(train, tmp_path):
    train("run.toml", "--out", "out")
    code, out, err = train("--out", "out")
    assert (code, out) == (0, "out/best\n")
    assert "going on after update 8 of 8" in err
    code, _, err = train("run.toml", "--out", "out", "--set", "training.steps=12")
    assert code == 0
    assert "going on after update 8 of 12" in err
    assert [e.step for e in events(tmp_path / "out") if isinstance(e, Progress)] == [4, 8, 12]
    assert [e.step for e in events(tmp_path / "out") if isinstance(e, Started)][-1] == 8


def test_settings_that_a_run_began_with_stay(train, tmp_path):
    train("run.toml", "--out", "out")
    prepared = sorted(p.stat().st_mtime_ns for p in (tmp_path / "out" / "data").rglob("*"))
    code, out, err = train("run.toml", "--out", "out", "--set", "training.seed=2", "--set", "model.size=32")
    assert (code, out) == (2, "")
    assert "model.size was 16 and is 32; training.seed was 1 and is 2" in err
    assert "--fresh" in err
    assert sorted(p.stat().st_mtime_ns for p in (tmp_path / "out" / "data").rglob("*")) == prepared
    assert "training.seed" not in (tmp_path / "out" / "run.toml").read_text()


def test_starting_over(train, tmp_path):
    train("run.toml", "--out", "out")
    (tmp_path / "out" / "mine.txt").write_text("the user's own")
    code, _, err = train("run.toml", "--out", "out", "--fresh", "--set", "training.seed=2", "--set", "training.steps=4")
    assert code == 0
    assert "beginning of 4" in err
    assert [e.step for e in events(tmp_path / "out") if isinstance(e, Finished)] == [4]
    assert (tmp_path / "out" / "mine.txt").exists()
    assert "seed = 2" in (tmp_path / "out" / "run.toml").read_text()
    assert bundles.describe(tmp_path / "out" / "best").training.seed == 2


def test_starting_over_in_a_folder_of_ones_own_removes_nothing_but_the_run(train, tmp_path):
    for name in ("text/book", "data/raw", "best/friends", "checkpoints/notes"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("the user's own")
    code, _, err = train("run.toml", "--out", ".", "--fresh", "--set", "training.steps=4")
    assert code == 0, err
    for name in ("text/book", "data/raw", "checkpoints/notes"):
        assert (tmp_path / name).exists(), name
    assert (tmp_path / "run.toml").read_text() == RUN_FILE


def test_without_validation_data_the_last_model_is_the_best(train, tmp_path):
    (tmp_path / "run.toml").write_text("\n".join(line for line in RUN_FILE.split("\n") if "valid = " not in line))
    code, _, _ = train("run.toml", "--out", "out")
    assert code == 0
    facts = bundles.load(tmp_path / "out" / "best").description.training
    assert (facts.steps, facts.metric, facts.value) == (8, "", None)


def test_a_damaged_checkpoint_is_told_of(train, tmp_path):
    train("run.toml", "--out", "out")
    (tmp_path / "out" / "checkpoints" / "step-8" / checkpoint.TENSORS).write_bytes(b"")
    code, _, err = train("--out", "out")
    assert code == 0
    assert "warning: a checkpoint cannot be used, an older one is: out/checkpoints/step-8/tensors.safetensors" in err
    assert "going on after update 4 of 8" in err


def test_prepared_data_that_are_damaged_are_made_again(train, tmp_path):
    train("run.toml", "--out", "out")
    for path in (tmp_path / "out" / "text").rglob("*.json"):
        path.write_bytes(b"{}")
    code, _, err = train("--out", "out")
    assert code == 0, err


def test_pairs_left_out_are_counted(train):
    code, _, err = train("run.toml", "--out", "out", "--set", "store.longest_source=5", "--set", "training.steps=1")
    assert code == 0
    assert "pairs with a side that is too long" in err


def test_quiet(train):
    code, out, err = train("run.toml", "--out", "out", "--quiet", "--set", "training.steps=1")
    assert (code, out, err) == (0, "out/best\n", "")


def test_the_folder_is_named_after_the_run_file(train, tmp_path):
    code, out, _ = train("run.toml", "--set", "training.steps=1")
    assert (code, out) == (0, "run/best\n")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "Name the folder of the run with --out."),
        (("missing.toml",), "missing.toml: cannot read"),
        (("--out", "nowhere"), "nowhere/run.toml: there is no run here yet"),
        (("run.toml", "--set", "training.step=3"), "unknown setting 'step'. Did you mean 'steps'"),
        (("run.toml", "--set", "training.steps=zero"), "training.steps"),
        (("run.toml", "--set", "data.valid.source=missing"), "missing: cannot read"),
        (("run.toml", "--set", "training.batch_tokens=4"), "does not fit into a batch of 4"),
    ],
)
def test_mistakes(train, arguments, complaint):
    code, out, err = train(*arguments)
    assert (code, out) == (2, "")
    assert complaint in err
    assert "Traceback" not in err


def test_explaining(train):
    code, out, _ = train("--explain", "training.patience")
    assert code == 0
    assert out.startswith("training.patience: int or nothing\n  Validations without a new best before the run ends")
    code, _, err = train("--explain", "training.patienc")
    assert code == 2
    assert "Did you mean 'training.patience'" in err
