"""Readouts against their formulas."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dragoman.errors import ModelError
from dragoman.models.embedding import TokenEmbedding
from dragoman.models.readout import Readout, output_layer
from dragoman.models.seq2seq import Hidden
from reference import recurrent as reference


def _made(name):
    torch.manual_seed(1)
    readout = Readout(name, state_size=3, context_size=4, embedding_size=2, size=5).double()
    return readout, torch.randn(6, 3).double(), torch.randn(6, 4).double(), torch.randn(6, 2).double()


def test_joined_is_context_and_state():
    readout, states, contexts, embedded = _made("joined")
    assert readout.size == 7
    assert not list(readout.parameters())
    assert torch.equal(readout(states, contexts, embedded), torch.cat((contexts, states), dim=1))


def test_tanh_is_luongs_attentional_vector():
    readout, states, contexts, embedded = _made("tanh")
    weight = readout.map.weight.detach().numpy()
    expected = [
        np.tanh(reference.product(weight, np.concatenate([a, s])))
        for a, s in zip(contexts.numpy(), states.numpy(), strict=True)
    ]
    np.testing.assert_allclose(readout(states, contexts, embedded).detach(), expected, atol=1e-10)


def test_maxout_takes_the_greater_of_each_pair():
    readout, states, contexts, embedded = _made("maxout")
    weight, bias = readout.map.weight.detach().numpy(), readout.map.bias.detach().numpy()
    expected = [
        reference.maxout(s, a, e, weight=weight, bias=bias)
        for s, a, e in zip(states.numpy(), contexts.numpy(), embedded.numpy(), strict=True)
    ]
    vectors = readout(states, contexts, embedded)
    assert vectors.shape == (6, 5)
    np.testing.assert_allclose(vectors.detach(), expected, atol=1e-10)


@pytest.mark.parametrize("name", ["joined", "tanh", "maxout"])
def test_a_loops_product_gives_the_same(name):
    readout, *parts = _made(name)
    torch.testing.assert_close(readout.applied(readout.product(unrolled=True), *parts), readout(*parts))


def test_without_attention_there_is_no_context():
    readout = Readout("joined", state_size=3, context_size=0, embedding_size=2, size=5)
    states = torch.randn(2, 3)
    assert torch.equal(readout(states, None, torch.randn(2, 2)), states)


def test_the_output_layer_may_share_the_targets_table():
    table = TokenEmbedding(9, 4)
    assert output_layer(table, 4, tied=True).weight is table.weight
    separate = output_layer(table, 6, tied=False)
    assert separate(Hidden(torch.randn(2, 6))).shape == (2, 9)
    with pytest.raises(ModelError, match="size 4, got 6"):
        output_layer(table, 6, tied=True)
