"""Bundles: what is loaded equals what was saved, and what is damaged or does not fit is refused."""

from __future__ import annotations

import random
import shutil
import stat
import subprocess
import sys

import msgspec
import pytest
import torch
from safetensors.torch import load_file, save_file

from dragoman import bundle as bundles
from dragoman import files
from dragoman.bundle import Bundle, Description, Facts
from dragoman.errors import FileError, ModelError
from dragoman.models.attention import AttentionSettings
from dragoman.models.feedforward import FeedForwardSettings
from dragoman.models.presets import gru_tiny
from dragoman.models.seq2seq import Source
from dragoman.models.transformer import TransformerSettings
from dragoman.models.transformer_lm import TransformerLMSettings
from dragoman.text.build import TextSettings, Tokenizers, train_tokenizers
from dragoman.text.characters import CharacterSettings
from dragoman.text.subword import BpeSettings

TEXTS = ["the cat sat on the mat", "the dog sat on the cat", "a cat and a dog"] * 3
SMALL = {"size": 16, "attention": AttentionSettings(heads=2), "feedforward": FeedForwardSettings(size=32)}
TRANSFORMER = TransformerSettings(encoder_layers=1, decoder_layers=1, **SMALL)
MODELS = {
    "transformer": TRANSFORMER,
    "recurrent": msgspec.structs.replace(gru_tiny(), size=16),
    "language model": TransformerLMSettings(layers=1, **SMALL),
}


@pytest.fixture(scope="module")
def joint():
    settings = TextSettings(source=BpeSettings(dropout=0.1), vocabulary_size=300)
    return train_tokenizers(settings, sources=TEXTS, targets=TEXTS)


@pytest.fixture
def make_bundle(joint):
    """A function from a model's settings to a bundle with random weights."""

    def make(settings=TRANSFORMER, tokenizers=joint):
        source = None if tokenizers.joint else len(tokenizers.source.vocabulary)
        description = Description(
            model=settings,
            source_vocabulary=source,
            target_vocabulary=len(tokenizers.target.vocabulary),
            source_language="en",
            length_ratio=1.7,
            training=Facts(steps=7, metric="bleu", value=0.1 + 0.2, signature="s", seed=3),
        )
        torch.manual_seed(0)
        return Bundle(description, bundles.build_model(description), tokenizers)

    return make


def names(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


@pytest.mark.parametrize("name", MODELS)
def test_what_is_loaded_equals_what_was_saved(make_bundle, tmp_path, name):
    made = make_bundle(MODELS[name])
    bundles.save(made, tmp_path / "model")
    found = bundles.load(tmp_path / "model")
    assert found.description == made.description
    own, loaded = made.model.state_dict(), found.model.state_dict()
    assert own.keys() == loaded.keys()
    assert all(torch.equal(value, loaded[key]) for key, value in own.items())
    assert not found.model.training
    assert found.tokenizers.joint
    for text in TEXTS[:3]:
        assert found.tokenizers.source.encode(text) == made.tokenizers.source.encode(text)
    ids = torch.tensor([[5, 6, 7]])
    source = None if name == "language model" else Source(torch.tensor([3]), ids)
    made.model.eval()
    hidden = [m.hidden(source, ids, torch.tensor([3])) for m in (made.model, found.model)]
    assert torch.equal(hidden[0].vectors_ND, hidden[1].vectors_ND)


@pytest.mark.parametrize("name", MODELS)
def test_to_load_a_model_draws_nothing_and_needs_no_compiler(make_bundle, tmp_path, name):
    bundles.save(make_bundle(MODELS[name]), tmp_path / "model")
    before = torch.get_rng_state()
    bundles.load(tmp_path / "model")
    assert torch.equal(torch.get_rng_state(), before)
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from dragoman import bundle\n"
        "bundle.load(Path(sys.argv[1]))\n"
        "assert 'torch._dynamo' not in sys.modules"  # which takes as long to import as torch
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "model"], check=True)


def test_two_vocabularies_stay_two(make_bundle, tmp_path):
    settings = TextSettings(source=CharacterSettings(), joint=False)
    tokenizers = train_tokenizers(settings, sources=TEXTS, targets=[t.upper() + "!" for t in TEXTS])
    model = msgspec.structs.replace(gru_tiny(), size=16, shared_embeddings=False)
    bundles.save(make_bundle(model, tokenizers), tmp_path / "model")
    found = bundles.load(tmp_path / "model")
    assert not found.tokenizers.joint
    assert found.tokenizers.source.encode("cat") == tokenizers.source.encode("cat")
    assert found.tokenizers.target.encode("CAT!") == tokenizers.target.encode("CAT!")


def test_tied_weights_are_stored_once_and_stay_tied(make_bundle, tmp_path):
    made = make_bundle()
    bundles.save(made, tmp_path / "model")
    stored = load_file(tmp_path / "model" / bundles.WEIGHTS)
    numbers = sum(value.numel() for value in stored.values())
    assert numbers == sum(p.numel() for p in made.model.parameters())
    found = bundles.load(tmp_path / "model")
    assert len(list(found.model.parameters())) == len(list(made.model.parameters()))


