"""The encoder's directions and the bridge to the decoder."""

from __future__ import annotations

import pytest
import torch

from dragoman.errors import ModelError
from dragoman.models.cells import Carry
from dragoman.models.embedding import TextSource, TokenEmbedding
from dragoman.models.recurrence import RecurrentLayer
from dragoman.models.recurrent_encoder import Bridge, Encoded, RecurrentEncoder, ways
from dragoman.models.seq2seq import Source, Vectors

LENGTHS = torch.tensor([5, 2])


def _encoder(cell, direction, layers=2):
    torch.manual_seed(8)
    readers = len(ways(direction))
    stack = [[RecurrentLayer(cell, readers * 3 if i else 4, 3) for _ in range(readers)] for i in range(layers)]
    return RecurrentEncoder(TextSource(TokenEmbedding(11, 4)), stack, direction=direction)


def _source():
    return Source(LENGTHS, torch.tensor([[4, 5, 6, 7, 8], [9, 10, 0, 0, 0]]))


@pytest.mark.parametrize("cell", ["vanilla", "gru", "lstm"])
def test_both_ways_is_torchs_bidirectional_network(cell):
    encoder = _encoder(cell, "both")
    kind = {"vanilla": torch.nn.RNN, "gru": torch.nn.GRU, "lstm": torch.nn.LSTM}[cell]
    theirs = kind(4, 3, num_layers=2, bidirectional=True, batch_first=True)
    with torch.no_grad():
        for index, readers in enumerate(encoder.layers):
            for layer, suffix in zip(readers, ("", "_reverse"), strict=True):
                for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                    getattr(theirs, f"{name}_l{index}{suffix}").copy_(getattr(layer, name))
    encoded = encoder(_source())
    embedded = encoder.embedding(_source()).vectors_BSD
    for row, length in enumerate(LENGTHS.tolist()):
        outputs, last = theirs(embedded[row : row + 1, :length])
        torch.testing.assert_close(encoded.vectors.vectors_BSD[row, :length], outputs[0], rtol=0, atol=1e-5)
        hidden = last[0] if cell == "lstm" else last
        ours = torch.stack([carry.hidden_RD[row] for readers in encoded.last for carry in readers])
        torch.testing.assert_close(ours, hidden[:, 0], rtol=0, atol=1e-5)


def test_dropout_stands_between_the_layers_and_before_the_decoder():
    class Doubled(torch.nn.Module):
        def forward(self, values):
            return 2 * values

    encoder = _encoder("gru", "forward")
    (lower,), (upper,) = encoder.layers
    inputs = encoder.embedding(_source()).vectors_BSD
    expected, last = upper.sequence(2 * lower.sequence(inputs, lengths_B=LENGTHS)[0], lengths_B=LENGTHS)
    encoder.dropout = Doubled()
    encoded = encoder(_source())
    for row, length in enumerate(LENGTHS.tolist()):
        torch.testing.assert_close(encoded.vectors.vectors_BSD[row, :length], 2 * expected[row, :length])
    torch.testing.assert_close(encoded.last[1][0].hidden_RD, last.hidden_RD)


def test_reading_backward_is_reading_the_reversed_source():
    backward, forward = _encoder("lstm", "backward"), _encoder("lstm", "forward")
    turned = Source(LENGTHS, torch.tensor([[8, 7, 6, 5, 4], [10, 9, 0, 0, 0]]))
    ours, theirs = backward(_source()), forward(turned)
    torch.testing.assert_close(ours.last[1][0].hidden_RD, theirs.last[1][0].hidden_RD)
    torch.testing.assert_close(ours.vectors.vectors_BSD[0], theirs.vectors.vectors_BSD[0].flip(0))
    torch.testing.assert_close(ours.vectors.vectors_BSD[1, :2], theirs.vectors.vectors_BSD[1, :2].flip(0))


@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
def test_an_empty_sentence_gives_the_same_numbers_in_any_batch(direction):
    encoder = _encoder("gru", direction)
    ids = torch.tensor([[0, 0, 0], [4, 5, 6]])
    together = encoder(Source(torch.tensor([0, 3]), ids))
    alone = encoder(Source(torch.tensor([0]), ids[:1, :1]))
    assert together.vectors.lengths_B.tolist() == [1, 3]
    torch.testing.assert_close(together.last[-1][0].hidden_RD[:1], alone.last[-1][0].hidden_RD)


def _encoded(layers, readers, *, cell=False):
    torch.manual_seed(2)
    last = tuple(
        tuple(Carry(torch.randn(2, 3), torch.randn(2, 3) if cell else None) for _ in range(readers))
        for _ in range(layers)
    )
    return Encoded(Vectors(torch.randn(2, 4, 3), torch.tensor([4, 4])), last)


def test_the_copying_bridge_hands_states_over():
    encoded = _encoded(2, 1, cell=True)
    assert Bridge.of("copy", "lstm", layers=(2, 2), sizes=(3, 3), readers=1)(encoded) == tuple(
        r[0] for r in encoded.last
    )


@pytest.mark.parametrize(
    ("layers", "sizes", "readers"), [((1, 2), (3, 3), 1), ((2, 2), (3, 4), 1), ((2, 2), (3, 3), 2)]
)
def test_the_copying_bridge_refuses_sides_that_differ(layers, sizes, readers):
    with pytest.raises(ModelError, match="needs both sides alike") as caught:
        Bridge.of("copy", "gru", layers=layers, sizes=sizes, readers=readers)
    assert "project" in caught.value.remedy


def test_the_projecting_bridge_is_a_tanh_layer_over_both_readers():
    encoded = _encoded(2, 2, cell=True)
    bridge = Bridge.of("project", "lstm", layers=(2, 3), sizes=(3, 5), readers=2)
    carries = bridge(encoded)
    assert [carry.hidden_RD.shape for carry in carries] == [(2, 5)] * 3
    joined = torch.cat([carry.hidden_RD for carry in encoded.last[1]], dim=1)
    cells = torch.cat([carry.cell_RD for carry in encoded.last[1]], dim=1)
    torch.testing.assert_close(carries[2].hidden_RD, torch.tanh(bridge.maps[2](joined)))
    torch.testing.assert_close(carries[1].cell_RD, bridge.cell_maps[1](cells))


def test_bahdanaus_bridge_sees_the_backward_reader_alone():
    encoded = _encoded(1, 2)
    bridge = Bridge.of("project_backward", "gru", layers=(1, 1), sizes=(3, 5), readers=2)
    expected = torch.tanh(bridge.maps[0](encoded.last[0][1].hidden_RD))
    torch.testing.assert_close(bridge(encoded)[0].hidden_RD, expected)
