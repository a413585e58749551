"""The stream: rows that go on from window to window, every label once an epoch."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.data.corpus import Pair
from dragoman.data.stream import TokenStream
from dragoman.errors import SettingError
from dragoman.text.vocabulary import BOS, EOS


def rows_of(windows):
    """What each row holds over several windows, padding left out."""
    inputs, labels = {}, {}
    for window in windows:
        for row, length in enumerate(window.lengths_B.tolist()):
            inputs.setdefault(row, []).extend(window.inputs_BT[row, :length].tolist())
            labels.setdefault(row, []).extend(window.labels_BT[row, :length].tolist())
            assert not window.inputs_BT[row, length:].any()
            assert not window.labels_BT[row, length:].any()
    return list(inputs.values()), list(labels.values())


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lengths=st.lists(st.integers(1, 9), min_size=1, max_size=12), rows=st.integers(1, 5), width=st.integers(1, 7))
def test_rows_joined_are_the_whole_text(make_store, symbols, *, lengths, rows, width):
    texts = [" ".join("abcdefghi"[:n]) for n in lengths]
    store = make_store([Pair("", t, "f", 1) for t in texts], source=None)
    rows = min(rows, sum(lengths) + len(lengths))
    stream = TokenStream(store=store, rows=rows, width=width)
    windows = list(itertools.islice(stream.windows(), stream.epoch_windows))
    inputs, labels = rows_of(windows)
    encoded = [symbols.encode(t) for t in texts]
    assert sum(inputs, []) == [i for ids in encoded for i in (BOS, *ids)]  # noqa: RUF017 - short lists
    assert sum(labels, []) == [i for ids in encoded for i in (*ids, EOS)]  # noqa: RUF017 - short lists
    assert sum(w.tokens for w in windows) == len(stream)
    assert all(w.lengths_B.min() > 0 for w in windows)
    assert all(w.inputs_BT.shape == (rows, width) for w in windows[:-1])
    assert max(map(len, labels)) - min(map(len, labels)) <= 1


def test_a_position_is_found_again(make_store, make_pairs):
    stream = TokenStream(store=make_store(make_pairs(40), source=None), rows=4, width=5)
    count = stream.epoch_windows + 7
    whole = list(itertools.islice(stream.windows(), count))
    assert [w.begins for w in whole] == [i % stream.epoch_windows == 0 for i in range(count)]
    for position in range(count):
        again = next(stream.windows(position))
        assert (again.inputs_BT == whole[position].inputs_BT).all()
        assert (again.labels_BT == whole[position].labels_BT).all()
        assert again.position == whole[position].position == position + 1
        assert again.begins == whole[position].begins


def test_more_rows_than_tokens_are_refused(make_store):
    store = make_store([Pair("", "a", "f", 1)], source=None)
    assert TokenStream(store=store, rows=2, width=5).epoch_windows == 1
    with pytest.raises(SettingError, match="3 rows for a stream of 2 tokens"):
        TokenStream(store=store, rows=3, width=5)
