"""Sweeps in a folder: what is tried, what is shared, what is kept, and how they go on."""

from __future__ import annotations

import itertools

import pytest
import torch

import dragoman
from dragoman import bundle as bundles
from dragoman.bundle import BEST
from dragoman.errors import FileError, Interrupted, SettingError, TextError
from dragoman.files import locked
from dragoman.measures.metrics import measure
from dragoman.recipe.planned import assigned, changed
from dragoman.recipe.schema import read_run_file
from dragoman.recipe.sweep.exploration import SETS, exploration
from dragoman.recipe.sweep.sweep import SweepSettings
from dragoman.recipe.sweep.trials import kept_plan
from dragoman.training.events import Started, read_events

RUN = """
[data]
train = [{ kind = "text", source = "$HERE/train.src", target = "$HERE/train.tgt" }]
valid = { kind = "text", source = "$HERE/valid.src", target = "$HERE/valid.tgt" }
[text]
source = { kind = "characters" }
[store]
workers = 0
[model]
kind = "recurrent"
size = 8
[training]
steps = 4
threads = 1
batch_tokens = 300
schedule = { kind = "constant" }
validate_every = 2
checkpoint_every = 1
log_every = 1
[evaluation]
metric = "character_error_rate"
"""


@pytest.fixture
def make(digit_files, monkeypatch):
    """A function that makes a sweep around a small run, in a folder."""
    monkeypatch.setenv("HERE", str(digit_files))
    (digit_files / "run.toml").write_text(RUN)
    threads = torch.get_num_threads()

    def made(vary, out="out", *, settings=None, fresh=False, **how):
        return dragoman.sweep(
            digit_files / "run.toml",
            vary=vary,
            out=digit_files / out,
            how=SweepSettings(**how),
            settings=settings or {},
            fresh=fresh,
        )

    yield made
    torch.set_num_threads(threads)


def test_each_setting_is_tried_by_itself_and_the_best_model_is_kept(make, digit_files):
    made = make({"model.size": [8, 16], "model.attention": ["nothing"], "training.optimizer.rate": [1e-3, 1e-2]})
    assert made.choices == [{}, {"model.size": 16}, {"model.attention": "nothing"}, {"training.optimizer.rate": 0.01}]
    found = made.finish()
    assert [each.settings for each in found.trials] == made.choices
    assert (found.metric, found.higher_is_better, found.noise) == ("character_error_rate", False, None)
    for trial in found.trials:
        run = digit_files / "out" / "runs" / trial.run
        facts = bundles.describe(run / BEST).training
        assert (trial.value, trial.best_step, trial.steps) == (facts.value, facts.steps, 4)
        assert not (run / "checkpoints").exists() or not any((run / "checkpoints").iterdir())
        assert read_run_file(run / "run.toml").recipe.training.steps == 4
    assert bundles.describe(digit_files / "out" / "runs" / "002" / BEST).model.size == 16
    assert bundles.describe(digit_files / "out" / "runs" / "003" / BEST).model.attention is None
    assert found.best.value == min(each.value for each in found.trials)
    kept = bundles.describe(made.model)
    assert (kept.training.value, kept.training.steps) == (found.best.value, found.best.best_step)
    again = dragoman.train(digit_files / "out" / "best.toml", out=digit_files / "again")
    assert again.finish().best == pytest.approx(found.best.value)
    assert {each.setting for each in found.mattered} == {"model.size", "model.attention", "training.optimizer.rate"}


def test_stopped_in_a_run_it_goes_on_and_ends_with_the_same(make, digit_files):
    vary = {"model.size": [16], "training.optimizer.rate": [1e-2]}
    undisturbed = make(vary, "undisturbed").finish()
    asked = 0

    def stop():
        nonlocal asked
        asked += 1
        return 15 if asked == 6 else None  # in the middle of the second run

    with pytest.raises(Interrupted):
        list(itertools.chain.from_iterable(attempt.events(stop) for attempt in make(vary).attempts()))
    assert len((digit_files / "out" / "trials.jsonl").read_text().splitlines()) == 1
    found = make(vary).finish()
    timeless = {"seconds": 0.0, "tokens_per_second": 0.0}
    assert [{**_plain(t), **timeless} for t in found.trials] == [{**_plain(t), **timeless} for t in undisturbed.trials]
    begun = [e.step for e in read_events(digit_files / "out/runs/002/events.jsonl") if isinstance(e, Started)]
    assert begun == [0, 2]
    assert not list(make(vary).attempts())  # all is done


def _plain(trial):
    return {name: getattr(trial, name) for name in trial.__struct_fields__}


def test_data_are_prepared_once_for_runs_that_can_share_them(make, digit_files):
    make({"model.size": [16], "training.log_every": [2]}, trials=2).finish()
    prepared = list((digit_files / "out" / "prepared").iterdir())
    assert len(prepared) == 1
    values = [
        f / "data/train/source.values" for f in (*prepared, digit_files / "out/runs/001", digit_files / "out/runs/002")
    ]
    assert len({each.stat().st_ino for each in values}) == 1


