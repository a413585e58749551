"""Beam search: the worked example, its limits (greedy, exhaustive), when it stops, and who shares a batch."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding.beam import BeamSearch, BeamSettings
from dragoman.decoding.greedy import Greedy
from dragoman.decoding.hypothesis import found
from dragoman.decoding.live import Sentence
from dragoman.decoding.scores import LengthNormalization
from dragoman.decoding.search import Arrival, batches, search
from dragoman.errors import ModelError, SettingError


def beam(tiny, width, *, alpha=0.0, kind="mean", **others):
    return BeamSearch(beam=width, end=tiny.end, normalization=LengthNormalization(alpha, kind), **others)


def beams_of(tiny, model, strategy, *numbers, length):
    sentences = [Sentence(key=n, max_length=length) for n in numbers]
    return list(search(model, strategy, arrivals=batches([Arrival(sentences, tiny.start(*numbers))]), begin=0))


def test_the_worked_example(tiny):
    steps = beams_of(tiny, tiny.scripted(), beam(tiny, 2, nbest=2), 0, length=8)
    words = [tuple(tiny.text_of(token) for token in step.tokens_N.tolist()) for step in steps]
    assert words[:4] == [("he", "I"), ("was", "hit"), ("a", "me"), ("with", "on")]
    sums = [[round(score, 4) for score in step.scores_N.tolist()] for step in steps]
    assert sums[:2] == [[-0.7, -0.9], [-1.6, -1.7]]
    assert steps[1].parents_N.tolist() == [1, 0]
    (result,) = found(steps, nbest=2)
    assert [tiny.text(h) for h in result.hypotheses] == ["he hit me with a pie", "he hit me on a pie"]
    assert [h.score for h in result.hypotheses] == pytest.approx([-4.3, -5.2], abs=1e-5)
    assert steps[-1].finished_N.sum() == 2, "two finished are enough for a beam of two"


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), length=st.integers(1, 4), alpha=st.sampled_from([0.0, 0.6, 1.0]))
def test_wide_enough_it_is_exhaustive(tiny, seed, length, alpha):
    model = tiny.randomly(seed, vocabulary=4)
    everything = 4**length
    strategy = beam(tiny, everything, alpha=alpha, nbest=everything, stop="exact")
    (result,) = tiny.run(model, strategy, 7, length=length, nbest=everything)
    expected = tiny.sequences(model, 7, vocabulary=4, length=length)
    ranked = sorted(((total / len(tokens) ** alpha, tokens) for total, tokens in expected), reverse=True)
    finished = [h for h in result.hypotheses if h.finished]
    assert [h.score for h in finished] == pytest.approx([score for score, _ in ranked], abs=1e-4)
    assert {h.tokens for h in finished} == {tokens for _, tokens in ranked}


@pytest.mark.parametrize("seed", range(15))
def test_one_wide_it_is_greedy(tiny, seed):
    model = tiny.randomly(seed, vocabulary=6)
    assert tiny.run(model, beam(tiny, 1), 0, 1, 2) == tiny.run(model, Greedy(end=tiny.end), 0, 1, 2)


def slow_beam(tiny, model, sentence, *, width, length, alpha, refill=False):
    """The twin that uses lists: the best `width` continuations of all live ones, ends set aside.

    With `refill` living ones further down take the places of those that ended.
    """
    live, finished = [((), 0.0)], []
    for _ in range(length):
        continued = [
            ((*tokens, token), total + log_prob)
            for tokens, total in live
            for token, log_prob in enumerate(model.row(sentence, tokens).double().log_softmax(0).tolist())
        ]
        ranked = sorted(continued, key=lambda c: -c[1])
        best = ranked[:width]
        finished += [(total / len(tokens) ** alpha, tokens) for tokens, total in best if tokens[-1] == tiny.end]
        live = [c for c in (ranked[: 2 * width] if refill else best) if c[0][-1] != tiny.end][:width]
        if len(finished) >= width or not live:
            break
    unfinished = [(total / len(tokens) ** alpha, tokens) for tokens, total in live]
    return max(finished) if finished else max(unfinished)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    shape=st.tuples(st.integers(1, 5), st.sampled_from([0.0, 0.7, 1.0]), st.booleans()),
    numbers=st.lists(st.integers(0, 50), min_size=1, max_size=5, unique=True),
)
def test_the_slow_twin_agrees(tiny, seed, shape, numbers):
    width, alpha, refill = shape
    model = tiny.randomly(seed, vocabulary=6, sharpness=1.0)
    for result in tiny.run(model, beam(tiny, width, alpha=alpha, refill=refill), *numbers, length=5):
        score, tokens = slow_beam(tiny, model, result.key, width=width, length=5, alpha=alpha, refill=refill)
        (best,) = result.hypotheses
        assert best.tokens == tokens
        assert best.score == pytest.approx(score, abs=1e-4)
        assert best.log_probs == pytest.approx(tiny.forced(model, result.key, tokens), abs=1e-4)


@pytest.mark.parametrize(("kind", "alpha"), [("mean", 0.0), ("mean", 1.0), ("gnmt", 0.6)])
def test_no_live_hypothesis_could_have_won(tiny, kind, alpha):
    """Stopping by the bound loses nothing against a search that never stops early."""
    saved = 0
    for seed in range(30):
        model = tiny.randomly(seed, vocabulary=5, sharpness=1.0)
        bounded = beams_of(tiny, model, beam(tiny, 4, alpha=alpha, kind=kind, stop="exact"), seed, length=8)
        endless = beams_of(tiny, model, beam(tiny, 4, alpha=alpha, kind=kind, stop="exact", nbest=400), seed, length=8)
        assert list(found(bounded)) == list(found(endless))
        saved += len(endless) - len(bounded)
    assert saved > 0


@pytest.mark.parametrize("enough", [1, 2, 4])
def test_enough_finished_hypotheses_are_enough(tiny, enough):
    model = tiny.table(lambda _sentence, _prefix: torch.tensor([0.0, 1.2, 1.1, 1.0]))
    steps = beams_of(tiny, model, beam(tiny, 3, alpha=2.0, finish=enough), 0, length=50)
    counts = list(itertools.accumulate(int(step.finished_N.sum()) for step in steps))
    assert counts[-1] >= enough
    assert all(count < enough for count in counts[:-1])


def test_early_stopping_stops_earlier(tiny):
    lengths = {}
    for stop in ("exact", "early", "count"):
        strategy = beam(tiny, 4, alpha=1.0, stop=stop, finish=2)
        lengths[stop] = sum(
            len(beams_of(tiny, tiny.randomly(seed, vocabulary=5), strategy, seed, length=12)) for seed in range(20)
        )
    assert lengths["early"] < lengths["count"] < lengths["exact"]


@pytest.mark.parametrize("width", [1, 3])
def test_who_shares_a_batch_does_not_matter(tiny, width):
    model = tiny.randomly(11, vocabulary=8)
    strategy = beam(tiny, width, alpha=0.6, nbest=width)
    alone = {n: tiny.run(model, strategy, n, nbest=width)[0] for n in range(12)}
    tiny.same([alone[n] for n in range(12)], tiny.run(model, strategy, *range(12), nbest=width))
    shuffled = [7, 2, 11, 0, 5, 9, 1, 10, 3, 8, 6, 4]
    tiny.same([alone[n] for n in shuffled], tiny.run(model, strategy, *shuffled, nbest=width))


def test_new_sentences_take_the_places_of_finished_ones(tiny):
    model = tiny.randomly(11, vocabulary=8)
    strategy = beam(tiny, 3, alpha=0.6)
    alone = {n: tiny.run(model, strategy, n)[0] for n in range(20)}
    numbers = iter(range(20))

    def arrivals(room):
        taken = list(itertools.islice(numbers, room))
        return Arrival([Sentence(key=n, max_length=6, seed=n) for n in taken], tiny.start(*taken)) if taken else None

    results = list(found(search(model, strategy, arrivals=arrivals, begin=0, places=4)))
    assert len(results) == 20
    tiny.same(results, [alone[r.key] for r in results])
    assert [r.key for r in results] != sorted(alone), "who is done first comes first"
    assert max(model.widths) <= 12


def test_finished_rows_leave_the_batch(tiny):
    model = tiny.randomly(5, vocabulary=6)
    tiny.run(model, beam(tiny, 4), *range(6))
    assert model.widths[0] == 6, "one row each at first"
    assert model.widths[-1] < 24


class Unordered:
    """A planted bug: a step whose state keeps the right rows in the wrong order."""

    def __init__(self, tiny, model):
        self.model = tiny.table(model.row)

    def __call__(self, tokens_R, state):
        return self.model(tokens_R, state)

    def select(self, state, rows_R):
        return self.model.select(state, rows_R.sort().values)

    def join(self, state, other):
        return self.model.join(state, other)


def test_a_state_that_is_not_reordered_is_noticed(tiny):
    model = tiny.scripted()
    right = tiny.run(model, beam(tiny, 2), 0, length=8)
    wrong = tiny.run(Unordered(tiny, model), beam(tiny, 2), 0, length=8)
    assert right != wrong
    log_probs = wrong[0].hypotheses[0].log_probs
    assert log_probs != pytest.approx(tiny.forced(model, 0, wrong[0].hypotheses[0].tokens), abs=1e-3)


def test_scores_that_are_not_added_up_are_noticed(tiny):
    class Forgetful:
        width, traced = 1, False

        def __init__(self, within):
            self.start, self.within = within.start, within

        def choose(self, offer, live, memory):
            return self.within.choose(offer, replace(live, totals_R=torch.zeros_like(live.totals_R)), memory)

    wrong = tiny.run(tiny.scripted(), Forgetful(beam(tiny, 2)), 0, length=8)[0].hypotheses[0]
    assert wrong.score != pytest.approx(wrong.log_prob, abs=1e-3)


def test_a_length_that_is_off_by_one_is_noticed(tiny):
    model = tiny.randomly(2, vocabulary=5)
    (result,) = tiny.run(model, beam(tiny, 4, alpha=1.0), 0)
    best = result.hypotheses[0]
    assert best.score == pytest.approx(best.log_prob / len(best.tokens), abs=1e-5)
    assert best.score != pytest.approx(best.log_prob / (len(best.tokens) - 1 or 2), abs=1e-3)


@pytest.mark.parametrize("length", [1, 2, 5])
def test_no_output_is_longer_than_allowed(tiny, length):
    for seed in range(10):
        for result in tiny.run(tiny.randomly(seed, vocabulary=9), beam(tiny, 3, nbest=3), 0, 1, length=length, nbest=3):
            for each in result.hypotheses:
                assert len(each.tokens) <= length
                assert each.finished == (each.tokens[-1] == tiny.end)


def test_coverage_prefers_what_looked_everywhere(tiny):
    """The score is the normalised log-probability plus the penalty, recomputed here by hand."""
    model = tiny.randomly(4, vocabulary=5)
    strategy = beam(tiny, 3, alpha=1.0, coverage=0.4, nbest=3)
    for result in tiny.run(model, strategy, 0, 1, 2, nbest=3):
        for each in result.hypotheses:
            state, last, covered = tiny.start(result.key), 0, torch.zeros(4)
            for token in each.tokens:
                _, state, trace = model.trace(torch.tensor([last]), state)
                covered += trace.attention_RS[0]
                last = token
            overlooked = float(covered[: 2 + result.key % 3].clamp(max=1.0).log().sum())
            assert each.score == pytest.approx(each.log_prob / len(each.tokens) + 0.4 * overlooked, abs=1e-4)


def test_coverage_needs_a_trace(tiny):
    model = tiny.randomly(4)

    class Plain:
        __call__, select, join = model.__call__, model.select, model.join

    with pytest.raises(ModelError, match="hidden states and attention"):
        tiny.run(Plain(), beam(tiny, 3, coverage=0.4), 0)


def test_more_outputs_than_the_beam_holds_are_refused():
    with pytest.raises(SettingError, match="6 outputs from a beam of 5"):
        BeamSettings(nbest=6)
    with pytest.raises(SettingError, match="3 outputs from 2 finished"):
        BeamSettings(nbest=3, finish=2)
