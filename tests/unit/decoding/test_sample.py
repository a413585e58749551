"""Sampling: the right frequencies, the right cuts, and the same draws from the same seed."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding.sample import Cut, Sample, truncated, uniform


def chi_square(counts, probs):
    """Pearson's statistic; columns that cannot be drawn must not have been."""
    possible = probs > 0
    assert counts[~possible].sum() == 0
    expected = probs[possible] * counts.sum()
    return float(((counts[possible] - expected) ** 2 / expected).sum())


def first_tokens(tiny, model, strategy, vocabulary):
    (found,) = tiny.run(model, strategy, 3, length=1, nbest=strategy.width)
    drawn = torch.tensor([h.tokens[0] for h in found.hypotheses])
    return torch.bincount(drawn, minlength=vocabulary).double()


@pytest.mark.parametrize(
    "cut",
    [
        Cut(),
        Cut(temperature=0.5),
        Cut(top_k=3),
        Cut(top_p=0.7),
        Cut(min_p=0.3),
        Cut(typical=0.6),
        Cut(temperature=2.0, top_k=6, top_p=0.9),
    ],
    ids=str,
)
def test_frequencies_match_the_distribution(tiny, cut):
    model = tiny.randomly(8, vocabulary=8, sharpness=1.0)
    counts = first_tokens(tiny, model, Sample(end=tiny.end, cut=cut, width=8_000), 8)
    log_probs_1K, columns_1K = truncated(model.row(3, ())[None], cut)
    probs = torch.zeros(8, dtype=torch.double).index_put((columns_1K[0],), log_probs_1K[0].double().exp())
    assert chi_square(counts, probs) < 26.0, "0.9997 quantile for 7 degrees of freedom"
    plain = model.row(3, ()).double().softmax(0)
    assert (chi_square(counts, plain) < 26.0) == (cut == Cut()), "the test can tell distributions apart"


def test_uniform_numbers_are_uniform_and_unrelated():
    seeds_R = torch.arange(40_000)
    first, second = (uniform(seeds_R, torch.full_like(seeds_R, position)) for position in (0, 1))
    assert 0 <= float(first.min()) <= float(first.max()) < 1
    cells = torch.bincount((first * 10).long() * 10 + (second * 10).long(), minlength=100).double()
    assert chi_square(cells, torch.full((100,), 0.01, dtype=torch.double)) < 160, "0.9999 quantile for 99"
    along = uniform(torch.zeros(40_000, dtype=torch.long), seeds_R)
    assert chi_square(torch.bincount((along * 20).long()).double(), torch.full((20,), 0.05).double()) < 52


@settings(max_examples=100, deadline=None)
@given(
    logits=st.lists(st.floats(-8, 8, width=32), min_size=1, max_size=12),
    mass=st.floats(0.01, 0.99),
)
def test_top_p_keeps_the_smallest_set_that_reaches_p(logits, mass):
    row = torch.tensor([logits])
    log_probs_1K, columns_1K = truncated(row, Cut(top_p=mass))
    kept = columns_1K[log_probs_1K > -torch.inf].tolist()
    probs = row.double().softmax(1)[0]
    reached = float(probs[kept].sum())
    assert reached >= mass - 1e-6
    assert reached - float(probs[kept].min()) < mass + 1e-6, "without the least of them it would not be reached"
    dropped = [i for i in range(len(logits)) if i not in kept]
    assert not dropped or float(probs[dropped].max()) <= float(probs[kept].min()) + 1e-9


def test_cuts_by_hand():
    logits = torch.tensor([[0.5, 0.25, 0.15, 0.1]]).log()

    def kept(cut):
        log_probs_1K, columns_1K = truncated(logits, cut)
        assert float(log_probs_1K.exp().sum()) == pytest.approx(1.0)
        return sorted(columns_1K[log_probs_1K > -torch.inf].tolist())

    assert kept(Cut(top_k=2)) == [0, 1]
    assert kept(Cut(top_p=0.6)) == [0, 1]
    assert kept(Cut(top_p=0.76)) == [0, 1, 2]
    assert kept(Cut(min_p=0.25)) == [0, 1, 2]
    # Entropy 1.21; surprises 0.69, 1.39, 1.90, 2.30: the second is the most typical, then the first.
    assert kept(Cut(typical=0.2)) == [1]
    assert kept(Cut(typical=0.3)) == [0, 1]
    assert kept(Cut(top_k=3, top_p=0.5)) == [0], "of the three best, the first has 0.56"


def test_seeds_reproduce_and_differ(tiny):
    model = tiny.randomly(1, vocabulary=30, sharpness=0.3)
    draw = Sample(end=tiny.end, width=5, seed=1)
    assert tiny.run(model, draw, 0, 1, nbest=5) == tiny.run(model, draw, 0, 1, nbest=5)
    assert tiny.run(model, draw, 0, nbest=5) != tiny.run(model, Sample(end=tiny.end, width=5, seed=2), 0, nbest=5)
    outputs = {h.tokens for h in tiny.run(model, draw, 0, nbest=5)[0].hypotheses}
    assert len(outputs) == 5, "samples of one sentence are independent"


def test_who_shares_a_batch_does_not_matter(tiny):
    model = tiny.randomly(1, vocabulary=9)
    draw = Sample(end=tiny.end, width=3, cut=Cut(top_p=0.9))
    together = tiny.run(model, draw, *range(10), nbest=3)
    tiny.same(together, [tiny.run(model, draw, n, nbest=3)[0] for n in range(10)])
    for found in together:
        for each in found.hypotheses:
            assert each.log_probs == pytest.approx(tiny.forced(model, found.key, each.tokens), abs=1e-5)


def test_the_first_samples_are_the_same_however_many_are_drawn(tiny):
    model = tiny.randomly(1, vocabulary=9)
    two, five = (
        {h.tokens for h in tiny.run(model, Sample(end=tiny.end, width=n), 0, nbest=n)[0].hypotheses} for n in (2, 5)
    )
    assert two <= five
