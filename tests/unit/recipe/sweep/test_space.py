"""What can be varied: values and ranges, as they are written and as they are tried."""

from __future__ import annotations

import pytest

from dragoman.errors import SettingError
from dragoman.recipe.sweep.space import Range, parse, space_of


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("model.size=64,128", [64, 128]),
        ("model.cell=lstm,gru", ["lstm", "gru"]),
        ("model.cell = lstm", ["lstm"]),
        ("model.attention='nothing',{ score = 'dot' }", ["nothing", {"score": "dot"}]),
        ("training.optimizer.rate=1e-4, 0.01", [1e-4, 0.01]),
        ("model.copying=true,false", [True, False]),
        ("training.optimizer.rate=1e-4..1e-2", Range(1e-4, 1e-2)),
        ("model.size=64..512", Range(64, 512)),
    ],
)
def test_what_is_written_on_the_command_line(text, values):
    name, read = parse(text)
    assert name == text.partition("=")[0].strip()
    assert read == values


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("model.size", "not of the form key=values"),
        ("model.size=", "not of the form key=values"),
        ("=3", "not of the form key=values"),
        ("model.size=a..b", "not a range of numbers"),
        ("model.size=..3", "not a range of numbers"),
    ],
)
def test_what_cannot_be_read(text, problem):
    with pytest.raises(SettingError, match=problem):
        parse(text)


@pytest.mark.parametrize(
    ("values", "tried"),
    [
        (Range(1, 4), (1, 2, 4)),
        (Range(64, 128), (64, 96, 128)),
        (Range(10, 1000), (10, 100, 1000)),  # by magnitude
        (Range(0.0, 1.0), (0.0, 0.5, 1.0)),
        (Range(1e-4, 1e-2), (1e-4, 1e-3, 1e-2)),
        (Range(1, 2), (1, 2)),
    ],
)
def test_values_spread_over_a_range(values, tried):
    assert values.spread(3) == pytest.approx(tried)
    assert all(isinstance(each, int) for each in values.spread(3)) == values.whole


def test_numbers_stay_in_their_range():
    assert Range(0.00012344, 0.00012346).at(0.5) <= 0.00012346
    assert Range(1.0, 1.00001).rounded(1.000004) >= 1.0


def test_a_name_of_several_keys():
    (varied,) = space_of({"model.layers+model.encoder_layers": [1, 2, 1]})
    assert varied.keys == ("model.layers", "model.encoder_layers")
    assert varied.name == "model.layers+model.encoder_layers"
    assert varied.values == (1, 2)


@pytest.mark.parametrize(
    ("vary", "problem"),
    [
        ({"model.sizes": [1]}, "Did you mean 'model.size'?"),
        ({"size": [1]}, "Write model.size"),
        ({"model.size": []}, "no values to try"),
        ({"model.size": "64"}, "no values to try"),
        ({"model.size": Range(4, 4)}, "has nothing in it"),
        ({"training.optimizer.rate": Range(0.0, float("inf"))}, "has nothing in it"),
        ({"model.size": [1], "model.size+model.layers": [2]}, "varied twice"),
        ({"data.train": [1]}, "could not be compared"),
        ({"training.seed": [1, 2]}, "--repeats"),
    ],
)
def test_what_cannot_be_varied(vary, problem):
    with pytest.raises(SettingError) as refused:
        space_of(vary)
    assert problem in str(refused.value)
