"""Exact search: never worse than a beam, the same as trying everything, and honest when it gives up."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding.beam import BeamSearch
from dragoman.decoding.exact import Counts, ExactSearch, Proof, classify, count
from dragoman.decoding.exhaustive import Exhaustive
from dragoman.decoding.filters import Banned, MinLength, NoRepeat
from dragoman.decoding.greedy import Greedy
from dragoman.decoding.hypothesis import Hypothesis
from dragoman.decoding.live import Sentence
from dragoman.decoding.scores import LengthNormalization
from dragoman.errors import SettingError

END = 1


def exact(alpha=0.0, kind="mean", **others):
    return ExactSearch(begin=0, end=END, normalization=LengthNormalization(alpha, kind), **others)


def prove(tiny, model, search, number=0, *, length=6, **others):
    sentence = Sentence(key=number, max_length=length)
    return search.search(model, tiny.start(number), sentence=sentence, **others)


def beam(alpha=0.0, width=2):
    return BeamSearch(beam=width, end=END, normalization=LengthNormalization(alpha))


def test_the_worked_example(tiny):
    proof = prove(tiny, tiny.scripted(), exact(), length=8)
    assert proof.proven
    (best,) = proof.hypotheses
    assert tiny.text(best) == "he hit me with a pie"
    assert best.score == pytest.approx(-4.3, abs=1e-5)
    assert str(proof) == "proven"


def test_the_worked_example_tried_in_full(tiny):
    everything = Exhaustive(end=END, normalization=LengthNormalization())
    (found,) = tiny.run(tiny.scripted(), everything, 0, length=7, nbest=2)
    best, second = found.hypotheses
    assert tiny.text(best) == "he hit me with a pie"
    assert best.score == pytest.approx(-4.3, abs=1e-5)
    assert second.score < -4.4


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    shape=st.tuples(st.sampled_from([0.0, 0.6, 1.0]), st.sampled_from(["mean", "gnmt"])),
    sizes=st.tuples(st.integers(1, 5), st.integers(1, 4)),
)
def test_it_finds_what_trying_everything_finds(tiny, seed, shape, sizes):
    length, together = sizes
    model = tiny.randomly(seed, vocabulary=4)
    normalization = LengthNormalization(*shape)
    proof = prove(tiny, model, exact(*shape, nbest=3, together=together), seed, length=length)
    expected = tiny.sequences(model, seed, vocabulary=4, length=length)
    scores = sorted((normalization.score(total, len(tokens)) for total, tokens in expected), reverse=True)
    assert proof.proven
    assert [h.score for h in proof.hypotheses] == pytest.approx(scores[:3], abs=1e-4)
    for each in proof.hypotheses:
        assert each.log_probs == pytest.approx(tiny.forced(model, seed, each.tokens), abs=1e-4)
    everything = Exhaustive(end=END, normalization=normalization)
    (found,) = tiny.run(model, everything, seed, length=length, nbest=3)
    finished = [h.score for h in found.hypotheses if h.finished]
    assert finished == pytest.approx(scores[:3], abs=1e-4)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), alpha=st.sampled_from([0.0, 0.5, 1.0]), width=st.integers(1, 4))
def test_no_beam_is_better(tiny, seed, alpha, width):
    model = tiny.randomly(seed, vocabulary=5)
    (found,) = tiny.run(model, beam(alpha, width), seed, length=5)
    without = prove(tiny, model, exact(alpha), seed, length=5)
    (best,) = without.hypotheses
    if found.hypotheses[0].finished:
        assert best.score >= found.hypotheses[0].score - 1e-5
    known = prove(tiny, model, exact(alpha), seed, length=5, known=found.hypotheses)
    assert known.expansions <= without.expansions
    assert known.hypotheses[0].score == pytest.approx(best.score, abs=1e-5)


def test_bounds_save_work(tiny):
    """With four tokens and up to eight positions there are 3^7 prefixes at the last step alone."""
    for alpha in (0.0, 1.0):
        expansions = [prove(tiny, tiny.randomly(s), exact(alpha), s, length=8).expansions for s in range(10)]
        assert sum(expansions) / 10 < 3**7 / 2


def test_the_best_continuation_comes_first(tiny):
    """So a search that is given up early has at least what greedy search finds."""
    compared = 0
    for seed in range(50):
        model = tiny.randomly(seed, vocabulary=9)
        greedy = tiny.run(model, Greedy(end=END), seed)[0].hypotheses[0]
        proof = prove(tiny, model, exact(expansions=6, together=1), seed)
        if greedy.finished:
            assert proof.hypotheses[0].score >= greedy.score - 1e-5
            compared += not proof.proven
    assert compared > 5, "it would prove little otherwise"


def test_giving_up_is_said(tiny):
    proof = prove(tiny, tiny.randomly(3), exact(1.0, expansions=5), length=9)
    assert not proof.proven
    assert proof.expansions <= 5
    assert str(proof).startswith("not proven within")


def test_filters_hold(tiny):
    model = tiny.randomly(2, vocabulary=5)
    filters = [Banned.of([(2,)]), NoRepeat(1), MinLength(END)]
    sentence = Sentence(key=0, max_length=6, min_length=2)
    proof = exact().search(model, tiny.start(0), sentence=sentence, filters=filters)
    allowed = [
        (total, tokens)
        for total, tokens in tiny.sequences(model, 0, vocabulary=5, length=6)
        if 2 not in tokens and len(set(tokens)) == len(tokens) and len(tokens) > 2
    ]
    assert proof.proven
    assert proof.hypotheses[0].tokens == allowed[0][1]


def test_a_search_that_is_too_large_is_refused(tiny):
    with pytest.raises(SettingError, match="hypotheses"):
        tiny.run(tiny.randomly(0), Exhaustive(end=END, normalization=LengthNormalization(), most=100), 0)


def test_whose_fault(tiny):
    model = tiny.scripted()
    proof = prove(tiny, model, exact(), length=8)
    (greedy,) = tiny.run(model, Greedy(end=END), 0, length=8)[0].hypotheses
    (two,) = tiny.run(model, beam(), 0, length=8)[0].hypotheses
    given_up = Proof((), proven=False, expansions=9)
    verdicts = [
        classify(greedy, proof),
        classify(two, proof),
        classify(two, proof, reference=two.tokens),
        classify(two, proof, reference=greedy.tokens),
        classify(two, given_up),
    ]
    assert verdicts == ["search error", "optimal", "optimal", "model error", "undecided"]
    assert count(verdicts) == Counts(optimal=2, search_errors=1, model_errors=1, undecided=1)


def test_a_better_output_shows_an_error_even_without_a_proof():
    better = Hypothesis((2, END), (-0.5, -0.5), -1.0, finished=True)
    worse = Hypothesis((3, END), (-0.5, -1.5), -2.0, finished=True)
    assert classify(worse, Proof((better,), proven=False, expansions=9)) == "search error"
