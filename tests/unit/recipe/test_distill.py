"""Distillation, part by part: what the student learns from, what it is, what comes of it; stopped and started again."""

from __future__ import annotations

import msgspec
import pytest
import torch

import dragoman
from dragoman import bundle as bundles
from dragoman.decoding.greedy import GreedySettings
from dragoman.decoding.sample import SampleSettings
from dragoman.errors import FileError, ModelError, SettingError
from dragoman.files import locked
from dragoman.measures.metrics import measure
from dragoman.recipe.distill import DistillSettings, Outcome
from dragoman.recipe.schema import read_run_file
from dragoman.recipe.teaching import TeachingSettings
from dragoman.training.events import Started, read_events
from dragoman.training.objectives.distillation import Distillation as ByWord

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
steps = 4
threads = 1
batch_tokens = 300
schedule = { kind = "constant" }
validate_every = 2
checkpoint_every = 2

[evaluation]
metric = "character_error_rate"
"""
SAMPLES = TeachingSettings(decoding=SampleSettings(seed=3, nbest=4))
QUICK = {"training.threads": 1, "store.workers": 0, "training.steps": 3}


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def make(reverser, digit_files):
    """A function that makes the distillation of the reverser in a folder."""
    (digit_files / "student.toml").write_text(STUDENT)

    def made(name="out", *, targets=True, teachers=reverser, student="student.toml", settings=None, fresh=False, **how):
        sides = {"source": digit_files / "train.src", "valid_source": digit_files / "valid.src"}
        if targets:
            sides |= {"target": digit_files / "train.tgt", "valid_target": digit_files / "valid.tgt"}
        return dragoman.distill(
            teachers,
            dragoman.Corpora(**sides),
            out=digit_files / name,
            student=student and digit_files / student,
            how=DistillSettings(**{"teaching": SAMPLES, **how}),
            settings=settings or {},
            fresh=fresh,
        )

    return made


def started(folder):
    return [each.step for each in read_events(folder / "events.jsonl") if isinstance(each, Started)]


def test_a_student_of_outputs_alone(make, digit_files):
    distillation = make()
    with pytest.raises(SettingError, match="the teacher has not spoken yet"):
        next(distillation.runs())
    found = distillation.finish()
    recipe = read_run_file(digit_files / "out" / "sequences" / "run.toml").recipe
    assert [each.file for each in recipe.data.train] == [str(digit_files / "out" / "taught" / "train" / "pairs.jsonl")]
    assert recipe.data.valid.target == str(digit_files / "valid.tgt")
    student = bundles.describe(distillation.model)
    assert student.model.size == 8
    assert (found.metric, found.sentences, found.own) == ("character_error_rate", 10, False)
    assert found.teacher.parameters != found.student.parameters > 0
    model = dragoman.load(digit_files / "out")
    outputs = [
        each.text for each in model.translate((digit_files / "valid.src").read_text().split(), decoding=greedy())
    ]
    assert found.student.value == pytest.approx(error_rate(outputs, (digit_files / "valid.tgt").read_text().split()))


def greedy():

    return GreedySettings()


def error_rate(outputs, references):

    return measure("character_error_rate", outputs, references).value


def test_made_again_nothing_is_done_twice(make, digit_files, monkeypatch):
    make().finish()
    before = {
        p: p.stat().st_mtime_ns for p in (digit_files / "out").rglob("*") if p.is_file() and "sequences" not in p.parts
    }
    monkeypatch.setattr("dragoman.recipe.distill.Distillation._compared", None)
    again = make()
    assert again.known == again.sources == 60
    again.finish()
    changed = [p for p, at in before.items() if p.stat().st_mtime_ns != at and p.name != ".lock"]
    assert changed == []
    assert started(digit_files / "out" / "sequences") == [0, 4]


def test_then_the_teachers_probabilities(make, reverser, digit_files):
    distillation = make(words=True, settings={"words.training.steps": 2, "words.training.objective.weight": 0.9})
    distillation.finish()
    first, second = (read_run_file(digit_files / "out" / name / "run.toml").recipe for name in ("sequences", "words"))
    assert first.text.like == str(reverser)
    assert first.training.steps == 4
    assert second.start.model == str(digit_files / "out" / "sequences")
    assert second.training.objective == ByWord(teacher=str(reverser), weight=0.9)
    assert (second.training.steps, second.training.batch_tokens) == (2, 300)
    assert second.evaluation.metric == "character_error_rate"
    weights = [bundles.weights(bundles.load(digit_files / "out" / each).model) for each in ("best", "words/best")]
    assert all(torch.equal(value, weights[1][name]) for name, value in weights[0].items())


def test_sources_alone(make, digit_files):
    distillation = make(targets=False)
    found = distillation.finish()
    recipe = read_run_file(digit_files / "out" / "sequences" / "run.toml").recipe
    assert recipe.data.valid.file == str(digit_files / "out" / "taught" / "valid" / "pairs.jsonl")
    assert found.own
    assert found.teacher.value == 0  # its own best outputs are the references
    assert distillation.sources == 70


def test_the_pairs_themselves_beside_the_outputs(make, digit_files):
    list(make(originals=True).teaching())
    run = next(make(originals=True).runs())
    assert [getattr(each, "source", "") for each in run.recipe.data.train] == ["", str(digit_files / "train.src")]


def test_a_chosen_student_follows_the_rules_for_all_corpora(make, digit_files):
    distillation = make(student="", words=True, settings=QUICK)
    list(distillation.teaching())
    run = next(distillation.runs())
    assert run.recipe.training.steps == 3
    assert "Chosen by dragoman train" in run._text
    assert run.recipe.text.like
    assert run.recipe.text.vocabulary_size is None


def test_an_ensemble_teaches_by_its_outputs(make, reverser, digit_files):
    alone = make("alone")
    together = make("together", teachers=[reverser, reverser])
    for each in (alone, together):
        list(each.teaching())
    pairs = [(digit_files / name / "taught" / "train" / "pairs.jsonl").read_bytes() for name in ("alone", "together")]
    assert pairs[0] == pairs[1]  # twice the same model says what it says
    with pytest.raises(ModelError, match="probabilities for each word come from one teacher, and there are 2"):
        make("words", teachers=[reverser, reverser], words=True)


def test_starting_over(make, digit_files):
    make().finish()
    (digit_files / "out" / "mine.txt").write_text("the user's own")
    other = TeachingSettings(decoding=SampleSettings(seed=4, nbest=4))
    with pytest.raises(SettingError, match="other teachers, sources or searches"):
        make(teaching=other).finish()
    make(teaching=other, fresh=True).finish()
    assert started(digit_files / "out" / "sequences") == [0]
    assert (digit_files / "out" / "mine.txt").exists()


def test_two_at_once_are_refused(make, digit_files):
    distillation = make()
    with (
        locked(digit_files / "out" / ".lock", purpose="tested"),
        pytest.raises(FileError, match="distilling in this folder"),
    ):
        next(distillation.teaching())


@pytest.mark.parametrize(("how", "place"), [({"originals": True}, "originals"), ({"nearest": True}, "nearest")])
def test_targets_are_needed_for_some_things(make, how, place):
    if "nearest" in how:
        how = {"teaching": msgspec.structs.replace(SAMPLES, nearest="chrf")}
    with pytest.raises(SettingError, match=f"{place}: sources alone are given, and targets are needed"):
        make(targets=False, **how)


def test_a_damaged_outcome_is_found_again(make, digit_files):
    first = make().finish()
    (digit_files / "out" / "outcome.json").write_bytes(b"{")
    again = make().outcome()
    assert isinstance(again, Outcome)
    assert (again.of, again.student.value) == (first.of, first.student.value)
