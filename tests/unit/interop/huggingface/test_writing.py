"""Models written for transformers do there what they do here: those trained here, and those that go back."""

from __future__ import annotations

import warnings

import msgspec
import pytest
import torch

import dragoman
from dragoman import bundle as bundles
from dragoman.bundle import Bundle
from dragoman.decoding.beam import BeamSettings
from dragoman.errors import ModelError
from dragoman.models import presets
from dragoman.models.adapters import AdapterSettings, adapt
from dragoman.models.rnn import RecurrentSettings
from dragoman.text.build import TextSettings
from dragoman.text.vocabulary import BOS
from dragoman.text.words import WordSettings
from reference import huggingface as made
from reference.bundles import PLAIN, bundle, sentences, small

transformers = pytest.importorskip("transformers", reason="needs transformers to compare with")

REPLACE = msgspec.structs.replace
OURS = {
    "plain": PLAIN,
    "marian": small(presets.marian()),
    "bart": small(presets.bart()),
    "mbart": small(presets.mbart()),
}
LANGUAGES = {"m2m": ("en", "fr"), "nllb": ("eng_Latn", "fra_Latn"), "mbart": ("en_XX", "fr_XX")}
SLOW = ("mbart", "nllb", "t5")


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # transformers', about its own files
        yield


def exported(model, out):
    return dragoman.export(model, to="huggingface", out=out, sentences=sentences(3)).agreement


@pytest.mark.parametrize("name", OURS)
def test_models_trained_here(tmp_path, name):
    bundles.save(bundle(OURS[name], decoding=BeamSettings(beam=3, alpha=0.5)), tmp_path / "model")
    found = exported(tmp_path / "model", tmp_path / "out")
    assert found.same_outputs == found.sentences == 3
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out")
    assert (model.generation_config.num_beams, model.generation_config.length_penalty) == (3, 0.5)
    ids = model.generate(**tokenizer(sentences(2), return_tensors="pt", padding=True), max_length=8)
    assert len(tokenizer.batch_decode(ids, skip_special_tokens=True)) == 2


@pytest.mark.parametrize(
    "kind",
    [pytest.param(k, marks=pytest.mark.slow if k in SLOW else ()) for k in ("marian", "bart", "t5_v1_1", "m2m", *SLOW)],
)
def test_imported_models_go_back(tmp_path, kind):
    source, target = LANGUAGES.get(kind, ("", ""))
    made.save(kind, tmp_path / "theirs")
    dragoman.import_model(
        tmp_path / "theirs",
        out=tmp_path / "model",
        sentences=["He sleeps."],
        source_language=source,
        target_language=target,
    )
    found = exported(tmp_path / "model", tmp_path / "out")
    assert found.same_outputs == found.sentences
    first, last = (
        transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / name).state_dict() for name in ("theirs", "out")
    )
    assert first.keys() == last.keys()
    changed = [name for name in first if not torch.equal(first[name], last[name]) and name != "final_logits_bias"]
    assert not changed, "nothing has learned, so nothing may differ"


@pytest.mark.parametrize(("kind", "target"), [("marian", "ctranslate2"), ("marian", "onnx"), ("t5", "ctranslate2")])
def test_imported_models_go_elsewhere(tmp_path, kind, target):
    made.save(kind, tmp_path / "theirs")
    prompt = "I am in French: " if kind == "t5" else ""
    dragoman.import_model(tmp_path / "theirs", out=tmp_path / "model", sentences=["He sleeps."], prompt=prompt)
    found = dragoman.export(tmp_path / "model", to=target, out=tmp_path / "out", sentences=sentences(3)).agreement
    assert found.same_outputs == found.sentences == 3
    assert (tmp_path / "out" / "target.spm").exists()


def learned(tmp_path, kind, *, adapters):
    """An imported model whose weights have moved, saved again."""
    made.save(kind, tmp_path / "theirs")
    dragoman.import_model(tmp_path / "theirs", out=tmp_path / "model", sentences=["He sleeps."])
    loaded = bundles.load(tmp_path / "model")
    if adapters:
        adapt(loaded.model, AdapterSettings(rank=2, weights=("*mixer*", "*feedforward*")))
    torch.manual_seed(3)
    with torch.no_grad():
        for name, parameter in loaded.model.named_parameters():
            is_adapter = "parametrizations" in name and not name.endswith(".original")
            if is_adapter or (not adapters and parameter.dim() > 1):
                parameter.add_(torch.randn_like(parameter) * 0.05)
    bundles.save(Bundle(loaded.description, loaded.model.eval(), loaded.tokenizers), tmp_path / "tuned")
    return tmp_path / "tuned"


@pytest.mark.parametrize(("kind", "adapters"), [("bart", True), ("bart", False), ("t5_v1_1", True)])
def test_what_has_learned_goes_back_too(tmp_path, kind, adapters):
    """Where the begin, a copy of another piece, has learned to be another one, it gets a row of its own."""
    model = learned(tmp_path, kind, adapters=adapters)
    found = exported(model, tmp_path / "out")
    assert found.same_outputs == found.sentences
    config = msgspec.json.decode((tmp_path / "out" / "config.json").read_bytes())
    origin = bundles.describe(model).origin
    assert config["vocab_size"] == origin.size + (not adapters)
    assert config["decoder_start_token_id"] == (origin.special["begin"] if adapters else origin.size)


def test_a_bias_that_t5_has_not_is_refused(tmp_path):
    made.save("t5", tmp_path / "theirs")
    dragoman.import_model(tmp_path / "theirs", out=tmp_path / "model", sentences=["He sleeps."])
    loaded = bundles.load(tmp_path / "model")
    with torch.no_grad():
        loaded.model.output.bias[BOS + 5] = 0.5
    bundles.save(loaded, tmp_path / "tuned")
    with pytest.raises(ModelError, match=r"freeze output\.bias"):
        exported(tmp_path / "tuned", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (RecurrentSettings(size=16), "of kind 'recurrent'"),
        (REPLACE(PLAIN, decoder="ssru"), "SSRU"),
        (REPLACE(PLAIN, copying=True), "pointer"),
        (REPLACE(PLAIN, bias=False), "biases"),
        (small(presets.t5()), "where it came from"),
        (REPLACE(PLAIN, norm=REPLACE(PLAIN.norm, formula="rms")), "LayerNorm"),
        (REPLACE(PLAIN, feedforward=REPLACE(PLAIN.feedforward, gated=True)), "gated"),
        (REPLACE(PLAIN, attention=REPLACE(PLAIN.attention, key_heads=1)), "heads of keys"),
        (REPLACE(PLAIN, embedding=REPLACE(PLAIN.embedding, tied_output=False)), "one table"),
    ],
)
def test_what_it_has_no_class_for_is_refused_with_the_reason(tmp_path, settings, reason):
    bundles.save(bundle(settings), tmp_path / "model")
    with pytest.raises(ModelError, match=reason):
        exported(tmp_path / "model", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_words_have_no_tokenizer_there(tmp_path):
    bundles.save(bundle(text=TextSettings(source=WordSettings())), tmp_path / "model")
    with pytest.raises(ModelError, match="words and characters have none"):
        exported(tmp_path / "model", tmp_path / "out")
