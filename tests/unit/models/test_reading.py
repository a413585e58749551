"""Reading through attention, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dragoman.models.linear import Linear
from dragoman.models.reading import Reading
from dragoman.models.score import DotScore, GeneralScore
from dragoman.models.seq2seq import Vectors
from reference import recurrent as reference

LENGTHS = torch.tensor([5, 2])


def _case(dtype=torch.float64):
    torch.manual_seed(9)
    return torch.randn(2, 3, 4, dtype=dtype), torch.randn(2, 5, 4, dtype=dtype)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
@pytest.mark.parametrize("projected", [False, True])
def test_reading_follows_the_formula(dtype, tolerance, projected):
    queries, source = _case(dtype)
    reading = Reading(DotScore(), Linear(4, 6, bias=False) if projected else None).to(dtype)
    contexts, weights = reading.of(reading.memory(Vectors(source, LENGTHS)), queries)
    values = reading.value_map(source).detach().double().numpy()
    for row, length in enumerate(LENGTHS.tolist()):
        keys = source[row, :length].double().numpy()
        for step, query in enumerate(queries[row].double().numpy()):
            context, attention = reference.reading(query, keys, values[row, :length], reference.dot)
            np.testing.assert_allclose(contexts[row, step].detach().double(), context, rtol=0, atol=tolerance)
            np.testing.assert_allclose(weights[row, step, :length].double(), attention, rtol=0, atol=tolerance)
    assert not weights[1, :, 2:].any()


def test_gradcheck():
    queries, source = _case()
    reading = Reading(GeneralScore(4, 4), Linear(4, 6)).double()

    def function(queries, source, *_):
        return reading.of(reading.memory(Vectors(source, LENGTHS)), queries)

    assert torch.autograd.gradcheck(
        function, (queries.requires_grad_(), source.requires_grad_(), *reading.parameters())
    )


def test_the_source_is_projected_once():
    queries, source = _case()
    reading = Reading(GeneralScore(4, 4)).double()
    memory = reading.memory(Vectors(source, LENGTHS), ids_MS=torch.ones(2, 5, dtype=torch.long))
    before, _ = reading.of(memory, queries)
    with torch.no_grad():
        reading.score.map.weight.zero_()
    after, _ = reading.of(memory, queries)
    assert torch.equal(before, after)
    assert memory.ids_MS.shape == (2, 5)
