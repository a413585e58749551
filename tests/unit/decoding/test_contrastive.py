"""Contrastive search: against the formula, token by token."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch.nn import functional

from dragoman.decoding.contrastive import ContrastiveSearch
from dragoman.decoding.greedy import Greedy
from dragoman.decoding.hypothesis import found
from dragoman.decoding.live import Sentence
from dragoman.decoding.search import Arrival, search

END = 1


def slow(tiny, model, sentence, *, candidates, penalty, length):
    """The twin: one sentence, one candidate at a time."""
    tokens, past = [], []
    state, last = tiny.start(sentence), 0
    while len(tokens) < length and last != END:
        scores, state, trace = model.trace(torch.tensor([last]), state)
        past.append(trace.hidden_RD[0])
        probs = scores.logits_RV[0].softmax(0)
        weighed = {}
        for token in probs.topk(candidates).indices.tolist():
            ahead = model.trace(torch.tensor([token]), state)[2].hidden_RD[0]
            likeness = max(float(functional.cosine_similarity(ahead, each, dim=0)) for each in past)
            weighed[token] = (1 - penalty) * float(probs[token]) - penalty * likeness
        last = max(weighed, key=lambda token: weighed[token])
        tokens.append(last)
    return tuple(tokens)


@pytest.mark.parametrize("penalty", [0.0, 0.3, 0.8])
def test_the_slow_twin_agrees(tiny, penalty):
    model = tiny.randomly(7, vocabulary=9)
    strategy = ContrastiveSearch(candidates=4, penalty=penalty, end=END)
    for result in tiny.run(model, strategy, *range(6)):
        (best,) = result.hypotheses
        assert best.tokens == slow(tiny, model, result.key, candidates=4, penalty=penalty, length=6)
        assert best.log_probs == pytest.approx(tiny.forced(model, result.key, best.tokens), abs=1e-5)


def test_without_penalty_it_is_greedy(tiny):
    model = tiny.randomly(7, vocabulary=9)
    plain = ContrastiveSearch(candidates=4, penalty=0.0, end=END)
    assert tiny.run(model, plain, *range(6)) == tiny.run(model, Greedy(end=END), *range(6))


def test_new_sentences_have_no_past(tiny):
    model = tiny.randomly(7, vocabulary=9)
    strategy = ContrastiveSearch(candidates=4, penalty=0.6, end=END)
    numbers = iter(range(12))

    def arrivals(room):
        taken = list(itertools.islice(numbers, room))
        return Arrival([Sentence(key=n, max_length=6, seed=n) for n in taken], tiny.start(*taken)) if taken else None

    results = {r.key: r for r in found(search(model, strategy, arrivals=arrivals, begin=0, places=3))}
    assert results == {n: tiny.run(model, strategy, n)[0] for n in range(12)}
