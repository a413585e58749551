"""Low-rank adapters."""

from __future__ import annotations

import pytest
import torch
from msgspec.structs import replace

from dragoman.errors import ModelError
from dragoman.models.adapters import AdapterSettings, adapt, adapter_parameters, bake, merge, unmerge
from dragoman.models.build import build
from dragoman.models.presets import gru_tiny, tiny
from dragoman.models.recurrent_lm import PastAttentionSettings, RecurrentLMSettings
from dragoman.models.rnn import RecurrentAttentionSettings
from dragoman.models.seq2seq import Source

GRU = replace(gru_tiny(), size=16)
TRANSFORMER = replace(tiny(), size=16, encoder_layers=1, decoder_layers=1)
BAHDANAU = replace(GRU, attention=RecurrentAttentionSettings(score="concat", form="bahdanau"))
LM = RecurrentLMSettings(size=8, attention=PastAttentionSettings())


def _model(settings):
    torch.manual_seed(4)
    return build(settings, target_vocabulary=11).eval()


def _logits(model, settings):
    inputs, lengths = torch.tensor([[2, 4, 5], [2, 6, 7]]), torch.tensor([3, 3])
    source = None if settings is LM else Source(torch.tensor([3, 2]), torch.tensor([[4, 5, 6], [7, 8, 0]]))
    return model.logits(model.hidden(source, inputs, lengths))


def _taught(model, settings, steps=3):
    """The model after some steps on its adapters."""
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.05)
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(_logits(model, settings), torch.arange(6)).backward()
        optimizer.step()
    return model


@torch.no_grad()
def _outputs(model, settings):
    """Logits by the path that keeps nothing for gradients."""
    return _logits(model, settings)


def _weights(model, names):
    """The weights that the model works with."""
    places = [name.rpartition(".") for name in names]
    return [getattr(model.get_submodule(module), attribute).detach().clone() for module, _, attribute in places]


def _same_bits(left, right):
    return all(torch.equal(one, other) for one, other in zip(left, right, strict=True))


@pytest.fixture(params=[GRU, BAHDANAU, TRANSFORMER, LM], ids=["gru_tiny", "bahdanau", "transformer", "lm"])
def settings(request):
    return request.param


def test_nothing_changes_at_first(settings):
    model = _model(settings)
    before = _outputs(model, settings)
    original = dict(model.named_parameters(remove_duplicate=False))
    names = adapt(model, AdapterSettings(rank=2))
    assert len(names) > 4
    assert _same_bits(_weights(model, names), [original[name] for name in names])
    torch.testing.assert_close(_outputs(model, settings), before, rtol=0, atol=1e-6)


def test_the_addition_is_its_formula():
    model = _model(GRU)
    name = "decoder.reading.score.map.weight"
    original = model.get_parameter(name).detach().clone()
    adapt(model, AdapterSettings(rank=2, alpha=5.0, weights=(name,)))
    up, down = (
        next(p for n, p in adapter_parameters(model).items() if n.endswith(f".{which}")) for which in ("up", "down")
    )
    torch.nn.init.normal_(up)
    assert (up.shape[1], down.shape[0]) == (2, 2)
    torch.testing.assert_close(_weights(model, [name])[0], original + 5.0 / 2 * up.detach() @ down.detach())


def test_only_adapters_learn(settings):
    model = _model(settings)
    original = {name: value.clone() for name, value in model.state_dict().items()}
    before = _outputs(model, settings)
    adapt(model, AdapterSettings(rank=2))
    learning = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert learning == set(adapter_parameters(model))
    _taught(model, settings)
    assert not torch.equal(_outputs(model, settings), before)
    kept = {
        name.replace("parametrizations.", "").removesuffix(".original"): v for name, v in model.state_dict().items()
    }
    for name, value in original.items():
        assert torch.equal(kept[name], value), name


def test_every_adapter_learns(settings):
    model = _model(settings)
    adapt(model, AdapterSettings(rank=2))
    _taught(model, settings)
    for name, parameter in adapter_parameters(model).items():
        if name.endswith("up"):
            assert parameter.abs().sum() > 0, name


def test_merging_changes_no_output_and_unmerging_no_bit(settings):
    model = _model(settings)
    names = adapt(model, AdapterSettings(rank=2))
    _taught(model, settings)
    adapted, weights = _outputs(model, settings), _weights(model, names)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    merge(model)
    merge(model)  # once is enough
    assert _same_bits(_weights(model, names), weights)
    assert not _same_bits(model.state_dict().values(), before.values())
    torch.testing.assert_close(_outputs(model, settings), adapted, rtol=0, atol=1e-5)
    unmerge(model)
    unmerge(model)
    assert _same_bits(model.state_dict().values(), before.values())
    assert _same_bits(_weights(model, names), weights)


@pytest.mark.parametrize("merged", [False, True])
def test_baking_leaves_an_ordinary_model(settings, merged):
    model = _model(settings)
    names = adapt(model, AdapterSettings(rank=2))
    _taught(model, settings)
    weights = _weights(model, names)
    if merged:
        merge(model)
    bake(model)
    plain = _model(settings)
    plain.load_state_dict(model.state_dict())
    assert _same_bits(_weights(plain, names), weights)
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_patterns_choose_weights_by_name():
    model = _model(GRU)
    names = adapt(model, AdapterSettings(weights=("decoder.stack.*weight_hh", "decoder.reading.*")))
    assert set(names) == {"decoder.stack.layers.0.weight_hh", "decoder.reading.score.map.weight"}
    assert {name.rpartition(".")[2] for name in adapter_parameters(model)} == {"up", "down"}


def test_a_table_that_is_shared_stays_shared():
    model = _model(TRANSFORMER)
    adapt(model, AdapterSettings(rank=2))
    assert model.output.weight is not None
    assert torch.equal(model.output.weight, model.embedding.weight)
    _taught(model, TRANSFORMER)
    assert torch.equal(model.output.weight, model.embedding.weight)
    bake(model)
    assert model.output.weight is model.embedding.weight


def test_mistakes_are_named():
    model = _model(GRU)
    with pytest.raises(ModelError, match=r"no matrix has a name like nowhere\.\*") as caught:
        adapt(model, AdapterSettings(weights=("nowhere.*",)))
    assert "decoder.reading.score.map.weight" in caught.value.remedy
    adapt(model, AdapterSettings())
    with pytest.raises(ModelError, match="adapters already"):
        adapt(model, AdapterSettings())
