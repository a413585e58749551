"""The five scores against their formulas."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dragoman.errors import ModelError
from dragoman.models import score as module
from dragoman.models.score import AdditiveScore, ConcatScore, DotScore, GeneralScore, ScaledDotScore, score
from reference import recurrent as reference

NAMES = ["dot", "scaled_dot", "general", "concat", "additive"]
PRECISION = [(torch.float32, 1e-5), (torch.float64, 1e-10)]


def _made(name, dtype=torch.float64, *, query=4, memory=None):
    torch.manual_seed(5)
    memory = memory or (query if "dot" in name else 6)
    made = score(name, query_size=query, memory_size=memory, size=5).to(dtype)
    return made, torch.randn(2, 3, query, dtype=dtype), torch.randn(2, 7, memory, dtype=dtype)


def _scores(made, queries, memory):
    if made.query_weight is not None:
        queries = queries @ made.query_weight.t()
    return made(queries, made.keys(memory))


def _formula(made):
    weights = {name: parameter.detach().double().numpy() for name, parameter in made.named_parameters()}
    match made:
        case DotScore():
            return reference.dot
        case ScaledDotScore():
            return reference.scaled_dot
        case GeneralScore():
            return lambda q, k: reference.general(q, k, weights["map.weight"])
        case ConcatScore():
            return lambda q, k: reference.concat(q, k, weights["map.weight"], weights["energy.weight"][0])
        case AdditiveScore():
            return lambda q, k: reference.additive(
                q, k, weights["query_map.weight"], weights["key_map.weight"], energy=weights["energy.weight"][0]
            )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("dtype", "tolerance"), PRECISION)
def test_scores_follow_the_formula(name, dtype, tolerance):
    made, queries, memory = _made(name, dtype)
    scores = _scores(made, queries, memory)
    formula = _formula(made)
    expected = [
        [[formula(q, k) for k in keys] for q in asked]
        for asked, keys in zip(queries.double().numpy(), memory.double().numpy(), strict=True)
    ]
    np.testing.assert_allclose(scores.detach().double().numpy(), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_those_of_the_formula(name):
    made, queries, memory = _made(name)
    parameters = tuple(made.parameters())
    assert torch.autograd.gradcheck(
        lambda q, m, *_: _scores(made, q, m), (queries.requires_grad_(), memory.requires_grad_(), *parameters)
    )


@pytest.mark.parametrize("name", ["concat", "additive"])
def test_queries_in_pieces_score_as_all_together(name, monkeypatch):
    made, queries, memory = _made(name)
    together = _scores(made, queries, memory)
    monkeypatch.setattr(module, "MOST_ENERGIES", 1)
    torch.testing.assert_close(_scores(made, queries, memory), together)


@pytest.mark.parametrize(("name", "numbers"), list(zip(NAMES, [0, 0, 24, 55, 55], strict=True)))
def test_each_score_has_the_parameters_of_its_formula(name, numbers):
    made, _, _ = _made(name)
    assert sum(parameter.numel() for parameter in made.parameters()) == numbers


@pytest.mark.parametrize("name", ["dot", "scaled_dot"])
def test_dot_scores_refuse_sizes_that_differ(name):
    with pytest.raises(ModelError, match="got 4 and 6") as caught:
        score(name, query_size=4, memory_size=6, size=5)
    assert "general" in caught.value.remedy


def test_concat_and_additive_agree_where_their_weights_do():
    concat, queries, memory = _made("concat")
    additive, _, _ = _made("additive")
    with torch.no_grad():
        additive.query_map.weight.copy_(concat.map.weight[:, :4])
        additive.key_map.weight.copy_(concat.map.weight[:, 4:])
        additive.energy.weight.copy_(concat.energy.weight)
    torch.testing.assert_close(_scores(concat, queries, memory), _scores(additive, queries, memory))
