"""The identity of a run: changes are refused by name."""

from __future__ import annotations

import pytest

from dragoman.errors import SettingError
from dragoman.training.build import TrainingSettings
from dragoman.training.identity import identity, refuse_changes
from dragoman.training.schedule import Constant, Cosine

BEFORE = identity({"training": TrainingSettings(schedule=Constant()).lasting(), "text": {"symbols": ["<a>"]}})


def test_the_same_settings_pass_in_any_order():
    now = identity({"text": {"symbols": ["<a>"]}, "training": TrainingSettings(schedule=Constant()).lasting()})
    refuse_changes(BEFORE, now, place="here")


def test_what_differs_is_named():
    changed = TrainingSettings(schedule=Cosine(warmup=7), seed=2)
    with pytest.raises(SettingError) as caught:
        refuse_changes(BEFORE, identity({"training": changed.lasting(), "text": {"symbols": []}}), place="here")
    message = str(caught.value)
    assert message.startswith("here: ")
    assert 'training.schedule.kind was "constant" and is "cosine"' in message
    assert "training.seed was 1 and is 2" in message
    assert "--fresh" in message
    assert "batch_tokens" not in message


def test_a_flood_of_differences_is_counted():
    with pytest.raises(SettingError, match=r"a0 was 0 and is not there;.*\(and 4 more\)"):
        refuse_changes(identity({f"a{i}": i for i in range(9)}), identity({}), place="")


@pytest.mark.parametrize(
    ("field", "value"), [("patience", 3), ("keep", 5), ("threads", 3), ("workers", 1), ("checkpoint_every", 7)]
)
def test_what_may_change_while_a_run_goes_on(field, value):
    assert TrainingSettings(**{field: value}).lasting() == TrainingSettings().lasting()


@pytest.mark.parametrize(
    ("field", "value"), [("seed", 3), ("accumulate", 2), ("batch_tokens", 7), ("validate_every", 9)]
)
def test_what_may_not(field, value):
    assert TrainingSettings(**{field: value}).lasting() != TrainingSettings().lasting()


def test_a_run_may_be_prolonged_where_its_rate_does_not_look_ahead():
    short, long = (TrainingSettings(schedule=Constant(), steps=steps) for steps in (10, 20))
    assert short.lasting() == long.lasting()
    short, long = (TrainingSettings(schedule=Cosine(warmup=1), steps=steps) for steps in (10, 20))
    assert short.lasting() != long.lasting()


def test_a_warm_up_longer_than_the_run_is_refused():
    with pytest.raises(SettingError, match="warm-up of 2000 is longer than the run of 100 steps"):
        TrainingSettings(steps=100)
