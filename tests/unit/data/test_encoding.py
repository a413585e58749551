"""Encoding: from pairs to ids or vectors, with what is left out and why."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.data.encoding import Chunk, Encoder, FeatureEncoder, TextEncoder, feature_width
from dragoman.errors import DataError, FileError, TextError


def chunk(sources, targets, **prefixes):
    lines = list(range(11, 11 + len(targets)))
    return Chunk(0, 100, sources, targets, ["f.tsv"] * len(targets), lines, **prefixes)


def rows(column):
    return [part.tolist() for part in np.split(column.sequences.values, np.cumsum(column.sequences.lengths)[:-1])]


def test_empty_and_too_long_pairs_are_left_out_with_their_numbers_and_places(symbols):
    encoder = Encoder(TextEncoder(symbols, longest=3), TextEncoder(symbols, longest=2))
    encoded = encoder(chunk(["a b c", "", "a", "a b c d", "a", ""], ["a b", "a", " ", "a", "a b c", "a b c"]))
    assert rows(encoded.source) == [symbols.encode("a b c")]
    assert rows(encoded.target) == [symbols.encode("a b")]
    assert encoded.empty.numbers == [101, 102, 105]
    assert encoded.too_long.numbers == [103, 104]
    assert encoded.too_long.places == ["f.tsv:14", "f.tsv:15"]


def test_prefixes_stand_before_the_ids_and_count(symbols):
    encoder = Encoder(TextEncoder(symbols, longest=3), TextEncoder(symbols, longest=3))
    tag = symbols.vocabulary.symbol("<2fr>")
    encoded = encoder(chunk(["a b", "a b c"], ["a b c", "a"], source_prefix=(tag,)))
    assert rows(encoded.source) == [[tag, *symbols.encode("a b")]]
    assert encoded.too_long.numbers == [101]
    encoded = encoder(chunk(["a", "a"], ["a b", "a b c"], target_prefix=(tag,)))
    assert rows(encoded.target) == [[tag, *symbols.encode("a b")]]
    assert encoded.too_long.numbers == [101]


def test_monolingual_text_has_no_source(symbols):
    encoded = Encoder(None, TextEncoder(symbols, longest=9))(chunk(["", ""], ["a", "b"]))
    assert encoded.source is None
    assert len(encoded.target.sequences) == 2


def test_a_large_vocabulary_needs_wide_ids(symbols, monkeypatch):
    monkeypatch.setattr("dragoman.data.encoding._UINT16_IDS", len(symbols.vocabulary) - 1)
    side = TextEncoder(symbols, longest=9)
    assert side.facts().dtype == "uint32"
    assert side.column([[1, 70_000]], ["x"], ()).sequences.values.tolist() == [1, 70_000]


def test_text_is_kept_only_where_it_can_be_cut_in_several_ways(symbols, dropout):
    assert not TextEncoder(symbols, longest=9, keep_text=True).facts().text
    assert not TextEncoder(dropout, longest=9).facts().text
    side = TextEncoder(dropout, longest=9, keep_text=True)
    assert side.facts().text
    text = side.column([[5], [6]], ["é", "b"], ()).text
    assert text.values.tobytes().decode() == "éb"
    assert text.lengths.tolist() == [2, 1]


def test_a_text_that_cannot_be_encoded_is_named(symbols):
    encoder = Encoder(TextEncoder(symbols, longest=9), TextEncoder(symbols, longest=9))
    with pytest.raises(TextError, match=r"f\.tsv:12"):
        encoder(chunk(["a", "b \ud800", "c"], ["a", "b", "c"]))


def test_identities_tell_tokenizers_lengths_and_kinds_apart(symbols, dropout):
    sides = [
        TextEncoder(symbols, longest=9),
        TextEncoder(symbols, longest=8),
        TextEncoder(dropout, longest=9),
        TextEncoder(dropout, longest=9, keep_text=True),
        FeatureEncoder(3, longest=9),
        FeatureEncoder(4, longest=9),
    ]
    assert len({side.identity() for side in sides}) == len(sides)
    assert sides[0].identity() == TextEncoder(symbols, longest=9).identity()


# ---- features ----------------------------------------------------------------------------------------------------


def saved(path, array):
    np.save(path, array)
    return str(path)


def test_arrays_become_rows_of_vectors(tmp_path, symbols):
    frames = np.arange(6, dtype=np.float64).reshape(2, 3)
    sources = [
        saved(tmp_path / "frames.npy", frames),
        saved(tmp_path / "one.npy", np.array([7, 8, 9])),
        saved(tmp_path / "long.npy", np.zeros((5, 3))),
        saved(tmp_path / "none.npy", np.zeros((0, 3))),
    ]
    encoder = Encoder(FeatureEncoder(3, longest=4), TextEncoder(symbols, longest=9))
    encoded = encoder(chunk(sources, ["a", "b", "c", "d"]))
    assert rows(encoded.source) == [frames.tolist(), [[7, 8, 9]]]
    assert encoded.source.sequences.values.dtype == np.float32
    assert (encoded.too_long.numbers, encoded.empty.numbers) == ([102], [103])
    assert [feature_width(path) for path in sources] == [3] * 4


@pytest.mark.parametrize(
    "array",
    [np.zeros((2, 4)), np.zeros((2, 2, 3)), np.float64(1), np.array([["a", "b", "c"]]), np.full((1, 3), np.nan)],
    ids=["width", "dimensions", "number", "strings", "nan"],
)
def test_arrays_that_cannot_be_sources_are_named_with_their_line(tmp_path, symbols, array):
    good, bad = saved(tmp_path / "good.npy", np.zeros((1, 3))), saved(tmp_path / "bad.npy", array)
    encoder = Encoder(FeatureEncoder(3, longest=4), TextEncoder(symbols, longest=9))
    with pytest.raises(DataError, match=r"f\.tsv:12: .*bad\.npy"):
        encoder(chunk([good, bad], ["a", "b"]))


def test_nothing_is_unpickled(tmp_path, symbols):
    path = tmp_path / "pickle.npy"
    np.save(path, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="not a plain"):
        feature_width(str(path))
    with pytest.raises(FileError, match="cannot read"):
        feature_width(str(tmp_path / "missing.npy"))
