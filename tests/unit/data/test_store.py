"""The store on disk: what is put in comes out, and damage is found."""

from __future__ import annotations

import pickle
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.corpus import Pair
from dragoman.data.store import FACTS, Array, joined, open_store, spread
from dragoman.errors import FileError

RAGGED = st.lists(st.lists(st.integers(0, 60_000), max_size=5), min_size=1, max_size=20)


def array_of(rows):
    sequences = joined(rows, dtype=np.uint16)
    return Array(sequences.values, np.concatenate([[0], np.cumsum(sequences.lengths)]).astype(np.uint64))


@given(RAGGED, st.data())
def test_taking_examples_equals_picking_them_from_a_list(rows, data):
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=30))
    taken = array_of(rows).take(np.array(chosen, np.int64))
    expected = [rows[i] for i in chosen]
    assert taken.lengths.tolist() == [len(row) for row in expected]
    assert taken.values.tolist() == [i for row in expected for i in row]
    assert array_of(rows).lengths().tolist() == [len(row) for row in rows]


def test_spread():
    assert spread(np.array([5, 9, 0]), np.array([2, 3, 0])).tolist() == [5, 6, 9, 10, 11]


def test_an_open_store_holds_what_was_written(make_store, make_pairs, symbols):
    pairs = make_pairs(50)
    store = make_store(pairs)
    for i, pair in enumerate(pairs):
        assert store.source.sequences.take(np.array([i])).values.tolist() == symbols.encode(pair.source)
        assert store.target.sequences.take(np.array([i])).values.tolist() == symbols.encode(pair.target)
    assert len(store) == 50
    assert store.target.sequences.values.dtype == np.uint16
    assert store.target.text is None


def test_texts_come_back_in_any_script(make_store, dropout):
    texts = ["a", "é à", "日本 語", "🥧 a"]
    store = make_store([Pair(t, t[::-1], "f", 1) for t in texts], source=dropout, target=dropout, keep_text=True)
    assert store.source.texts(np.array([3, 1, 1, 2])) == ["🥧 a", "é à", "é à", "日本 語"]
    assert store.target.texts(np.array([2])) == ["語 本日"]


def test_examples_know_their_corpus(make_store, make_pairs):
    store = make_store(make_pairs(3), make_pairs(1), make_pairs(2))
    assert store.corpus_of(np.arange(6)).tolist() == [0, 0, 0, 1, 2, 2]


def test_a_store_travels_as_its_path(make_store, make_pairs):
    store = make_store(make_pairs(2_000))
    packed = pickle.dumps(store)
    assert len(packed) < 500
    assert pickle.loads(packed).facts == store.facts  # noqa: S301 - our own bytes


def test_opening_does_not_read_the_contents(make_store, make_pairs):
    folder = make_store(make_pairs(2_000)).folder
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        open_store(folder)
        times.append(time.perf_counter() - begin)
    assert min(times) < 0.05


def test_damage_is_found(make_store, make_pairs):
    folder = make_store(make_pairs(5)).folder
    values = folder / "target.values"
    good = values.read_bytes()
    values.write_bytes(good[:-2])
    with pytest.raises(FileError, match="bytes"):
        open_store(folder)
    values.write_bytes(bytes([good[0] ^ 1]) + good[1:])
    open_store(folder)  # the size is right, and the contents are not looked at
    with pytest.raises(FileError, match="changed"):
        open_store(folder, contents=True)


@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"format": 1', b'"format": 9'), (b'"uint16"', b'"object"'), (b'"examples": 5', b'"examples": 6'), (b"{", b"[")],
)
def test_facts_that_cannot_be_true_are_refused(make_store, make_pairs, *, monkeypatch, old, new):
    folder = make_store(make_pairs(5)).folder
    monkeypatch.setattr("dragoman.data.store.verify", lambda folder, contents: None)  # as if the manifest were forged
    path = folder / FACTS
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new))
    with pytest.raises(FileError, match="not a usable store"):
        open_store(folder)
