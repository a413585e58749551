"""R-Drop against its formula in one piece: values and every gradient."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from dragoman.models.seq2seq import Source
from dragoman.training.objectives import pieces
from dragoman.training.objectives.objective import labels_of, source_of
from dragoman.training.objectives.r_drop import TwoPasses
from reference.objectives import MODELS, assert_same, model_and_batch, run

FAMILIES = pytest.mark.parametrize("name", MODELS)


def plain_r_drop(model, batch, *, smoothing, weight, scale):
    """The mean of two passes, the second with the rows after those of the first so that dropout is drawn alike."""
    source, lengths = source_of(batch), torch.cat((batch.target_lengths_B,) * 2)
    if source is not None:
        source = Source(torch.cat((source.lengths_B,) * 2), torch.cat((source.ids_BS,) * 2))
    logits = model.logits(model.hidden(source, torch.cat((batch.inputs_BT,) * 2), lengths))
    first, second = (half.log_softmax(-1) for half in logits.chunk(2))
    labels = labels_of(batch)
    entropy = sum(
        functional.cross_entropy(half, labels, label_smoothing=smoothing, reduction="sum") for half in (first, second)
    )
    one_way = functional.kl_div(second, first, log_target=True, reduction="sum")
    other_way = functional.kl_div(first, second, log_target=True, reduction="sum")
    loss = (entropy + weight * (one_way + other_way) / 2) / 2
    (loss * scale).backward()
    return loss.item()


@FAMILIES
@pytest.mark.parametrize("rows", [512, 4])
def test_r_drop_follows_the_formula(monkeypatch, name, rows):
    monkeypatch.setattr(pieces, "ROWS_AT_ONCE", rows)
    model, batch = model_and_batch(name)
    objective = TwoPasses(smoothing=0.1, weight=3.0)
    sums, found = run(model, lambda: objective(model, batch, scale=0.25))
    value, expected = run(model, lambda: plain_r_drop(model, batch, smoothing=0.1, weight=3.0, scale=0.25))
    assert sums.objective == pytest.approx(value, rel=1e-4)
    assert_same(found, expected)
