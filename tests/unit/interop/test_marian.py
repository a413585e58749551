"""Archives of Marian become bundles that say what a plain Transformer makes of the same arrays, or are refused."""

from __future__ import annotations

import io
import pickle
import zipfile

import numpy as np
import pytest
import torch

import dragoman
from dragoman import bundle as bundles
from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.filters import FilterSettings, LengthLimits
from dragoman.decoding.greedy import GreedySettings
from dragoman.errors import FileError, ModelError, SettingError, UserError
from dragoman.interop.npz import Npz
from dragoman.text.vocabulary import BOS, EOS, PAD
from dragoman.translator import Translator
from reference.checkpoints import PRE, WORDS, Marian, greedy
from reference.huggingface import english, pieces_of, trained

OTHER = (*WORDS[:3], "le", "chat")
VARIANTS = {
    "as opus": ({}, (WORDS, WORDS)),
    "student": (
        {"transformer_decoder_autoreg": "rnn", "dec_cell": "ssru", "transformer_ffn_activation": "relu"},
        (WORDS, WORDS),
    ),
    "first normalised": ({**PRE, "rows": (17, 9), "tied_embeddings_all": False}, (WORDS, OTHER)),
    "recurrent, first normalised": ({**PRE, "transformer_decoder_autoreg": "rnn", "dec_cell": "ssru"}, (WORDS, WORDS)),
    "positions learned": (
        {
            "transformer_train_position_embeddings": True,
            "transformer_postprocess_emb": "nd",
            "tied_embeddings_all": False,
            "tied_embeddings_src": True,
            "tied_embeddings": True,
        },
        (WORDS, WORDS),
    ),
}


def logits_of(bundle, source, target):
    """What the imported model says before each token of the target, and after the last."""
    reader = Translator(bundle, device=torch.device("cpu")).reader
    inputs_1T = torch.tensor([[BOS, *target]])
    with torch.inference_mode():
        hidden = bundle.model.hidden(reader.source([source]), inputs_1T, torch.tensor([inputs_1T.shape[1]]))
        return bundle.model.logits(hidden).numpy()


@pytest.mark.parametrize("kind", VARIANTS)
def test_an_imported_model_says_what_the_arrays_say(tmp_path, kind):
    options, words = VARIANTS[kind]
    made = Marian(**options)
    found = dragoman.import_model(made.save(tmp_path / "marian", words=words), out=tmp_path / "model")
    assert found.probe is None
    assert "nothing was compared" in found.remark
    bundle = bundles.load(tmp_path / "model")
    sources, targets = (made.vocabulary(some) for some in words)
    source, target = ["the", "▁dog", ":", "never heard", "it's"], ["sat", "the", "<unk>", "cat"]
    theirs = [sources.index(word) if word in sources else 1 for word in " ".join(source).split()] + [0]
    wanted = [targets.index(word) for word in target]

    source_ids = Translator(bundle, device=torch.device("cpu")).reader.read(" ".join(source))
    vocabulary = bundle.tokenizers.source.vocabulary
    assert source_ids == [vocabulary[word] for word in " ".join(source).split()] + [EOS]
    vocabulary = bundle.tokenizers.target.vocabulary
    columns = [vocabulary[word] for word in targets]
    ours = logits_of(bundle, source_ids, [vocabulary[word] for word in target])
    expected = made.logits(theirs, wanted)
    assert np.abs(ours[:, columns] - expected[:, : len(columns)]).max() < 1e-4
    assert ours[:, [PAD, BOS]].max() < -900  # Marian knows neither

    limits = FilterSettings(lengths=LengthLimits(most=5, most_per_source=9.0))
    said = dragoman.load(tmp_path / "model", device="cpu").translate(
        "the ▁dog", decoding=GreedySettings(filters=limits)
    )
    rows = made.rows[1]
    plain = greedy(lambda ids: made.logits([sources.index("the"), sources.index("▁dog"), 0], ids), [], 0, 5)
    names = dict(enumerate([*targets, *(f"<unused {n}>" for n in range(len(targets), rows))]))
    assert [token.text for token in said.tokens] == [names[number] for number in plain]


