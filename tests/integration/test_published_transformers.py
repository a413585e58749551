"""The presets of published Transformers compute what the reference implementations compute, weight for weight."""

from __future__ import annotations

import dataclasses

import msgspec
import pytest
import torch

from dragoman import bundle as bundles
from dragoman.interop.bart import bart_names
from dragoman.interop.t5 import t5_names
from dragoman.interop.weights import take
from dragoman.models import presets
from dragoman.models.build import build
from dragoman.models.seq2seq import Source

transformers = pytest.importorskip("transformers", reason="needs transformers to compare with")

WORDS, SIZE, INNER, HEADS = 37, 32, 48, 4
TOLERANCE = 1e-4


def _small(settings, *, size=SIZE, heads=HEADS, head_size=None):
    """The settings with small numbers; what makes the architecture stays."""
    replace = msgspec.structs.replace
    return replace(
        settings,
        size=size,
        encoder_layers=2,
        decoder_layers=3,
        attention=replace(settings.attention, heads=heads, head_size=head_size),
        feedforward=replace(settings.feedforward, size=INNER),
    )


# ---- the BART family (Marian, BART, mBART, M2M-100) --------------------------------------------------------------


def _bart_numbers(**more):
    return {
        "vocab_size": WORDS,
        "d_model": SIZE,
        "encoder_layers": 2,
        "decoder_layers": 3,
        "encoder_attention_heads": HEADS,
        "decoder_attention_heads": HEADS,
        "encoder_ffn_dim": INNER,
        "decoder_ffn_dim": INNER,
        "pad_token_id": 1,
        "bos_token_id": 0,
        "eos_token_id": 2,
        "decoder_start_token_id": 2,
        "forced_eos_token_id": None,
        **more,
    }


def _marian():
    numbers = _bart_numbers(scale_embedding=True, activation_function="swish", max_position_embeddings=64)
    theirs = transformers.MarianMTModel(transformers.MarianConfig(**numbers))
    torch.nn.init.normal_(theirs.final_logits_bias)
    return presets.marian(), theirs


def _bart():
    return presets.bart(), transformers.BartForConditionalGeneration(
        transformers.BartConfig(**_bart_numbers(activation_function="gelu", max_position_embeddings=1024))
    )


def _mbart():
    numbers = _bart_numbers(activation_function="gelu", max_position_embeddings=1024, scale_embedding=True)
    return presets.mbart(), transformers.MBartForConditionalGeneration(transformers.MBartConfig(**numbers))


