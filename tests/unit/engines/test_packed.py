import msgspec
import pytest
import torch

from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.build import build as build_search
from dragoman.decoding.build import decode
from dragoman.decoding.greedy import GreedySettings
from dragoman.decoding.live import Sentence
from dragoman.decoding.sample import SampleSettings
from dragoman.decoding.search import Arrival
from dragoman.decoding.short_list import ShortListed
from dragoman.engines.build import quick_step
from dragoman.engines.eager import EagerStep
from dragoman.engines.packed import PackedStep, can_be_packed
from dragoman.errors import SettingError
from dragoman.models import presets
from dragoman.models.attention import AttentionSettings
from dragoman.models.build import build
from dragoman.models.embedding import EmbeddingSettings
from dragoman.models.feedforward import FeedForwardSettings
from dragoman.models.norm import NormSettings
from dragoman.models.positions import LearnedSettings, NoPositions, RelativeSettings, RotarySettings
from dragoman.models.seq2seq import Source
from dragoman.models.transformer import TransformerSettings

torch.set_num_threads(1)
WORDS, BOS, EOS = 60, 2, 3

SMALL = TransformerSettings(
    size=16,
    encoder_layers=2,
    decoder_layers=2,
    attention=AttentionSettings(heads=2),
    feedforward=FeedForwardSettings(size=24),
)


def _with(**changes):
    return msgspec.structs.replace(SMALL, **changes)


MODELS = {
    "pre-norm": SMALL,
    "post-norm": _with(norm=NormSettings(place="post")),
    "ssru": _with(decoder="ssru"),
    "gated, rms": _with(
        norm=NormSettings(formula="rms"), feedforward=FeedForwardSettings(size=24, gated=True, activation="gelu_tanh")
    ),
    "learned positions": _with(positions=LearnedSettings(longest=64), embedding=EmbeddingSettings(normalised=True)),
    "no positions, no biases": _with(positions=NoPositions(), bias=False),
    "output layer": _with(
        embedding=EmbeddingSettings(output_bias=True, output_scaled=True, output_transformed=True), decoder_layers=1
    ),
}


@pytest.fixture(params=MODELS)
def model(request):
    return _model(MODELS[request.param])


def _model(settings):
    torch.manual_seed(5)
    model = build(settings, target_vocabulary=WORDS).eval()
    for parameter in model.parameters():
        parameter.data.add_(torch.randn_like(parameter) * 0.1)
    return model


def _source(rows, longest, generator):
    lengths = torch.randint(0, longest + 1, (rows,), generator=generator)
    lengths[0] = longest
    ids = torch.randint(4, WORDS, (rows, longest), generator=generator)
    return Source(lengths, ids.masked_fill(torch.arange(longest) >= lengths[:, None], 0))


class _Listed(ShortListed):
    """A step whose sentences have lists that their sources make."""

    def __init__(self, step):
        super().__init__(step)
        self._inner = step

    def start(self, source):
        lists = [torch.tensor(sorted({EOS, *ids, *range(4, 60, 7)} - {0})) for ids in source.ids_BS.tolist()]
        return super().start(self._inner.start(source), lists)


def _largest_difference(model, precision, *, steps=40, listed=False):
    """Both engines through steps, selections in any order, and arrivals."""
    slow, quick = EagerStep(model), PackedStep(model, precision=precision)
    if listed:
        slow, quick = _Listed(slow), _Listed(quick)
    generator = torch.Generator().manual_seed(6)
    source = _source(5, 7, generator)
    states = [slow.start(source), quick.start(source)]
    rows, worst = 5, 0.0
    for number in range(steps):
        tokens = torch.randint(4, WORDS, (rows,), generator=generator)
        (expected, states[0]), (found, states[1]) = slow(tokens, states[0]), quick(tokens, states[1])
        said = expected.log_probs() > -torch.inf
        assert torch.equal(said, found.log_probs() > -torch.inf)
        worst = max(worst, (expected.log_probs() - found.log_probs())[said].abs().max().item())
        rows = int(torch.randint(1, 24, (), generator=generator))
        kept = torch.randint(0, tokens.shape[0], (rows,), generator=generator)
        kept = kept if number % 3 == 0 else kept.sort().values
        states = [slow.select(states[0], kept), quick.select(states[1], kept)]
        if number % 5 == 0 or rows < 3:
            more = _source(3, int(torch.randint(1, 9, (), generator=generator)), generator)
            states = [slow.join(states[0], slow.start(more)), quick.join(states[1], quick.start(more))]
            rows += 3
    return worst


