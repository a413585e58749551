"""Reading outputs back from beams."""

from __future__ import annotations

import pytest
import torch

from dragoman.decoding.hypothesis import Beam, Hypothesis, _Reader, found


def beam(*entries, ended=()):
    """A beam from (sentence, parent, token, log-probability, score, finished)."""
    sentences, parents, tokens, log_probs, scores, finished = zip(*entries, strict=True)
    return Beam(
        torch.tensor(sentences),
        torch.tensor(parents),
        torch.tensor(tokens),
        torch.tensor(log_probs),
        torch.tensor(scores),
        torch.tensor(finished),
        ended,
    )


BEAMS = [
    beam((7, -1, 10, -0.5, -0.5, False), (7, -1, 11, -0.75, -0.75, False)),
    beam(
        (7, 1, 1, -0.25, -1.0, True),
        (7, 0, 12, -0.75, -1.25, False),
        (8, -1, 20, -0.5, -0.5, False),
    ),
    beam((7, 1, 1, -0.25, -1.5, True), (7, 1, 13, -0.5, -1.75, False), (8, 2, 1, -0.5, -1.0, True), ended=(7, 8)),
]


def test_finished_ones_first_then_those_that_were_cut():
    seven, eight = found(BEAMS, nbest=5)
    assert seven.key == 7
    assert seven.hypotheses == (
        Hypothesis((11, 1), (-0.75, -0.25), -1.0, finished=True),
        Hypothesis((10, 12, 1), (-0.5, -0.75, -0.25), -1.5, finished=True),
        Hypothesis((10, 12, 13), (-0.5, -0.75, -0.5), -1.75, finished=False),
    )
    assert [h.tokens for h in eight.hypotheses] == [(20, 1)]
    assert seven.hypotheses[1].log_prob == pytest.approx(-1.5)


def test_no_more_than_asked_for():
    assert [len(each.hypotheses) for each in found(BEAMS)] == [1, 1]


def test_outputs_come_as_soon_as_they_are_there():
    stream = found(iter([*BEAMS[:2], beam((7, 1, 13, -0.5, -1.75, False), ended=(7,))]))
    assert next(stream).key == 7


def test_old_beams_are_forgotten():
    reader = _Reader(1)
    for number in range(50):
        done = list(reader.read(beam((number, -1, 5, -0.5, -0.5, False))))
        done += reader.read(beam((number, 0, 1, -0.5, -1.0, True), ended=(number,)))
        assert [each.hypotheses[0].tokens for each in done] == [(5, 1)]
        assert len(reader.beams) == 0
