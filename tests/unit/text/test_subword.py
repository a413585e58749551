"""Subwords against the library that trains them."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest

from dragoman.errors import DataError, TextError
from dragoman.text.build import TextSettings, train_tokenizer
from dragoman.text.normalize import Normalization, Normalizer
from dragoman.text.sampling import LatticeSampling, MergeDropout
from dragoman.text.subword import BpeSettings, UnigramSettings, load_subword


def trained(kind, texts, size=400):
    return train_tokenizer(kind, TextSettings(symbols=("<ph>",)), texts=texts, size=size)


def test_merging_without_dropout_is_what_the_library_does(texts):
    tokenizer = trained(BpeSettings(dropout=0.1), texts)
    tokenizer._cutter = MergeDropout(tokenizer.scores(), dropout=0.0)
    for text in (*texts, "unknown wörds <ph>mid<ph>dle", "aaaa aaaaa lolololow"):
        assert tokenizer.sample(text, random.Random(0)) == tokenizer.encode(text)


def test_a_lattice_without_chance_is_what_the_library_does(texts):
    tokenizer = trained(UnigramSettings(alpha=1.0), texts)
    tokenizer._cutter = LatticeSampling(tokenizer.scores(), alpha=500.0)
    for text in (*texts, "unknown wörds <ph>mid<ph>dle"):
        assert tokenizer.sample(text, random.Random(0)) == tokenizer.encode(text)


def test_dropout_of_everything_leaves_characters(texts):
    tokenizer = trained(BpeSettings(dropout=0.999999), texts)
    pieces = [tokenizer.vocabulary.pieces[i] for i in tokenizer.sample("the low ones", random.Random(1))]
    assert pieces == list("▁the▁low▁ones")


def test_vocabulary_size_is_chosen_or_kept(texts):
    assert len(trained(BpeSettings(), texts, size=350).vocabulary) <= 350
    with pytest.raises(TextError, match=r"a vocabulary of 100 is too small.*Ask for"):
        trained(BpeSettings(), texts, size=100)


def test_nothing_to_learn_from_is_said():
    with pytest.raises(TextError, match="Check that there are texts"):
        trained(BpeSettings(), ["", " "])


@pytest.mark.parametrize(
    "error", [DataError("a line too many", place="a.fr:7", remedy="Mend it."), KeyboardInterrupt()]
)
def test_what_is_wrong_with_the_texts_is_not_said_of_the_vocabulary(texts, error):
    def broken():
        yield from texts
        raise error

    with pytest.raises(type(error)) as caught:
        trained(BpeSettings(), broken())
    assert caught.value is error


def test_a_damaged_model_is_refused(tmp_path):
    (tmp_path / "subword.model").write_bytes(b"not a model")
    with pytest.raises(TextError, match="damaged"):
        load_subword(tmp_path, settings=BpeSettings(), symbols=(), normalizer=Normalizer(Normalization()))


def test_the_trace_counts_pairs_as_they_stood(texts):
    """A twin that cuts every word anew with the merges so far, and counts."""
    tokenizer = trained(BpeSettings(), texts)
    words = Counter(
        word for text in texts for word, symbol in tokenizer._words(tokenizer.normalizer(text)) if not symbol
    )
    assert len(tokenizer.merges) > 20
    for step in range(0, len(tokenizer.merges), 7):
        ranks = {m.piece: -float(i) for i, m in enumerate(tokenizer.merges[:step])}
        cutter = MergeDropout(ranks, dropout=0.0)
        piece = tokenizer.merges[step].piece
        count = 0
        for word, frequency in words.items():
            cut = cutter.cut(tuple(word), random.Random(0))
            count += frequency * sum(a + b == piece for a, b in itertools.pairwise(cut))
        assert tokenizer.merges[step].count == count
