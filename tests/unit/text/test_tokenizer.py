"""What all tokenizers promise, whatever their kind."""

from __future__ import annotations

import itertools
import pickle
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.text import build
from dragoman.text.extension import extend
from dragoman.text.tokenizer import Piece, words_of
from dragoman.text.vocabulary import BOS, EOS, PAD, UNK

KINDS = {"bpe": build.BpeSettings(), "unigram": build.UnigramSettings(), "words": build.WordSettings()}
ANY = st.text(st.one_of(st.characters(exclude_categories=("Cs",)), st.sampled_from(" \u2581\U0010fffd\n<>ph01")))


def check_round_trip(tokenizer, text):
    ids = tokenizer.encode(text)
    if UNK not in ids:
        assert tokenizer.decode(ids) == tokenizer.normalizer(text)


def check_lossless(tokenizer, text):
    ids = tokenizer.encode(text)
    assert UNK not in ids
    assert tokenizer.decode(ids) == text


@settings(max_examples=150)
@given(text=ANY)
def test_decoding_gives_the_normalised_text(tokenizer, text):
    check_round_trip(tokenizer, text)


@settings(max_examples=300)
@given(text=ANY)
def test_subwords_lose_nothing_at_all(verbatim_subword, text):
    check_lossless(verbatim_subword, text)


@pytest.mark.slow
@settings(max_examples=10_000)
@given(text=ANY)
def test_decoding_gives_the_normalised_text_at_length(tokenizer, text):
    check_round_trip(tokenizer, text)


@pytest.mark.slow
@settings(max_examples=10_000)
@given(text=ANY)
def test_subwords_lose_nothing_at_all_at_length(verbatim_subword, text):
    check_lossless(verbatim_subword, text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "   ",
        "<unk> <s> </s> <pad>",
        "<0x41>",
        "\u2581",
        "a\u2581\u2581b",
        "\U0010fffd0\U0010fffd1",
        "<ph>x<ph> <ph>",
        "\x00",
        "👩\u200d🚀",
        "a\u0301\u0302",
    ],
)
def test_awkward_texts_survive_subwords(verbatim_subword, text):
    check_lossless(verbatim_subword, text)


def test_training_texts_have_no_unknown_piece(tokenizer, texts):
    for text in texts:
        assert UNK not in tokenizer.encode(text)
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_many_at_once_equals_one_by_one(tokenizer, texts):
    assert tokenizer.encode_all(texts) == [tokenizer.encode(text) for text in texts]


def test_symbols_are_single_ids(tokenizer):
    tag = tokenizer.vocabulary.symbol("<ph>")
    assert tokenizer.encode("une <ph> et").count(tag) == 1


@pytest.mark.parametrize("kind", ["bpe", "unigram", "words"])
def test_a_symbol_that_training_never_showed_may_stand_anywhere(kind):
    texts = ["une crème et une tarte", "deux crèmes, deux tartes"]
    trained = build.train_tokenizer(KINDS[kind], build.TextSettings(symbols=("<ph>",)), texts=texts, size=300)
    plain = build.train_tokenizer(KINDS[kind], build.TextSettings(), texts=texts, size=300)
    for tokenizer in (trained, extend(plain, symbols=["<ph>"])):
        for text in ("<ph> une crème", "une crème <ph>", "<ph>", "<ph> <ph>"):
            assert UNK not in tokenizer.encode(text)
            assert tokenizer.decode(tokenizer.encode(text)) == text


def test_special_ids_are_silent_and_never_made_from_text(tokenizer, texts):
    ids = tokenizer.encode(texts[0])
    assert tokenizer.decode([BOS, *ids, EOS, PAD, PAD]) == texts[0]
    assert not {PAD, BOS, EOS} & set(tokenizer.encode("<pad> <s> </s>"))


def test_pieces_cover_the_text_in_order(tokenizer, texts):
    for text in (*texts, "a\u2581b 👩\u200d🚀 q"):
        normal = tokenizer.normalizer(text)
        pieces = tokenizer.pieces(text)
        assert [p.id for p in pieces] == tokenizer.encode(text)
        covered = set()
        for before, after in itertools.pairwise(pieces):
            assert before.start <= after.start
            assert before.end <= after.end
        for piece in pieces:
            covered.update(range(piece.start, piece.end))
        assert {i for i, c in enumerate(normal) if not c.isspace()} <= covered


def test_saved_and_loaded_is_the_same(tokenizer, texts, tmp_path):
    build.save(tokenizer, tmp_path)
    loaded = build.load(tmp_path)
    assert loaded.vocabulary.pieces == tokenizer.vocabulary.pieces
    assert loaded.vocabulary.symbols == tokenizer.vocabulary.symbols
    assert loaded.settings == tokenizer.settings
    assert loaded.encode_all(texts) == tokenizer.encode_all(texts)
    assert loaded.stochastic == tokenizer.stochastic


def test_workers_get_an_equal_copy(tokenizer, texts):
    copy = pickle.loads(pickle.dumps(tokenizer))  # noqa: S301 - our own object, as multiprocessing sends it
    for text in texts:
        assert copy.sample(text, random.Random(7)) == tokenizer.sample(text, random.Random(7))


def test_a_seed_repeats_a_sample_and_the_text_stays(tokenizer, texts):
    drawn = set()
    for seed in range(30):
        ids = tokenizer.sample(texts[2], random.Random(seed))
        assert ids == tokenizer.sample(texts[2], random.Random(seed))
        assert tokenizer.decode(ids) == texts[2]
        drawn.add(tuple(ids))
    assert (len(drawn) > 1) == tokenizer.stochastic


@settings(max_examples=100)
@given(text=ANY, seed=st.integers(0, 1 << 60))
def test_a_sample_of_any_text_decodes_to_it(tokenizer, text, seed):
    ids = tokenizer.sample(text, random.Random(seed))
    if UNK not in ids:
        assert tokenizer.decode(ids) == tokenizer.normalizer(text)


def test_words_of_pieces():
    pieces = [Piece(9, "a", 0, 1), Piece(9, "b", 1, 2), Piece(9, "▁", 2, 3), Piece(9, "▁cd", 2, 5), Piece(9, "e", 6, 7)]
    assert words_of("ab cd e", pieces) == [0, 0, None, 1, 2]
