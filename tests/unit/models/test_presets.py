"""Presets build, and have the number of weights that their literature or their docstring gives."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest
import torch

from dragoman.models import presets
from dragoman.models.build import build
from dragoman.models.embedding import EmbeddingSettings
from dragoman.models.seq2seq import Source


def _count(settings, **vocabularies):
    with torch.device("meta"):
        model = build(settings, **vocabularies)
    return sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("name", get_args(presets.Preset))
def test_every_preset_builds(name):
    assert _count(presets.named(name), target_vocabulary=100) > 100_000


def test_every_preset_has_its_name():
    functions = set(presets.__all__) - {"Preset", "named"}
    assert functions == set(get_args(presets.Preset))
    assert all(presets.named(name) == getattr(presets, name)() for name in functions)


@pytest.mark.parametrize(
    ("name", "vocabulary", "millions"),
    [
        ("tiny", 10_000, 2.6),
        ("small", 10_000, 13.6),
        ("base", 10_000, 49.3),
        ("big", 10_000, 186.6),
        ("deep_shallow", 10_000, 46.6),
        ("gru_tiny", 10_000, 4.3),
        ("bahdanau", 10_000, 45.6),
        ("luong", 10_000, 101.1),
        ("sutskever", 10_000, 94.1),
        ("vaswani_base", 37_000, 63.1),  # the paper says 65
        ("bart", 50_265, 139.4),
        ("mbart", 250_027, 610.9),
        ("nllb", 256_206, 615.1),
        ("t5", 32_128, 60.5),
        ("t5_v1_1", 32_128, 77.0),
    ],
)
def test_numbers_of_weights(name, vocabulary, millions):
    count = _count(getattr(presets, name)(), target_vocabulary=vocabulary)
    assert count / 1e6 == pytest.approx(millions, abs=0.06)


def test_what_no_weight_tells():
    assert presets.big().dropout.hidden == 0.3
    assert presets.tiny().dropout.hidden == presets.base().dropout.hidden == 0.1
    assert (presets.tiny().norm.place, presets.vaswani_base().norm.place) == ("pre", "post")
    assert presets.deep_shallow().decoder == "ssru"


def test_tiny_to_the_last_weight():
    size, inner, vocabulary = 128, 256, 10_000
    attention = 4 * size * size + 4 * size
    feedforward = 2 * size * inner + inner + size
    norm = 2 * size
    encoder = 4 * (attention + feedforward + 2 * norm)
    decoder = 4 * (2 * attention + feedforward + 3 * norm)
    assert _count(presets.tiny(), target_vocabulary=vocabulary) == vocabulary * size + encoder + decoder + 2 * norm


def test_separate_embeddings_cost_two_more_tables():
    apart = msgspec.structs.replace(presets.tiny(), embedding=EmbeddingSettings(shared=False, tied_output=False))
    together = _count(presets.tiny(), target_vocabulary=1000)
    assert _count(apart, target_vocabulary=1000, source_vocabulary=700) == together + (1000 + 700) * 128


@torch.no_grad()
@pytest.mark.parametrize("name", ["tiny", "gru_tiny", "small"])
def test_small_presets_run(name):
    model = build(getattr(presets, name)(), target_vocabulary=50).eval()
    hidden = model.hidden(
        Source(torch.tensor([3, 2]), torch.randint(4, 50, (2, 3))), torch.ones(2, 4).long(), torch.tensor([4, 1])
    )
    assert model.logits(hidden).shape == (5, 50)