def test_settings_of_the_search_need_no_run_of_their_own(make, digit_files):
    made = make({"decoding.beam": [1, 3], "model.size": [16]}, repeats=2)
    found = made.finish()
    assert [each.run for each in found.trials] == ["001", "001", "001", "004", "005", "005", "005", "008"]
    assert len(list((digit_files / "out" / "runs").iterdir())) == 4
    best = bundles.describe(made.model)
    assert best.decoding.beam == found.best.settings.get("decoding.beam", 5)
    assert found.noise is not None
    model = dragoman.load(digit_files / "out" / "runs" / "001")
    sources, references = ((digit_files / f"valid.{side}").read_text().split() for side in ("src", "tgt"))
    outputs = [each.text for each in model.translate(sources, beam=3)]
    measured = measure("character_error_rate", outputs, references).value
    assert found.trials[2].value == pytest.approx(measured)


def test_a_choice_that_cannot_be_trained_is_told_of_and_passed_over(make):
    vary = {"model.shared_embeddings": [True, False], "model.embedding_size": [8, 4], "model.tied_output": [True]}
    found = make(vary, method="grid", trials=5).finish()
    problems = [each.problem for each in found.trials]
    assert len(problems) == 5
    assert any(problems)
    assert not all(problems)
    assert all((each.value is None) == bool(each.problem) for each in found.trials)


def test_runs_that_diverge_are_told_of(make):
    found = make({"training.optimizer.rate": [1e38]}, settings={"training.skips_before_brake": 1}).finish()
    assert found.best is found.trials[0]
    assert "training diverges" in found.trials[1].problem
    assert found.trials[1].value is None


def test_a_vocabulary_that_cannot_be_learned_is_told_of(make):
    pieces = {"text.source.kind": "bpe", "text.vocabulary_size": 300}
    found = make({"text.vocabulary_size": [100]}, settings=pieces).finish()
    assert found.best is found.trials[0]
    assert "a vocabulary of 100 is too small" in found.trials[1].problem
    with pytest.raises(TextError, match="too small"):
        make({"model.size": [16]}, "other", settings={**pieces, "text.vocabulary_size": 100}).finish()


def test_budgets(make, digit_files):
    assert len(make({"model.size": [16, 32]}, trials=2).finish().trials) == 2
    assert len(make({"model.size": [16, 32]}, trials=3).finish().trials) == 3  # more may be asked for later
    assert len(make({"model.size": [16, 32]}, "hours", hours=1e-9).finish().trials) == 1
    assert make({"model.size": [16]}, "drawn", method="random").planned == 20
    assert make({"model.size": [16]}, "drawn", method="random").choices is None


def test_what_stays_as_it_is(make, digit_files):
    make({"model.size": [16]}, trials=1).finish()
    for vary, settings, how in (
        ({"model.size": [32]}, {}, {}),
        ({"model.size": [16]}, {"training.steps": 5}, {}),
        ({"model.size": [16]}, {}, {"method": "grid"}),
    ):
        with pytest.raises(SettingError, match="not those that this run began with"):
            make(vary, settings=settings, **how).finish()
    assert len(make({"model.size": [32]}, fresh=True).finish().trials) == 2
    plan = kept_plan(digit_files / "out")
    assert [each.name for each in plan.space] == ["model.size"]


@pytest.mark.parametrize(
    ("vary", "settings", "problem"),
    [
        ({}, {}, "nothing is varied"),
        ({"model.cell": ["gruu"]}, {}, "invalid enum value 'gruu'"),
        ({"decoding.beam": [1]}, {"evaluation.metric": "loss"}, "no difference to the loss"),
        ({"model.size": [16]}, {"data.valid": "nothing"}, "without validation data"),
    ],
)
def test_what_cannot_be_swept(make, vary, settings, problem):
    with pytest.raises(SettingError, match=problem):
        make(vary, settings=settings)


def test_a_second_sweep_in_the_folder_is_refused(make, digit_files):
    made = make({"model.size": [16]})
    held = locked(digit_files / "out" / ".lock", purpose="sweeping in this folder")
    with held, pytest.raises(FileError, match="sweeping in this folder"):
        made.finish()


def test_a_damaged_record_is_named(make, digit_files):
    make({"model.size": [16]}, trials=1).finish()
    path = digit_files / "out" / "trials.jsonl"
    path.write_text(path.read_text() + '{"number": 2}\n')
    with pytest.raises(FileError, match=r"trials.jsonl:2"):
        make({"model.size": [16]})
    (digit_files / "out" / "plan.json").write_text("[]")
    with pytest.raises(FileError, match="not a plan"):
        kept_plan(digit_files / "out")


@pytest.mark.parametrize("model", ["recurrent", "transformer"])
def test_known_sets_go_with_the_run(make, digit_files, monkeypatch, model):
    settings = {"text.vocabulary_size": 40}
    base = read_run_file(digit_files / "run.toml", ["text.vocabulary_size=40"]).recipe
    if model == "transformer":
        settings |= {"model": {"kind": "transformer", "size": 12, "attention": {"heads": 3}}}
        base = changed(base, assigned(settings))
    for name in SETS:
        vary = exploration(name, base)
        assert vary
        assert make(vary, f"{model}-{name}", settings=settings).choices
    sizes = exploration("architecture", base)["model.size"]
    assert sizes == ([6, 12, 24] if model == "transformer" else [4, 8, 16])
