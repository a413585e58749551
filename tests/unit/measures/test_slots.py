"""Slots of dialogue acts: lost, made up, and counted."""

from __future__ import annotations

import pytest

from dragoman.errors import DataError
from dragoman.measures.slots import SlotErrors, lexicon, slot_error_rate, slot_errors, values_of

KNOWN = frozenset({"thai", "nob hill", "hill", "red door cafe", "cheap"})


@pytest.mark.parametrize(
    ("act", "values"),
    [
        ("inform ( name = red door cafe ; near = nob hill or chinatown )", ("red door cafe", "nob hill", "chinatown")),
        ("inform(name='red door cafe';food=thai and chinese)", ("red door cafe", "thai", "chinese")),
        ("inform ( kidsallowed = yes ; food = dont_care ; price = )", ()),
        ("?request ( food )", ()),
        ("goodbye ( )", ()),
    ],
)
def test_values_are_what_has_to_be_said(act, values):
    assert values_of(act) == values


@pytest.mark.parametrize(
    ("text", "lost", "made_up"),
    [
        ("red door cafe is near nob hill", (), ()),
        ("red door  cafe serves thai", ("nob hill",), ("thai",)),
        ("nob hill nob hill", ("red door cafe",), ()),
        ("red door cafe on a hill", ("nob hill",), ("hill",)),
        ("red doors cafe , nob hillside", ("red door cafe", "nob hill"), ()),
    ],
)
def test_what_is_lost_and_what_is_made_up(text, lost, made_up):
    act = "inform ( name = red door cafe ; near = nob hill )"
    assert slot_errors(act, text, KNOWN) == SlotErrors(2, lost, made_up)


def test_the_rate_is_over_all_slots_and_tells_how_many_values_were_known():
    acts = ["inform ( name = red door cafe ; near = nob hill )", "inform ( food = thai )", "goodbye ( )"]
    found = slot_error_rate(acts, ["red door cafe is cheap", "thai", "bye"], KNOWN)
    assert found.value == pytest.approx(100 * 2 / 3)
    assert found.detail == "1 lost and 1 made up, of 3"
    assert found.signature.startswith("unit:slot|known:5|dragoman:")
    assert not found.higher_is_better
    assert found.count == 3


def test_a_value_that_people_say_unasked_tells_nothing():
    acts = ["inform ( type = restaurant ; food = thai )", "inform ( name = chow )", "inform ( name = red door )"]
    texts = ["a thai restaurant", "chow is a restaurant", "red door is a restaurant"]
    assert lexicon(acts, texts) == {"thai", "chow", "red door"}


def test_what_cannot_be_counted_is_refused():
    with pytest.raises(DataError, match=r"'red door cafe' is not a dialogue act.*Give acts such as"):
        values_of("red door cafe")
    with pytest.raises(DataError, match="1 acts and 0 texts"):
        slot_error_rate(["bye ( )"], [], KNOWN)
    with pytest.raises(DataError, match="no act has a slot"):
        slot_error_rate(["bye ( )"], ["bye"], KNOWN)
