"""Every Transformer family learns to copy with nothing but a plain training loop."""

from __future__ import annotations

import pytest
import torch

from dragoman.models.attention import AttentionSettings
from dragoman.models.build import build
from dragoman.models.dropout import DropoutSettings
from dragoman.models.feedforward import FeedForwardSettings
from dragoman.models.positions import RelativeSettings
from dragoman.models.seq2seq import Source
from dragoman.models.transformer import TransformerSettings
from dragoman.models.transformer_lm import PrefixLMSettings, TransformerLMSettings

PAD, BOS, EOS, FIRST = 0, 2, 3, 4


def _settings(kind, **more):
    return kind(
        size=64,
        attention=AttentionSettings(heads=4),
        feedforward=FeedForwardSettings(size=128),
        dropout=DropoutSettings(hidden=0.0),
        **more,
    )


FAMILIES = {
    "transformer": _settings(TransformerSettings, encoder_layers=1, decoder_layers=1),
    "ssru": _settings(TransformerSettings, encoder_layers=1, decoder_layers=1, decoder="ssru"),
    "prefix": _settings(PrefixLMSettings, layers=2),
    "causal_prefix": _settings(PrefixLMSettings, layers=2, causal_source=True),
    "relative": _settings(TransformerSettings, encoder_layers=1, decoder_layers=1, positions=RelativeSettings()),
    "copying": _settings(TransformerSettings, encoder_layers=1, decoder_layers=1, copying=True),
}


def _batch(symbols, shortest, longest, rows=64):
    """Sources that end in EOS, the same shifted right as inputs, and the targets, flat."""
    lengths = torch.randint(shortest, longest + 1, (rows,))
    ids = torch.randint(FIRST, FIRST + symbols, (rows, longest + 1))
    places = torch.arange(longest + 1)
    ids[places == lengths[:, None]] = EOS
    ids[places > lengths[:, None]] = PAD
    inputs = torch.cat((torch.full((rows, 1), BOS), ids[:, :-1]), dim=1)
    return Source(lengths + 1, ids), inputs, ids[places <= lengths[:, None]]


def _copies(settings, symbols, shortest, longest, *, steps, rows=64):
    """The share of whole sentences said right, greedily, after training."""
    torch.manual_seed(0)
    model = build(settings, target_vocabulary=FIRST + symbols)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98))
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 3e-3 * min((step + 1) / 50, 1 - step / steps)
        source, inputs, targets = _batch(symbols, shortest, longest, rows)
        loss = torch.nn.functional.cross_entropy(model.logits(model.hidden(source, inputs, source.lengths_B)), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss < 0.02:
            break
    return _said_right(model.eval(), _batch(symbols, shortest, longest)[0])


@torch.no_grad()
def _said_right(model, source):
    tokens, state, said = torch.full((source.rows,), BOS), model.start(source), []
    for _ in range(source.ids_BS.shape[1]):
        logits, state = model.step(tokens, state)
        tokens = logits.argmax(1)
        said.append(tokens)
    matched = (torch.stack(said, dim=1) == source.ids_BS) | (source.ids_BS == PAD)
    return matched.all(1).float().mean().item()


@pytest.mark.parametrize("name", ["transformer", "ssru", "prefix"])
def test_a_family_learns_to_copy(name):
    assert _copies(FAMILIES[name], 6, 2, 4, steps=220, rows=32) > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_learns_to_copy_twenty_symbols(name):
    assert _copies(FAMILIES[name], 20, 3, 10, steps=1200) > 0.9


def test_a_language_model_learns_a_cycle():
    torch.manual_seed(0)
    model = build(_settings(TransformerLMSettings, layers=1), target_vocabulary=9)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    text = (torch.arange(12)[None] + torch.arange(9)[:, None]) % 9  # each token is followed by the next one
    for _ in range(40):
        logits = model.logits(model.hidden(None, text[:, :-1], torch.full((9,), 11)))
        loss = torch.nn.functional.cross_entropy(logits, text[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    state, token = model.eval().start(None), torch.tensor([4])
    with torch.no_grad():
        for expected in (5, 6, 7, 8, 0, 1, 2):
            logits, state = model.step(token, state)
            token = logits.argmax(1)
            assert token.item() == expected