def test_saving_again_replaces_the_whole(make_bundle, tmp_path):
    bundles.save(make_bundle(MODELS["recurrent"]), tmp_path / "model")
    bundles.save(make_bundle(), tmp_path / "model")
    assert bundles.load(tmp_path / "model").description.model == TRANSFORMER
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


def test_a_replacement_that_was_cut_short_leaves_the_old_one(make_bundle, tmp_path):
    bundles.save(make_bundle(), tmp_path / "model")
    (tmp_path / "model").rename(tmp_path / "model.old")
    assert bundles.load(tmp_path / "model").description.model == TRANSFORMER
    assert bundles.describe(tmp_path / "model").source_language == "en"


def test_all_files_may_be_read_by_the_same_people(make_bundle, tmp_path):
    bundles.save(make_bundle(), tmp_path / "model")
    assert len({stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "model").rglob("*") if p.is_file()}) == 1


def flip(path, draw):
    data = bytearray(path.read_bytes())
    data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    path.write_bytes(data)


def zero(path, draw):
    data = bytearray(path.read_bytes())
    place = draw.randrange(len(data))
    data[place : place + 4096] = bytes(len(data[place : place + 4096]))
    path.write_bytes(bytes(data) if bytes(data) != path.read_bytes() else data + b"\0")


def cut(path, draw):
    path.write_bytes(path.read_bytes()[: draw.randrange(path.stat().st_size)])


def swap(path, draw):
    other = draw.choice([p for p in path.parent.rglob("*") if p.is_file() and p != path])
    path.write_bytes(other.read_bytes())


def delete(path, draw):
    path.unlink()


@pytest.mark.parametrize("damage", [flip, zero, cut, swap, delete])
@pytest.mark.parametrize("count", [20, pytest.param(1000, marks=pytest.mark.slow)])
def test_damage_to_any_file_is_found(make_bundle, tmp_path, damage, count):
    bundles.save(make_bundle(), tmp_path / "model")
    draw = random.Random(1)
    for number in range(count):
        copy = tmp_path / "copy"
        shutil.copytree(tmp_path / "model", copy)
        name = names(copy)[number % len(names(copy))]
        damage(copy / name, draw)
        with pytest.raises(FileError) as caught:
            bundles.load(copy)
        assert str(copy) in caught.value.place
        assert caught.value.remedy
        shutil.rmtree(copy)


def resealed(folder):
    """The folder with a manifest that fits what is in it, as a stranger could make it."""
    (folder / files.MANIFEST).unlink()
    with files.new_folder(folder.with_name("resealed")) as fresh:
        shutil.copytree(folder, fresh, dirs_exist_ok=True)
    return folder.with_name("resealed")


def test_weights_of_another_shape_are_refused_before_they_are_read(make_bundle, tmp_path):
    bundles.save(make_bundle(), tmp_path / "model")
    path = tmp_path / "model" / bundles.WEIGHTS
    tensors = load_file(path)
    name = min(tensors)
    save_file({**tensors, name: torch.zeros(3, 5)}, path)
    with pytest.raises(FileError, match=rf"{name} has the shape \(3, 5\), not \("):
        bundles.load(resealed(tmp_path / "model"))


@pytest.mark.parametrize("change", ["one too few", "one too many"])
def test_weights_of_another_model_are_refused(make_bundle, tmp_path, change):
    bundles.save(make_bundle(), tmp_path / "model")
    path = tmp_path / "model" / bundles.WEIGHTS
    tensors = load_file(path)
    if change == "one too few":
        del tensors[min(tensors)]
    else:
        tensors["stranger"] = torch.zeros(1)
    save_file(tensors, path)
    with pytest.raises(FileError, match=r"does not fit model\.json"):
        bundles.load(resealed(tmp_path / "model"))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"format": 2, "novelty": True}, "format 2 is not known here"),
        ({"novelty": True}, "unreadable: Object contains unknown field `novelty`"),
        ({"model": {"kind": "os.system"}}, "unreadable: Invalid value 'os.system'"),
        ({"target_vocabulary": "many"}, "unreadable: Expected `int`"),
    ],
)
def test_a_description_that_is_not_of_the_closed_form(make_bundle, tmp_path, change, complaint):
    bundles.save(make_bundle(), tmp_path / "model")
    path = tmp_path / "model" / bundles.DESCRIPTION
    path.write_bytes(msgspec.json.encode({**msgspec.json.decode(path.read_bytes()), **change}))
    with pytest.raises(FileError, match=complaint):
        bundles.load(resealed(tmp_path / "model"))


def test_a_link_is_refused(make_bundle, tmp_path):
    bundles.save(make_bundle(), tmp_path / "model")
    weights = tmp_path / "model" / bundles.WEIGHTS
    weights.rename(tmp_path / "elsewhere")
    weights.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileError):
        bundles.load(tmp_path / "model")


def test_a_folder_that_is_no_model(tmp_path):
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(FileError, match=r"is not a model: there is no model\.json.*dragoman train"):
            bundles.load(folder)


def test_weights_do_not_load_into_another_model(make_bundle):
    one, other = make_bundle().model, make_bundle(MODELS["recurrent"]).model
    with pytest.raises(ModelError, match="the weights of another model"):
        bundles.load_weights(one, bundles.weights(other))


def test_tokenizers_is_what_the_bundle_says(joint):
    assert Tokenizers(joint.source, joint.source).joint
