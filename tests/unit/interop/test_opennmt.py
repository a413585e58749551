"""Checkpoints of OpenNMT-py become bundles that say what a plain Transformer makes of their weights, or are refused."""

from __future__ import annotations

import os

import numpy as np
import pytest
import torch

import dragoman
from dragoman import bundle as bundles
from dragoman.decoding.filters import FilterSettings, LengthLimits
from dragoman.decoding.greedy import GreedySettings
from dragoman.errors import FileError, ModelError
from dragoman.text.vocabulary import BOS, EOS, UNK
from dragoman.translator import Translator
from reference.checkpoints import WORDS, OpenNMT, greedy
from reference.huggingface import english, pieces_of, trained

OTHER = ("le", "chat", "the", "x")
SPECIAL = {"<unk>": UNK, "</s>": EOS}
UNSAID = ("<s>", "<blank>")


@pytest.mark.parametrize(
    "variant",
    [
        {"words": (WORDS, OTHER)},
        {"share_embeddings": True, "share_decoder_embeddings": True, "biases": False, "generator": "0."},
    ],
)
def test_an_imported_model_says_what_the_weights_say(tmp_path, variant):
    made = OpenNMT(**variant)
    found = dragoman.import_model(made.save(tmp_path / "some" / "model_step_3.pt"), out=tmp_path / "model")
    assert found.probe is None
    assert "cut at spaces alone" in found.remark
    bundle = bundles.load(tmp_path / "model")
    assert bundle.description.origin.library == "opennmt-py"
    sources, targets = made.vocabularies
    text, target = "the ▁dog unheard :", [targets[5], targets[4], "<unk>"]
    theirs = [sources.index(word) if word in sources else 0 for word in text.split()]  # which have no end there
    reader = Translator(bundle, device=torch.device("cpu")).reader
    read = reader.read(text)
    assert len(read) == len(theirs)
    vocabulary = bundle.tokenizers.target.vocabulary
    kept = [n for n, word in enumerate(targets) if word not in UNSAID]
    columns = [SPECIAL.get(targets[n], vocabulary[targets[n]]) for n in kept]
    inputs_1T = torch.tensor([[BOS, *(SPECIAL.get(word, vocabulary[word]) for word in target)]])
    with torch.inference_mode():
        hidden = bundle.model.hidden(reader.source([read]), inputs_1T, torch.tensor([4]))
        ours = bundle.model.logits(hidden).numpy()
    expected = made.logits(theirs, [2, *(targets.index(word) for word in target)])
    assert np.abs(ours[:, columns] - expected[:, kept]).max() < 1e-4

    def said_there(ids):
        logits = made.logits(theirs, ids)
        logits[:, [1, 2]] = -np.inf  # neither padding nor begin is ever said here
        return logits

    limits = FilterSettings(lengths=LengthLimits(most=5, most_per_source=9.0))
    said = dragoman.load(tmp_path / "model", device="cpu").translate(text, decoding=GreedySettings(filters=limits))
    plain = greedy(said_there, [2], 3, 5)
    assert [token.text for token in said.tokens] == [targets[number] for number in plain]


def test_the_sentencepiece_model_beside_it_is_used(tmp_path):
    model = trained(english())
    pieces = tuple(piece for piece in pieces_of(model) if piece not in ("<s>", "</s>", "<unk>"))
    file = OpenNMT(words=(pieces, pieces)).save(tmp_path / "some" / "a.pt")
    (file.parent / "sp.model").write_bytes(model)
    found = dragoman.import_model(file.parent, out=tmp_path / "model")
    assert "spaces" not in found.remark
    tokenizer = bundles.load(tmp_path / "model").tokenizers.source
    assert tokenizer.decode(tokenizer.encode("He sleeps.")) == "He sleeps."
    (file.parent / "b.pt").touch()
    with pytest.raises(ModelError, match="there are 2 checkpoints"):
        dragoman.import_model(file.parent, out=tmp_path / "two")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"encoder_type": "brnn"}, "no Transformer with an encoder and a decoder"),
        ({"enc_layers": 10**9}, "layers cannot be made of"),
        *(
            pytest.param(change, said, marks=pytest.mark.slow)  # each is read by a process of its own
            for change, said in (
                ({"max_relative_positions": 20}, "relative positions"),
                ({"position_encoding": False}, "leaves positions"),
                ({"copy_attn": True}, "copy_attn is True"),
                ({"num_kv": 1}, "fewer heads of keys"),
                ({"pos_ffn_activation_fn": "silu"}, "no weights model.encoder.transformer.0.feed_forward.w_3"),
                ({"dec_hid_size": 16}, "differ in size"),
                ({"share_embeddings": True}, "two vocabularies that are not the same"),
            )
        ),
    ],
)
def test_what_is_not_known_is_refused_with_the_reason(tmp_path, change, said):
    made = OpenNMT(words=(WORDS, OTHER))
    made.options |= change
    with pytest.raises(ModelError, match=said):
        dragoman.import_model(made.save(tmp_path / "a.pt"), out=tmp_path / "model")
    assert not (tmp_path / "model").exists()


class Planted:
    """Makes a folder when it is unpickled."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return os.mkdir, (str(self.place),)


def test_a_checkpoint_runs_nothing(tmp_path):
    file = OpenNMT().save(tmp_path / "a.pt", vocab={"src": Planted(tmp_path / "made"), "tgt": []})
    with pytest.raises(FileError, match="more than weights"):
        dragoman.import_model(file, out=tmp_path / "model")
    assert not (tmp_path / "made").exists()
    for vocab in ("none", {"src": ["a", 3], "tgt": []}, {"src": ["a"]}):
        with pytest.raises((FileError, ModelError)):
            dragoman.import_model(OpenNMT().save(file, vocab=vocab), out=tmp_path / "model")