@torch.inference_mode()
def test_it_agrees_with_the_models_own_steps(model):
    assert _largest_difference(model, "float32") < 1e-4


@torch.inference_mode()
def test_with_short_lists_it_computes_their_words_alone_and_agrees(model, monkeypatch):
    monkeypatch.setattr(PackedStep, "__call__", None)  # all of the vocabulary is never computed
    assert _largest_difference(model, "float32", listed=True) < 1e-4


@pytest.mark.parametrize(("precision", "most"), [("bfloat16", 0.15), ("int8", 0.4)])
@torch.inference_mode()
def test_with_short_lists_it_nearly_does_below_float32(precision, most):
    assert 1e-6 < _largest_difference(_model(SMALL), precision, listed=True) < most


@pytest.mark.parametrize(("precision", "most"), [("bfloat16", 0.15), ("int8", 0.4)])
@torch.inference_mode()
def test_below_float32_it_nearly_does(precision, most):
    worst = _largest_difference(_model(SMALL), precision)
    assert 1e-6 < worst < most


@torch.inference_mode()
def test_a_state_is_a_value(model):
    step = PackedStep(model)
    generator = torch.Generator().manual_seed(7)
    state = step.start(_source(3, 5, generator))
    for number in range(20):
        tokens = torch.randint(4, WORDS, (6 if number else 3,), generator=generator)
        first, after = step(tokens, state)
        step(tokens.flip(0), state)
        step.select(after, torch.tensor([0]))
        again, after_again = step(tokens, state)
        assert torch.allclose(first.log_probs(), again.log_probs(), atol=1e-5)
        rows = torch.tensor([0, 0, 1, 1, 2, 2])
        nexts = [step(tokens[rows], step.select(each, rows))[0].log_probs() for each in (after, after_again)]
        assert torch.allclose(*nexts, atol=1e-5)
        state = step.select(after, rows)


def _found(step, settings, sources, *, places):
    plan = build_search(settings, begin=BOS, end=EOS)
    waiting = [(Sentence(number, max_length=12, seed=number), source) for number, source in enumerate(sources)]

    def arrivals(room):
        now, waiting[:] = waiting[:room], waiting[room:]
        if not now:
            return None
        lengths = torch.tensor([len(source) for _, source in now])
        ids = torch.nn.utils.rnn.pad_sequence([source for _, source in now], batch_first=True)
        return Arrival([sentence for sentence, _ in now], step.start(Source(lengths, ids)))

    outcomes = {each.key: each for each in decode(plan, step, arrivals=arrivals, places=places)}
    return [[h.tokens for h in outcomes[number].hypotheses] for number in range(len(sources))]


@pytest.mark.parametrize(
    "settings",
    [GreedySettings(), BeamSettings(beam=4, nbest=2), SampleSettings(nbest=2)],
    ids=["greedy", "beam", "sample"],
)
@torch.inference_mode()
def test_searches_find_the_same_token_by_token_whatever_shares_the_batch(model, settings):
    generator = torch.Generator().manual_seed(8)
    sources = [
        torch.randint(4, WORDS, (int(n),), generator=generator) for n in torch.randint(1, 9, (12,), generator=generator)
    ]
    expected = _found(EagerStep(model), settings, sources, places=4)
    for places in (1, 3, 12):
        assert _found(PackedStep(model), settings, sources, places=places) == expected


REFUSED = {
    "rotary": _with(positions=RotarySettings()),
    "relative": _with(positions=RelativeSettings()),
    "copying": _with(copying=True),
    "shared keys": _with(attention=AttentionSettings(heads=2, key_heads=1)),
}


@pytest.mark.parametrize("settings", [*REFUSED.values(), presets.gru_tiny()], ids=[*REFUSED, "recurrent"])
def test_other_models_keep_their_own_steps(settings):
    model = build(settings, target_vocabulary=WORDS).eval()
    assert not can_be_packed(model)
    assert isinstance(quick_step(model), EagerStep)
    with pytest.raises(SettingError, match="precision: this model cannot be computed in int8"):
        quick_step(model, precision="int8")


@torch.inference_mode()
def test_positions_beyond_those_kept_ready(monkeypatch):
    monkeypatch.setattr("dragoman.engines.packed._POSITIONS", 3)
    assert _largest_difference(_model(SMALL), "float32", steps=8) < 1e-4
