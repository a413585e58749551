"""What mattered, where it is known because the outcomes were made up."""

from __future__ import annotations

import random

import pytest

from dragoman.recipe.sweep.effects import effects, noise
from dragoman.recipe.sweep.space import Range, space_of

SPACE = space_of({"model.size": [64, 128], "model.cell": ["gru", "lstm"]})
BASE = {"model.size": 64, "model.cell": "gru"}


def test_one_setting_at_a_time():
    scored = [({}, 20.0), ({"model.size": 128}, 24.0), ({"model.cell": "lstm"}, 19.0)]
    size, cell = effects(SPACE, scored, BASE, one_by_one=True, higher=True)
    assert (size.setting, size.span, size.share, size.clear) == ("model.size", 4.0, None, None)
    assert [(each.value, each.base, each.trials, each.mean) for each in size.levels] == [
        (128, False, 1, 24.0),
        (64, True, 1, 20.0),
    ]
    assert [each.value for each in cell.levels] == ["gru", "lstm"]
    _, cell = effects(SPACE, scored, BASE, one_by_one=True, higher=False)
    assert [each.value for each in cell.levels] == ["lstm", "gru"]


def test_combinations_share_the_variance_among_them():
    scored = [
        ({"model.size": size, "model.cell": cell}, 3.0 * (size == 128) + 1.0 * (cell == "lstm"))
        for size in (64, 128)
        for cell in ("gru", "lstm")
    ]
    size, cell = effects(SPACE, scored, BASE, one_by_one=False, higher=True)
    assert (size.span, cell.span) == (3.0, 1.0)
    # squares: 9 between sizes, 1 between cells, of 10; less one degree of freedom's share of what is left
    assert size.share == pytest.approx((9 - 1 / 2) / 10)
    assert cell.share == pytest.approx(max(0.0, (1 - 9 / 2) / 10))


def test_what_chance_does_is_not_called_an_effect():
    draw = random.Random(0)
    scored = [({"model.size": size}, draw.gauss(10 * (size == 128), 1)) for size in (64, 128) for _ in range(5)]
    scored += [({"model.cell": cell}, draw.gauss(0, 1)) for cell in ("gru", "lstm") for _ in range(5)]
    found = {each.setting: each for each in effects(SPACE, scored, BASE, one_by_one=True, higher=True)}
    assert noise(scored) == pytest.approx(1.0, abs=0.4)
    assert found["model.size"].clear is True
    assert found["model.cell"].clear is False


def test_trials_that_came_to_nothing_do_not_count():
    scored = [({}, 20.0), ({"model.size": 128}, None), ({"model.cell": "lstm"}, 19.0)]
    assert [each.setting for each in effects(SPACE, scored, BASE, one_by_one=True, higher=True)] == ["model.cell"]
    assert noise(scored) is None


def test_many_numbers_of_a_range_are_put_together_in_thirds():
    space = space_of({"training.optimizer.rate": Range(0.0, 1.0)})
    scored = [({"training.optimizer.rate": i / 10}, float(i)) for i in range(9)] + [({}, 5.0)]
    (rate,) = effects(space, scored, {"training.optimizer.rate": None}, one_by_one=False, higher=True)
    assert [each.value for each in rate.levels] == [[0.6, 0.8], [0.3, 0.5], [0.0, 0.2]]
    assert [each.trials for each in rate.levels] == [3, 3, 3]
    assert rate.span == 6.0
