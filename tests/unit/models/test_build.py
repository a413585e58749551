"""Building: what the settings say is what stands there, and contradictions are refused in words."""

from __future__ import annotations

import math

import msgspec
import pytest
import torch

from dragoman.errors import ModelError, SettingError
from dragoman.models import presets
from dragoman.models.attention import AttentionSettings, CrossAttention, SelfAttention
from dragoman.models.build import ModelSettings, build
from dragoman.models.copying import Pointer
from dragoman.models.dropout import DropoutSettings
from dragoman.models.embedding import EmbeddingSettings, Output, TokenEmbedding
from dragoman.models.features import FeatureSettings
from dragoman.models.feedforward import FeedForwardSettings
from dragoman.models.initialization import NormalInitial, T5Initial, XavierInitial
from dragoman.models.positions import RelativeSettings, RotarySettings, SinusoidalSettings
from dragoman.models.recurrent_lm import RecurrentLM, RecurrentLMSettings
from dragoman.models.rnn import RecurrentModel, RecurrentSettings
from dragoman.models.seq2seq import Source
from dragoman.models.ssru import SSRU
from dragoman.models.transformer import Transformer, TransformerSettings
from dragoman.models.transformer_lm import PrefixLM, PrefixLMSettings, TransformerLM, TransformerLMSettings
from dragoman.settings import Settings, decode, explain

WHOLE = {
    "transformer": Transformer,
    "recurrent": RecurrentModel,
    "transformer_lm": TransformerLM,
    "recurrent_lm": RecurrentLM,
    "prefix_lm": PrefixLM,
}


class _Run(Settings, frozen=True, kw_only=True):
    model: ModelSettings


@pytest.mark.parametrize("kind", WHOLE)
def test_a_kind_in_a_file_becomes_that_model(kind):
    settings = decode({"model": {"kind": kind, "size": 16}}, _Run).model
    assert type(build(settings, target_vocabulary=9)) is WHOLE[kind]


def test_every_field_is_explained():
    keys = {e.key: e.meaning for e in explain(_Run, "model")}
    assert len(keys) > 50
    assert [key for key, meaning in keys.items() if not meaning and key != "model"] == []


def _small(**more):
    return TransformerSettings(
        size=8,
        encoder_layers=1,
        decoder_layers=1,
        attention=AttentionSettings(heads=2),
        feedforward=FeedForwardSettings(size=12),
        **more,
    )


def test_tables_are_shared_as_told():
    model = build(_small(), target_vocabulary=9)
    assert model.encoder.embedding.embedding.weight is model.embedding.weight
    assert model.output.weight is model.embedding.weight
    apart = EmbeddingSettings(shared=False, tied_output=False)
    model = build(_small(embedding=apart), target_vocabulary=9, source_vocabulary=7)
    assert model.encoder.embedding.embedding.weight.shape == (7, 8)
    assert len({id(m.weight) for m in model.modules() if isinstance(m, TokenEmbedding | Output)}) == 3


def test_the_decoder_is_the_one_asked_for():
    model = build(_small(decoder="ssru"), target_vocabulary=9)
    assert isinstance(next(model.decoder.each()).mixer, SSRU)
    assert isinstance(next(model.encoder.stack.each()).mixer, SelfAttention)


def test_dropout_goes_where_it_is_set():
    drops = DropoutSettings(hidden=0.1, attention=0.2, feedforward=0.3, source_words=0.4, target_words=0.5, layers=0.6)
    model = build(_small(dropout=drops), target_vocabulary=9)
    layer = next(model.decoder.each())
    assert (layer.mixer.dropout, layer.cross.dropout, layer.feedforward.dropout.rate) == (0.2, 0.2, 0.3)
    assert layer.mixer_residual.dropout.rate == model.decoder.entry.dropout.rate == 0.1
    assert (model.encoder.stack.entry.words.rate, model.decoder.entry.words.rate) == (0.4, 0.5)
    assert model.decoder.layer_drop == 0.6


def test_a_prefix_model_drops_words_of_each_side_by_its_own_rate():
    drops = DropoutSettings(hidden=0.0, source_words=0.99)
    model = build(PrefixLMSettings(size=16, layers=1, dropout=drops), target_vocabulary=9)
    assert (model.source_words.rate, model.target_words.rate) == (0.99, 0.0)
    source = Source(torch.tensor([5]), torch.ones(1, 5).long())
    dropped = model.train()._prefix(source).vectors_BSD
    assert not torch.equal(dropped, model.eval()._prefix(source).vectors_BSD)
    assert torch.equal(model.train()._target(torch.tensor([4])), model.eval()._target(torch.tensor([4])))


def test_copying_between_two_vocabularies_takes_a_map():
    apart = _small(copying=True, embedding=EmbeddingSettings(shared=False))
    with pytest.raises(ModelError, match="needs a map"):
        build(apart, target_vocabulary=9, source_vocabulary=7)
    model = build(apart, target_vocabulary=9, source_vocabulary=7, copied_ids=torch.arange(7))
    assert isinstance(model.output, Pointer)


