"""What is tried next follows from what is varied and from what was found, and from nothing else."""

from __future__ import annotations

import sys

import pytest

from dragoman.errors import MissingExtra
from dragoman.recipe.sweep.proposals import listed, proposed
from dragoman.recipe.sweep.space import Range, space_of

SPACE = space_of({"model.cell": ["lstm", "gru"], "model.copying": [True], "training.optimizer.rate": Range(1e-4, 1e-2)})
RATES = pytest.approx([1e-4, 1e-3, 1e-2])


def search(method, outcome, count, *, seed=1, repeats=1, higher=True):
    done = []
    for _ in range(count):
        point, repeat = proposed(method, SPACE, done, seed=seed, repeats=repeats, higher=higher)
        assert repeat == len(done) % repeats
        done.append((point, outcome(point)))
    return done


def test_each_setting_by_itself():
    points = [point for point, _ in listed("each", SPACE, points=3, repeats=1)]
    assert points[:4] == [{}, {"model.cell": "lstm"}, {"model.cell": "gru"}, {"model.copying": True}]
    assert [each["training.optimizer.rate"] for each in points[4:]] == RATES


def test_all_combinations_where_a_single_value_is_tried_beside_that_of_the_run_file():
    points = [point for point, _ in listed("grid", SPACE, points=2, repeats=1)]
    assert len(points) == 1 + 2 * 2 * 2
    assert {"model.copying" in point for point in points[1:]} == {True, False}


def test_seeds_come_pass_by_pass():
    once, twice = (listed("each", SPACE, points=3, repeats=n) for n in (1, 2))
    assert twice[: len(once)] == once
    assert twice[len(once) :] == [(point, 1) for point, _ in once]


def test_chance_is_a_function_of_the_seed_and_begins_with_the_run_file():
    points = [point for point, _ in search("random", lambda _: None, 40)]
    assert points[0] == {}
    assert points == [point for point, _ in search("random", lambda _: 1.0, 40)]
    assert points != [point for point, _ in search("random", lambda _: None, 40, seed=2)]
    assert {point["model.cell"] for point in points[1:]} == {"lstm", "gru"}
    assert {"model.copying" in point for point in points[1:]} == {True, False}
    rates = [point["training.optimizer.rate"] for point in points[1:]]
    assert all(1e-4 <= rate <= 1e-2 for rate in rates)
    assert 10 < sum(rate < 1e-3 for rate in rates) < 30  # half of the magnitudes


@pytest.mark.parametrize("method", ["random", "tune"])
def test_each_point_has_all_its_seeds_before_the_next(method):
    points = [point for point, _ in search(method, lambda _: 1.0, 6, repeats=3)]
    assert points[0] == points[1] == points[2] != points[3] == points[4] == points[5]


@pytest.mark.parametrize("higher", [True, False])
def test_tuning_goes_where_it_was_good(higher):
    def outcome(point):
        good = (point.get("model.cell") == "gru") - abs(point.get("training.optimizer.rate", 1) - 2e-3) * 100
        return good if higher else -good

    points = [point for point, _ in search("tune", outcome, 40, higher=higher)][25:]
    assert sum(point["model.cell"] == "gru" for point in points) > 11
    assert sum(5e-4 < point["training.optimizer.rate"] < 6e-3 for point in points) > 8


def test_tuning_can_be_told_of_failures_and_goes_on_the_same_from_there():
    done = search("tune", lambda point: None if point.get("model.cell") == "lstm" else 1.0, 15)
    following = [proposed("tune", SPACE, done, seed=1, repeats=1, higher=True) for _ in range(2)]
    assert following[0] == following[1]
    assert any(value is None for _, value in done)


def test_without_optuna_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtra, match=r"dragoman\[tune\]"):
        proposed("tune", SPACE, [({}, 1.0)], seed=1, repeats=1, higher=True)
