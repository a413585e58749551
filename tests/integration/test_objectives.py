"""Each objective from a run file: it trains, and what it needs besides the pairs is found or refused."""

from __future__ import annotations

import math
import random

import pytest

from dragoman.errors import DataError, ModelError, SettingError
from dragoman.recipe.run import run
from dragoman.recipe.schema import read_run_file
from dragoman.training.events import Progress, Validated

RUN_FILE = """
[data]
train = [{ kind = "text", source = "FOLDER/source", target = "FOLDER/target" }]
valid = { kind = "text", source = "FOLDER/source", target = "FOLDER/target" }

[text]
source = { kind = "bpe", dropout = 0.2 }
vocabulary_size = 290

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
steps = 6
threads = 1
batch_tokens = 200
schedule = { kind = "constant" }
validate_every = 6
log_every = 3

[evaluation]
metric = "loss"
"""
PREFIX_LM = 'model={kind="prefix_lm", size=16, layers=1, attention={heads=2}, feedforward={size=32}}'
RECURRENT = 'model={kind="recurrent", size=16}'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Pairs of texts whose words are reversed, their alignments, and a run file."""
    folder = tmp_path_factory.mktemp("corpus")
    draw = random.Random(4)
    lines = [draw.choices(["ab", "cd", "eff", "g"], k=draw.randint(1, 5)) for _ in range(40)]
    links = [" ".join(f"{i}-{len(line) - 1 - i}" for i in range(len(line))) for line in lines]
    for name, texts in (
        ("source", map(" ".join, lines)),
        ("target", (" ".join(x[::-1]) for x in lines)),
        ("links", links),
    ):
        (folder / name).write_text("".join(f"{text}\n" for text in texts))
    (folder / "run.toml").write_text(RUN_FILE.replace("FOLDER", str(folder)))
    return folder


def events(folder, out, *changes):
    given = read_run_file(folder / "run.toml", changes)
    return list(run(given.recipe, out, text=given.text))


def trained(folder, out, *changes):
    """The values that a run reports, after checking that there are some."""
    found = events(folder, out, *changes)
    values = [event.objective for event in found if isinstance(event, Progress)]
    assert len(values) == 2
    assert all(map(math.isfinite, values))
    assert any(isinstance(event, Validated) for event in found)
    return values


@pytest.mark.parametrize(
    "objective",
    [
        '{ kind = "scheduled_sampling", decay = { kind = "linear", steps = 4 } }',
        '{ kind = "minimum_risk", metric = "chrf", samples = 3 }',
        '{ kind = "coverage" }',
        '{ kind = "guided_alignment" }',
        '{ kind = "guided_alignment", alignments = ["LINKS"], head = 0 }',
    ],
)
@pytest.mark.parametrize("model", [[], [RECURRENT]], ids=["transformer", "recurrent"])
def test_objectives_train(folder, tmp_path, objective, model):
    changed = f"training.objective={objective}".replace("LINKS", str(folder / "links"))
    assert trained(folder, tmp_path / "out", changed, *model) != trained(folder, tmp_path / "plain", *model)


def test_a_student_learns_from_a_teacher_and_notices_another(folder, tmp_path):
    teacher = f'training.objective={{kind="distillation", teacher="{tmp_path / "teacher" / "best"}"}}'
    trained(folder, tmp_path / "teacher", "text.source={}")
    assert trained(folder, tmp_path / "student", teacher, "text.source={}")
    with pytest.raises(ModelError, match="vocabulary is another one"):
        events(folder, tmp_path / "other", teacher, "text.vocabulary_size=280", "text.source={}")


def test_what_is_learned_from_must_stay_as_it_was(folder, tmp_path):
    links = tmp_path / "links"
    links.write_text((folder / "links").read_text())
    changed = f'training.objective={{kind="guided_alignment", alignments=["{links}"]}}'
    trained(folder, tmp_path / "out", changed)
    links.write_text("\n" * 40)
    with pytest.raises(SettingError, match="outside was"):
        events(folder, tmp_path / "out", changed)


def test_alignments_that_do_not_fit_are_refused(folder, tmp_path):
    (tmp_path / "links").write_text("0-0\n")
    changed = f'training.objective={{kind="guided_alignment", alignments=["{tmp_path / "links"}"]}}'
    with pytest.raises(DataError, match="ends before line 2"):
        events(folder, tmp_path / "out", changed)


def test_a_model_without_attention_is_refused(folder, tmp_path):
    with pytest.raises(ModelError, match="this recurrent model has no attention"):
        events(
            folder, tmp_path, 'training.objective={kind="coverage"}', 'model={kind="recurrent", attention="nothing"}'
        )


# ---- data of other kinds -------------------------------------------------------------------------------------------


def mono(folder, *, noise):
    text = f'{{kind="mono", file="{folder / "source"}"}}'
    return [f"data.train=[{text}]", f"data.valid={text}", f"data.noise={noise}", "text.vocabulary_size=400"]


@pytest.mark.parametrize("noise", ['{kind="bart", delete=0.1}', '{kind="spans", marks=9}', '{kind="prefix"}'])
@pytest.mark.parametrize(
    "model",
    [[], [RECURRENT], ['model={kind="prefix_lm", size=16, layers=1, attention={heads=2}, feedforward={size=32}}']],
)
def test_text_alone_is_restored(folder, tmp_path, noise, model):
    trained(folder, tmp_path / "out", *mono(folder, noise=noise), *model)


LM = 'model={kind="recurrent_lm", size=16}'


def test_answers_follow_prompts(folder, tmp_path):
    changes = [LM, "evaluation.metric=chrf", "text.source={}"]
    given, learned = (
        [e.loss for e in events(folder, tmp_path / name, *changes, f"data.prompts={name}") if isinstance(e, Progress)]
        for name in ("given", "learned")
    )
    assert given != learned
    found = [e for e in events(folder, tmp_path / "again", *changes) if isinstance(e, Validated)]
    assert found[0].metric == "chrf"
    assert [sample.source for sample in found[0].samples] == (folder / "source").read_text().splitlines()[:3]


def test_long_targets_are_truncated(folder, tmp_path):
    changed = 'training.objective={kind="cross_entropy", truncate=3}'
    assert trained(folder, tmp_path / "cut", changed, RECURRENT) != trained(folder, tmp_path / "whole", RECURRENT)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (["data.train=[MONO]"], "a model of kind 'transformer' reads a source, and text alone has none"),
        (['data.noise={kind="bart"}'], "noise makes sources and targets of text alone"),
        (["data.train=[MONO]", 'data.noise={kind="bart"}', LM], "noise makes sources and targets of text alone"),
        ([LM, "text.joint=false"], "a prompt and its answer are one sequence, and need one vocabulary"),
        (
            ["data.train=[MONO]", LM, 'training.objective={kind="guided_alignment"}'],
            "only pairs of texts can be aligned",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(folder, tmp_path, changes, told):
    text = f'{{kind="mono", file="{folder / "source"}"}}'
    with pytest.raises(SettingError, match=told):
        events(folder, tmp_path, "text.source={}", *(change.replace("MONO", text) for change in changes))
