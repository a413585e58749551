"""Every Transformer behind the seam: steps are the full forward, padding and the future never matter."""

from __future__ import annotations

import itertools

import pytest
import torch

from dragoman.models.attention import AttentionSettings, Mask
from dragoman.models.build import build
from dragoman.models.dropout import DropoutSettings
from dragoman.models.embedding import EmbeddingSettings
from dragoman.models.features import FeatureSettings
from dragoman.models.feedforward import FeedForwardSettings
from dragoman.models.norm import NormSettings
from dragoman.models.positions import (
    LearnedSettings,
    NoPositions,
    RelativeSettings,
    RotarySettings,
    SinusoidalSettings,
)
from dragoman.models.seq2seq import Source
from dragoman.models.stack import Context
from dragoman.models.transformer import TransformerSettings
from dragoman.models.transformer_lm import PrefixLMSettings, TransformerLMSettings

WORDS, ROWS = 23, 4
POSITIONS = {
    "sinusoidal": SinusoidalSettings(),
    "learned": LearnedSettings(longest=60, offset=1),
    "rotary": RotarySettings(),
    "relative": RelativeSettings(buckets=8, farthest=12),
    "none": NoPositions(),
}


def _settings(kind, *, positions="sinusoidal", key_heads=None, **more):
    layers = {"encoder_layers": 2, "decoder_layers": 2} if kind is TransformerSettings else {"layers": 2}
    return kind(
        size=16,
        attention=AttentionSettings(heads=4, key_heads=key_heads),
        feedforward=FeedForwardSettings(size=24),
        positions=POSITIONS[positions],
        **layers,
        **more,
    )


def _variants():
    kinds = {
        "transformer": lambda **more: _settings(TransformerSettings, **more),
        "lm": lambda **more: _settings(TransformerLMSettings, **more),
        "prefix": lambda **more: _settings(PrefixLMSettings, **more),
        "causal_prefix": lambda **more: _settings(PrefixLMSettings, causal_source=True, segments=False, **more),
    }
    for (name, make), positions in itertools.product(kinds.items(), POSITIONS):
        yield f"{name}-{positions}", make(positions=positions)
    for name, make in kinds.items():
        yield f"{name}-grouped", make(key_heads=2)
        yield f"{name}-grouped-relative", make(key_heads=1, positions="relative")
        yield f"{name}-post", make(norm=NormSettings(place="post", formula="rms"))
    yield "ssru", kinds["transformer"](decoder="ssru", positions="learned")
    yield "ssru-copying", kinds["transformer"](decoder="ssru", copying=True)
    yield "copying", kinds["transformer"](copying=True)
    gated = FeedForwardSettings(size=24, activation="gelu_tanh", gated=True)
    yield (
        "gated-no-bias",
        TransformerSettings(
            size=16,
            bias=False,
            encoder_layers=1,
            decoder_layers=3,
            attention=AttentionSettings(heads=2, head_size=6, scaled=False),
            feedforward=gated,
            embedding=EmbeddingSettings(shared=False, tied_output=False, normalised=True, output_bias=True),
        ),
    )
    apart = EmbeddingSettings(shared=False)
    yield "features", kinds["transformer"](features=FeatureSettings(size=5, halvings=1), embedding=apart)
    yield "prefix-features", kinds["prefix"](features=FeatureSettings(size=5), embedding=apart)


VARIANTS = dict(_variants())


@pytest.fixture(params=VARIANTS)
def model(request):
    torch.manual_seed(1)
    made = build(VARIANTS[request.param], target_vocabulary=WORDS)
    with torch.no_grad():  # biases and gains, too
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    made.settings = VARIANTS[request.param]
    return made.eval()


def _source(model, lengths, *, size=None, seed=2):
    """A source with junk on its padding; nothing for a language model."""
    if isinstance(model.settings, TransformerLMSettings):
        return None
    torch.manual_seed(seed)
    size = size or max(lengths)
    lengths = torch.tensor(lengths)
    if model.settings.features is not None:
        return Source(lengths, features_BSF=torch.randn(len(lengths), size, 5))
    return Source(lengths, torch.randint(4, WORDS, (len(lengths), size)))


