"""Exports are whole, compared with the original, or not there at all."""

from __future__ import annotations

import msgspec
import pytest

import dragoman
from dragoman import bundle as bundles
from dragoman.errors import FileError, ModelError, SettingError
from dragoman.files import verify
from dragoman.interop import ctranslate2 as ours
from dragoman.interop.export import FACTS
from dragoman.text.build import TextSettings
from dragoman.text.characters import CharacterSettings
from dragoman.text.words import WordSettings
from reference.bundles import PLAIN, bundle, sentences

TARGETS = ["ctranslate2", "huggingface", "onnx"]


@pytest.fixture
def model(tmp_path):
    bundles.save(bundle(), tmp_path / "run" / "best")
    return tmp_path / "run"


@pytest.mark.parametrize("target", TARGETS)
def test_an_export_is_compared_and_says_how_closely_it_agrees(model, tmp_path, target):
    found = dragoman.export(model, to=target, out=tmp_path / "out", sentences=sentences(5))
    assert (found.folder, found.target) == (tmp_path / "out", target)
    assert found.agreement.sentences == found.agreement.same_outputs == 5
    assert found.agreement.difference < 1e-3
    verify(tmp_path / "out")
    facts = msgspec.json.decode((tmp_path / "out" / FACTS).read_bytes())
    assert facts["model"] == bundles.identity(model / "best")
    assert facts["agreement"]["same_outputs"] == 5


@pytest.mark.parametrize("target", ["ctranslate2", "onnx"])
@pytest.mark.parametrize("kind", [WordSettings(), CharacterSettings()])
def test_words_and_characters(tmp_path, target, kind):
    bundles.save(bundle(text=TextSettings(source=kind)), tmp_path / "model")
    found = dragoman.export(tmp_path / "model", to=target, out=tmp_path / "out", sentences=sentences(3))
    assert found.agreement.same_outputs == 3


def test_fewer_bits_are_ctranslate2s_alone(model, tmp_path):
    with pytest.raises(SettingError, match="written in float32"):
        dragoman.export(model, to="onnx", out=tmp_path / "out", quantization="int8")


def test_fewer_bits_are_counted(model, tmp_path):
    found = dragoman.export(model, to="ctranslate2", out=tmp_path / "out", sentences=sentences(5), quantization="int8")
    assert not found.agreement.exact
    assert found.agreement.difference > 0


def test_what_does_not_agree_is_not_left_behind(model, tmp_path, monkeypatch):
    monkeypatch.setattr(ours.CTranslate2Model, "greedy", lambda self, sources, most: [[7] for _ in sources])
    with pytest.raises(ModelError, match="does not say what the original says"):
        dragoman.export(model, to="ctranslate2", out=tmp_path / "out", sentences=sentences(2))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run"]


@pytest.mark.parametrize("target", TARGETS)
def test_what_cannot_be_exported_is_refused_and_leaves_nothing(tmp_path, target):
    bundles.save(bundle(msgspec.structs.replace(PLAIN, decoder="ssru")), tmp_path / "model")
    with pytest.raises(ModelError, match="SSRU"):
        dragoman.export(tmp_path / "model", to=target, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_there_is_not_overwritten(model, tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(FileError, match="already exists"):
        dragoman.export(model, to="ctranslate2", out=tmp_path / "out")
