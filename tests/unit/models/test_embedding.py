"""Embeddings, the way into a stack, and the output layer."""

from __future__ import annotations

import torch

from dragoman.models.embedding import Entry, Output, TextSource, TokenEmbedding
from dragoman.models.norm import norm
from dragoman.models.positions import Sinusoidal
from dragoman.models.seq2seq import Hidden, Source


def test_the_scale_multiplies():
    table = TokenEmbedding(5, 4, scale=2.0)
    assert torch.equal(table(torch.tensor([[3, 0]])), 2 * table.weight[[3, 0]][None])
    source = Source(torch.tensor([2]), torch.tensor([[1, 4]]))
    vectors = TextSource(table)(source)
    assert torch.equal(vectors.vectors_BSD, table(source.ids_BS))
    assert vectors.lengths_B is source.lengths_B


def test_the_entry_adds_positions_then_normalises():
    x = torch.randn(2, 3, 4)
    entry = Entry(positions=Sinusoidal(4), norm=norm("layer", 4)).eval()
    places = torch.arange(3)[None]
    assert torch.equal(entry(x, places), entry.norm(x + Sinusoidal(4)(places)))
    assert torch.equal(Entry()(x, places), x)


def test_the_entry_drops_in_training_only():
    torch.manual_seed(1)
    entry, places = Entry(dropout=0.5), torch.arange(3)[None]
    assert set(entry(torch.ones(20, 3, 4), places).flatten().tolist()) == {0.0, 2.0}
    assert torch.equal(entry.eval()(torch.ones(2, 3, 4), places), torch.ones(2, 3, 4))


def test_the_output_layer_shares_a_table():
    table = TokenEmbedding(7, 4)
    output = Output(table.weight, bias=True, scale=0.5)
    torch.nn.init.normal_(output.bias)
    x = torch.randn(3, 4)
    torch.testing.assert_close(output(Hidden(x)), 0.5 * x @ table.weight.t() + output.bias)
    assert output.weight is table.weight
    assert Output.separate(7, 4).bias is None


def test_rows_of_hidden_run_the_output_layer_in_pieces():
    output = Output.separate(9, 4)
    hidden = Hidden(torch.randn(5, 4))
    pieces = [output(hidden.rows(slice(0, 2))), output(hidden.rows(torch.tensor([2, 3, 4])))]
    torch.testing.assert_close(torch.cat(pieces), output(hidden))
