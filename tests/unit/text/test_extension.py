"""Vocabularies that grow: old ids stay, new symbols are whole, new pieces are used, and texts come back."""

from __future__ import annotations

import pickle

import pytest

from dragoman.errors import SettingError
from dragoman.text import build as text
from dragoman.text.build import TextSettings, train_tokenizer
from dragoman.text.characters import CharacterSettings
from dragoman.text.extension import extend
from dragoman.text.subword import BpeSettings, UnigramSettings
from dragoman.text.symbols import SymbolSettings
from dragoman.text.words import WordSettings

OLD = ["he hit me with a pie", "she hit him with a book", "the pie hit the book", "a book with a pie"] * 5
NEW = ["მან ღვეზელი დამარტყა", "მან წიგნი ჩაარტყა", "წიგნი და ღვეზელი", "he დამარტყა me"] * 5
SUBWORDS = [BpeSettings(), UnigramSettings()]
KINDS = [*SUBWORDS, CharacterSettings(), WordSettings(), SymbolSettings()]


def trained(kind, symbols=("<2fr>",)):
    settings = TextSettings(source=kind, symbols=symbols)
    size = 300 if isinstance(kind, BpeSettings | UnigramSettings) else None
    return train_tokenizer(kind, settings, texts=OLD, size=size)


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: type(k).__name__)
def test_old_ids_stay_and_new_texts_are_cut_into_fewer_pieces(kind):
    old = trained(kind)
    new = extend(old, symbols=["<2ka>"], texts=NEW, pieces=40)
    count = len(old.vocabulary)
    assert new.vocabulary.pieces[:count] == old.vocabulary.pieces
    assert new.vocabulary.pieces[count] == "<2ka>"
    assert new.vocabulary.symbols == ("<2fr>", "<2ka>")
    assert count + 1 < len(new.vocabulary) <= count + 41
    for sentence in NEW[:4]:
        assert new.decode(new.encode(sentence)) == sentence
        assert max(new.encode(sentence)) >= count
        assert len(new.encode(sentence)) <= len(old.encode(sentence))


@pytest.mark.parametrize("kind", [BpeSettings(), CharacterSettings(), WordSettings()], ids=lambda k: type(k).__name__)
def test_texts_that_need_nothing_new_are_cut_as_before(kind):
    old = trained(kind)
    new = extend(old, symbols=["<2ka>"], texts=[t for t in NEW if "he" not in t], pieces=40)
    assert [new.encode(t) for t in OLD] == [old.encode(t) for t in OLD]


@pytest.mark.parametrize("kind", SUBWORDS, ids=lambda k: type(k).__name__)
def test_a_new_symbol_is_never_split_and_names_the_characters_it_covers(kind):
    new = extend(trained(kind), symbols=["<2ka>"], texts=(), pieces=0)
    (piece,) = [p for p in new.pieces("he <2ka> hit") if p.form == "<2ka>"]
    assert (piece.start, piece.end) == (3, 8)
    assert new.vocabulary.symbol("<2ka>") == piece.id


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: type(k).__name__)
def test_it_is_kept_on_disk_and_sent_to_other_processes(kind, tmp_path):
    new = extend(trained(kind), symbols=["<2ka>"], texts=NEW, pieces=40)
    text.save(new, tmp_path)
    for other in (text.load(tmp_path), pickle.loads(pickle.dumps(new))):  # noqa: S301 - our own
        assert other.vocabulary.pieces == new.vocabulary.pieces
        assert other.vocabulary.symbols == new.vocabulary.symbols
        assert [other.encode(t) for t in NEW + OLD] == [new.encode(t) for t in NEW + OLD]


def test_it_can_grow_again_and_cut_at_random():
    grown = extend(trained(BpeSettings(dropout=0.5)), symbols=["<2ka>"], texts=NEW, pieces=40)
    again = extend(grown, symbols=["<2ka>", "<2de>"], texts=(), pieces=0)
    assert again.vocabulary.pieces == (*grown.vocabulary.pieces, "<2de>")
    import random

    draw = random.Random(1)
    cuts = {tuple(again.sample(NEW[0], draw)) for _ in range(20)}
    assert len(cuts) > 5
    assert all(again.decode(ids) == NEW[0] for ids in cuts)


def test_a_symbol_that_cannot_be_one_is_refused():
    with pytest.raises(SettingError, match="cannot be a symbol"):
        extend(trained(BpeSettings()), symbols=["two words"], texts=(), pieces=0)
