"""Optimizers: against the library's own or a few plain lines, and exact when they go on from a saved state."""

from __future__ import annotations

import pytest
import torch
from msgspec.structs import replace

from dragoman.errors import SettingError
from dragoman.models.build import build
from dragoman.models.presets import gru_tiny, t5, tiny, unilm
from dragoman.training.optimizer import Adafactor, AdamW, Muon, build_optimizer

KINDS = [AdamW(decay=0.1), Adafactor(decay=0.1), Muon(decay=0.1, others=AdamW(decay=0.05))]
KIND = pytest.mark.parametrize("settings", KINDS, ids=lambda s: s.__struct_config__.tag)
MODEL = replace(gru_tiny(), size=12)


def fresh(seed=0):
    torch.manual_seed(seed)
    return build(MODEL, target_vocabulary=11)


def steps(model, optimizer, numbers):
    """Make updates by gradients that depend on the weights and on the step."""
    for number in numbers:
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(number))
            parameter.grad = parameter.detach() * 0.3 + noise
        optimizer.step(1 / (1 + number))


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(value, other[name]) for name, value in one.items())


@KIND
def test_going_on_from_a_saved_state_changes_no_bit(settings):
    straight, first = fresh(), fresh()
    whole, before = build_optimizer(settings, straight), build_optimizer(settings, first)
    steps(straight, whole, range(6))
    steps(first, before, range(3))
    saved = {name: value.clone() for name, value in before.state().items()}
    weights = {name: value.clone() for name, value in first.state_dict().items()}
    second = fresh(seed=9)
    second.load_state_dict(weights)
    after = build_optimizer(settings, second)
    after.load(saved)
    steps(second, after, range(3, 6))
    assert same(second.state_dict(), straight.state_dict())
    assert same(after.state(), whole.state())


@KIND
def test_a_state_that_is_not_loaded_would_show(settings):
    one, other = fresh(), fresh()
    used, unused = build_optimizer(settings, one), build_optimizer(settings, other)
    steps(one, used, range(3))
    other.load_state_dict(one.state_dict())
    steps(one, used, [3])
    steps(other, unused, [3])
    assert not same(one.state_dict(), other.state_dict())


@KIND
def test_a_share_of_zero_moves_nothing(settings):
    model = fresh()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    optimizer = build_optimizer(settings, model)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step(0.0)
    assert same(model.state_dict(), before)


def test_adamw_by_hand():
    settings = AdamW(rate=0.1, beta1=0.8, beta2=0.9, epsilon=1e-6, decay=0.5)
    model = torch.nn.Linear(3, 2)
    optimizer = build_optimizer(settings, model)
    expected = {name: p.detach().double().clone() for name, p in model.named_parameters()}
    means = {name: torch.zeros_like(p) for name, p in expected.items()}
    squares = {name: torch.zeros_like(p) for name, p in expected.items()}
    for number in range(1, 5):
        for name, parameter in model.named_parameters():
            parameter.grad = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(number))
            gradient = parameter.grad.double()
            means[name] = 0.8 * means[name] + 0.2 * gradient
            squares[name] = 0.9 * squares[name] + 0.1 * gradient**2
            rate = 0.1 * 0.5
            if name == "weight":  # vectors do not decay
                expected[name] *= 1 - rate * 0.5
            mean, square = means[name] / (1 - 0.8**number), squares[name] / (1 - 0.9**number)
            expected[name] -= rate * mean / (square.sqrt() + 1e-6)
        optimizer.step(0.5)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.detach().double(), expected[name], rtol=1e-5, atol=1e-6)


def test_adafactor_keeps_a_row_and_a_column_of_a_matrix():
    model = fresh()
    optimizer = build_optimizer(Adafactor(), model)
    steps(model, optimizer, [0])
    state = optimizer.state()
    numbers = sum(value.numel() for value in state.values())
    assert numbers < sum(p.numel() for p in model.parameters()) / 2


@pytest.mark.parametrize(
    "settings", [gru_tiny(), tiny(), replace(t5(), size=32), unilm()], ids=lambda s: type(s).__name__
)
def test_muon_takes_matrices_and_leaves_tables_and_vectors(settings):
    with torch.device("meta"):
        model = build(settings, target_vocabulary=50)
    muon, others = build_optimizer(Muon(), model)._parts
    named = dict(model.named_parameters())
    assert {named[name].ndim for name in muon.names} == {2}
    tables = ("embedding.weight", "relative.weight", "segments", "positions.weight", "embedding.0.weight")
    assert not [name for name in muon.names if name.endswith(tables) or name == "output.weight"]
    assert not [n for n in others.names if named[n].ndim == 2 and not n.endswith((*tables, "output.weight"))]
    assert sorted((*muon.names, *others.names)) == sorted(named)


def test_muon_moves_a_matrix_by_about_the_same_along_all_directions():
    model = torch.nn.Sequential(torch.nn.Linear(16, 16, bias=False))
    before = model[0].weight.detach().clone()
    optimizer = build_optimizer(Muon(rate=0.1), model)
    model[0].weight.grad = torch.diag(torch.logspace(0, -2, 16))
    optimizer.step(1.0)
    moved = torch.linalg.svdvals(before - model[0].weight.detach())
    assert moved.max() / moved.min() < 3  # those of the gradient: 100


def test_a_torch_without_muon_is_said(monkeypatch):
    monkeypatch.delattr(torch.optim, "Muon")
    with pytest.raises(SettingError, match=r"training\.optimizer\.kind: torch .* has no Muon"):
        build_optimizer(Muon(), fresh())


def test_frozen_parameters_are_left_out():
    model = fresh()
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.startswith("decoder"))
    optimizer = build_optimizer(AdamW(), model)
    assert all(name.startswith("decoder") for part in optimizer._parts for name in part.names)
