"""Preparing a store: everything in, in order, whoever encodes it; and made again when anything changed."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from dragoman.data.corpus import Pair
from dragoman.data.encoding import Encoder, FeatureEncoder, TextEncoder
from dragoman.data.preparation import Part, StoreSettings, _chunks, fingerprint, identity, prepare, write
from dragoman.errors import DataError, FileError, TextError


@pytest.fixture
def encoder(symbols):
    return Encoder(TextEncoder(symbols, longest=20), TextEncoder(symbols, longest=20))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_workers_write_the_same_bytes(tmp_path, encoder, make_pairs, monkeypatch):
    monkeypatch.setattr("dragoman.data.encoding._CHUNK_TEXTS", 50)
    parts = [Part(make_pairs(600, mean=10), "1"), Part(make_pairs(300, seed=1), "2", source_prefix=(4,))]
    write(tmp_path / "alone", parts, encoder=encoder, workers=0)
    write(tmp_path / "shared", parts, encoder=encoder, workers=2)
    assert contents(tmp_path / "alone") == contents(tmp_path / "shared")


def test_what_is_left_out_is_counted_and_can_be_found(tmp_path, encoder, monkeypatch):
    monkeypatch.setattr("dragoman.data.encoding._CHUNK_TEXTS", 3)
    texts = ["a"] * 40
    texts[3], texts[39] = "", " ".join("a" * 21)
    pairs = [Pair(text, "b", "x.tsv", line) for line, text in enumerate(texts, 1)]
    store = write(tmp_path / "store", [Part(pairs[:20], ""), Part(pairs[20:], "")], encoder=encoder, workers=0)
    assert [c.examples for c in store.facts.corpora] == [19, 19]
    assert (store.facts.empty, store.facts.too_long) == (1, 1)
    assert (store.facts.first_empty, store.facts.first_too_long) == (("x.tsv:4",), ("x.tsv:40",))
    assert store.left_out("empty").tolist() == [3]
    assert store.left_out("too_long").tolist() == [39]


def test_places_are_kept_of_the_first_few_only(tmp_path, encoder, monkeypatch):
    monkeypatch.setattr("dragoman.data.encoding._CHUNK_TEXTS", 7)
    pairs = [Pair("" if line > 1 else "a", "b", "x", line) for line in range(1, 41)]
    facts = write(tmp_path / "store", [Part(pairs, "")], encoder=encoder, workers=0).facts
    assert facts.empty == 39
    assert facts.first_empty == tuple(f"x:{line}" for line in range(2, 12))


def test_nothing_left_is_an_error_and_leaves_no_folder(tmp_path, encoder):
    with pytest.raises(DataError, match=r"x:1: no example is left: 1 pairs have an empty side, 0 are too long"):
        write(tmp_path / "store", [Part([Pair("", "b", "x", 1)], "")], encoder=encoder, workers=0)
    with pytest.raises(DataError, match="no example is left"):
        write(tmp_path / "store", [Part([], "")], encoder=encoder, workers=0)
    assert not list(tmp_path.iterdir())


def test_a_bad_text_in_a_worker_is_named_and_leaves_nothing_behind(tmp_path, encoder, make_pairs, monkeypatch):
    monkeypatch.setattr("dragoman.data.encoding._CHUNK_TEXTS", 10)
    pairs = make_pairs(500)
    pairs[321] = Pair("\ud800", "b", "x.tsv", 322)
    threads = threading.active_count()
    with pytest.raises(TextError, match=r"x\.tsv:322"):
        write(tmp_path / "store", [Part(pairs, "")], encoder=encoder, workers=1)
    assert not list(tmp_path.iterdir())
    assert threading.active_count() == threads


def test_the_input_is_taken_only_as_fast_as_it_is_written(tmp_path, encoder, make_pairs, monkeypatch):
    monkeypatch.setattr("dragoman.data.encoding._CHUNK_TEXTS", 10)
    taken, ahead = 0, 0

    def counted():
        nonlocal taken
        for pair in make_pairs(2_000):
            taken += 1
            yield pair

    real = np.cumsum

    def watched(lengths):
        nonlocal ahead
        ahead = max(ahead, taken - watched.written)
        watched.written += len(lengths) / 2  # both sides
        return real(lengths)

    watched.written = 0
    monkeypatch.setattr("dragoman.data.preparation.np.cumsum", watched)
    write(tmp_path / "store", [Part(counted(), "")], encoder=encoder, workers=1)
    assert ahead <= 10 * (8 + 1 + 3 + 1)  # the first few, one to see if there are more, those under way, one written


def test_long_lines_are_taken_in_smaller_chunks(make_pairs, monkeypatch):
    monkeypatch.setattr("dragoman.data.preparation._CHUNK_CHARACTERS", 50)
    pairs = make_pairs(100)
    chunks = list(_chunks([Part(pairs[:60], ""), Part(pairs[60:], "")], 1_000))
    assert [t for c in chunks for t in c.targets] == [p.target for p in pairs]
    assert [c.first + i for c in chunks for i in range(len(c.targets))] == list(range(100))
    assert all(sum(map(len, c.sources[:-1] + c.targets[:-1])) <= 50 for c in chunks)


def test_feature_sources(tmp_path, symbols):
    pairs = []
    for i in range(20):
        np.save(tmp_path / f"{i}.npy", np.full((i + 1, 2), i))
        pairs.append(Pair(str(tmp_path / f"{i}.npy"), "a", "list", i + 1))
    encoder = Encoder(FeatureEncoder(2, longest=30), TextEncoder(symbols, longest=9))
    store = write(tmp_path / "store", [Part(pairs, "")], encoder=encoder, workers=0)
    taken = store.source.sequences.take(np.array([4, 0]))
    assert taken.values.tolist() == [[4, 4]] * 5 + [[0, 0]]
    assert taken.lengths.tolist() == [5, 1]


# ---- taking a store that is there --------------------------------------------------------------------------------


def test_a_store_that_matches_is_taken(tmp_path, encoder, make_pairs, monkeypatch):
    folder, pairs = tmp_path / "store", make_pairs(20)
    first = prepare(folder, [Part(pairs, "x")], encoder=encoder, workers=0)
    monkeypatch.setattr("dragoman.data.preparation.write", None)
    assert prepare(folder, [Part(pairs, "x")], encoder=encoder, workers=0).facts == first.facts


@pytest.mark.parametrize("changed", ["identity", "prefix", "length", "tokenizer", "parts"])
def test_a_store_that_does_not_match_is_made_again(tmp_path, *, encoder, dropout, symbols, make_pairs, changed):
    folder, pairs = tmp_path / "store", make_pairs(20)
    prepare(folder, [Part(pairs, "x")], encoder=encoder, workers=0)
    parts = [Part(make_pairs(9, seed=1), "x")]
    match changed:
        case "identity":
            parts = [Part(parts[0].pairs, "y")]
        case "prefix":
            parts = [Part(parts[0].pairs, "x", target_prefix=(4,))]
        case "length":
            encoder = Encoder(encoder.source, TextEncoder(symbols, longest=100))
        case "tokenizer":
            encoder = Encoder(encoder.source, TextEncoder(dropout, longest=20))
        case "parts":
            parts.append(Part([], "none"))
    again = prepare(folder, parts, encoder=encoder, workers=0)
    assert again.facts.fingerprint == fingerprint(parts, encoder)
    assert sum(c.examples for c in again.facts.corpora) == len(again) <= 9


def test_a_damaged_store_is_made_again(tmp_path, encoder, make_pairs):
    folder, parts = tmp_path / "store", [Part(make_pairs(20), "x")]
    prepare(folder, parts, encoder=encoder, workers=0)
    (folder / "target.values").write_bytes(b"")
    assert len(prepare(folder, parts, encoder=encoder, workers=0).target.sequences.values)


def test_a_folder_of_another_kind_is_left_alone(tmp_path, encoder, make_pairs):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(FileError, match="not a store"):
        prepare(tmp_path, [Part(make_pairs(20), "x")], encoder=encoder, workers=0)
    assert (tmp_path / "thesis.tex").exists()


def test_identities_follow_the_contents_of_files(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("a")
    other.write_text("a")
    assert identity([one]) == identity([other]) != identity([one, other])
    other.write_text("b")
    assert identity([one]) != identity([other])
    assert identity(["-"]) != identity(["-"])
    with pytest.raises(FileError, match="missing"):
        identity([tmp_path / "missing"])


def test_settings_choose_the_number_of_processes(monkeypatch):
    monkeypatch.setattr("dragoman.data.preparation.cores", lambda: 7)
    assert StoreSettings().processes() == 7
    assert StoreSettings(workers=0).processes() == 0