def test_vocabularies_sentencepiece_models_and_languages(tmp_path):
    """As Opus-MT packs its models: a vocabulary of both, a sentencepiece model of each side, languages as pieces."""
    model = trained(english())
    pieces = [piece for piece in pieces_of(model) if piece not in ("<s>", "</s>", "<unk>")]
    words = (">>fra<<", ">>deu<<", *pieces)
    made = Marian(rows=(len(words) + 4,) * 2)  # with rows that no piece has
    folder = made.save(tmp_path / "marian", words=(words, words), beam_size=6, normalize=0.6)
    for side in ("source", "target"):
        (folder / f"{side}.spm").write_bytes(model)
    found = dragoman.import_model(folder, out=tmp_path / "model", target_language="fra")
    assert "spaces" not in found.remark
    description = bundles.describe(tmp_path / "model")
    assert description.decoding == BeamSettings(beam=6, alpha=0.6)
    assert description.origin.library == "marian"
    translator = dragoman.load(tmp_path / "model", device="cpu")
    reader, text = translator.reader, "He sleeps."
    cut = [bundles.load(tmp_path / "model").tokenizers.source.vocabulary.pieces[i] for i in reader.read(text)]
    assert cut[0] == ">>fra<<"
    assert "".join(cut[1:-1]) == "▁He▁sleeps."
    assert reader.read(text, target_language="deu")[1:] == reader.read(text)[1:]
    assert reader.read(f">>deu<< {text}") == reader.read(text, target_language="deu")
    with pytest.raises(SettingError, match="does not know 'spa'"):
        dragoman.import_model(folder, out=tmp_path / "no", target_language="spa")

    alone = Marian(rows=(len(pieces_of(model)),) * 2)  # and as Marian does by itself: the model is the vocabulary
    folder = alone.save(tmp_path / "alone")
    (folder / "vocab.yml").unlink()
    (folder / "model.npz.decoder.yml").unlink()
    (folder / "vocab.spm").write_bytes(model)
    dragoman.import_model(folder / "model.npz", out=tmp_path / "two")
    tokenizer = bundles.load(tmp_path / "two").tokenizers.source
    assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"type": "s2s"}, "type is 's2s', which is no Transformer"),
        ({"transformer-ffn-activation": "gelu"}, "'gelu', which is not known"),
        ({"transformer-decoder-autoreg": "average-attention"}, "average-attention"),
        ({"right-left": True}, "from the end to the begin"),
        ({"transformer-postprocess": "dhn"}, "another order"),
        ({"transformer-tied-layers": [1, 1]}, "share weights"),
        ({"lemma-dim-emb": 4}, "factored"),
        ({"enc-depth": 10**9}, "layers cannot be made of"),
        ({"enc-depth": 1}, "does not have: encoder.layers.1"),
        ({"enc-depth": 0}, "encoder_layers"),
        ({"dim-emb": 12}, "has the shape"),
        ({"dim-emb": "many"}, "dim-emb is 'many'"),
        ({"transformer-dim-ffn": 10}, "have the shapes"),
        ({"transformer-dim-ffn": 9 * 10**17}, "no model can be built"),
        ({"transformer-heads": 3}, "not a multiple of 3 heads"),
    ],
)
def test_what_is_not_known_is_refused_with_the_reason(tmp_path, change, said):
    made = Marian()
    made.options |= change
    with pytest.raises(ModelError, match=said):
        dragoman.import_model(made.save(tmp_path / "marian"), out=tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_files_that_do_not_go_together_are_refused(tmp_path):
    made = Marian(rows=(9, 9))
    folder = made.save(tmp_path / "marian")
    with pytest.raises(ModelError, match=r"15 pieces .* do not fit 9 rows"):
        dragoman.import_model(folder, out=tmp_path / "model")
    (folder / "vocab.yml").write_text('"</s>": 0\n"<unk>": 1\nx 2\n')
    with pytest.raises(FileError, match="no piece with its number"):
        dragoman.import_model(folder, out=tmp_path / "model")
    (folder / "vocab.yml").write_text('"</s>": 0\n"<unk>": 1\n? x\n: 1\n')
    with pytest.raises(FileError, match="stands twice"):
        dragoman.import_model(folder, out=tmp_path / "model")
    (folder / "vocab.yml").unlink()
    with pytest.raises(ModelError, match="which of 0 files is the vocabulary"):
        dragoman.import_model(folder, out=tmp_path / "model")
    (folder / "other.npz").write_bytes((folder / "model.npz").read_bytes())
    (folder / "model.npz.decoder.yml").unlink()
    with pytest.raises(ModelError, match=r"2 models: model\.npz, other\.npz"):
        dragoman.import_model(folder, out=tmp_path / "model")
    with pytest.raises(SettingError, match="no prompts"):
        dragoman.import_model(folder, out=tmp_path / "model", prompt="say")
    (folder / "some.text").touch()
    with pytest.raises(ModelError, match="a kind that is not known"):
        dragoman.import_model(folder / "some.text", out=tmp_path / "model")


def test_an_archive_without_options_or_with_more_weights_is_refused(tmp_path):
    made = Marian()
    made.arrays["decoder_l1_self_Wx"] = np.zeros((2, 2), "float32")
    with pytest.raises(ModelError, match="does not have: decoder_l1_self_Wx"):
        dragoman.import_model(made.save(tmp_path / "more"), out=tmp_path / "model")
    folder = Marian().save(tmp_path / "fewer")
    np.savez(folder / "model.npz", **Marian().arrays)
    with pytest.raises(ModelError, match=r"no special:model\.yml"):
        dragoman.import_model(folder, out=tmp_path / "model")


class Planted:
    """Fails loudly when it is unpickled."""

    def __reduce__(self):
        return pytest.fail, ("it was unpickled",)


def test_archives_are_numbers_and_nothing_else(tmp_path):
    """No pickle is read, what swells is refused before it is unpacked, and mutants are refused or are numbers."""
    path = tmp_path / "a.npz"
    body = io.BytesIO()
    np.lib.format.write_array_header_1_0(body, {"descr": "|O", "fortran_order": False, "shape": (1,)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", body.getvalue() + pickle.dumps([Planted()]))
    with pytest.raises(FileError, match="no array of numbers"):
        Npz(path)
    np.savez_compressed(path, a=np.zeros(1 << 20))
    with pytest.raises(FileError, match="unpacks to far more"):
        Npz(path)
    body = io.BytesIO()
    np.lib.format.write_array_header_1_0(body, {"descr": "<f4", "fortran_order": False, "shape": (1 << 40,)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", body.getvalue())
    with pytest.raises(FileError, match="not whole"):
        Npz(path)
    with pytest.raises(FileError, match="cannot read"):
        Npz(tmp_path / "none.npz")

    data = (Marian().save(tmp_path / "marian") / "model.npz").read_bytes()
    draw = np.random.default_rng(3)
    refused = 0
    for _ in range(40):
        mutant = bytearray(data)
        mutant[int(draw.integers(len(data)))] ^= 1 << int(draw.integers(8))
        path.write_bytes(mutant[: int(draw.integers(1, len(data)))] if draw.random() < 0.3 else mutant)
        try:
            archive = Npz(path)
            for name in archive.shapes():
                archive.read(name)
        except UserError:
            refused += 1
    assert refused > 10
