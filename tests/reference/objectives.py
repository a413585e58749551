"""Small models of each family, a batch, and what an objective is compared by: its value and every gradient."""

from __future__ import annotations

import numpy as np
import torch
from msgspec.structs import replace

from dragoman.data.batch import Draw, collate
from dragoman.data.store import joined
from dragoman.models.attention import AttentionSettings
from dragoman.models.build import build
from dragoman.models.dropout import DropoutSettings
from dragoman.models.embedding import EmbeddingSettings
from dragoman.models.feedforward import FeedForwardSettings
from dragoman.models.presets import gru_tiny
from dragoman.models.rnn import RecurrentAttentionSettings
from dragoman.models.transformer import TransformerSettings
from dragoman.models.transformer_lm import TransformerLMSettings

WORDS = 15
SMALL = {
    "size": 16,
    "attention": AttentionSettings(heads=2),
    "feedforward": FeedForwardSettings(size=32),
    "dropout": DropoutSettings(hidden=0.2),
}
TRANSFORMER = TransformerSettings(encoder_layers=1, decoder_layers=1, **SMALL)
MODELS = {
    "transformer": TRANSFORMER,
    "transformer, copying": replace(TRANSFORMER, copying=True),
    "transformer, untied": replace(TRANSFORMER, embedding=EmbeddingSettings(tied_output=False, shared=False)),
    "recurrent": replace(gru_tiny(), size=16),
    "recurrent, copying": replace(gru_tiny(), size=16, copying=True),
    "language model": TransformerLMSettings(layers=1, **SMALL),
}
DEEP = replace(TRANSFORMER, decoder_layers=3, dropout=DropoutSettings(hidden=0.0))
SSRU = replace(DEEP, decoder="ssru")
PLAIN = gru_tiny()
STILL = replace(PLAIN.dropout, hidden=0.0)
RECURRENT = {
    form: replace(PLAIN, size=16, dropout=STILL, attention=attention)
    for form, attention in {
        "luong": RecurrentAttentionSettings(),
        "feeding": RecurrentAttentionSettings(input_feeding=True),
        "bahdanau": RecurrentAttentionSettings(score="additive", form="bahdanau"),
        "copying": RecurrentAttentionSettings(),
    }.items()
}
RECURRENT["copying"] = replace(RECURRENT["copying"], copying=True)
ATTENTIVE = {"transformer": DEEP, "ssru": SSRU, **RECURRENT}


def model_and_batch(name):
    draw = np.random.default_rng(0)
    lengths = [7, 3, 5, 1]
    rows = [draw.integers(4, WORDS, n).tolist() for n in lengths]
    sources = None if name == "language model" else joined([r[::-1] for r in rows], dtype="int64")
    taken = Draw(0, 4, np.arange(4), source=sources, target=joined(rows, dtype="int64"))
    torch.manual_seed(1)
    return build(MODELS[name], target_vocabulary=WORDS).train(), collate(taken, source_end=True)


def gradients(model):
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def run(model, loss):
    """What `loss` returns, from a fixed random state, and the gradients it leaves."""
    model.zero_grad()
    torch.manual_seed(2)
    return loss(), gradients(model)


def assert_same(found, expected, *, tolerance=1e-6):
    assert found.keys() == expected.keys()
    largest = max(1.0, *(float(gradient.abs().max()) for gradient in expected.values()))
    for name, gradient in expected.items():
        torch.testing.assert_close(
            found[name], gradient, rtol=1e-4, atol=tolerance * largest, msg=lambda m, name=name: f"{name}: {m}"
        )