def _rows(source, rows, size):
    """Rows of a source, cut to a size."""
    if source is None:
        return None
    ids = None if source.ids_BS is None else source.ids_BS[rows, :size]
    features = None if source.features_BSF is None else source.features_BSF[rows, :size]
    return Source(source.lengths_B[rows], ids, features)


def _inputs(rows, length, seed=3):
    torch.manual_seed(seed)
    return torch.randint(4, WORDS, (rows, length))


def _full(model, source, inputs):
    """Logits at every position, [B, T, V]."""
    lengths = torch.full((inputs.shape[0],), inputs.shape[1])
    return model.logits(model.hidden(source, inputs, lengths)).view(*inputs.shape, WORDS)


def _close(ours, expected):
    torch.testing.assert_close(ours, expected, atol=1e-5, rtol=1e-5)


LENGTHS = [9, 4, 7, 6]


@torch.no_grad()
def test_steps_are_the_full_forward(model):
    source, inputs = _source(model, LENGTHS), _inputs(ROWS, 35)  # beyond the first capacity of a cache
    expected = _full(model, source, inputs)
    assert expected.std() > 0.01
    state = model.start(source, rows=ROWS)
    for t in range(inputs.shape[1]):
        logits, state = model.step(inputs[:, t], state)
        _close(logits, expected[:, t])


@torch.no_grad()
def test_rows_repeated_dropped_and_reordered(model):
    source, inputs = _source(model, LENGTHS), _inputs(ROWS, 12)
    state = model.start(source, rows=ROWS)
    sentences, history = torch.arange(ROWS), inputs[:, :0]
    moves = {
        2: [0, 0, 1, 1, 1, 3],  # hypotheses of unequal number, a sentence gone
        4: [5, 0, 2, 2, 4, 0, 1],  # out of order
        5: [0, 1, 2, 3, 4, 5, 6],  # nothing
        6: [1, 3],  # few left: memory shrinks
        8: [1, 1, 0, 0],
        10: [0],
    }
    for t in range(12):
        if t in moves:
            rows = torch.tensor(moves[t])
            state, sentences, history = state.select(rows), sentences[rows], history[rows]
        tokens = _inputs(len(sentences), 1, seed=t)[:, 0]
        history = torch.cat([history, tokens[:, None]], dim=1)
        logits, state = model.step(tokens, state)
        expected = _full(model, _rows(source, sentences, max(LENGTHS)), history)[:, -1]
        _close(logits, expected)


@torch.no_grad()
def test_new_sentences_take_free_places(model):
    first, second = _source(model, LENGTHS), _source(model, [3, 11], seed=7)
    histories = [row[None] for row in _inputs(ROWS, 5)]
    state = model.start(first, rows=ROWS)
    for t in range(5):
        _, state = model.step(torch.cat(histories)[:, t], state)
    rows = torch.tensor([2, 0, 2])
    state, sources = state.select(rows), [(first, 2), (first, 0), (first, 2)]
    histories = [histories[2], histories[0], histories[2]]
    younger = model.start(second, rows=2)
    state = state.join(younger)
    sources += [(second, 0), (second, 1)]
    histories += [inputs[:0][None] for inputs in _inputs(2, 1)]
    for t in range(10):
        if t == 2:  # rows of both ages stay, in another order, one of them twice
            order = [3, 1, 4, 0, 3]
            state, sources = state.select(torch.tensor(order)), [sources[i] for i in order]
            histories = [histories[i] for i in order]
        if t == 4:  # the older rows end, and the columns that only they used go
            state, sources = state.select(torch.tensor([4, 2])), [sources[4], sources[2]]
            histories = [histories[4], histories[2]]
        if t == 7:  # the younger joins from the left
            state = model.start(first, rows=ROWS).select(torch.tensor([1])).join(state)
            sources, histories = [(first, 1), *sources], [histories[0][:, :0], *histories]
        tokens = _inputs(len(sources), 1, seed=t)
        logits, state = model.step(tokens[:, 0], state)
        for i, (source, row) in enumerate(sources):
            histories[i] = torch.cat([histories[i], tokens[i : i + 1]], dim=1)
            alone = None if source is None else _rows(source, [row], int(source.lengths_B[row]))
            _close(logits[i], _full(model, alone, histories[i])[0, -1])


