"""Every recurrent family learns to copy with nothing but a plain training loop."""

from __future__ import annotations

import pytest
import torch

from dragoman.models.build import build
from dragoman.models.recurrence import RecurrentDropoutSettings
from dragoman.models.recurrent_lm import PastAttentionSettings, RecurrentLMSettings
from dragoman.models.rnn import RecurrentAttentionSettings, RecurrentSettings
from dragoman.models.seq2seq import Source

PAD, BOS, EOS, FIRST = 0, 2, 3, 4
NO_DROPOUT = RecurrentDropoutSettings(hidden=0.0)


def _batch(symbols, shortest, longest, rows=64):
    """Sources of random symbols that end in EOS, the same shifted right as inputs, and the targets, flat."""
    lengths = torch.randint(shortest, longest + 1, (rows,))
    ids = torch.randint(FIRST, FIRST + symbols, (rows, longest + 1))
    places = torch.arange(longest + 1)
    ids[places == lengths[:, None]] = EOS
    ids[places > lengths[:, None]] = PAD
    inputs = torch.cat((torch.full((rows, 1), BOS), ids[:, :-1]), dim=1)
    inputs[places > lengths[:, None]] = PAD
    return Source(lengths + 1, ids), inputs, ids[places <= lengths[:, None]]


def _learned(model, batch, *, steps, goal, rate=5e-3):
    """The share of right tokens after training until the goal is reached, or for so many steps."""
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    right = 0.0
    for step in range(steps):
        source, inputs, targets, lengths = batch()
        logits = model.logits(model.hidden(source, inputs, lengths))
        right = 0.9 * right + 0.1 * float((logits.argmax(1) == targets).float().mean())
        if right > goal and step > 20:
            break
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(logits, targets).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return right


def _copies(settings, symbols, shortest, longest, *, steps, goal=0.98):
    torch.manual_seed(0)
    model = build(settings, target_vocabulary=FIRST + symbols)

    def batch():
        source, inputs, targets = _batch(symbols, shortest, longest)
        return source, inputs, targets, source.lengths_B

    return _learned(model, batch, steps=steps, goal=goal), model


def _with_attention(cell, form, score, **rest):
    attention = RecurrentAttentionSettings(
        score=score, form=form.removesuffix("_feeding"), input_feeding=form.endswith("feeding")
    )
    return RecurrentSettings(
        cell=cell, size=64, encoder_size=32, embedding_size=32, attention=attention, dropout=NO_DROPOUT, **rest
    )


FAMILIES = [
    ("gru", "bahdanau", "additive", {"readout": "maxout"}),
    ("gru", "luong", "general", {}),
    ("lstm", "luong_feeding", "dot", {}),
    ("gru", "luong", "scaled_dot", {"copying": True}),
    ("vanilla", "bahdanau", "concat", {}),
]


@pytest.mark.parametrize(("cell", "form", "score", "rest"), FAMILIES)
def test_a_recurrent_model_with_attention_learns_to_copy(cell, form, score, rest):
    right, model = _copies(_with_attention(cell, form, score, **rest), 8, 3, 5, steps=400, goal=0.95)
    assert right > 0.95
    model.eval()
    source, _, _ = _batch(8, 3, 5)
    with torch.no_grad():
        tokens, state, said = torch.full((64,), BOS), model.start(source), []
        for _ in range(6):
            logits, state = model.step(tokens, state)
            tokens = logits.argmax(1)
            said.append(tokens)
    real = torch.arange(6) < source.lengths_B[:, None]
    matched = (torch.stack(said, dim=1) == source.ids_BS) | ~real
    assert matched.all(1).float().mean() > 0.7  # whole sentences, from what the model says itself


@pytest.mark.slow
@pytest.mark.parametrize("cell", ["gru", "lstm", "vanilla"])
@pytest.mark.parametrize(("form", "score"), [(f, s) for _, f, s, _ in FAMILIES])
def test_twenty_symbols_at_lengths_three_to_ten(cell, form, score):
    right, _ = _copies(_with_attention(cell, form, score), 20, 3, 10, steps=4000)
    assert right > 0.98


@pytest.mark.parametrize("cell", ["vanilla", "gru", "lstm"])
def test_without_attention_twenty_symbols_at_lengths_three_to_five(cell):
    settings = RecurrentSettings(
        cell=cell,
        size=256,
        embedding_size=64,
        direction="backward",
        bridge="copy",
        attention=None,
        readout="joined",
        dropout=NO_DROPOUT,
    )
    right, _ = _copies(settings, 20, 3, 5, steps=1000, goal=0.97)
    assert right > 0.97


@pytest.mark.parametrize("score", [None, "general"])
def test_a_language_model_learns_a_text_that_repeats_itself(score):
    torch.manual_seed(0)
    attention = None if score is None else PastAttentionSettings(score=score)
    model = build(
        RecurrentLMSettings(size=64, embedding_size=32, attention=attention, dropout=NO_DROPOUT), target_vocabulary=12
    )

    def batch():
        periods = torch.randint(FIRST, 12, (64, 3))
        text = periods.repeat(1, 5)
        inputs = torch.cat((torch.full((64, 1), BOS), text[:, :-1]), dim=1)
        # the first period is chance; all that follows can be known
        return None, inputs[:, :], torch.where(torch.arange(15) < 3, -100, text).flatten(), torch.full((64,), 15)

    right = _learned(model, batch, steps=500, goal=0.75)
    assert right > 0.75  # at most 12 / 15 can be right
