"""How the weights of recurrent models start."""

from __future__ import annotations

import pytest
import torch
from msgspec.structs import replace

from dragoman.models.build import build
from dragoman.models.presets import bahdanau, gru_tiny, luong, sutskever
from dragoman.models.recurrent_initialization import RecurrentInitialSettings


def _model(settings, **rest):
    torch.manual_seed(0)
    return build(replace(settings, size=48, **rest), target_vocabulary=50)


def _is_orthogonal(layer):
    return all(
        torch.allclose(block @ block.t(), torch.eye(layer.size), atol=1e-5)
        for block in layer.weight_hh.split(layer.size)
    )


@pytest.mark.parametrize(("preset", "bound"), [(luong, 0.1), (sutskever, 0.08)])
def test_uniform_weights_fill_their_range(preset, bound):
    for name, parameter in _model(preset()).named_parameters():
        assert parameter.abs().max() <= bound, name
        assert parameter.abs().max() > 0.85 * bound, name


def test_bahdanaus_weights():
    model = _model(bahdanau(), embedding_size=30)
    for layer in (model.decoder.stack.first, *model.encoder.layers[0]):
        assert _is_orthogonal(layer)
        assert not layer.bias_ih.any()
        assert abs(layer.weight_ih.std() - 0.01) < 0.001
    score = model.decoder.reading.score
    assert not score.energy.weight.any()
    assert abs(score.query_map.weight.std() - 0.001) < 0.0002
    assert abs(model.output.weight.std() - 0.01) < 0.001


def test_orthogonal_is_the_default_and_forget_gates_start_open():
    model = _model(gru_tiny(), cell="lstm")
    layer = model.decoder.stack.first
    assert _is_orthogonal(layer)
    assert torch.equal(layer.bias_ih[48:96] + layer.bias_hh[48:96], torch.ones(48))
    assert not layer.bias_ih[:48].any()
    assert not layer.bias_ih[96:].any()
    table = model.decoder.embedding[0].weight
    assert abs(table.std() - table.shape[1] ** -0.5) < 0.03


def test_a_forget_bias_of_nothing_leaves_the_weights_to_themselves():
    model = _model(gru_tiny(), cell="lstm", initial=RecurrentInitialSettings(weights="uniform"))
    assert model.decoder.stack.first.bias_ih.abs().max() <= 0.08
