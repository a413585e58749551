"""Batches: padded tensors equal to what an obvious loop makes of the same examples."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.batch import Draw, collate
from dragoman.data.store import Sequences, joined
from dragoman.text.vocabulary import BOS, EOS, PAD

ROWS = st.lists(st.lists(st.integers(4, 60_000), max_size=6), min_size=1, max_size=8)


def draw(target, source=None):
    targets = joined(target, dtype=np.uint16)
    sources = joined(source, dtype=np.uint16) if source is not None else None
    return Draw(2, 70, np.arange(len(target)), sources, targets)


def pad(rows):
    width = max(map(len, rows))
    return [[*row, *[PAD] * (width - len(row))] for row in rows]


@given(ROWS)
def test_targets_are_shifted_right_and_end(rows):
    batch = collate(draw(rows), source_end=True)
    assert batch.inputs_BT.tolist() == pad([[BOS, *row] for row in rows])
    assert batch.labels_BT.tolist() == pad([[*row, EOS] for row in rows])
    assert batch.target_lengths_B.tolist() == [len(row) + 1 for row in rows]
    assert batch.target_tokens == sum(len(row) + 1 for row in rows) == int((batch.labels_BT != PAD).sum())
    assert batch.source_ids_BS is batch.source_features_BSF is batch.source_lengths_B is None
    assert batch.source_tokens == 0


@given(ROWS)
def test_sources_end_if_they_should(rows):
    ended = collate(draw(rows, rows), source_end=True)
    assert ended.source_ids_BS.tolist() == pad([[*row, EOS] for row in rows])
    assert ended.source_lengths_B.tolist() == [len(row) + 1 for row in rows]
    bare = collate(draw(rows, rows), source_end=False)
    assert bare.source_ids_BS.tolist() == pad(rows)
    assert bare.source_tokens == sum(map(len, rows))


def test_features_are_padded_with_zeros_and_get_no_end():
    vectors = np.arange(1, 9, dtype=np.float32).reshape(4, 2)
    draft = Draw(0, 2, np.array([5, 3]), Sequences(vectors, np.array([3, 1])), joined([[7], [8, 9]], dtype=np.uint16))
    batch = collate(draft, source_end=True)
    assert batch.source_ids_BS is None
    assert batch.source_features_BSF.dtype == torch.float32
    assert batch.source_features_BSF.tolist() == [[[1, 2], [3, 4], [5, 6]], [[7, 8], [0, 0], [0, 0]]]
    assert batch.source_lengths_B.tolist() == [3, 1]
    assert batch.source_tokens == 4


def test_a_batch_says_what_it_holds():
    batch = collate(draw([[5], [6, 7]], [[4], [4]]), source_end=True)
    assert (batch.rows, batch.epoch, batch.position) == (2, 2, 70)
    assert batch.examples_B.tolist() == [0, 1]
    tensors = [batch.inputs_BT, batch.labels_BT, batch.target_lengths_B, batch.source_ids_BS, batch.examples_B]
    assert {tensor.dtype for tensor in tensors} == {torch.int64}


def test_a_rank_may_get_no_rows():
    batch = collate(draw([], []), source_end=True)
    assert batch.rows == batch.target_tokens == batch.source_tokens == 0
    assert batch.inputs_BT.shape[0] == batch.source_ids_BS.shape[0] == 0


def test_a_batch_moves_as_a_whole():
    batch = collate(draw([[5], [6, 7]], [[4], [4]]), source_end=True)
    moved = batch.to("meta")
    assert moved.inputs_BT.device.type == moved.source_ids_BS.device.type == "meta"
    assert moved.source_features_BSF is None
    assert moved.target_tokens == batch.target_tokens
    assert batch.inputs_BT.device.type == "cpu"


@given(ROWS, st.integers(1, 10))
def test_the_parts_of_a_batch_are_its_rows_in_order(rows, parts):
    batch = collate(draw(rows, source=rows[::-1]), source_end=True)
    pieces = batch.split(parts)
    assert len(pieces) == min(parts, len(rows))
    assert max(p.rows for p in pieces) - min(p.rows for p in pieces) <= 1
    for name in ("inputs_BT", "labels_BT", "target_lengths_B", "source_ids_BS", "source_lengths_B", "examples_B"):
        assert torch.equal(torch.cat([getattr(p, name) for p in pieces]), getattr(batch, name))
    for piece in pieces:
        assert piece.target_tokens == int(piece.target_lengths_B.sum())
        assert piece.source_tokens == int(piece.source_lengths_B.sum())
        assert (piece.epoch, piece.position) == (batch.epoch, batch.position)
