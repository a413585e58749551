"""The shared loop: arrivals, places, and what a strategy may ask for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dragoman.decoding.beam import BeamSearch
from dragoman.decoding.diverse import DiverseSearch
from dragoman.decoding.filters import Banned, NoRepeat, RepetitionPenalty
from dragoman.decoding.greedy import Greedy
from dragoman.decoding.hypothesis import found
from dragoman.decoding.live import Sentence
from dragoman.decoding.sample import Sample
from dragoman.decoding.scores import LengthNormalization
from dragoman.decoding.search import Arrival, batches, search

END = 1
STRATEGIES = [
    Greedy(end=END),
    BeamSearch(beam=3, end=END, normalization=LengthNormalization(1.0)),
    BeamSearch(beam=3, end=END, normalization=LengthNormalization(0.6), coverage=0.3),
    DiverseSearch(beam=4, groups=2, diversity=0.4, end=END, normalization=LengthNormalization(0.6)),
    Sample(end=END, width=2),
]


def arrival(tiny, *numbers, length=6):
    return Arrival([Sentence(key=n, max_length=length, seed=n) for n in numbers], tiny.start(*numbers))


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("places", [1, 3, 7])
def test_a_stream_gives_what_each_sentence_gives_alone(tiny, strategy, places):
    """Batches of different sizes wait for room; the first one is still in search when the next comes in."""
    model = tiny.randomly(3, vocabulary=6)
    sizes = [min(size, places) for size in (3, 1, 2, 5, 4)]
    numbers = iter(range(100))
    ready = [arrival(tiny, *(next(numbers) for _ in range(size))) for size in sizes]
    beams = list(search(model, strategy, arrivals=batches(ready), begin=0, places=places))
    results = {each.key: each for each in found(beams, nbest=2)}
    assert sorted(results) == list(range(sum(sizes)))
    tiny.same(results.values(), [tiny.run(model, strategy, n, nbest=2)[0] for n in results])


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: type(s).__name__)
def test_newcomers_have_no_history(tiny, strategy):
    """Filters that read what was said see nothing but a sentence's own words."""
    model = tiny.randomly(3, vocabulary=6)
    filters = [RepetitionPenalty(1.5), NoRepeat(1), Banned.of([(2, 3)])]
    ready = [arrival(tiny, n, n + 1) for n in range(0, 20, 2)]
    beams = search(model, strategy, arrivals=batches(ready), begin=0, places=5, filters=filters)
    results = {each.key: each for each in found(beams, nbest=2)}
    assert sorted(results) == list(range(20))
    tiny.same(results.values(), [tiny.run(model, strategy, n, nbest=2, filters=filters)[0] for n in results])


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: type(s).__name__)
def test_a_history_that_is_lost_is_noticed(tiny, strategy):
    class Forgetful:
        reads_history, only_forbids = True, True

        def __call__(self, scores, live):
            NoRepeat(1)(scores, replace(live, history_RT=live.history_RT[:, :0]))

    model = tiny.randomly(6, vocabulary=5)
    right, wrong = (
        tiny.run(model, strategy, *range(9), length=8, nbest=4, filters=[each]) for each in (NoRepeat(1), Forgetful())
    )
    assert all(len(set(h.tokens)) == len(h.tokens) for found in right for h in found.hypotheses)
    assert any(len(set(h.tokens)) < len(h.tokens) for found in wrong for h in found.hypotheses)


def test_nothing_to_do(tiny):
    assert list(search(tiny.randomly(1), Greedy(end=END), arrivals=batches([]), begin=0)) == []


def test_each_sentence_has_its_own_limit(tiny):
    model = tiny.randomly(3, vocabulary=12)
    sentences = [Sentence(key=n, max_length=n + 1) for n in range(6)]
    beams = search(
        model, Greedy(end=END), arrivals=batches([Arrival(sentences, tiny.start(*range(6)))]), begin=0, places=6
    )
    for each in found(beams):
        (best,) = each.hypotheses
        assert len(best.tokens) <= each.key + 1
        assert best.finished or len(best.tokens) == each.key + 1


def test_a_reader_who_stops_early_stops_the_search(tiny):
    model = tiny.randomly(3, vocabulary=12)
    beams = search(model, Greedy(end=END), arrivals=batches([arrival(tiny, 0, 1)]), begin=0, places=2)
    next(beams)
    beams.close()
    assert len(model.widths) == 1


def test_the_state_that_a_search_began_with_is_left_alone(tiny):
    model = tiny.randomly(3, vocabulary=6)
    batch = arrival(tiny, 0, 1, 2)
    first, second = (list(found(search(model, STRATEGIES[1], arrivals=batches([batch]), begin=0))) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: type(s).__name__)
def test_ties_are_broken_alike_in_any_batch(tiny, strategy):
    """Scores in whole numbers, so that many hypotheses are equal."""
    smooth = tiny.randomly(3, vocabulary=150, sharpness=0.7)
    model = tiny.table(lambda sentence, prefix: smooth.row(sentence, prefix).round())
    together = tiny.run(model, strategy, *range(9), nbest=2)
    tiny.same(together, [tiny.run(model, strategy, n, nbest=2)[0] for n in range(9)])


def test_no_state_is_ever_without_rows(tiny):
    class Picky(tiny.table):
        def select(self, state, rows_R):
            assert len(rows_R)
            return super().select(state, rows_R)

    model = Picky(tiny.randomly(3, vocabulary=6).row)
    ready = batches([arrival(tiny, 0, 1), arrival(tiny, 2, 3)])
    assert len(list(found(search(model, Greedy(end=END), arrivals=ready, begin=0, places=2)))) == 4
