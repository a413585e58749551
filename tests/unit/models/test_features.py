"""Sources of feature vectors."""

from __future__ import annotations

import pytest
import torch
from msgspec.structs import replace
from torch.nn import functional

from dragoman.errors import DataError
from dragoman.models.build import build
from dragoman.models.features import FeatureSettings, FeatureSource
from dragoman.models.presets import gru_tiny, tiny
from dragoman.models.seq2seq import Source


def _source(lengths=(9, 4, 1), size=5):
    torch.manual_seed(2)
    return Source(torch.tensor(lengths), features_BSF=torch.randn(len(lengths), max(lengths), size))


def test_a_projection_alone_keeps_every_frame():
    features = FeatureSource.of(FeatureSettings(size=5), 8)
    vectors = features(_source())
    assert vectors.vectors_BSD.shape == (3, 9, 8)
    assert vectors.lengths_B.tolist() == [9, 4, 1]
    expected = functional.linear(_source().features_BSF, features.projection.weight, features.projection.bias)
    torch.testing.assert_close(vectors.vectors_BSD, expected)


@pytest.mark.parametrize(("halvings", "lengths"), [(1, [5, 2, 1]), (2, [3, 1, 1]), (3, [2, 1, 1])])
def test_each_convolution_halves_the_length(halvings, lengths):
    vectors = FeatureSource.of(FeatureSettings(size=5, halvings=halvings, channels=6), 8)(_source())
    assert vectors.lengths_B.tolist() == lengths
    assert vectors.vectors_BSD.shape == (3, lengths[0], 8)


def test_a_convolution_sees_a_frame_and_its_neighbours():
    features = FeatureSource.of(FeatureSettings(size=1, halvings=1), 1)
    convolution = features.convolutions[0]
    with torch.no_grad():
        convolution.weight.copy_(torch.tensor([[[1.0, 10.0, 100.0]]]))
        convolution.bias.zero_()
        features.projection.weight.fill_(1.0)
        features.projection.bias.zero_()
    frames = Source(torch.tensor([5]), features_BSF=torch.tensor([[[1.0], [2.0], [3.0], [4.0], [5.0]]]))
    assert features(frames).vectors_BSD.flatten().tolist() == [210.0, 432.0, 54.0]


@pytest.mark.parametrize("halvings", [0, 1, 2, 3])
def test_padding_never_matters(halvings):
    features = FeatureSource.of(FeatureSettings(size=5, halvings=halvings), 8)
    source = _source()
    full = features(source)
    for row, length in enumerate(source.lengths_B.tolist()):
        alone = features(Source(torch.tensor([length]), features_BSF=source.features_BSF[row : row + 1, :length]))
        size = int(alone.lengths_B)
        assert size == alone.vectors_BSD.shape[1] == full.lengths_B[row]
        torch.testing.assert_close(full.vectors_BSD[row, :size], alone.vectors_BSD[0], rtol=0, atol=1e-6)


def test_features_of_another_size_are_refused():
    with pytest.raises(DataError, match="have 4 numbers, the model expects 5"):
        FeatureSource.of(FeatureSettings(size=5), 8)(_source(size=4))


@pytest.mark.parametrize("preset", [gru_tiny, tiny])
@pytest.mark.parametrize("halvings", [0, 2])
def test_both_families_read_features(preset, halvings):
    settings = preset()
    if hasattr(settings, "embedding"):
        settings = replace(settings, embedding=replace(settings.embedding, shared=False))
    torch.manual_seed(1)
    model = build(replace(settings, features=FeatureSettings(size=5, halvings=halvings)), target_vocabulary=9).eval()
    source, inputs, lengths = _source(), torch.tensor([[2, 4], [2, 6], [2, 5]]), torch.tensor([2, 2, 2])
    full = model.logits(model.hidden(source, inputs, lengths)).view(3, 2, -1)
    alone = Source(torch.tensor([4]), features_BSF=source.features_BSF[1:2, :4])
    logits = model.logits(model.hidden(alone, inputs[1:2], lengths[1:2]))
    torch.testing.assert_close(logits, full[1], rtol=0, atol=1e-5)
    maps = model.attention_weights(source, inputs, lengths)
    assert maps.cross_LBHTS.shape[-1] == (9 if halvings == 0 else 3)
    model.train()
    model.logits(model.hidden(source, inputs, lengths)).square().mean().backward()
    for parameter in model.encoder.embedding.parameters():
        assert parameter.grad.abs().sum() > 0
