"""Run files: read with assignments and environment variables, mistakes named."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest

from dragoman.decoding.beam import BeamSettings
from dragoman.errors import FileError, SettingError
from dragoman.models import presets
from dragoman.models.positions import RotarySettings
from dragoman.recipe.schema import Recipe, read_run_file
from dragoman.settings import fields

PLAIN = """# a comment
[[data.train]]
kind = "text"
source = "$CORPUS/train.src"
target = "train.tgt"

[text]
symbols = ["<$x>"]
"""


@pytest.fixture
def run_file(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(PLAIN)
    return path


def test_defaults_and_environment(run_file, monkeypatch):
    monkeypatch.setenv("CORPUS", "/corpora")
    monkeypatch.setenv("x", "changed")
    read = read_run_file(run_file)
    assert read.recipe.data.train[0].source == "/corpora/train.src"
    assert read.recipe.text.symbols == ("<$x>",)  # not the name of a file
    assert read.recipe.training.steps == 20_000
    assert read.text == PLAIN


def test_assignments_go_into_the_text_too(run_file, tmp_path):
    read = read_run_file(
        run_file, ["training.steps=7", "training.schedule={kind='constant'}", "evaluation.metric=chrf"]
    )
    assert read.recipe.training.steps == 7
    assert read.recipe.evaluation.metric == "chrf"
    again = tmp_path / "again.toml"
    again.write_text(read.text)
    assert read_run_file(again).recipe == read.recipe
    assert "$CORPUS" in read.text


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        (PLAIN + "[training]\nstep = 3\n", "training.step: unknown setting 'step'. Did you mean 'steps'"),
        (PLAIN + "[training]\nsteps = 0\n", "training.steps: .*got 0"),
        ("[text]\n", "data"),
        ("[text", "not valid TOML"),
    ],
)
def test_mistakes_are_named_with_the_file(run_file, written, complaint):
    run_file.write_text(written)
    with pytest.raises(SettingError, match=complaint) as caught:
        read_run_file(run_file)
    assert str(run_file) in caught.value.place


def test_a_file_that_is_not_text(run_file):
    run_file.write_bytes(b"\xff\xfe[")
    with pytest.raises(SettingError, match="not UTF-8"):
        read_run_file(run_file)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileError, match="cannot read"):
        read_run_file(tmp_path / "run.toml")


def test_every_setting_has_its_meaning():
    without = [each.key for each in fields(Recipe) if not each.meaning]
    assert without == []


@pytest.mark.parametrize("name", get_args(presets.Preset))
def test_every_preset_is_reached_by_its_name(run_file, name):
    assert read_run_file(run_file, [f"preset={name}"]).recipe.architecture == presets.named(name)


def test_a_table_is_laid_over_the_preset(run_file):
    changes = ["model.layers=1", "model.dropout.hidden=0", "model.attention.score=dot"]
    read = read_run_file(run_file, ["preset=luong", *changes])
    luong, replace = presets.luong(), msgspec.structs.replace
    assert read.recipe.architecture == replace(
        luong, layers=1, dropout=replace(luong.dropout, hidden=0), attention=replace(luong.attention, score="dot")
    )
    assert "size" not in read.text  # the file still says it by name


def test_a_part_of_another_kind_takes_the_place_of_the_presets(run_file):
    read = read_run_file(run_file, ["preset=bart", "model.positions.kind=rotary"])
    assert read.recipe.architecture == msgspec.structs.replace(presets.bart(), positions=RotarySettings())
    read = read_run_file(run_file, ["preset=sutskever", "model.attention.score=dot"])
    assert read.recipe.architecture.attention.score == "dot"


@pytest.mark.parametrize(
    ("assignments", "complaint"),
    [
        (["preset=bahdanu"], "preset: .*got 'bahdanu'"),
        (["preset=luong", "model.kind=transformer"], "model.kind: 'transformer' is not the kind of the preset 'luong'"),
        (["preset=luong", "model.heads=3"], "model.heads: unknown setting"),
        (["preset=luong", "model.attention.score=dots"], "model.attention.score: .*got 'dots'"),
    ],
)
def test_mistakes_over_presets(run_file, assignments, complaint):
    with pytest.raises(SettingError, match=complaint):
        read_run_file(run_file, assignments)


def test_a_recipe_made_in_python_has_the_model_of_its_preset(run_file):
    recipe = read_run_file(run_file).recipe
    assert msgspec.structs.replace(recipe, preset="gru_tiny").architecture == presets.gru_tiny()


def test_a_search_without_a_kind_is_a_beam(run_file):
    read = read_run_file(run_file, ["decoding.beam=7", "decoding.alpha=0.5"])
    assert read.recipe.decoding == BeamSettings(beam=7, alpha=0.5)
