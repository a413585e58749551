"""Filters: what is forbidden never appears, with any search, and what remains keeps the model's log-probability."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding.beam import BeamSearch
from dragoman.decoding.filters import Banned, ForcedPrefix, LengthLimits, MinLength, NoRepeat, RepetitionPenalty
from dragoman.decoding.greedy import Greedy
from dragoman.decoding.live import Live, Sentence
from dragoman.decoding.sample import Sample
from dragoman.decoding.scores import LengthNormalization
from dragoman.decoding.step import Scores
from dragoman.errors import SettingError

END = 1
STRATEGIES = {
    "greedy": Greedy(end=END),
    "beam": BeamSearch(beam=3, end=END, normalization=LengthNormalization(0.6), nbest=3),
    "sample": Sample(end=END, width=3),
}


def contains(tokens, phrase):
    return any(tokens[i : i + len(phrase)] == phrase for i in range(len(tokens)))


@pytest.fixture(params=STRATEGIES)
def strategy(request):
    return STRATEGIES[request.param]


def outputs(tiny, model, strategy, *, filters=(), length=8, **demands):
    for found in tiny.run(model, strategy, *range(6), length=length, nbest=3, filters=filters, **demands):
        assert found.hypotheses
        for each in found.hypotheses:
            if -torch.inf not in each.log_probs:
                assert each.log_probs == pytest.approx(tiny.forced(model, found.key, each.tokens), abs=1e-4)
            yield each


def test_banned_words_and_phrases(tiny, strategy):
    model = tiny.randomly(2, vocabulary=5)
    free = list(outputs(tiny, model, strategy))
    assert any(2 in h.tokens for h in free)
    phrase = next(h.tokens[i : i + 2] for h in free for i in range(len(h.tokens) - 1) if 2 not in h.tokens[i : i + 2])
    banned = [Banned.of([(2,), phrase])]
    for each in outputs(tiny, model, strategy, filters=banned):
        assert 2 not in each.tokens
        assert not contains(each.tokens, phrase)


def test_no_run_is_repeated(tiny, strategy):
    model = tiny.randomly(6, vocabulary=5)

    def repeats(tokens, size):
        runs = [tokens[i : i + size] for i in range(len(tokens) - size + 1)]
        return len(runs) > len(set(runs))

    for size in (1, 2, 3):
        without_end = [Banned.of([(END,)])] if size > 1 else []
        free = list(outputs(tiny, model, strategy, filters=without_end, length=12))
        assert any(repeats(h.tokens, size) for h in free)
        for each in outputs(tiny, model, strategy, filters=[*without_end, NoRepeat(size)], length=12):
            assert not repeats(each.tokens, size)


@settings(max_examples=60, deadline=None)
@given(
    histories=st.lists(st.lists(st.integers(0, 3), max_size=9), min_size=1, max_size=4),
    size=st.integers(1, 4),
)
def test_the_slow_twin_forbids_the_same(tiny, histories, size):
    width = max(map(len, histories))
    sentences = [Sentence(key=i, max_length=20) for i in range(len(histories))]
    live = Live.starting(sentences, width=1, begin=0, history=True, device=torch.device("cpu"))
    padded = torch.tensor([[-1] * (width - len(h)) + h for h in histories], dtype=torch.long)
    live = replace(live, history_RT=padded)
    scores = Scores.of(torch.zeros(len(histories), 4))
    NoRepeat(size)(scores, live)
    for history, row in zip(histories, scores.logits_RV.tolist(), strict=True):
        tail = history[len(history) - size + 1 :] if size > 1 else []
        followed = {
            history[i + size - 1]
            for i in range(len(history) - size + 1)
            if history[i : i + size - 1] == tail and len(history) >= size - 1
        }
        assert {i for i, value in enumerate(row) if value == -torch.inf} == followed


def test_shortest_length(tiny, strategy):
    model = tiny.randomly(2, vocabulary=4)
    assert any(len(h.tokens) < 5 for h in outputs(tiny, model, strategy))
    for each in outputs(tiny, model, strategy, filters=[MinLength(END)], min_length=4):
        assert len(each.tokens) >= 5, "four tokens and the end"


def test_the_shortest_allowed_length_is_reached_exactly(tiny):
    """A model that always wants to end does so at the first moment it may."""
    model = tiny.table(lambda _sentence, _prefix: torch.tensor([0.0, 9.0, 1.0]))
    for least in range(5):
        (found,) = tiny.run(model, Greedy(end=END), 0, filters=[MinLength(END)], min_length=least)
        assert len(found.hypotheses[0].tokens) == least + 1


@pytest.mark.parametrize("prefix", [(2,), (4, 3, 4)])
def test_prefixes_are_kept_and_scored(tiny, strategy, prefix):
    model = tiny.randomly(9, vocabulary=6)
    banned = ForcedPrefix((Banned.of([(4,)]), NoRepeat(1)))
    for each in outputs(tiny, model, strategy, filters=[banned], prefix=prefix):
        assert each.tokens[: len(prefix)] == prefix
        assert 4 not in each.tokens[len(prefix) :]


def test_a_prefix_outside_the_short_list_is_refused(tiny):
    model = tiny.randomly(9, vocabulary=3, ids=torch.tensor([0, 1, 40]))
    with pytest.raises(SettingError, match="cannot say"):
        tiny.run(model, Greedy(end=END), 0, filters=[ForcedPrefix()], prefix=(7,))


def test_the_repetition_penalty_lowers_what_was_said(tiny):
    model = tiny.table(lambda _sentence, _prefix: torch.tensor([0.0, 0.1, 1.0, 1.2]))
    (plain,) = tiny.run(model, Greedy(end=END), 0)
    assert plain.hypotheses[0].tokens == (3,) * 6
    (found,) = tiny.run(model, Greedy(end=END), 0, filters=[RepetitionPenalty(1.5)])
    best = found.hypotheses[0]
    assert best.tokens[:2] == (3, 2), "log-probability -0.78 becomes -1.17, below -0.98"
    assert best.log_probs == pytest.approx(tiny.forced(model, 0, best.tokens), abs=1e-5)
    assert best.score < best.log_prob, "the search ranks by lowered scores"


def test_filters_see_a_short_list(tiny, strategy):
    ids = torch.tensor([0, 1, 17, 40])
    model = tiny.randomly(9, vocabulary=4, ids=ids)
    for each in outputs(tiny, model, strategy, filters=[Banned.of([(40,), (7,)]), NoRepeat(2)]):
        assert set(each.tokens) <= {0, 1, 17}


def test_what_cannot_be_gives_no_output(tiny, strategy):
    everything = Banned.of([(token,) for token in range(4)])
    for found in tiny.run(tiny.randomly(0, vocabulary=4), strategy, 0, 1, filters=[everything]):
        assert found.hypotheses == ()


def test_limits_follow_the_source():
    limits = LengthLimits(most=50, most_per_source=2.0, most_extra=5, least_per_source=0.5)
    assert limits.of(4, usual=9.0) == (2, 13)
    assert limits.of(0, usual=9.0) == (0, 5)
    assert limits.of(1000, usual=9.0) == (49, 50)
    with pytest.raises(SettingError, match="least is more than the most"):
        LengthLimits(most=3, least=3)