@torch.no_grad()
def test_a_state_is_a_value(model):
    source = _source(model, [5, 3])
    _, state = model.step(torch.tensor([5, 6]), model.start(source, rows=2))
    once, after = model.step(torch.tensor([7, 8]), state)
    model.step(torch.tensor([9, 9]), state)  # another branch from the same state
    model.step(torch.tensor([9, 9]), state.select(torch.tensor([1, 0])))
    again, _ = model.step(torch.tensor([7, 8]), state)
    _close(again, once)
    model.step(torch.tensor([9, 9]), state)  # the last to write where `after` still reads
    expected = _full(model, source, torch.tensor([[5, 7, 4], [6, 8, 4]]))[:, -1]
    _close(model.step(torch.tensor([4, 4]), after)[0], expected)


def test_gradients_flow_through_steps(model):
    source, inputs = _source(model, [4, 6]), _inputs(2, 3)

    def gradients(logits):
        model.zero_grad()
        logits.square().sum().backward()
        return [p.grad.clone() for p in model.parameters() if p.grad is not None]

    expected = gradients(_full(model, source, inputs))
    state, logits = model.start(source, rows=2), []
    for t in range(3):
        each, state = model.step(inputs[:, t], state)
        logits.append(each)
    for ours, other in zip(gradients(torch.stack(logits, dim=1)), expected, strict=True):
        torch.testing.assert_close(ours, other, atol=1e-3, rtol=1e-3)


@torch.no_grad()
def test_padding_never_matters(model):
    source, inputs = _source(model, LENGTHS, size=13), _inputs(ROWS, 8)
    lengths = torch.tensor([3, 8, 1, 5])
    together = model.logits(model.hidden(source, inputs, lengths)).split(lengths.tolist())
    for row in range(ROWS):
        alone = _rows(source, [row], LENGTHS[row])
        _close(together[row], _full(model, alone, inputs[row : row + 1, : lengths[row]])[0])


@torch.no_grad()
def test_an_empty_source_gives_the_same_numbers_in_any_batch(model):
    source = _source(model, [0, 6])
    if source is None or source.ids_BS is None:
        return  # nothing to be empty, or nothing that stands for padding
    source.ids_BS[0] = 0
    inputs, lengths = _inputs(2, 3), torch.tensor([3, 3])
    together = model.logits(model.hidden(source, inputs, lengths))[:3]
    alone = Source(torch.tensor([0]), source.ids_BS[:1, :1])
    _close(model.logits(model.hidden(alone, inputs[:1], lengths[:1])), together)


@torch.no_grad()
def test_the_future_never_matters(model):
    source, inputs = _source(model, [5, 8]), _inputs(2, 7)
    other = inputs.clone()
    other[:, 4:] = _inputs(2, 3, seed=9)
    before, after = _full(model, source, inputs), _full(model, source, other)
    _close(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 4:], after[:, 4:])


