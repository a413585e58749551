"""Alignments: examples worked out by hand, slow twins, and what must hold for any of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import DataError
from dragoman.measures.alignment import (
    GoldAlignment,
    Link,
    alignment_scores,
    links_by_source,
    links_by_target,
    project,
    project_weights,
    read_pharaoh,
    symmetrize,
    write_gold,
    write_pharaoh,
)


def links(text):
    return read_pharaoh(text).sure


positions = st.integers(0, 5)
alignments = st.frozensets(st.builds(Link, positions, positions), max_size=14)


def neighbours(link):
    return {Link(link.source + i, link.target + j) for i in (-1, 0, 1) for j in (-1, 0, 1)} - {link}


def test_links_from_attention():
    weights = [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]
    assert links_by_target(weights) == links("0-0 2-1")
    assert links_by_target(weights, least=0.65) == links("0-0")
    assert links_by_source(weights) == links("0-0 1-1 2-1")
    assert links_by_target([]) == links_by_source(np.zeros((0, 3))) == frozenset()


def test_symmetrised_by_hand():
    """Both say 0-0 and 2-2. 1-1 and 3-2 touch them; 5-4 does not, but both its words are free; 0-5 is not."""
    forward, backward = links("0-0 2-2 1-1 5-4"), links("0-0 2-2 3-2 0-5")
    assert symmetrize(forward, backward, method="intersection") == links("0-0 2-2")
    assert symmetrize(forward, backward, method="grow-diag") == links("0-0 2-2 1-1 3-2")
    assert symmetrize(forward, backward, method="grow-diag-final-and") == links("0-0 2-2 1-1 3-2 5-4")
    assert symmetrize(forward, backward, method="union") == forward | backward


@given(alignments, alignments)
def test_each_way_keeps_more_than_the_one_before(forward, backward):
    both = symmetrize(forward, backward, method="intersection")
    grown = symmetrize(forward, backward, method="grow-diag")
    final = symmetrize(forward, backward, method="grow-diag-final-and")
    assert both <= grown <= final <= symmetrize(forward, backward, method="union")


@given(alignments, alignments)
def test_growth_goes_as_far_as_it_can_and_no_further(forward, backward):
    both, either = forward & backward, forward | backward
    grown = symmetrize(forward, backward, method="grow-diag")
    reached = set(both)
    while more := {link for link in grown - reached if neighbours(link) & reached}:
        reached |= more
    assert reached == grown, "every link is joined to the intersection by neighbours"
    sources, targets = {s for s, _ in grown}, {t for _, t in grown}
    for link in either - grown:
        touches = bool(neighbours(link) & grown)
        assert not (touches and (link.source not in sources or link.target not in targets))
    final = symmetrize(forward, backward, method="grow-diag-final-and")
    sources, targets = {s for s, _ in final}, {t for _, t in final}
    assert all(link.source in sources or link.target in targets for link in either)
    for link in final - grown:
        others = final - {link}
        assert link.source not in {s for s, _ in others}
        assert link.target not in {t for _, t in others}


def test_pieces_become_words():
    words = {"source_words": [0, 0, 1, None], "target_words": [0, 1, 1]}
    assert project(links("0-0 1-1 2-2 3-2"), **words) == links("0-0 0-1 1-1")


def test_weights_of_pieces_become_those_of_words():
    weights = [[0.2, 0.3, 0.4, 0.1], [0.5, 0.1, 0.2, 0.2], [0.1, 0.1, 0.8, 0.0]]
    found = project_weights(weights, source_words=[0, 0, 1, None], target_words=[0, 1, 1])
    np.testing.assert_allclose(found, [[0.5, 0.4], [0.4, 0.5]])
    assert project_weights([], source_words=[], target_words=[]).shape == (0, 0)


@given(alignments, alignments)
def test_pharaoh_goes_there_and_back(sure, more):
    gold = GoldAlignment(sure, sure | more)
    assert read_pharaoh(write_gold(gold)) == gold
    assert read_pharaoh(write_pharaoh(sure)).sure == sure


def test_pharaoh_as_written_by_others():
    assert write_pharaoh(links("1-0 0-1 0-0")) == "0-0 0-1 1-0"
    assert read_pharaoh("1-1 2p3", first=1) == GoldAlignment(links("0-0"), frozenset({Link(0, 0), Link(1, 2)}))


@pytest.mark.parametrize("line", ["0", "0-", "a-b", "0-0-0", "-1-0", "0:0", "\u0663-0"])
def test_what_is_no_link_is_refused(line):
    with pytest.raises(DataError, match="is not a link"):
        read_pharaoh(line, place="gold.txt:7")
    with pytest.raises(DataError, match="counted from 1"):
        read_pharaoh("0-1", first=1)


def test_error_rate_by_hand():
    """Of four links three are possible and two sure, of three sure ones: 1 - (2 + 3) / (4 + 3)."""
    found = alignment_scores([links("0-0 1-1 2-3"), links("0-2")], [read_pharaoh("0-0 1-1 2-2 2?3"), read_pharaoh("")])
    assert found.precision == pytest.approx(3 / 4)
    assert found.recall == pytest.approx(2 / 3)
    assert found.error_rate == pytest.approx(2 / 7)
    assert (found.predicted, found.sure) == (4, 3)


@given(st.lists(st.tuples(alignments, alignments), max_size=4))
def test_links_between_sure_and_possible_have_no_error(golds):
    gold = [GoldAlignment(sure, sure | more) for sure, more in golds]
    for predicted in ([g.sure for g in gold], [g.possible for g in gold]):
        assert alignment_scores(predicted, gold).error_rate == pytest.approx(0)


def test_counts_must_agree():
    with pytest.raises(DataError, match="1 alignments and 0 of gold"):
        alignment_scores([links("0-0")], [])
