"""The Transformer of Vaswani et al. 2017: our settings against torch.nn.Transformer, weight for weight."""

from __future__ import annotations

import pytest
import torch
from msgspec.structs import replace
from torch import nn

from dragoman.models import presets
from dragoman.models.build import build
from dragoman.models.seq2seq import Source
from reference import transformer as reference

WORDS, SIZE, HEADS, INNER = 19, 16, 4, 24


def _copied(ours, theirs, *, rows=slice(None)):
    """Ours gets the weight and bias that torch calls weight and bias, or in_proj_weight and in_proj_bias."""
    weight, bias = (
        (theirs.in_proj_weight, theirs.in_proj_bias)
        if hasattr(theirs, "in_proj_weight")
        else (theirs.weight, theirs.bias)
    )
    assert ours.weight.shape == weight[rows].shape
    ours.weight.data.copy_(weight[rows])
    ours.bias.data.copy_(bias[rows])


def _attention(ours, theirs):
    _copied(ours.output, theirs.out_proj)
    if hasattr(ours, "inputs"):
        _copied(ours.inputs, theirs)
    else:
        _copied(ours.queries, theirs, rows=slice(SIZE))
        _copied(ours.memory, theirs, rows=slice(SIZE, None))


@pytest.fixture
def pair():
    """Our model and torch's stacks, of the same weights, all of them random."""
    torch.manual_seed(3)
    settings = presets.vaswani_base()
    settings = replace(
        settings,
        size=SIZE,
        encoder_layers=2,
        decoder_layers=3,
        attention=replace(settings.attention, heads=HEADS),
        feedforward=replace(settings.feedforward, size=INNER),
    )
    ours = build(settings, target_vocabulary=WORDS).eval()
    theirs = nn.Transformer(SIZE, HEADS, 2, 3, INNER, batch_first=True).eval()
    theirs.encoder.norm = theirs.decoder.norm = None  # torch's addition: the paper normalises after each sum alone
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    for stack, layers in ((ours.encoder.stack, theirs.encoder.layers), (ours.decoder, theirs.decoder.layers)):
        for mine, other in zip(stack.layers, layers, strict=True):
            norms = [mine.mixer_residual, *([mine.cross_residual] if mine.cross else []), mine.feedforward_residual]
            _attention(mine.mixer, other.self_attn)
            if mine.cross:
                _attention(mine.cross, other.multihead_attn)
            _copied(mine.feedforward.inputs, other.linear1)
            _copied(mine.feedforward.output, other.linear2)
            for number, residual in enumerate(norms, 1):
                _copied(residual.norm, getattr(other, f"norm{number}"))
    return ours, theirs


def _theirs(model, table, source, inputs):
    """Embeddings times √d plus interleaved waves, torch's stacks, and the table again as output layer."""
    padding = torch.arange(source.ids_BS.shape[1]) >= source.lengths_B[:, None]
    waves = torch.tensor(reference.sinusoids(20, SIZE), dtype=torch.float32)
    read, said = (table[ids] * SIZE**0.5 + waves[: ids.shape[1]] for ids in (source.ids_BS, inputs))
    causal = nn.Transformer.generate_square_subsequent_mask(inputs.shape[1]).bool()
    vectors = model(
        read, said, tgt_mask=causal, src_key_padding_mask=padding, memory_key_padding_mask=padding, tgt_is_causal=True
    )
    return vectors @ table.t()


def test_logits_at_once_and_step_by_step(pair):
    ours, theirs = pair
    source = Source(torch.tensor([7, 4, 1]), torch.randint(4, WORDS, (3, 7)))
    inputs = torch.randint(4, WORDS, (3, 18))
    with torch.enable_grad():  # without gradients torch takes another path, which leaves padding out of its output
        expected = _theirs(theirs, ours.embedding.weight, source, inputs).detach()
    assert expected.std() > 0.1
    with torch.no_grad():
        hidden = ours.hidden(source, inputs, torch.full((3,), 18))
        torch.testing.assert_close(ours.logits(hidden).view(expected.shape), expected, atol=1e-5, rtol=1e-4)
        state = ours.start(source)
        for place in range(18):
            logits, state = ours.step(inputs[:, place], state)
            torch.testing.assert_close(logits, expected[:, place], atol=1e-5, rtol=1e-4)


def test_as_many_weights(pair):
    counts = [sum(p.numel() for p in model.parameters()) for model in pair]
    assert counts[0] == counts[1] + WORDS * SIZE  # one table, for source, target and output
