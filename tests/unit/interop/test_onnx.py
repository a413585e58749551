"""ONNX graphs and the decoder beside them say what the model says, greedy and by beam, token by token."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

import dragoman
from dragoman import bundle as bundles
from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.filters import FilterSettings, LengthLimits
from dragoman.errors import ModelError
from dragoman.models import presets
from dragoman.models.rnn import RecurrentSettings
from dragoman.text.build import TextSettings
from dragoman.text.characters import CharacterSettings
from reference.bundles import PLAIN, bundle, sentences, small

pytest.importorskip("onnxruntime", reason="needs onnxruntime to run what is written")
pytest.importorskip("onnx", reason="needs onnx to write")

REPLACE = msgspec.structs.replace
KINDS = {
    "plain": PLAIN,
    "marian": small(presets.marian()),
    "bart": small(presets.bart()),
    "nllb": small(presets.nllb()),
    "t5": small(presets.t5()),
    "t5_v1_1": small(presets.t5_v1_1()),
}


def exported(settings, tmp_path, **more):
    bundles.save(bundle(settings, **more), tmp_path / "model")
    return dragoman.export(tmp_path / "model", to="onnx", out=tmp_path / "out", sentences=sentences(3))


@pytest.mark.parametrize("kind", KINDS)
def test_it_says_what_the_model_says(tmp_path, kind):
    found = exported(KINDS[kind], tmp_path).agreement
    assert found.same_outputs == found.sentences == 3
    assert found.difference < 1e-3


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_beams_are_ours(tmp_path, alpha):
    from dragoman.interop.onnx.decoder import OnnxModel

    search = BeamSettings(beam=3, alpha=alpha, filters=FilterSettings(lengths=LengthLimits(most=12)))
    exported(small(presets.marian()), tmp_path, decoding=search, end=2.0)
    theirs, ours = OnnxModel(tmp_path / "out"), dragoman.load(tmp_path / "model", device="cpu")
    for text in sentences(8):
        found = ours.translate(text)
        ids, score = theirs.beam(theirs.read(text), beam=3, alpha=alpha, most=12)
        assert [theirs.targets[i] for i in ids] == [token.text for token in found.tokens]
        assert score == pytest.approx(found.score, abs=1e-4)
        assert theirs.translate(text) == found.text


def test_the_decoder_beside_it_needs_nothing_of_ours(tmp_path):
    exported(PLAIN, tmp_path, decoding=BeamSettings(beam=2, filters=FilterSettings(lengths=LengthLimits(most=6))))
    program = (
        "import runpy, sys; sys.modules['dragoman'] = sys.modules['torch'] = None; "
        f"runpy.run_path({str(tmp_path / 'out' / 'translate.py')!r}, run_name='__main__')"
    )
    said = "\n".join([*sentences(2), ""]) + "\n"
    done = subprocess.run([sys.executable, "-c", program], input=said, capture_output=True, text=True, check=True)
    ours = dragoman.load(tmp_path / "model", device="cpu")
    assert done.stdout.split("\n")[:3] == [*(each.text for each in ours.translate(sentences(2))), ""]


def test_characters(tmp_path):
    found = exported(PLAIN, tmp_path, text=TextSettings(source=CharacterSettings()))
    assert found.agreement.same_outputs == 3


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (RecurrentSettings(size=16), "not kind 'recurrent'"),
        (REPLACE(PLAIN, decoder="ssru"), "SSRU"),
        (REPLACE(PLAIN, copying=True), "pointer"),
        (REPLACE(PLAIN, attention=REPLACE(PLAIN.attention, key_heads=1)), "heads of keys"),
    ],
)
def test_what_cannot_be_written_is_refused_with_the_reason(tmp_path, settings, reason):
    with pytest.raises(ModelError, match=reason):
        exported(settings, tmp_path)
    assert not (tmp_path / "out").exists()
