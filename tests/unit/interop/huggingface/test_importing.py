"""Folders of transformers become bundles that read, score and search as the original does, whatever the family."""

from __future__ import annotations

import json
import warnings

import msgspec
import pytest
import torch
from safetensors.torch import load_file, save_file

import dragoman
from dragoman import bundle as bundles
from dragoman.errors import DownloadError, FileError, ModelError, SettingError
from dragoman.interop import hub
from dragoman.interop import probe as probing
from dragoman.interop.huggingface import original, reading
from dragoman.text.vocabulary import BOS
from dragoman.translator import Request
from reference import huggingface as made
from reference.bundles import sentences

pytest.importorskip("transformers", reason="needs transformers to compare with")

SOURCES = ["Çà et là: 3,5 % — naïve?", *sentences(2)]
SLOW = {"mbart50", "nllb", "marian_languages"}
KINDS = [pytest.param(kind, marks=pytest.mark.slow if kind in SLOW else ()) for kind in made.KINDS]


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Folders of small models, each made once."""
    root = tmp_path_factory.mktemp("originals")

    def folder(kind):
        return root / kind if (root / kind).exists() else made.save(kind, root / kind)

    return folder


def bring(folder, out, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the library's own, about its own files
        return dragoman.import_model(folder, out=out, **{"sentences": SOURCES, **more})


def copied(folder, into, *, without=()):
    into.mkdir()
    for each in folder.iterdir():
        if each.name not in without:
            (into / each.name).write_bytes(each.read_bytes())
    return into


@pytest.mark.parametrize("kind", KINDS)
def test_an_imported_model_is_the_original(originals, tmp_path, kind):
    found = bring(originals(kind), tmp_path / "model").probe
    assert (found.sentences, found.greedy) == (len(SOURCES), len(SOURCES))
    assert found.logits < 2e-4
    description = bundles.describe(tmp_path / "model")
    assert description.origin.probe["greedy"] == len(SOURCES)
    assert bundles.load(tmp_path / "model").model.output.bias[BOS] < -100


def test_what_is_not_the_same_is_found_out_and_not_written(originals, tmp_path, monkeypatch):
    folder = originals("bart")
    monkeypatch.setattr(reading, "_never", lambda told, numbering: (5,))
    bring(folder, tmp_path / "forbidden")  # what is forbidden is not compared ...
    taken = reading.take

    def altered(*args, **more):
        weights = taken(*args, **more)
        weights["decoder.layers.0.mixer.output.weight"] *= 1.01
        return weights

    monkeypatch.setattr(reading, "take", altered)
    with pytest.raises(ModelError, match="logits differ"):  # ... but everything else is
        bring(folder, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_pieces_that_differ_are_found_out(originals, tmp_path, monkeypatch):
    monkeypatch.setattr(original.TransformersModel, "source_ids", lambda self, text: [5])
    with pytest.raises(ModelError, match=r"becomes the pieces .*, not \[5\]"):
        bring(originals("bart"), tmp_path / "model")


def test_other_outputs_are_found_out(originals, tmp_path, monkeypatch):
    monkeypatch.setattr(original.TransformersModel, "search", lambda self, source, beam, most: ([7, 2], -0.1))
    with pytest.raises(ModelError, match="becomes"):
        bring(originals("bart"), tmp_path / "model")


def test_without_the_library_it_is_said_that_nothing_was_compared(originals, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "available", lambda: False)
    found = bring(originals("marian"), tmp_path / "model")
    assert found.probe is None
    assert "not installed" in found.remark
    assert bundles.describe(tmp_path / "model").origin.probe == {}


@pytest.mark.parametrize(
    ("kind", "without"),
    [("t5_v1_1", ["tokenizer.json"]), ("t5_v1_1", ["spiece.model"]), ("bart", ["tokenizer.json"])],
)
def test_whichever_files_of_a_tokenizer_there_are(originals, tmp_path, kind, without):
    folder = copied(originals(kind), tmp_path / "fewer", without=without)
    assert bring(folder, tmp_path / "model", sentences=SOURCES[:2]).probe.greedy == 2


def test_weights_in_a_pickle_and_in_parts(originals, tmp_path):
    """A pickle is read by a child; parts are those that the index names, in the folder alone."""
    whole = originals("marian")
    weights = load_file(whole / "model.safetensors")
    pickled = copied(whole, tmp_path / "pickled", without=["model.safetensors"])
    torch.save(weights, pickled / "pytorch_model.bin")
    bring(pickled, tmp_path / "one", sentences=SOURCES[:1])

    parts = copied(whole, tmp_path / "parts", without=["model.safetensors"])
    names = sorted(weights)
    index = {}
    for number, some in enumerate((names[::2], names[1::2])):
        save_file({n: weights[n] for n in some}, parts / f"model-{number}.safetensors", metadata={"format": "pt"})
        index |= dict.fromkeys(some, f"model-{number}.safetensors")
    (parts / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    bring(parts, tmp_path / "two", sentences=SOURCES[:1])
    one, two = (bundles.weights(bundles.load(tmp_path / name).model) for name in ("one", "two"))
    assert all(torch.equal(value, two[name]) for name, value in one.items())

    (parts / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {"a": "../marian/model.safetensors"}})
    )
    with pytest.raises(FileError, match="names a file that is not in the folder"):
        bring(parts, tmp_path / "three")


def test_languages_are_asked_for_when_translating(originals, tmp_path):
    bring(originals("nllb"), tmp_path / "nllb", sentences=SOURCES[:1], source_language="eng_Latn")
    model = dragoman.load(tmp_path / "nllb", device="cpu")
    with pytest.raises(SettingError, match="the target language is not said"):
        model.translate("Hello.")
    french, german = (
        model.translate("Hello.", request=Request(target_language=code)) for code in ("fra_Latn", "deu_Latn")
    )
    assert french.tokens != german.tokens, "the language is given to the decoder"
    other = model.translate("Hello.", request=Request(source_language="spa_Latn", target_language="fra_Latn"))
    assert other.log_prob != french.log_prob
    with pytest.raises(SettingError, match="does not know 'xx'"):
        model.translate("Hello.", request=Request(target_language="xx"))
    scored = model.score(["Hello."], [french.text], target_language="fra_Latn")[0]
    if [t.text for t in scored.tokens] == [t.text for t in french.tokens]:
        assert scored.log_prob == pytest.approx(french.log_prob, abs=1e-3)
    explained = model.explain("Hello.", french.text, target_language="fra_Latn")
    assert explained.maps.cross_LBHTS.shape[3] == len(explained.target)
    assert explained.alignment is not None


def test_prompts_of_t5(originals, tmp_path):
    folder = copied(originals("mt5"), tmp_path / "told")
    config = json.loads((folder / "config.json").read_text())
    config["task_specific_params"] = {"translation_en_to_fr": {"prefix": "I am in French: "}}
    (folder / "config.json").write_text(json.dumps(config))
    bring(folder, tmp_path / "asked", source_language="en", target_language="fr", sentences=SOURCES[:1])
    bring(folder, tmp_path / "said", prompt="I am in French: ", sentences=SOURCES[:1])
    bring(folder, tmp_path / "plain", sentences=SOURCES[:1])
    asked, plain, said = (dragoman.load(tmp_path / name, device="cpu") for name in ("asked", "plain", "said"))
    read = plain.reader.read("I am in French: Hello.")
    assert asked.reader.read("Hello.") == said.reader.read("Hello.") == read != plain.reader.read("Hello.")


def test_the_search_is_that_of_the_original(originals, tmp_path):
    bring(originals("marian"), tmp_path / "model", sentences=SOURCES[:1])
    told = bundles.describe(tmp_path / "model")
    assert (told.decoding.beam, told.decoding.refill, told.decoding.filters.lengths.most) == (3, True, 64)
    assert (told.source_language, told.target_language) == ("en", "fr")
    model = bundles.load(tmp_path / "model")
    assert model.model.output.bias[0] < -100, "padding, which bad_words_ids forbids"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"model_type": "gpt2"}, "models of type 'gpt2' are not known"),
        ({"d_model": "16"}, "d_model is '16'"),
        ({"d_model": 18}, "should"),
        ({"encoder_layers": 10**9}, "layers cannot be made"),
        ({"vocab_size": 10**12}, "has the shape"),
        ({"encoder_ffn_dim": 48}, "differ"),
        ({"activation_function": "tanh"}, "'tanh' is not known"),
        ({"pad_token_id": -1}, "do not go together"),
        ({"encoder_attention_heads": 3, "decoder_attention_heads": 3}, "not a multiple of 3 heads"),
    ],
)
def test_configurations_that_do_not_fit_are_refused(originals, tmp_path, change, problem):
    folder = copied(originals("bart"), tmp_path / "altered")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | change))
    with pytest.raises((ModelError, FileError), match=problem):
        bring(folder, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"no config\.json"):
        dragoman.import_model(tmp_path, out=tmp_path / "out")
    with pytest.raises(FileError, match="does not exist"):
        dragoman.import_model("./nowhere", out=tmp_path / "out")
    with pytest.raises(FileError, match="already exists"):
        dragoman.import_model("a/b", out=tmp_path)


def test_offline_it_is_said_how_to_go_on(tmp_path, monkeypatch):
    import huggingface_hub

    def nobody(*args, **more):
        raise ConnectionError("no network in this test")

    monkeypatch.setattr(huggingface_hub.HfApi, "list_repo_files", nobody)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", nobody)
    with pytest.raises(DownloadError, match=r"hub cannot be reached.*hf download nobody/nothing"):
        dragoman.import_model("nobody/nothing", out=tmp_path / "out")


def test_a_name_is_fetched_from_the_hub(originals, tmp_path, monkeypatch):
    import huggingface_hub

    asked = {}

    def fetched(name, *, allow_patterns):
        asked[name] = allow_patterns
        return str(originals("marian"))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetched)
    monkeypatch.setattr(huggingface_hub.HfApi, "list_repo_files", lambda self, name: ["model.safetensors", "run.py"])
    assert hub.downloaded("some/marian") == originals("marian")
    patterns = asked["some/marian"]
    assert "model.safetensors" in patterns
    assert not [each for each in patterns if each.endswith((".py", ".bin")) or each == "*"]


def test_the_pairs_to_compare_by_are_those_given_or_of_the_phrasebook():
    assert len(probing.probe_sentences()) == 16
    assert [source for source, _ in probing.probe_sentences(["a", " ", "b"])] == ["a", "b"]


def test_a_description_keeps_what_older_ones_had(tmp_path):
    from reference.bundles import bundle

    bundles.save(bundle(), tmp_path / "ours")
    written = msgspec.json.decode((tmp_path / "ours" / "model.json").read_bytes())
    assert "origin" not in written
    assert "frame" not in written
