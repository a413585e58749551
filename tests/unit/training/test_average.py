"""Averages of weights against slow twins."""

from __future__ import annotations

import contextlib

import pytest
import torch

from dragoman.training.average import Average, Best, Exponential, NoAverage, Recent

KINDS = [NoAverage(), Exponential(decay=0.6), Recent(count=3)]
KIND = pytest.mark.parametrize("settings", KINDS, ids=lambda s: s.__struct_config__.tag)


def fresh():
    torch.manual_seed(0)
    first, second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
    second.weight = first.weight  # tied
    return torch.nn.Sequential(first, second)


@torch.no_grad()
def move(model, number):
    for parameter in model.parameters():
        parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(number)))


def lived(settings, numbers, model, average=None):
    """The average after some updates, with a snapshot after each; and all states the model was in."""
    average = average or Average(settings, model)
    states = []
    for number in numbers:
        move(model, number)
        average.update()
        average.snapshot()
        states.append({name: p.detach().clone() for name, p in model.named_parameters()})
    return average, states


def test_exponential():
    model = fresh()
    expected = {name: p.detach().double() for name, p in model.named_parameters()}
    average, states = lived(Exponential(decay=0.6), range(30), model)
    for number, state in enumerate(states, 1):
        past = min(0.6, number / (number + 10))
        expected = {name: past * mean + (1 - past) * state[name] for name, mean in expected.items()}
    for name, value in average.weights().items():
        torch.testing.assert_close(value.double(), expected[name], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("updates", [1, 2, 3, 7])
def test_recent(updates):
    average, states = lived(Recent(count=3), range(updates), fresh())
    for name, value in average.weights().items():
        torch.testing.assert_close(value, torch.stack([state[name] for state in states[-3:]]).mean(0))


@pytest.mark.parametrize("settings", [NoAverage(), Recent(count=3)])
def test_the_weights_as_they_are_where_there_is_nothing_to_average(settings):
    model = fresh()
    average = Average(settings, model)
    move(model, 1)
    average.update()
    for name, parameter in model.named_parameters():
        assert torch.equal(average.weights()[name], parameter)


@KIND
def test_a_block_with_the_average_leaves_the_model_as_it_was(settings):
    model = fresh()
    average, _ = lived(settings, range(5), model)
    wanted = {name: value.clone() for name, value in average.weights().items()}
    own = {name: p.detach().clone() for name, p in model.named_parameters()}
    with contextlib.suppress(KeyError), average.swapped():
        assert all(torch.equal(p, wanted[name]) for name, p in model.named_parameters())
        assert model[0].weight is model[1].weight
        raise KeyError
    assert all(torch.equal(p, own[name]) for name, p in model.named_parameters())
    assert all(torch.equal(value, wanted[name]) for name, value in average.weights().items())


@KIND
def test_going_on_from_a_saved_state_changes_no_bit(settings):
    model = fresh()
    straight, _ = lived(settings, range(6), model)
    other = fresh()
    before, _ = lived(settings, range(3), other)
    saved = {name: value.clone() for name, value in before.state().items()}
    after = Average(settings, other)
    after.load(saved)
    for tensor in saved.values():
        tensor.zero_()  # what was loaded is a copy
    lived(settings, range(3, 6), other, after)
    assert straight.weights().keys() == after.weights().keys()
    assert all(torch.equal(value, after.weights()[name]) for name, value in straight.weights().items())
    assert straight.state().keys() == after.state().keys()


# ---- the best snapshots --------------------------------------------------------------------------------------------


def offered(worths, model, average=None, first=0):
    """An average of the two best after snapshots of these worths; and all states the model was in."""
    average = average or Average(Best(count=2), model)
    states = []
    for number, worth in enumerate(worths, first):
        move(model, number)
        average.offer(worth)
        states.append({name: p.detach().clone() for name, p in model.named_parameters()})
    return average, states


@pytest.mark.parametrize(
    ("worths", "best"),
    [
        ([], None),
        ([(1.0, 0.0)], [0]),
        ([(1.0, 0.0), (3.0, 0.0), (2.0, 0.0), (0.5, 0.0)], [1, 2]),
        ([(1.0, -3.0), (1.0, -1.0), (1.0, -2.0)], [1, 2]),  # the loss decides
        ([(float("nan"), 0.0), (1.0, 0.0)], [1]),
    ],
)
def test_the_mean_of_the_best_snapshots(worths, best):
    model = fresh()
    average, states = offered(worths, model)
    for name, value in average.weights().items():
        expected = model.get_parameter(name) if best is None else torch.stack([states[i][name] for i in best]).mean(0)
        torch.testing.assert_close(value, expected)


def test_the_best_snapshots_go_on_from_a_checkpoint():
    worths = [(1.0, 0.0), (3.0, 0.0), (2.0, 0.0), (2.5, 0.0)]
    whole, _ = offered(worths, fresh())
    model = fresh()
    first, _ = offered(worths[:2], model)
    again = Average(Best(count=2), model)
    again.load({name: value.clone() for name, value in first.state().items()})
    offered(worths[2:], model, again, first=2)
    assert again.weights().keys() == whole.weights().keys()
    assert all(torch.equal(value, whole.weights()[name]) for name, value in again.weights().items())
