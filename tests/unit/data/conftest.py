"""Small stores, made of pairs of words, with real tokenizers (which can travel to worker processes)."""

from __future__ import annotations

import itertools
import random

import pytest

from dragoman.data.corpus import Pair
from dragoman.data.encoding import Encoder, TextEncoder
from dragoman.data.preparation import Part, write
from dragoman.text.build import TextSettings, train_tokenizer
from dragoman.text.subword import BpeSettings
from dragoman.text.symbols import SymbolSettings

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def tokenizer(kind):
    """A tokenizer that has seen all letters, and the words of `pairs`."""
    texts = [*LETTERS, *itertools.chain.from_iterable((p.source, p.target) for p in pairs(200))]
    return train_tokenizer(kind, TextSettings(symbols=("<2fr>", "<2de>")), texts=texts, size=500)


def pairs(count, *, seed=0, mean=8.0):
    """Pairs of random words with lengths like those of sentences: spread wide, both sides about equally long."""
    generator = random.Random(seed)
    made = []
    for line in range(1, count + 1):
        length = max(1, round(generator.lognormvariate(0, 0.4) * mean))
        other = max(1, length + round(generator.gauss(0, 0.15 * mean)))
        source, target = (" ".join(generator.choices(LETTERS, k=n)) for n in (length, other))
        made.append(Pair(source, target, "made.tsv", line))
    return made


@pytest.fixture(scope="session")
def symbols():
    """Each letter between spaces is a token."""
    return tokenizer(SymbolSettings())


@pytest.fixture(scope="session")
def dropout():
    """Subwords, cut anew at every draw."""
    return tokenizer(BpeSettings(dropout=0.5))


@pytest.fixture
def make_pairs():
    return pairs


@pytest.fixture
def make_store(tmp_path, symbols):
    """A function from pairs, or several lists of them, to a store."""
    names = itertools.count()

    def make(*corpora, source=symbols, target=symbols, keep_text=False, longest=512):
        sources = TextEncoder(source, longest=longest, keep_text=keep_text) if source else None
        encoder = Encoder(sources, TextEncoder(target, longest=longest, keep_text=keep_text))
        parts = [Part(corpus, identity=str(i)) for i, corpus in enumerate(corpora)]
        return write(tmp_path / f"store{next(names)}", parts, encoder=encoder, workers=0)

    return make