def test_a_shared_embedding_takes_a_joint_vocabulary():
    with pytest.raises(ModelError, match="joint vocabulary, got 7 and 9"):
        build(_small(), target_vocabulary=9, source_vocabulary=7)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"size": 10, "attention": AttentionSettings(heads=4)}, "not a multiple of 4 heads"),
        ({"attention": AttentionSettings(heads=8, key_heads=3)}, "cannot serve 8 heads"),
        ({"size": 9, "attention": AttentionSettings(heads=3)}, "9 is odd"),
        ({"size": 6, "attention": AttentionSettings(heads=2), "positions": RotarySettings()}, "3 is odd"),
        ({"decoder": "ssru", "positions": RelativeSettings()}, "SSRU"),
        ({"features": FeatureSettings(size=3)}, "feature vectors"),
    ],
)
def test_contradictions_are_refused(wrong, message):
    with pytest.raises(SettingError, match=message):
        TransformerSettings(**wrong)
    if "decoder" not in wrong and "copying" not in wrong:
        with pytest.raises(SettingError, match=message):
            PrefixLMSettings(**wrong)


def test_an_odd_size_is_fine_without_pairs():
    assert TransformerSettings(size=9, attention=AttentionSettings(heads=3), positions=RelativeSettings()).size == 9
    assert SinusoidalSettings().interleaved


def _joint(model):
    layer = next(model.decoder.each())
    return layer, [
        *layer.mixer.inputs.weight.split(layer.mixer.blocks),
        *layer.cross.memory.weight.split(layer.cross.blocks),
    ]


def _wide(initial):
    torch.manual_seed(1)
    settings = msgspec.structs.replace(_small(initial=initial), size=64, feedforward=FeedForwardSettings(size=256))
    return build(settings, target_vocabulary=500)


def test_xavier_sees_the_separate_maps():
    layer, blocks = _joint(_wide(XavierInitial()))
    for block in blocks:
        bound = (6 / (64 + 64)) ** 0.5
        assert 0.97 * bound < block.abs().max() <= bound
    assert layer.mixer.inputs.bias.abs().max() == 0
    bound = (6 / (64 + 256)) ** 0.5
    assert 0.97 * bound < layer.feedforward.inputs.weight.abs().max() <= bound


def test_normal_and_t5():
    model = _wide(NormalInitial(deviation=0.05))
    for block in (*_joint(model)[1], model.embedding.weight):
        assert block.std().item() == pytest.approx(0.05, rel=0.05)
    model = _wide(T5Initial())
    layer, (queries, keys, *_) = _joint(model)
    assert queries.std().item() == pytest.approx((64 * 32) ** -0.5, rel=0.05)
    assert keys.std().item() == pytest.approx(64**-0.5, rel=0.05)
    assert layer.cross.queries.weight.std().item() == pytest.approx((64 * 32) ** -0.5, rel=0.05)
    assert layer.feedforward.output.weight.std().item() == pytest.approx(256**-0.5, rel=0.05)
    assert model.embedding.weight.std().item() == pytest.approx(1.0, rel=0.05)
    assert isinstance(layer.cross, CrossAttention)


def test_t5s_output_layer_is_a_map_and_its_positions_begin_as_small_as_one():
    torch.manual_seed(1)
    settings = msgspec.structs.replace(presets.t5_v1_1(), encoder_layers=1, decoder_layers=1)
    model = build(settings, target_vocabulary=500)
    assert model.output.weight.std().item() == pytest.approx(512**-0.5, rel=0.05)
    for stack in (model.encoder.stack, model.decoder):
        assert stack.relative.weight.std().item() == pytest.approx(512**-0.5, rel=0.2)
    source = Source(torch.tensor([7, 7]), torch.randint(4, 500, (2, 7)))
    inputs, lengths = torch.randint(4, 500, (2, 40)), torch.tensor([40, 40])
    logits = model.eval().logits(model.hidden(source, inputs, lengths))
    loss = torch.nn.functional.cross_entropy(logits, torch.randint(4, 500, (80,)))
    assert loss < math.log(500) + 1.5  # it knows nothing, and does not pretend to


def test_segments_begin_as_embeddings_do():
    settings = msgspec.structs.replace(presets.unilm(), layers=1)
    model = build(settings, target_vocabulary=50)
    for table in (model.segments, model.stack.entry.positions.weight, model.embedding.weight):
        assert table.std().item() == pytest.approx(0.02, rel=0.1)


def test_kinds_have_the_names_users_write():
    tags = {s.__struct_config__.tag for s in (TransformerSettings, RecurrentSettings, TransformerLMSettings)}
    assert tags | {s.__struct_config__.tag for s in (RecurrentLMSettings, PrefixLMSettings)} == set(WHOLE)
