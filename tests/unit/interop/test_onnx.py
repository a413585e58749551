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
from dragoman.errors import ModelError, SettingError
from dragoman.models import presets
from dragoman.models.rnn import RecurrentSettings
from dragoman.text.build import TextSettings
from dragoman.text.characters import CharacterSettings
from dragoman.text.subword import UnigramSettings
from dragoman.text.symbols import SymbolSettings
from dragoman.text.words import WordSettings
from reference import huggingface as made
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
        assert [theirs.target.pieces[i] for i in ids] == [token.text for token in found.tokens]
        assert score == pytest.approx(found.score, abs=1e-4)
        assert theirs.translate(text) == found.text


def test_the_decoder_beside_it_needs_nothing_of_ours(tmp_path):
    exported(PLAIN, tmp_path, decoding=BeamSettings(beam=2, filters=FilterSettings(lengths=LengthLimits(most=6))))
    program = (
        "import runpy, sys; sys.modules['dragoman'] = sys.modules['torch'] = None; "
        f"runpy.run_path({str(tmp_path / 'out' / 'translate.py')!r}, run_name='__main__')"
    )
    texts = [*sentences(2), "", " ", "Il était\u3000une fois\x0b!\u200b", *sentences(1)]
    said = "\n".join(texts).encode()  # the last line may lack its end
    done = subprocess.run([sys.executable, "-c", program], input=said, capture_output=True, check=True)
    ours = dragoman.load(tmp_path / "model", device="cpu")
    assert done.stdout.decode().split("\n") == [*(each.text for each in ours.translate(texts)), ""]


SHORT = BeamSettings(beam=2, filters=FilterSettings(lengths=LengthLimits(most=9)))


@pytest.mark.parametrize("kind", [CharacterSettings(), WordSettings(), SymbolSettings(), UnigramSettings()])
def test_texts_are_cut_as_ours_are(tmp_path, kind):
    from dragoman.interop.onnx.decoder import OnnxModel

    size = 420 if isinstance(kind, UnigramSettings) else None
    exported(PLAIN, tmp_path, text=TextSettings(source=kind, vocabulary_size=size), decoding=SHORT)
    theirs, ours = OnnxModel(tmp_path / "out"), dragoman.load(tmp_path / "model", device="cpu")
    texts = [*sentences(4), "Ein  Wort:\t▁ \u0301x", "<unk> </s>", "", "\u200b"]
    for text in texts:
        assert theirs.read(text) == ours.reader.read(text)
        assert theirs.translate(text) == ours.translate(text).text


def tagged(symbol, tmp_path, **description):
    """Our reader and the exported one, of a model that is asked for a language."""
    from dragoman.interop.onnx.decoder import OnnxModel

    text = TextSettings(source=CharacterSettings(), symbols=(symbol,))
    exported(PLAIN, tmp_path, text=text, decoding=SHORT, **description)
    return dragoman.load(tmp_path / "model", device="cpu").reader, OnnxModel(tmp_path / "out")


def test_a_text_that_begins_with_a_tag_gets_no_other(tmp_path):
    frame = bundles.Frame(before=(bundles.TARGET_TAG,), languages={"fr": ">>fr<<"})
    ours, theirs = tagged(">>fr<<", tmp_path, frame=frame)
    for text in ("a cat", ">>fr<<a cat", "a >>fr<<cat"):
        assert theirs.read(text) == ours.read(text)


def test_a_text_without_the_tag_that_it_needs_is_refused(tmp_path):
    ours, theirs = tagged("<2fr>", tmp_path)
    assert theirs.read("<2fr>a cat") == ours.read("<2fr>a cat")
    assert theirs.read("") == ours.read("") == []
    with pytest.raises(SettingError, match="fr"):
        ours.read("a cat")
    with pytest.raises(ValueError, match="<2fr>"):
        theirs.read("a cat")


def test_pieces_are_loaded_once(tmp_path, monkeypatch):
    import sentencepiece

    from dragoman.interop.onnx.decoder import OnnxModel

    exported(PLAIN, tmp_path, decoding=SHORT)
    loaded = []
    monkeypatch.setattr(sentencepiece, "SentencePieceProcessor", _counted(sentencepiece.SentencePieceProcessor, loaded))
    model = OnnxModel(tmp_path / "out")
    for text in sentences(3):
        model.translate(text)
    assert len(loaded) == 2


def _counted(made, loaded):
    def count(**given):
        loaded.append(given)
        return made(**given)

    return count


def test_texts_that_cannot_be_cut_there_are_refused_with_the_reason(tmp_path):
    made.save("bart", tmp_path / "theirs")
    dragoman.import_model(tmp_path / "theirs", out=tmp_path / "model", sentences=["He sleeps."])
    with pytest.raises(ModelError, match=r"pairs of bytes.*--to huggingface"):
        dragoman.export(tmp_path / "model", to="onnx", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


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
