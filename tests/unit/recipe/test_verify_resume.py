"""The proof that a run survives being killed: it holds where it should, and fails where something is lost.

In the quick tests the processes that train and are killed are played by generators that are left off.
"""

from __future__ import annotations

import contextlib

import pytest
import torch

from dragoman.data.corpus import DataSettings, TextFiles
from dragoman.data.preparation import StoreSettings
from dragoman.errors import FileError, ModelError
from dragoman.files import locked
from dragoman.models.recurrence import RecurrentDropoutSettings
from dragoman.models.rnn import RecurrentSettings
from dragoman.recipe import verify_resume as room
from dragoman.recipe.run import run
from dragoman.recipe.schema import Recipe, read_run_file
from dragoman.recipe.verify_resume import shortened, verify_resume
from dragoman.text.build import TextSettings
from dragoman.text.characters import CharacterSettings
from dragoman.training.build import TrainingSettings
from dragoman.training.events import Progress
from dragoman.training.schedule import InverseSquareRoot
from dragoman.training.validation import EvaluationSettings


@pytest.fixture
def recipe(digit_files):
    sides = [TextFiles(source=f"{digit_files}/{n}.src", target=f"{digit_files}/{n}.tgt") for n in ("train", "valid")]
    return Recipe(
        data=DataSettings(train=(sides[0],), valid=sides[1]),
        text=TextSettings(source=CharacterSettings()),
        store=StoreSettings(workers=0),
        model=RecurrentSettings(size=8, dropout=RecurrentDropoutSettings(hidden=0.3)),
        training=TrainingSettings(steps=2000, threads=1, batch_tokens=200, schedule=InverseSquareRoot(warmup=500)),
        evaluation=EvaluationSettings(metric="character_error_rate"),
    )


@pytest.fixture
def played(monkeypatch):
    """Runs in this process, left off where they would be killed."""

    def train(folder, *, until, kill_at=0, delay=0.0):
        given = read_run_file(folder / "run.toml")
        with contextlib.closing(run(given.recipe, folder, text=given.text)) as events:
            for event in events:
                if until is None and isinstance(event, Progress) and event.step >= kill_at:
                    break

    threads = torch.get_num_threads()
    monkeypatch.setattr(room, "_train", train)
    yield
    torch.set_num_threads(threads)


def test_a_run_that_loses_nothing(recipe, played, tmp_path):
    verdict = verify_resume(recipe, tmp_path / "out")
    assert verdict.identical
    assert [each.what for each in verdict.compared] == [
        "weights",
        "optimizer",
        "averages",
        "random state",
        "logged losses",
    ]
    assert verdict.updates == 12
    assert verdict.killed_after == (3, 7)
    assert {each.name for each in (tmp_path / "out").iterdir()} == {"data", "text", ".lock"}


@pytest.mark.parametrize(
    "lost",
    [
        ("dragoman.training.loop.restore_random_state", lambda _state: None, "weights"),
        ("dragoman.training.optimizer.Optimizer.load", lambda *_: None, "optimizer"),
        ("dragoman.training.average.Average.load", lambda *_: None, "averages"),
    ],
)
@pytest.mark.usefixtures("played")
def test_what_is_lost_shows(recipe, tmp_path, monkeypatch, lost):
    name, instead, differs = lost
    monkeypatch.setattr(name, instead)
    verdict = verify_resume(recipe, tmp_path / "out")
    assert not verdict.identical
    assert differs in [each.what for each in verdict.compared if each.undisturbed != each.resumed]


def test_it_is_the_users_run_made_short(recipe):
    short = shortened(recipe)
    assert (short.training.steps, short.training.schedule.warmup) == (12, 12)
    assert short.model == recipe.model
    assert short.training.optimizer == recipe.training.optimizer
    assert shortened(short) == short


def test_a_folder_in_use_is_refused(recipe, played, tmp_path):
    held = locked(tmp_path / "out" / ".lock", purpose="training in this folder")
    with held, pytest.raises(FileError, match="training in this folder"):
        verify_resume(recipe, tmp_path / "out")


def test_a_run_that_cannot_begin_says_why(recipe, tmp_path, monkeypatch):
    monkeypatch.setattr(room.sys, "executable", "/bin/false")
    with pytest.raises(ModelError, match="training ended with code 1"):
        verify_resume(recipe, tmp_path / "out")


@pytest.mark.slow
def test_processes_that_are_really_killed(recipe, tmp_path):
    verdict = verify_resume(recipe, tmp_path / "out")
    assert verdict.identical
    assert len(verdict.killed_after) == 2
