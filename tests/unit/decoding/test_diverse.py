"""Diverse beam search: groups avoid each other, and without a charge they are equal beams."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding.beam import BeamSearch
from dragoman.decoding.diverse import DiverseSearch, DiverseSettings
from dragoman.decoding.scores import LengthNormalization
from dragoman.errors import SettingError

END = 1


def diverse(groups, each, diversity, alpha=0.6):
    return DiverseSearch(
        beam=groups * each,
        groups=groups,
        diversity=diversity,
        end=END,
        normalization=LengthNormalization(alpha),
    )


def slow(tiny, model, sentence, *, groups, each, diversity):
    """The twin: full distributions, lists, one group after the other. Finished (score, tokens), sorted."""
    live = {g: [((), 0.0)] for g in range(groups)}
    finished = {g: [] for g in range(groups)}
    for _ in range(5):
        said = []
        for group in range(groups):
            continued = [
                (total + p - diversity * said.count(token), (*tokens, token), total + p)
                for tokens, total in live[group]
                for token, p in enumerate(model.row(sentence, tokens).double().log_softmax(0).tolist())
            ]
            best = sorted(continued, key=lambda c: -c[0])[:each] if len(finished[group]) < each else []
            said += [tokens[-1] for _, tokens, _ in best]
            finished[group] += [(t / len(tokens) ** 0.6, tokens) for _, tokens, t in best if tokens[-1] == END]
            live[group] = [(tokens, t) for _, tokens, t in best if tokens[-1] != END]
            if len(finished[group]) >= each:
                live[group] = []
    return sorted((f for group in finished.values() for f in group), reverse=True)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    shape=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    diversity=st.sampled_from([0.0, 0.3, 2.0]),
)
def test_the_slow_twin_agrees(tiny, seed, shape, diversity):
    groups, each = shape
    model = tiny.randomly(seed, vocabulary=10, sharpness=1.0)
    for found in tiny.run(model, diverse(groups, each, diversity), 0, 1, 2, length=5, nbest=20):
        expected = slow(tiny, model, found.key, groups=groups, each=each, diversity=diversity)
        finished = [h for h in found.hypotheses if h.finished]
        assert [h.score for h in finished] == pytest.approx([score for score, _ in expected], abs=1e-4)
        assert sorted(h.tokens for h in finished) == sorted(tokens for _, tokens in expected)


def test_one_group_is_a_beam(tiny):
    model = tiny.randomly(4, vocabulary=6)
    plain = BeamSearch(beam=3, end=END, normalization=LengthNormalization(0.6), nbest=3)
    ours = tiny.run(model, diverse(1, 3, 0.7), 0, 1, 2)
    for one, other in zip(ours, tiny.run(model, plain, 0, 1, 2), strict=True):
        assert one.hypotheses[0].tokens == other.hypotheses[0].tokens


def test_groups_begin_differently(tiny):
    model = tiny.randomly(4, vocabulary=20, sharpness=0.3)
    alike, apart = (tiny.run(model, diverse(4, 1, d), 0, nbest=4)[0].hypotheses for d in (0.0, 50.0))
    assert len({h.tokens for h in alike}) == 1
    assert len({h.tokens[0] for h in apart}) == 4


def test_who_shares_a_batch_does_not_matter(tiny):
    model = tiny.randomly(9, vocabulary=8)
    strategy = diverse(2, 2, 0.5)
    together = tiny.run(model, strategy, *range(9), nbest=4)
    tiny.same(together, [tiny.run(model, strategy, n, nbest=4)[0] for n in range(9)])


def test_groups_of_unequal_size_are_refused():
    with pytest.raises(SettingError, match="beam of 5 cannot be divided into 2 groups"):
        DiverseSettings(beam=5, groups=2)
    with pytest.raises(SettingError, match="9 outputs from a beam of 6"):
        DiverseSettings(nbest=9)
