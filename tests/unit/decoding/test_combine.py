"""Ensembles and fusion: the arithmetic, and that a search cannot tell them from a model."""

from __future__ import annotations

import pytest
import torch

from dragoman.decoding.beam import BeamSearch
from dragoman.decoding.combine import Ensemble, Fusion
from dragoman.decoding.contrastive import ContrastiveSearch
from dragoman.decoding.live import Sentence
from dragoman.decoding.scores import LengthNormalization
from dragoman.decoding.search import Arrival, search_batch
from dragoman.errors import ModelError

BEAM = BeamSearch(beam=3, end=1, normalization=LengthNormalization())


def decode(tiny, step, strategy, *numbers):
    batch = Arrival([Sentence(key=n, max_length=6) for n in numbers], (tiny.start(*numbers), tiny.start(*numbers)))
    return search_batch(step, strategy, batch=batch, begin=0)


def rows(models, sentence, prefix):
    return [model.row(sentence, prefix).double().log_softmax(0) for model in models]


@pytest.mark.parametrize(
    ("make", "mix"),
    [
        (lambda a, b: Ensemble((a, b)), lambda a, b: ((a.exp() + b.exp()) / 2).log()),
        (lambda a, b: Ensemble((a, b), (3.0, 1.0)), lambda a, b: (0.75 * a.exp() + 0.25 * b.exp()).log()),
        (lambda a, b: Ensemble((a, b), average="log"), lambda a, b: ((a + b) / 2).log_softmax(0)),
        (lambda a, b: Fusion(a, b, 0.3), lambda a, b: a + 0.3 * b),
    ],
    ids=["mean", "weighed", "log", "fusion"],
)
def test_arithmetic_and_search(tiny, make, mix):
    models = tiny.randomly(1, vocabulary=6), tiny.randomly(2, vocabulary=6)
    combined = tiny.table(lambda sentence, prefix: mix(*rows(models, sentence, prefix)).float())
    step = make(*models)
    for found in decode(tiny, step, BEAM, 0, 1, 2):
        (best,) = found.hypotheses
        expected = [float(mix(*rows(models, found.key, best.tokens[:i]))[t]) for i, t in enumerate(best.tokens)]
        assert best.log_probs == pytest.approx(expected, abs=1e-5)
        if isinstance(step, Ensemble):
            assert best.tokens == tiny.run(combined, BEAM, found.key)[0].hypotheses[0].tokens


def test_one_model_with_itself_is_itself(tiny):
    model = tiny.randomly(1, vocabulary=6)
    for average in ("probability", "log"):
        for found in decode(tiny, Ensemble((model, model), average=average), BEAM, 0, 1):
            assert found.hypotheses[0].tokens == tiny.run(model, BEAM, found.key)[0].hypotheses[0].tokens


def test_traces_are_combined(tiny):
    models = tiny.randomly(1, vocabulary=6), tiny.randomly(2, vocabulary=6)
    _, _, trace = Ensemble(models).trace(torch.tensor([0]), (tiny.start(0), tiny.start(1)))
    assert trace.hidden_RD.shape == (1, 12)
    assert float(trace.attention_RS.sum()) == pytest.approx(1.0)
    assert len(decode(tiny, Ensemble(models), ContrastiveSearch(candidates=3, penalty=0.5, end=1), 0, 1)) == 2
    assert len(decode(tiny, Fusion(*models, 0.2), ContrastiveSearch(candidates=3, penalty=0.5, end=1), 0, 1)) == 2


def test_models_of_different_vocabularies_are_refused(tiny):
    with pytest.raises(ModelError, match="vocabularies of 6 and 7 tokens"):
        decode(tiny, Ensemble((tiny.randomly(1, vocabulary=6), tiny.randomly(2, vocabulary=7))), BEAM, 0)
    lists = [tiny.randomly(n, vocabulary=3, ids=torch.tensor([0, 1, n])) for n in (5, 6)]
    with pytest.raises(ModelError, match="different short-lists"):
        decode(tiny, Fusion(*lists, 0.5), BEAM, 0)
