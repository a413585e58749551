"""Greedy search takes the best token and cannot go back."""

from __future__ import annotations

import pytest
import torch

from dragoman.decoding.greedy import Greedy


def test_the_worked_example_cannot_go_back(tiny):
    (found,) = tiny.run(tiny.scripted(), Greedy(end=tiny.end), 0, length=8)
    (best,) = found.hypotheses
    assert tiny.text(best) == "he hit a pie"
    assert best.finished
    assert best.score == pytest.approx(-4.7, abs=1e-5)
    assert best.log_prob == pytest.approx(best.score, abs=1e-5)


@pytest.mark.parametrize("seed", range(20))
def test_each_token_is_the_most_probable(tiny, seed):
    model = tiny.randomly(seed, vocabulary=7)
    for found in tiny.run(model, Greedy(end=tiny.end), 0, 1, 2):
        (best,) = found.hypotheses
        for length, token in enumerate(best.tokens):
            assert token == int(model.row(found.key, best.tokens[:length]).argmax())
        assert best.log_probs == pytest.approx(tiny.forced(model, found.key, best.tokens), abs=1e-5)
        assert best.finished == (best.tokens[-1] == tiny.end)
        assert best.finished or len(best.tokens) == 6


def test_a_state_that_is_not_reordered_is_noticed(tiny):
    """The planted bug: rows leave the batch, and the state forgets which ones."""

    class Unordered(tiny.table):
        def select(self, state, rows_R):
            return super().select(state, torch.arange(len(rows_R)))

    model = tiny.randomly(3, vocabulary=4)
    broken = Unordered(model.row)
    right = tiny.run(model, Greedy(end=tiny.end), *range(8))
    assert right != tiny.run(broken, Greedy(end=tiny.end), *range(8))
    tiny.same(right, [tiny.run(model, Greedy(end=tiny.end), n)[0] for n in range(8)])
