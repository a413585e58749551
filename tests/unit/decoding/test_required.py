"""Required words: always said when they fit, with any search, and each with its alternatives."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding.beam import BeamSearch
from dragoman.decoding.filters import Banned, ForcedPrefix, NoRepeat
from dragoman.decoding.greedy import Greedy
from dragoman.decoding.live import Sentence
from dragoman.decoding.required import Required, begun, missing, progress
from dragoman.decoding.sample import Sample
from dragoman.decoding.scores import LengthNormalization
from dragoman.errors import SettingError

END = 1
STRATEGIES = (
    Greedy(end=END),
    BeamSearch(beam=3, end=END, normalization=LengthNormalization(0.6)),
    Sample(end=END, width=2),
)
PHRASES = st.lists(st.integers(2, 5), min_size=1, max_size=3).map(tuple)


@settings(max_examples=60, deadline=None)
@given(
    case=st.tuples(st.integers(0, 1000), st.sampled_from(STRATEGIES)),
    required=st.lists(st.lists(PHRASES, min_size=1, max_size=2).map(tuple), min_size=1, max_size=2).map(tuple),
    slack=st.integers(0, 4),
)
def test_they_are_said_whenever_they_fit(tiny, case, required, slack):
    seed, strategy = case
    model = tiny.randomly(seed, vocabulary=6)
    length = sum(min(map(len, alternatives)) for alternatives in required) + 1 + slack
    for found in tiny.run(model, strategy, 0, 1, length=length, filters=[Required(END)], required=required):
        assert found.hypotheses
        for each in found.hypotheses:
            assert not missing(each.tokens, Sentence(key=0, max_length=length, required=required))
            assert each.log_probs == pytest.approx(tiny.forced(model, found.key, each.tokens), abs=1e-4)


def test_nothing_changes_where_nothing_is_required(tiny):
    model = tiny.randomly(5, vocabulary=6)
    for strategy in STRATEGIES:
        assert tiny.run(model, strategy, 0, 1, filters=[Required(END)]) == tiny.run(model, strategy, 0, 1)


def test_what_is_required_wins_over_what_is_banned_and_follows_the_prefix(tiny):
    model = tiny.randomly(5, vocabulary=6)
    filters = [ForcedPrefix((Required(END, (Banned.of([(4,)]), NoRepeat(1))),))]
    (found,) = tiny.run(model, Greedy(end=END), 0, length=6, filters=filters, required=(((4, 4),),), prefix=(3, 2))
    assert found.hypotheses[0].tokens[:2] == (3, 2)
    assert not missing(found.hypotheses[0].tokens, Sentence(key=0, max_length=6, required=(((4, 4),),)))


def test_too_little_room_is_refused(tiny):
    with pytest.raises(SettingError, match="need 4 tokens, but an output may have 3"):
        tiny.run(tiny.randomly(5), Greedy(end=END), 0, length=3, filters=[Required(END)], required=(((2, 3, 2),),))


def test_by_hand():
    sentence = Sentence(key=0, max_length=9, required=(((2, 3), (4,)), ((5, 5, 2),)))
    assert missing((2, 3, 5), sentence) == (((5, 5, 2),),)
    assert missing((4, 5, 5, 2), sentence) == ()
    assert begun((2, 5, 5), (5, 5, 2)) == 2
    assert begun((5, 5, 2), (5, 5, 2)) == 0
    assert [progress(said, sentence) for said in [(), (2,), (2, 3), (4, 5, 5), (4, 5, 5, 2)]] == [0, 1, 1, 3, 4]


def test_a_prefix_may_hold_what_is_required(tiny):
    filters = [ForcedPrefix((Required(END),))]
    (found,) = tiny.run(
        tiny.randomly(5), Greedy(end=END), 0, length=4, filters=filters, required=(((2, 3),),), prefix=(2, 3)
    )
    assert found.hypotheses[0].tokens[:2] == (2, 3)
