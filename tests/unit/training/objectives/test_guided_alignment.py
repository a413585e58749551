"""Guided alignment against a loop over links, on words that are cut into pieces."""

from __future__ import annotations

import math
from dataclasses import replace as changed

import numpy as np
import pytest
import torch

from dragoman.data.alignments import Alignments
from dragoman.data.batch import Draw, collate
from dragoman.data.store import joined
from dragoman.models.build import build
from dragoman.text.build import TextSettings, train_tokenizer
from dragoman.text.characters import CharacterSettings
from dragoman.text.tokenizer import words_of
from dragoman.text.vocabulary import EOS
from dragoman.text.word_numbers import WordNumbers
from dragoman.training.objectives.cross_entropy import TeacherForcing
from dragoman.training.objectives.guided_alignment import Guided, GuidedAlignment, distance_from
from dragoman.training.objectives.objective import source_of
from reference.objectives import ATTENTIVE, assert_same, run

PAIRS = [("ab c de", "de abc c"), ("c", "a b"), ("e dd", "dde")]
LINKS = [[(0, 1), (1, 2), (2, 0), (1, 1)], [(0, 0)], []]
TOKENIZER = train_tokenizer(CharacterSettings(), TextSettings(), texts=["abcde a"], size=None)


def alignments(prefix=0):
    flat = [link for links in LINKS for link in links]
    offsets = np.cumsum([0, *map(len, LINKS)])
    return Alignments(offsets, np.array(flat, np.uint16).reshape(-1, 2), np.array([3]), (prefix,))


def batch_of(prefix=()):
    sources = [[*prefix, *TOKENIZER.encode(source)] for source, _ in PAIRS]
    targets = [TOKENIZER.encode(target) for _, target in PAIRS]
    order = np.array([2, 0, 1])
    sides = [joined([side[i] for i in order], dtype="int64") for side in (sources, targets)]
    return collate(Draw(0, 3, order, source=sides[0], target=sides[1]), source_end=True)


def guided(weight=0.5, prefix=0, **settings):
    words = WordNumbers(TOKENIZER)
    return Guided(
        GuidedAlignment(weight=weight, **settings), alignments(prefix), source_words=words, target_words=words
    )


def by_hand(weights, batch, prefix=0):
    """Target piece by target piece."""
    total = 0.0
    for row, example in enumerate(batch.examples_B.tolist()):
        source, target = ([*words_of(text, TOKENIZER.pieces(text))] for text in PAIRS[example])
        for t, word in enumerate(target):
            linked = [s for s, other in enumerate(source) if (other, word) in LINKS[example] and word is not None]
            for s in linked:
                total = total - weights[row, t, s + prefix].log() / len(linked)
    return total


@pytest.mark.parametrize("name", ["transformer", "ssru", "luong", "bahdanau"])
def test_value_and_gradient(name):
    batch = batch_of()
    torch.manual_seed(1)
    model = build(ATTENTIVE[name], target_vocabulary=20).train()

    def plain():
        forced = TeacherForcing(0.1)(model, batch, scale=0.25)
        given = (source_of(batch), batch.inputs_BT, batch.target_lengths_B)
        distance = by_hand(model.attended(*given, layer=-1).weights_BHTS.mean(1), batch)
        (distance * 0.5 * 0.25).backward()
        return forced.objective + 0.5 * distance.item()

    sums, found = run(model, lambda: guided()(model, batch, scale=0.25))
    value, expected = run(model, plain)
    assert sums.objective == pytest.approx(value, rel=1e-5)
    assert_same(found, expected)


def test_rows_sum_to_one_where_there_are_links():
    wanted = guided().wanted(batch_of())
    assert wanted.shape[0] == 3
    assert set(wanted.sum(2).flatten().tolist()) == {0.0, 1.0}
    assert wanted[0].sum() == 0  # the pair without links
    assert wanted[2, 0].tolist()[:2] == [1.0, 0.0]  # c-a
    assert wanted[1, 3].tolist()[:7] == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3, 0, 0, 0])  # abc-ab, c


def test_a_tag_before_the_source_is_no_word():
    plain, tagged = guided().wanted(batch_of()), guided(prefix=1).wanted(batch_of(prefix=(7,)))
    assert torch.equal(tagged[:, :, 1:], plain)
    assert tagged[:, :, 0].sum() == 0


def test_the_end_is_left_alone():
    batch = batch_of()
    wanted = guided().wanted(batch)
    assert wanted[batch.labels_BT == EOS].sum() == 0
    assert wanted[:, :, -1].sum() == 0


def test_attention_that_is_right_costs_nothing_and_nowhere_is_finite():
    batch = batch_of()
    objective = guided()
    wanted = objective.wanted(batch)
    sharp = (wanted > 0).float() / (wanted > 0).sum(2, keepdim=True).clamp(min=1)
    least = -(wanted * wanted.clamp(min=1e-8).log()).sum()
    assert distance_from(sharp, wanted) == pytest.approx(float(least), abs=1e-5)
    assert math.isfinite(distance_from(torch.zeros_like(wanted), wanted))


def test_attention_comes_to_follow_the_links():
    batch = batch_of()
    torch.manual_seed(1)
    model = build(ATTENTIVE["transformer"], target_vocabulary=20).train()
    objective = guided(weight=2.0, layer=1, head=0)
    given = (source_of(batch), batch.inputs_BT, batch.target_lengths_B)
    wanted = objective.wanted(batch)

    def found():
        with torch.no_grad():
            weights = model.attended(*given, layer=1).weights_BHTS[:, 0]
        return float((weights * (wanted > 0)).sum() / (wanted > 0).any(2).sum())

    before = found()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        optimizer.zero_grad()
        objective(model, batch, scale=1 / 20)
        optimizer.step()
    assert before < 0.6
    assert found() > 0.9


def test_links_beyond_the_words_are_passed_over():
    odd = Alignments(np.array([0, 1, 1, 1]), np.array([[9, 9]], np.uint16), np.array([3]), (0,))
    words = WordNumbers(TOKENIZER)
    objective = Guided(GuidedAlignment(), odd, source_words=words, target_words=words)
    assert objective.wanted(changed(batch_of())).sum() == 0
