"""Scores: the fast views and their slow, obvious twins."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding.step import Scores, best_columns, log_normalizer


@settings(max_examples=60, deadline=None)
@given(rows=st.integers(1, 20), columns=st.integers(1, 3000), k=st.integers(1, 12), seed=st.integers(0, 1000))
def test_the_best_are_those_of_a_full_log_softmax(rows, columns, k, seed):
    logits_RV = torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))
    best = Scores.of(logits_RV).best(k)
    slow = logits_RV.log_softmax(1).topk(min(k, columns), dim=1)
    torch.testing.assert_close(best.log_probs_RK, slow.values, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(best.tokens_RK, slow.indices)


def test_the_best_may_all_lie_in_one_chunk_or_in_the_rest():
    logits_RV = torch.zeros(3, 64 * 40 + 7)
    logits_RV[0, 128:133] = torch.arange(1.0, 6.0)
    logits_RV[1, -5:] = torch.arange(1.0, 6.0)
    logits_RV[2, [3, 700, 1500, 2300, 2566]] = torch.arange(1.0, 6.0)
    expected = logits_RV.topk(5, dim=1).indices
    torch.testing.assert_close(best_columns(logits_RV, 5), expected)


def test_impossible_columns_do_not_disturb():
    logits_RV = torch.full((2, 1000), -torch.inf)
    logits_RV[:, 5], logits_RV[:, 999] = 1.0, 2.0
    scores = Scores.of(logits_RV)
    torch.testing.assert_close(scores.normalizer_R, logits_RV.logsumexp(1))
    best = scores.best(3)
    assert best.tokens_RK[:, :2].tolist() == [[999, 5]] * 2
    assert best.log_probs_RK[:, 2].tolist() == [-torch.inf] * 2


@pytest.mark.parametrize("rows", [1, 8, 9, 30])
def test_the_normalizer_is_a_logsumexp(rows):
    logits_RV = 30 * torch.randn(rows, 500)
    torch.testing.assert_close(log_normalizer(logits_RV), logits_RV.logsumexp(1))


def test_a_short_list_names_its_tokens():
    scores = Scores.of(torch.tensor([[0.0, 3.0, 1.0], [5.0, 0.0, 0.0]]), torch.tensor([1, 20, 300]))
    assert scores.best(2).tokens_RK.tolist() == [[20, 300], [1, 20]]
    assert scores.columns(torch.tensor([300, 2, 1, -1, 9999])).tolist() == [2, -1, 0, -1, -1]
    single = scores.at(torch.tensor([0, 1, 1]), torch.tensor([20, 1, 7]))
    plain = scores.log_probs()
    assert single.tolist() == [plain[0, 1], plain[1, 0], -torch.inf]


def test_half_precision_is_summed_in_full():
    logits_RV = torch.randn(2, 5000).bfloat16()
    assert Scores.of(logits_RV).normalizer_R.dtype == torch.float32
    torch.testing.assert_close(Scores.of(logits_RV).normalizer_R, logits_RV.double().logsumexp(1).float())
