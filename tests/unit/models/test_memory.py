"""Source memory: rows of a sentence side by side, and sentences that come and go."""

from __future__ import annotations

import pytest
import torch

from dragoman.models.memory import Memory, Packing


@pytest.mark.parametrize(
    "sentences",
    [[0, 0, 1, 1], [0, 0, 0, 1, 2, 2], [2, 0, 1, 0], [1, 1], [0], [2, 2, 2]],
)
def test_packed_rows_stand_with_their_sentence_and_come_back(sentences):
    packing = Packing(torch.tensor(sentences), 3)
    rows = torch.arange(1.0, len(sentences) + 1)[:, None].repeat(1, 2)
    packed = packing.pack(rows)
    assert packed.shape[:2] == (3, max(sentences.count(s) for s in range(3)))
    for sentence in range(3):
        expected = {float(i + 1) for i, s in enumerate(sentences) if s == sentence}
        assert set(packed[sentence].flatten().tolist()) - {0.0} == expected
    assert torch.equal(packing.unpack(packed), rows)


def test_even_rows_in_order_are_only_viewed():
    rows = torch.randn(6, 2)
    packed = Packing(torch.tensor([0, 0, 1, 1, 2, 2]), 3).pack(rows)
    assert packed.data_ptr() == rows.data_ptr()


def _memory(lengths, seed):
    torch.manual_seed(seed)
    size = max(lengths)
    layers = [(torch.randn(len(lengths), 2, size, 3), torch.randn(len(lengths), 2, size, 4)) for _ in range(2)]
    return Memory.of(layers, torch.tensor(lengths), ids_MS=torch.randint(1, 9, (len(lengths), size)))


def test_sentences_without_rows_go_once_half_have_none():
    memory = _memory([5, 2, 3, 1], 1)
    some = memory.select(torch.tensor([3, 1, 1, 2]))
    assert some.layers is memory.layers
    few = some.select(torch.tensor([1, 2, 3]))
    assert few.lengths_M.tolist() == [2, 3]
    assert few.sentence_R.tolist() == [0, 0, 1]
    assert torch.equal(few.layers[1][1], memory.layers[1][1][[1, 2], :, :3])
    assert torch.equal(few.ids_MS, memory.ids_MS[[1, 2], :3])
    assert few.mask.bias is not None


def test_nothing_changes_nothing():
    memory = _memory([2, 2], 1)
    assert memory.select(torch.tensor([0, 1])) is memory


def test_joined_memories_are_padded_and_masked():
    both = _memory([2, 2], 1).select(torch.tensor([1, 1, 0])).join(_memory([4], 2))
    assert both.sentence_R.tolist() == [1, 1, 0, 2]
    assert both.layers[0][0].shape == (3, 2, 4, 3)
    assert (both.mask.bias[:2, ..., 2:] < -1e30).all()
    assert (both.mask.bias[2] == 0).all()
    assert both.ids_MS.shape == (3, 4)


def test_no_rows_at_all():
    empty = _memory([3, 2], 1).select(torch.tensor([], dtype=torch.long))
    assert empty.lengths_M.shape == (0,)
    assert empty.sentence_R.shape == (0,)
