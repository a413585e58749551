"""Folders of JoeyNMT become bundles that say what a plain Transformer makes of the same weights, or are refused."""

from __future__ import annotations

import os

import numpy as np
import pytest
import torch

import dragoman
from dragoman import bundle as bundles
from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.filters import FilterSettings, LengthLimits
from dragoman.decoding.greedy import GreedySettings
from dragoman.errors import FileError, ModelError
from dragoman.text.vocabulary import BOS, EOS, PAD, UNK
from dragoman.translator import Translator
from reference.checkpoints import WORDS, Joey, greedy
from reference.huggingface import english, pieces_of, trained

OTHER = ("le", "chat", "the", "x")
SPECIAL = {"<unk>": UNK, "<pad>": PAD, "</s>": EOS}


@pytest.mark.parametrize(
    "variant",
    [
        {"place": "pre"},
        {"place": "post", "tied": False},
        {"place": "pre", "shared": False, "tied": True, "words": (WORDS, OTHER)},
    ],
)
def test_an_imported_model_says_what_the_weights_say(tmp_path, variant):
    made = Joey(**variant)
    found = dragoman.import_model(made.save(tmp_path / "joey"), out=tmp_path / "model")
    assert found.probe is None
    bundle = bundles.load(tmp_path / "model")
    description = bundle.description
    assert (description.origin.library, description.source_language, description.target_language) == (
        "joeynmt",
        "en",
        "fr",
    )
    assert description.decoding == BeamSettings(beam=4, alpha=1.0, normalization="gnmt")
    sources, targets = made.vocabularies
    text, target = "the ▁dog unheard :", [targets[5], targets[4], "<unk>"]
    theirs = [sources.index(word) if word in sources else 0 for word in text.split()] + [3]
    reader = Translator(bundle, device=torch.device("cpu")).reader
    read = reader.read(text)
    vocabulary = bundle.tokenizers.target.vocabulary
    columns = [SPECIAL.get(word, vocabulary[word]) for word in targets if word not in ("<s>", "<pad>")]
    inputs_1T = torch.tensor([[BOS, *(SPECIAL.get(word, vocabulary[word]) for word in target)]])
    with torch.inference_mode():
        hidden = bundle.model.hidden(reader.source([read]), inputs_1T, torch.tensor([4]))
        ours = bundle.model.logits(hidden).numpy()
    expected = made.logits(theirs, [2, *(targets.index(word) for word in target)])
    kept = [n for n, word in enumerate(targets) if word not in ("<s>", "<pad>")]
    assert np.abs(ours[:, columns] - expected[:, kept]).max() < 1e-4

    def said_there(ids):
        logits = made.logits(theirs, ids)
        logits[:, [1, 2]] = -np.inf  # neither padding nor begin is ever said here
        return logits

    limits = FilterSettings(lengths=LengthLimits(most=5, most_per_source=9.0))
    said = dragoman.load(tmp_path / "model", device="cpu").translate(text, decoding=GreedySettings(filters=limits))
    plain = greedy(said_there, [2], 3, 5)
    assert [token.text for token in said.tokens] == [targets[number] for number in plain]


def test_sentencepiece_models_characters_and_what_is_left_to_do(tmp_path):
    model = trained(english())
    pieces = tuple(piece for piece in pieces_of(model) if piece not in ("<s>", "</s>", "<unk>"))
    made = Joey(words=(pieces, pieces))
    folder = made.save(tmp_path / "joey", level="bpe", beam=1, lowercase="True")
    with pytest.raises(FileError, match=r"sp\.model"):
        dragoman.import_model(folder, out=tmp_path / "model")
    (folder / "sp.model").write_bytes(model)
    found = dragoman.import_model(folder / "7.ckpt", out=tmp_path / "model")
    assert "sources are in lower case" in found.remark
    assert "spaces" not in found.remark
    assert isinstance(bundles.describe(tmp_path / "model").decoding, GreedySettings)
    tokenizer = bundles.load(tmp_path / "model").tokenizers.source
    assert tokenizer.decode(tokenizer.encode("He sleeps.")) == "He sleeps."

    letters = ("▁", *"abc")
    folder = Joey(words=(letters, letters)).save(tmp_path / "letters", level="char")
    dragoman.import_model(folder, out=tmp_path / "spelled")
    tokenizer = bundles.load(tmp_path / "spelled").tokenizers.source
    assert tokenizer.decode(tokenizer.encode("ab c")) == "ab c"

    folder = Joey().save(tmp_path / "cut", level="bpe", tokenizer="subword-nmt")
    assert "cut at spaces alone" in dragoman.import_model(folder, out=tmp_path / "pieces").remark


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"type": '"recurrent"'}, "recurrent models of JoeyNMT are not read"),
        ({"num_layers": 10**9}, "layers cannot be made of"),
        *(
            pytest.param(change, said, marks=pytest.mark.slow)  # each is read by a process of its own
            for change, said in (
                ({"alpha": 1.2}, "DeepNet"),
                ({"layer_norm": '"post"'}, "not what the weights say"),
                ({"activation": '"tanh"'}, "activation is 'tanh'"),
                ({"ff_size": 10}, "ff_size is 12 in the encoder and 10 in the decoder"),
                ({"num_layers": 1}, "does not have: decoder.layers.1"),
            )
        ),
    ],
)
def test_what_is_not_known_is_refused_with_the_reason(tmp_path, change, said):
    folder = Joey().save(tmp_path / "joey", side="decoder", **change)
    with pytest.raises(ModelError, match=said):
        dragoman.import_model(folder, out=tmp_path / "model")
    assert not (tmp_path / "model").exists()


class Planted:
    """Makes a folder when it is unpickled."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return os.mkdir, (str(self.place),)


def with_score(folder, score):
    """The folder, whose checkpoint holds such a score."""
    checkpoint = folder / "7.ckpt"
    torch.save(torch.load(checkpoint, weights_only=True) | {"best_ckpt_score": score}, checkpoint)
    return folder


def test_a_checkpoint_may_hold_scalars_of_numpy(tmp_path):
    scores = [np.float64(12.5), np.float32(2), np.float16(2), np.int64(7), np.uint8(7), np.bool_(True), np.dtype(">f8")]
    dragoman.import_model(with_score(Joey().save(tmp_path / "joey"), scores), out=tmp_path / "model")
    assert bundles.describe(tmp_path / "model").origin.library == "joeynmt"


class Reducing:
    """Is unpickled by what it is told to be."""

    def __init__(self, *reduced):
        self.reduced = reduced

    def __reduce__(self):
        return self.reduced


@pytest.mark.parametrize(
    "planted",
    [
        Reducing(np.load, ("weights.npy",)),
        Reducing(np.dtype, ("O", False, True)),
        np.zeros(2),
        np.array([None]),
    ],
)
def test_nothing_else_of_numpy_is_read(tmp_path, planted):
    folder = with_score(Joey().save(tmp_path / "joey"), planted)
    with pytest.raises(FileError, match="more than weights"):
        dragoman.import_model(folder, out=tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_checkpoint_runs_nothing(tmp_path):
    folder = Joey().save(tmp_path / "joey")
    torch.save({"model_state": {"a": torch.zeros(2)}, "score": Planted(tmp_path / "made")}, folder / "7.ckpt")
    with pytest.raises(FileError, match="more than weights"):
        dragoman.import_model(folder, out=tmp_path / "model")
    assert not (tmp_path / "made").exists()
    torch.save({"steps": 3}, folder / "7.ckpt")
    with pytest.raises(FileError, match="model_state"):
        dragoman.import_model(folder, out=tmp_path / "model")
