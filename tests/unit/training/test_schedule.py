"""Schedules against values computed by hand."""

from __future__ import annotations

import pytest

from dragoman.training.schedule import (
    Constant,
    Cosine,
    InverseSquareRoot,
    Linear,
    Plateau,
    Schedule,
    WarmupStableDecay,
    looks_ahead,
)

CASES = [
    (InverseSquareRoot(warmup=4), {1: 0.25, 2: 0.5, 4: 1.0, 16: 0.5, 64: 0.25}),
    (InverseSquareRoot(warmup=0), {1: 1.0, 4: 0.5, 100: 0.1}),
    (Cosine(warmup=20), {10: 0.5, 20: 1.0, 60: 0.5, 100: 0.0, 200: 0.0}),
    (Cosine(warmup=20, floor=0.2), {20: 1.0, 60: 0.6, 100: 0.2}),
    (Linear(warmup=20), {10: 0.5, 20: 1.0, 40: 0.75, 60: 0.5, 100: 0.0}),
    (Linear(warmup=0, floor=0.5), {1: 0.995, 50: 0.75, 100: 0.5, 130: 0.5}),
    (WarmupStableDecay(warmup=10, decay=0.2), {5: 0.5, 10: 1.0, 80: 1.0, 90: 0.5, 100: 0.0}),
    (WarmupStableDecay(warmup=10, decay=0.2, floor=0.1), {80: 1.0, 90: 0.55, 100: 0.1}),
    (WarmupStableDecay(warmup=10, decay=0.0), {10: 1.0, 100: 1.0}),
    (WarmupStableDecay(warmup=50, decay=1.0), {25: 0.5, 50: 1.0, 75: 0.5, 100: 0.0}),
    (Plateau(warmup=10, factor=0.5), {5: 0.5, 10: 1.0, 99: 1.0}),
    (Constant(), {1: 1.0, 100: 1.0}),
    (Constant(warmup=10), {1: 0.1, 10: 1.0, 100: 1.0}),
]


@pytest.mark.parametrize(("settings", "expected"), CASES, ids=lambda value: type(value).__name__)
def test_values_by_hand(settings, expected):
    schedule = Schedule(settings, 100)
    assert {step: schedule(step) for step in expected} == pytest.approx(expected)


@pytest.mark.parametrize("settings", [settings for settings, _ in CASES], ids=lambda s: type(s).__name__)
def test_looking_ahead_is_what_the_length_of_the_run_changes(settings):
    short, long = Schedule(settings, 100), Schedule(settings, 1000)
    differs = any(short(step) != long(step) for step in range(1, 101))
    assert differs <= looks_ahead(settings)


def test_a_plateau_cuts_after_each_patience_and_only_then():
    schedule = Schedule(Plateau(warmup=0, patience=3, factor=0.5), 100)
    assert [schedule.cuts_after(stalls) for stalls in range(8)] == [0, 0, 0, 1, 0, 0, 1, 0]
    assert [schedule(50, cuts=cuts) for cuts in range(4)] == [1.0, 0.5, 0.25, 0.125]
    assert not any(Schedule(Constant(), 100).cuts_after(stalls) for stalls in range(20))