@torch.no_grad()
def test_attention_weights_are_those_of_the_fast_path(model, monkeypatch):
    source, inputs, lengths = _source(model, [5, 8]), _inputs(2, 6), torch.tensor([6, 4])
    outputs = []
    kind = type(model.decoder if hasattr(model, "decoder") else model.stack)
    forward = kind.forward
    monkeypatch.setattr(kind, "forward", lambda *a: outputs.append(forward(*a)) or outputs[-1])
    model.hidden(source, inputs, lengths)
    fast = outputs[-1]
    maps = model.attention_weights(source, inputs, lengths)
    _close(outputs[-1], fast)
    settings = model.settings
    heads = settings.attention.heads
    own = maps.decoder_self_LBHTT
    if getattr(settings, "decoder", "attention") == "ssru":
        assert own is None
    else:
        assert own.shape == (
            len(model.decoder.layers if hasattr(model, "decoder") else model.stack.layers),
            2,
            heads,
            6,
            6,
        )
        assert (own.triu(1) == 0).all()
    if isinstance(settings, TransformerLMSettings):
        assert maps.cross_LBHTS is None
        _close(own.sum(-1), torch.ones_like(own.sum(-1)))
        return
    cross, within = maps.cross_LBHTS, maps.encoder_self_LBHSS
    assert cross.shape[1:4] == (2, heads, 6)
    end = 3 if settings.features is not None and settings.features.halvings else 5
    assert (cross[:, 0, ..., end:] == 0).all()
    assert (within[:, 0, ..., end:] == 0).all()
    whole = cross.sum(-1) + (own.sum(-1) if isinstance(settings, PrefixLMSettings) else 0)
    _close(whole, torch.ones_like(whole))


def test_every_weight_learns(model):
    model.train()
    source, inputs = _source(model, LENGTHS), _inputs(ROWS, 6)
    _full(model, source, inputs).square().sum().backward()
    idle = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert idle == []


@torch.no_grad()
def test_the_memory_is_kept_once_for_each_sentence():
    model = build(_settings(TransformerSettings), target_vocabulary=WORDS).eval()
    state = model.start(Source(torch.tensor([5, 3]), _inputs(2, 5)))
    wide = state.select(torch.tensor([0] * 5 + [1] * 5))
    assert wide.memory.layers[0][0] is state.memory.layers[0][0]
    few = wide.select(torch.tensor([6, 8]))
    assert few.memory.layers[0][0].shape[0] == 1
    assert few.memory.layers[0][0].shape[2] == 3  # and no longer than the longest that is left


def test_layers_and_words_are_dropped_in_training_only():
    drops = DropoutSettings(hidden=0.0, layers=0.5, source_words=0.5, target_words=0.5)
    model = build(_settings(TransformerSettings, dropout=drops), target_vocabulary=WORDS)
    source, inputs = Source(torch.tensor([5, 5]), _inputs(2, 5)), _inputs(2, 4)
    torch.manual_seed(8)
    assert not torch.equal(_full(model, source, inputs), _full(model, source, inputs))
    model.eval()
    assert torch.equal(_full(model, source, inputs), _full(model, source, inputs))


def test_layers_are_skipped_in_training_alone():
    settings = _settings(TransformerSettings, dropout=DropoutSettings(hidden=0.0, layers=0.5))
    stack = build(settings, target_vocabulary=WORDS).encoder.stack
    ran = []
    for index, layer in enumerate(stack.layers):
        layer.register_forward_hook(lambda *_, index=index: ran.append(index))
    x, places = torch.randn(1, 3, 16), torch.arange(3)[None]
    torch.manual_seed(8)
    for _ in range(200):
        stack(x, places, Context(Mask()))
    assert 60 < ran.count(0) < 140
    assert 60 < ran.count(1) < 140
    ran.clear()
    stack.eval()(x, places, Context(Mask()))
    assert ran == [0, 1]


def test_half_precision(model):
    source, inputs = _source(model, LENGTHS), _inputs(ROWS, 6)
    lengths = torch.tensor([6, 3, 5, 1])
    exact = model.logits(model.hidden(source, inputs, lengths)).detach()
    model.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = model.logits(model.hidden(source, inputs, lengths))
    mixed.float().square().mean().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)
    assert (mixed - exact).abs().mean() < 0.1 * exact.std()
    if source is not None and source.features_BSF is not None:
        source = Source(source.lengths_B, features_BSF=source.features_BSF.bfloat16())
    model.to(torch.bfloat16)
    with torch.no_grad():
        whole = model.logits(model.hidden(source, inputs, lengths))
        stepped, _ = model.step(inputs[:, 0], model.start(source, rows=ROWS))
    assert (whole - exact).abs().mean() < 0.1 * exact.std()
    assert (stepped[0] - whole[0]).abs().mean() < 0.1 * exact.std()
