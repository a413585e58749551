"""Models small enough to read: a scripted one, and random ones whose every probability is known."""

from __future__ import annotations

import random

import pytest
import torch

from dragoman.decoding.live import Sentence
from dragoman.decoding.search import Arrival, search_batch
from reference.scripted import BEGIN, END, WORDS, Table, scripted, start


def randomly(seed, *, vocabulary=4, sharpness=1.5, ids=None) -> Table:
    """A model with random scores for each sentence and prefix; not even normalised, as models are."""

    def row(sentence, prefix):
        noise = random.Random(f"{seed} {sentence} {prefix}")
        return torch.tensor([noise.gauss(0, sharpness) for _ in range(vocabulary)])

    return Table(row, ids=ids)


def forced(model, sentence, tokens):
    """The model's log-probability of each token, one step after the other: the slow and obvious way."""
    state, last, log_probs = start(sentence), BEGIN, []
    for token in tokens:
        scores, state = model(torch.tensor([last]), state)
        log_probs.append(float(scores.logits_RV.double().log_softmax(1)[0, int(scores.columns(torch.tensor(token)))]))
        last = token
    return log_probs


def sequences(model, sentence, *, vocabulary, length):
    """Every sequence that ends by `length`, with its log-probability, best first."""
    finished = []

    def extend(prefix, total):
        log_probs = model.row(sentence, prefix).double().log_softmax(0).tolist()
        for token in range(vocabulary):
            tokens, after = (*prefix, token), total + log_probs[token]
            if token == END:
                finished.append((after, tokens))
            elif len(tokens) < length:
                extend(tokens, after)

    extend((), 0.0)
    return sorted(finished, key=lambda f: -f[0])


def run(model, strategy, *numbers, length=6, nbest=1, filters=(), **demands):
    """The outputs for sentences with these numbers, in one batch."""
    sentences = [Sentence(key=n, max_length=length, seed=n, **demands) for n in numbers]
    batch = Arrival(sentences, start(*numbers))
    return search_batch(model, strategy, batch=batch, begin=BEGIN, filters=filters, nbest=nbest)


def same(some, others):
    """Assert that outputs are the same: their tokens exactly, their scores as far as float32 sums rows up alike."""
    assert [said(each) for each in some] == [said(each) for each in others]
    assert numbers(some) == pytest.approx(numbers(others), rel=1e-5, abs=1e-5)


def said(found):
    return found.key, [(h.tokens, h.finished) for h in found.hypotheses], found.proven, found.expansions


def numbers(results):
    return [number for found in results for h in found.hypotheses for number in (*h.log_probs, h.score)]


def text(hypothesis):
    """The words of a hypothesis of the scripted model, without the end."""
    return " ".join(WORDS[t] for t in hypothesis.tokens if t != END)


def text_of(token):
    """A word of the scripted model."""
    return WORDS[token]


@pytest.fixture(scope="session")
def tiny():
    """The names of this module, for tests."""
    import types

    return types.SimpleNamespace(
        **{f.__name__: f for f in (start, scripted, randomly, forced, sequences, run, same, text, text_of)},
        table=Table,
        end=END,
    )