def _m2m():
    numbers = _bart_numbers(activation_function="relu", max_position_embeddings=64, scale_embedding=True)
    numbers |= {"encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0}
    return presets.nllb(), transformers.M2M100ForConditionalGeneration(transformers.M2M100Config(**numbers))


# ---- T5 ---------------------------------------------------------------------------------------------------------


def _t5_of(**more):
    numbers = {"vocab_size": WORDS, "d_model": SIZE, "d_kv": 6, "num_heads": HEADS, "d_ff": INNER}
    numbers |= {"num_layers": 2, "num_decoder_layers": 3, "decoder_start_token_id": 0}
    return transformers.T5ForConditionalGeneration(transformers.T5Config(**numbers, **more))


def _t5():
    return presets.t5(), _t5_of(feed_forward_proj="relu", tie_word_embeddings=True)


def _t5_v1_1():
    theirs = _t5_of(feed_forward_proj="gated-gelu", tie_word_embeddings=False)
    # Recent versions of the reference always tie the table; the published 1.1 models have an output of their own.
    theirs.lm_head.weight = torch.nn.Parameter(torch.randn(WORDS, SIZE))
    return presets.t5_v1_1(), theirs


def _t5_v1_1_tied():
    settings = presets.t5_v1_1()
    embedding = msgspec.structs.replace(settings.embedding, tied_output=True)
    theirs = _t5_of(feed_forward_proj="gated-gelu", tie_word_embeddings=False)
    return msgspec.structs.replace(settings, embedding=embedding), theirs


# ---- the weights -------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Theirs:
    """The weights of a model of transformers."""

    model: torch.nn.Module
    place: str = "theirs"

    def shapes(self):
        return {name: tuple(value.shape) for name, value in self.model.state_dict().items()}

    def read(self, name):
        return self.model.state_dict()[name]


def _take_over(ours, theirs, names):
    """Give our model their weights, by the map of names that imports use."""
    found = take(
        names,
        _Theirs(theirs),
        shapes={name: tuple(value.shape) for name, value in bundles.weights(ours).items()},
        rows=lambda name, table: table.reshape(-1) if name == "output.bias" else table,
    )
    bundles.load_weights(ours, found)


# ---- the comparison ---------------------------------------------------------------------------------------------

FAMILIES = {
    "marian": _marian,
    "bart": _bart,
    "mbart": _mbart,
    "m2m100": _m2m,
    "t5": _t5,
    "t5_v1_1": _t5_v1_1,
    "t5_v1_1_tied": _t5_v1_1_tied,
}


@pytest.fixture(params=FAMILIES)
def pair(request):
    """Our model and theirs, of the same weights, all of them random."""
    torch.manual_seed(3)
    settings, theirs = FAMILIES[request.param]()
    is_t5 = request.param.startswith("t5")
    ours = build(_small(settings, head_size=6 if is_t5 else None), target_vocabulary=WORDS)
    with torch.no_grad():
        for parameter in theirs.parameters():  # norms and biases, too
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    settings = theirs.config
    tied = request.param != "t5_v1_1"
    names = t5_names(gated=settings.is_gated_act, tied=tied) if is_t5 else bart_names()
    _take_over(ours, theirs, names)
    return ours.eval(), theirs.eval()


@pytest.fixture
def batch():
    torch.manual_seed(4)
    lengths = torch.tensor([9, 5, 1])
    ids = torch.randint(3, WORDS, (3, 9))
    mask = torch.arange(9) < lengths[:, None]
    return ids.masked_fill(~mask, 1), mask.long(), lengths, torch.randint(3, WORDS, (3, 41))


def _theirs(model, batch):
    ids, mask, _, inputs = batch
    return model(input_ids=ids, attention_mask=mask, decoder_input_ids=inputs, use_cache=False).logits


@torch.no_grad()
def test_logits_of_the_full_forward(pair, batch):
    ours, theirs = pair
    ids, _, lengths, inputs = batch
    expected = _theirs(theirs, batch)
    assert expected.std() > 0.1
    hidden = ours.hidden(Source(lengths, ids), inputs, torch.full((3,), inputs.shape[1]))
    torch.testing.assert_close(ours.logits(hidden).view(expected.shape), expected, atol=TOLERANCE, rtol=TOLERANCE)


@torch.no_grad()
def test_logits_step_by_step(pair, batch):
    ours, theirs = pair
    ids, _, lengths, inputs = batch
    expected = _theirs(theirs, batch)
    state = ours.start(Source(lengths, ids))
    for place in range(inputs.shape[1]):
        logits, state = ours.step(inputs[:, place], state)
        torch.testing.assert_close(logits, expected[:, place], atol=TOLERANCE, rtol=TOLERANCE)


def test_as_many_weights(pair):
    ours, _ = pair
    extra = 0 if ours.output.bias is None else WORDS  # theirs is a buffer
    counts = [sum(p.numel() for p in model.parameters() if p.requires_grad) for model in pair]
    assert counts[0] - extra == counts[1]


# ---- UniLM: BERT's layers under its mask ------------------------------------------------------------------------


def _copy(ours, *theirs):
    weight = torch.cat([t.weight for t in theirs])
    assert ours.weight.shape == weight.shape
    ours.weight.data.copy_(weight)
    if getattr(ours, "bias", None) is not None:
        ours.bias.data.copy_(torch.cat([t.bias for t in theirs]))


def _copy_into(ours, theirs):
    assert ours.weight.shape == theirs.weight.shape
    ours.weight.data.copy_(theirs.weight)


@pytest.fixture
def unilm():
    """Our prefix model and BERT with a head, of the same weights."""
    torch.manual_seed(5)
    config = transformers.BertConfig(
        vocab_size=WORDS,
        hidden_size=SIZE,
        num_hidden_layers=2,
        num_attention_heads=HEADS,
        intermediate_size=INNER,
        attn_implementation="eager",
    )
    theirs = transformers.BertForMaskedLM(config).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    replace = msgspec.structs.replace
    settings = presets.unilm()
    settings = replace(
        settings,
        size=SIZE,
        layers=2,
        attention=replace(settings.attention, heads=HEADS),
        feedforward=replace(settings.feedforward, size=INNER),
    )
    ours = build(settings, target_vocabulary=WORDS).eval()
    below, head = theirs.bert, theirs.cls.predictions
    _copy_into(ours.embedding, below.embeddings.word_embeddings)
    _copy_into(ours.stack.entry.positions, below.embeddings.position_embeddings)
    ours.segments.data.copy_(below.embeddings.token_type_embeddings.weight)
    _copy(ours.stack.entry.norm, below.embeddings.LayerNorm)
    for mine, other in zip(ours.stack.layers, below.encoder.layer, strict=True):
        attention = other.attention.self
        _copy(mine.mixer.inputs, attention.query, attention.key, attention.value)
        _copy(mine.mixer.output, other.attention.output.dense)
        _copy(mine.mixer_residual.norm, other.attention.output.LayerNorm)
        _copy(mine.feedforward.inputs, other.intermediate.dense)
        _copy(mine.feedforward.output, other.output.dense)
        _copy(mine.feedforward_residual.norm, other.output.LayerNorm)
    _copy(ours.output.transform.map, head.transform.dense)
    _copy(ours.output.transform.norm, head.transform.LayerNorm)
    ours.output.bias.data.copy_(head.bias)
    return ours, theirs


@torch.no_grad()
def test_unilm(unilm):
    ours, theirs = unilm
    source, target = torch.randint(4, WORDS, (2, 7)), torch.randint(4, WORDS, (2, 5))
    places = torch.arange(12)
    seen = (places[None, :] < 7) | ((places[:, None] >= 7) & (places[None, :] <= places[:, None]))
    expected = theirs(
        input_ids=torch.cat([source, target], dim=1),
        token_type_ids=(places >= 7).long().expand(2, 12),
        attention_mask=torch.zeros(2, 1, 12, 12).masked_fill(~seen, float("-inf")),  # added to scores as it is
    ).logits[:, 7:]
    assert expected.std() > 0.1
    given = Source(torch.tensor([7, 7]), source)
    found = ours.logits(ours.hidden(given, target, torch.tensor([5, 5]))).view(expected.shape)
    torch.testing.assert_close(found, expected, atol=TOLERANCE, rtol=TOLERANCE)
    state = ours.start(given)
    for place in range(5):
        logits, state = ours.step(target[:, place], state)
        torch.testing.assert_close(logits, expected[:, place], atol=TOLERANCE, rtol=TOLERANCE)
    assert sum(p.numel() for p in ours.parameters()) == sum(p.numel() for p in theirs.parameters())
