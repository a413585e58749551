"""The folder for CTranslate2 holds all that one needs to use it without this program."""

from __future__ import annotations

import json

import ctranslate2
import sentencepiece

from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.sample import SampleSettings
from dragoman.interop.ctranslate2 import write_ctranslate2
from dragoman.text.build import TextSettings
from dragoman.text.words import WordSettings
from reference.bundles import bundle, sentences


def test_it_translates_by_itself(tmp_path):
    write_ctranslate2(bundle(decoding=BeamSettings(beam=3, alpha=0.5)), tmp_path, quantization="float32")
    search = json.loads((tmp_path / "search.json").read_text())
    assert (search["beam_size"], search["length_penalty"]) == (3, 0.5)
    model = ctranslate2.Translator(str(tmp_path))
    source, target = (
        sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / f"{s}.spm")) for s in ("source", "target")
    )
    pieces = [source.encode(text, out_type=str) for text in sentences(3)]
    results = model.translate_batch(pieces, **{**search, "max_decoding_length": 12})
    assert all(target.decode(result.hypotheses[0]) for result in results)


def test_int8_takes_less_room(tmp_path):
    sizes = []
    for number_format in ("float32", "int8"):
        (tmp_path / number_format).mkdir()
        write_ctranslate2(bundle(), tmp_path / number_format, quantization=number_format)
        sizes.append((tmp_path / number_format / "model.bin").stat().st_size)
    assert sizes[1] < sizes[0]


def test_a_search_that_it_has_not_leaves_its_own(tmp_path):
    made = bundle(decoding=SampleSettings(), text=TextSettings(source=WordSettings()))
    write_ctranslate2(made, tmp_path, quantization="float32")
    assert "beam_size" not in json.loads((tmp_path / "search.json").read_text())
    assert not (tmp_path / "source.spm").exists()
