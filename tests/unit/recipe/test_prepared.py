"""What is made of a recipe's corpora."""

from __future__ import annotations

import msgspec
import pytest
import torch

from dragoman import bundle as bundles
from dragoman.bundle import Bundle, Description
from dragoman.data.corpus import DataSettings, Mono, Tsv
from dragoman.data.preparation import StoreSettings
from dragoman.errors import SettingError, TextError
from dragoman.models.recurrent_lm import RecurrentLMSettings
from dragoman.recipe.prepared import prepare_data
from dragoman.recipe.schema import Recipe
from dragoman.text.build import TextSettings, train_tokenizers
from dragoman.text.normalize import Normalization
from dragoman.text.words import WordSettings


@pytest.fixture
def model(tmp_path):
    """A model whose two sides have tokenizers of their own."""
    text = TextSettings(source=WordSettings(), joint=False)
    both = train_tokenizers(text, sources=["the cat sat"], targets=["le chat dort ici"])
    told = Description(
        model=RecurrentLMSettings(size=4), source_vocabulary=None, target_vocabulary=len(both.target.vocabulary)
    )
    torch.manual_seed(0)
    bundles.save(Bundle(told, bundles.build_model(told), both), tmp_path / "model")
    return tmp_path / "model"


def test_a_language_model_may_cut_texts_like_the_targets_of_a_model(tmp_path, model):
    (tmp_path / "texts").write_text("un chien dort ici\nle chat\n")
    recipe = Recipe(
        data=DataSettings(train=(Mono(file=str(tmp_path / "texts")),)),
        text=TextSettings(like=str(model)),
        store=StoreSettings(workers=0),
        model=RecurrentLMSettings(size=4),
    )
    prepared = prepare_data(recipe, tmp_path / "run")
    pieces = bundles.load_tokenizers(model).target.vocabulary.pieces
    assert prepared.tokenizers.joint
    assert prepared.tokenizers.target.vocabulary.pieces == pieces
    assert "▁dort" in pieces
    with pytest.raises(SettingError, match=r"text.like: the tokenizers of .* do not know <2de>"):
        prepare_data(
            msgspec.structs.replace(recipe, text=TextSettings(like=str(model), symbols=("<2de>",))), tmp_path / "other"
        )


def test_other_columns_of_the_same_file_are_other_pairs(tmp_path):
    (tmp_path / "pairs.tsv").write_text("one\tun\teins\ntwo\tdeux\tzwei\n")

    def targets(column):
        tsv = Tsv(file=str(tmp_path / "pairs.tsv"), columns=3, target_column=column)
        recipe = Recipe(
            data=DataSettings(train=(tsv,), valid=tsv),
            text=TextSettings(source=WordSettings()),
            store=StoreSettings(workers=0),
        )
        prepared = prepare_data(recipe, tmp_path / "run")
        pieces = prepared.tokenizers.target.vocabulary.pieces
        return prepared.references, prepared.train.facts.fingerprint, {"▁un", "▁eins"} & set(pieces)

    before = targets(2)
    after = targets(3)
    assert (before[0], after[0]) == (("un", "deux"), ("eins", "zwei"))
    assert before[1] != after[1]
    assert (before[2], after[2]) == ({"▁un"}, {"▁eins"})
    assert targets(3) == after


@pytest.mark.parametrize("size", [None, 400])
def test_a_text_that_is_refused_is_named_by_file_and_line(tmp_path, size):
    (tmp_path / "pairs.tsv").write_text("one\tun\ntwo\tde\u200bux\n")
    tsv = Tsv(file=str(tmp_path / "pairs.tsv"))
    recipe = Recipe(
        data=DataSettings(train=(tsv,), valid=tsv),
        text=TextSettings(vocabulary_size=size, normalization=Normalization(zero_width="refuse")),
        store=StoreSettings(workers=0),
    )
    with pytest.raises(TextError) as caught:
        prepare_data(recipe, tmp_path / "run")
    assert caught.value.place == f"{tmp_path / 'pairs.tsv'}:2, character 3"
