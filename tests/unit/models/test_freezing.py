"""Frozen parts: which weights a name stands for, and what is refused."""

from __future__ import annotations

import msgspec
import pytest

from dragoman.errors import ModelError
from dragoman.models.build import build
from dragoman.models.freezing import freeze
from dragoman.models.presets import gru_tiny, tiny


@pytest.fixture
def transformer():
    return build(msgspec.structs.replace(tiny(), size=8, encoder_layers=1, decoder_layers=2), target_vocabulary=20)


def learning(model):
    return {name for name, p in model.named_parameters() if p.requires_grad}


def test_a_part_is_all_that_lies_under_its_name(transformer):
    everything = learning(transformer)
    frozen = freeze(transformer, ["encoder"])
    assert set(frozen) == {name for name in everything if name.startswith("encoder.")}
    assert learning(transformer) == everything - set(frozen)


def test_a_pattern_and_a_layer(transformer):
    freeze(transformer, ["decoder.layers.1", "*.bias"])
    left = learning(transformer)
    assert not any(name.startswith("decoder.layers.1.") or name.endswith(".bias") for name in left)
    assert any(name.startswith("decoder.layers.0.") for name in left)


@pytest.mark.parametrize(
    ("settings", "tables"),
    [
        (tiny(), {"encoder.embedding.embedding.weight"}),  # shared by both sides and the output
        (gru_tiny(), {"encoder.embedding.embedding.weight", "decoder.embedding.0.weight"}),
    ],
)
def test_embeddings_are_the_tables_wherever_they_are(settings, tables):
    model = build(msgspec.structs.replace(settings, size=8), target_vocabulary=20, source_vocabulary=20)
    assert set(freeze(model, ["embeddings"])) >= tables
    assert not any("embedding" in name and name.endswith("weight") for name in learning(model))


def test_a_name_that_means_nothing_is_refused(transformer):
    with pytest.raises(ModelError, match=r"training.freeze: no weight belongs to 'encoders'. The parts are: .*encoder"):
        freeze(transformer, ["encoders"])


def test_something_must_be_left_to_learn(transformer):
    with pytest.raises(ModelError, match="nothing is left that could learn"):
        freeze(transformer, ["*"])
