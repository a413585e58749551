"""Rows of foreign vocabularies: every id has its place here, and comes back."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.interop.numbering import NEVER, Numbering
from dragoman.text.vocabulary import BOS, EOS, PAD, UNK


@st.composite
def _numberings(draw):
    size = draw(st.integers(3, 40))
    pad, unknown, end = draw(st.permutations(range(size)))[:3]
    return Numbering(pad=pad, unknown=unknown, end=end, begin=draw(st.integers(0, size - 1)), size=size)


@given(_numberings())
def test_there_and_back(numbering):
    theirs, ours = numbering.theirs(), numbering.ours()
    assert len(theirs) == numbering.size + 1
    assert [theirs[i] for i in (PAD, UNK, BOS, EOS)] == [
        numbering.pad,
        numbering.unknown,
        numbering.begin,
        numbering.end,
    ]
    assert [theirs[i] for i in ours] == list(range(numbering.size))
    assert BOS not in ours
    table = torch.randn(numbering.size, 2)
    assert torch.equal(numbering.rows_back(numbering.rows(table)), table)


@given(_numberings())
def test_the_begin_is_never_said(numbering):
    bias = numbering.bias(torch.ones(1, numbering.size))
    assert bias[BOS] == NEVER
    assert bias.sum() - NEVER == numbering.size
    assert numbering.bias(None).sum() == NEVER
