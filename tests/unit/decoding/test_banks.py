"""Banks: hypotheses that have said the required words are not pushed out by those that put them off."""

from __future__ import annotations

import pytest

from dragoman.decoding import beam
from dragoman.decoding.banks import taken_in_turn
from dragoman.decoding.beam import BeamSearch
from dragoman.decoding.live import Sentence
from dragoman.decoding.required import Required, missing
from dragoman.decoding.scores import LengthNormalization
from dragoman.decoding.search import Arrival, search_batch

END = 1
REQUIRED = (((2, 3),), ((4,), (5, 2)))


def search(width):
    return BeamSearch(beam=width, end=END, normalization=LengthNormalization())


def outputs(tiny, width, *, vocabulary=7, length=6, required=REQUIRED):
    for seed in range(15):
        model = tiny.randomly(seed, vocabulary=vocabulary, sharpness=2.0)
        filters = [Required(END)]
        (found,) = tiny.run(model, search(width), 0, length=length, filters=filters, required=required)
        yield model, found.hypotheses[0]


def test_by_hand():
    assert taken_in_turn([[7], [4, 5], [1, 2, 3]], 5) == [7, 4, 1, 5, 2]
    assert taken_in_turn([[7], [4, 5]], 9) == [7, 4, 5]


def test_they_find_better_outputs_than_the_filter_alone(tiny, monkeypatch):
    """Where outputs may be long and the required words are improbable, there is much to lose by putting them off."""
    sizes = {"vocabulary": 20, "length": 12, "required": (((2, 3),),)}
    shared = [each.score for _, each in outputs(tiny, 5, **sizes)]
    monkeypatch.setattr(beam, "is_constrained", lambda live: False)
    alone = [each.score for _, each in outputs(tiny, 5, **sizes)]
    assert sum(shared) > sum(alone) + 15, "more than one on average"


def test_a_wide_beam_comes_close_to_the_best_there_is(tiny):
    wanted = Sentence(key=0, max_length=5, required=REQUIRED)
    exactly = 0
    for model, each in outputs(tiny, 40, vocabulary=6, length=5):
        everything = tiny.sequences(model, 0, vocabulary=6, length=5)
        best = next((total, tokens) for total, tokens in everything if not missing(tokens, wanted))
        assert each.score <= best[0] + 1e-4
        exactly += each.tokens == best[1]
    assert exactly >= 12


def test_sentences_that_require_nothing_are_searched_as_ever(tiny):
    model = tiny.randomly(5, vocabulary=7)
    sentences = [Sentence(key=n, max_length=6, seed=n, required=REQUIRED if n % 2 else ()) for n in range(8)]
    batch = Arrival(sentences, tiny.start(*range(8)))
    mixed = search_batch(model, search(3), batch=batch, begin=0, filters=[Required(END)])
    for n in range(8):
        required = REQUIRED if n % 2 else ()
        (alone,) = tiny.run(model, search(3), n, filters=[Required(END)], required=required)
        assert mixed[n] == alone
        assert mixed[n].hypotheses[0].log_probs == pytest.approx(
            tiny.forced(model, n, mixed[n].hypotheses[0].tokens), abs=1e-4
        )
