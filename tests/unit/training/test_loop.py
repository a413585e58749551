"""The loop: what happens when, and what happens when things go wrong."""

from __future__ import annotations

import itertools
import math
import signal
from dataclasses import dataclass, field, replace

import msgspec
import pytest
import torch

from dragoman.errors import FileError, Interrupted, ModelError, SettingError
from dragoman.models.attention import AttentionSettings
from dragoman.models.dropout import DropoutSettings
from dragoman.models.feedforward import FeedForwardSettings
from dragoman.models.transformer import TransformerSettings
from dragoman.training import checkpoint
from dragoman.training.average import Best, NoAverage
from dragoman.training.events import (
    Braked,
    Finished,
    NotCompiled,
    Progress,
    Saved,
    Skipped,
    Split,
    Started,
    Validated,
    read_events,
)
from dragoman.training.loop import Validation, train
from dragoman.training.objectives.cross_entropy import TeacherForcing
from dragoman.training.objectives.objective import Sums
from dragoman.training.schedule import Plateau

UNDROPPED = TransformerSettings(
    size=16,
    encoder_layers=1,
    decoder_layers=1,
    attention=AttentionSettings(heads=2),
    feedforward=FeedForwardSettings(size=32),
    dropout=DropoutSettings(hidden=0.0),
    bias=False,  # what keys add to all scores alike has no gradient but noise, which Adam makes large
)


def of(kind, events):
    return [event for event in events if isinstance(event, kind)]


def same(one, other):
    one, other = one.state_dict(), other.state_dict()
    return all(torch.equal(value, other[name]) for name, value in one.items())


@dataclass
class Told:
    """A validation that finds what it was told to find; and what was kept."""

    values: list[float]
    higher_is_better: bool = True
    losses: list[float] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    modes: list[bool] = field(default_factory=list)

    def __call__(self, model):
        torch.rand(3)  # chance used here must not change the training
        self.modes.append(model.training)
        loss = self.losses.pop(0) if self.losses else 1.0
        value = self.values.pop(0)
        return Validation("told", value, "", self.higher_is_better, loss=loss, samples=(), others={"loss": loss})

    def keep(self, model, event):
        self.kept.append(event.step)


class Faulty:
    """Teacher forcing, but at some calls, counted from 1, something happens first."""

    def __init__(self, happen, calls):
        self.happen, self.calls, self.count = happen, calls, 0

    def __call__(self, model, batch, *, scale, step=0):
        self.count += 1
        sums = TeacherForcing(0.1)(model, batch, scale=scale)
        return self.happen(model, sums) if self.count in self.calls else sums


def no_memory(_model, _sums):
    raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes")


def not_finite(model, sums):
    next(model.parameters()).grad.fill_(math.nan)
    return Sums(math.nan, math.nan, sums.tokens)


def asked_after(updates, number=signal.SIGTERM):
    """A function that asks to stop after so many updates."""
    calls = itertools.count(1)
    return lambda: number if next(calls) == updates else None


# ---- what happens when ---------------------------------------------------------------------------------------------


def test_events_come_when_they_are_due(events_of, tmp_path):
    events, _ = events_of(steps=10, log_every=3, validate_every=4, checkpoint_every=5, validate=Told([1, 2, 3]))
    assert [(type(event).__name__, event.step) for event in events] == [
        ("Started", 0), ("Saved", 0), ("Progress", 3), ("Validated", 4), ("Saved", 5), ("Progress", 6),
        ("Validated", 8), ("Progress", 9), ("Progress", 10), ("Validated", 10), ("Saved", 10), ("Finished", 10),
    ]  # fmt: skip
    assert list(read_events(tmp_path / "run" / "events.jsonl")) == [e for e in events if not isinstance(e, Saved)]
    assert sorted(p.name for p in (tmp_path / "run" / "checkpoints").iterdir()) == ["step-10", "step-5"]


def test_a_run_is_a_plain_loop(events_of, make_run):
    settings = {"model": UNDROPPED, "average": NoAverage(), "clip": 0.5}
    events, model = events_of(steps=6, log_every=3, **settings)
    parts, _ = make_run(**settings)
    optimizer = torch.optim.AdamW(parts.model.parameters(), lr=1e-2, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0)
    expected = []
    nll = tokens = 0.0
    for step, batch in enumerate(itertools.islice(parts.loader.batches(), 6), 1):
        optimizer.zero_grad()
        sums = TeacherForcing(0.1)(parts.model, batch, scale=1 / batch.target_tokens)
        torch.nn.utils.clip_grad_norm_(parts.model.parameters(), 0.5)
        optimizer.step()
        nll, tokens = nll + sums.nll, tokens + sums.tokens
        if step % 3 == 0:
            expected.append(nll / tokens)
            nll = tokens = 0.0
    assert [event.loss for event in of(Progress, events)] == pytest.approx(expected, rel=1e-6)
    for one, other in zip(model.parameters(), parts.model.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_an_accumulation_counts_every_token_once(events_of, make_run):
    events, _ = events_of(steps=2, accumulate=3, log_every=1)
    batches = make_run()[0].loader.batches()
    tokens = [next(batches).target_tokens for _ in range(6)]
    assert [event.tokens for event in of(Progress, events)] == [sum(tokens[:3]), sum(tokens)]


def test_readers_cannot_change_the_run_by_drawing_at_random(events_of, make_run, tmp_path):
    _, quiet = events_of("quiet")
    parts, limits = make_run()
    (tmp_path / "noisy").mkdir()
    for _ in train(parts, limits, tmp_path / "noisy"):
        torch.rand(7)
    assert same(quiet, parts.model)


# ---- validation ----------------------------------------------------------------------------------------------------


def test_the_best_is_kept_and_stalls_are_counted(events_of):
    told = Told([1.0, 3.0, 2.0, 3.0, 4.0])
    events, _ = events_of(steps=20, validate=told)
    assert told.kept == [4, 8, 20]
    assert [event.stalls for event in of(Validated, events)] == [0, 0, 1, 2, 0]
    assert of(Finished, events)[0].best == 4.0
    assert of(Finished, events)[0].best_step == 20
    assert told.modes == [False] * 5


def test_a_lower_value_may_be_the_better_one(events_of):
    told = Told([3.0, 4.0, 2.0], higher_is_better=False)
    events_of(steps=12, validate=told)
    assert told.kept == [4, 12]


def test_between_equal_values_the_loss_decides(events_of):
    told = Told([0.0, 0.0, 0.0], losses=[3.0, 2.0, 2.5])
    events_of(steps=12, validate=told)
    assert told.kept == [4, 8]


def test_a_value_that_is_no_number_is_never_the_best(events_of):
    told = Told([math.nan, 1.0, math.nan])
    events_of(steps=12, validate=told)
    assert told.kept == [8]


def test_of_the_best_snapshots_each_is_tried_alone_and_then_their_mean(events_of):
    told = Told([1.0, 1.0, 5.0, 4.0, 2.0, 4.5])  # alone, mean, alone, mean, ...
    events, _ = events_of(steps=12, validate=told, average=Best(count=2))
    assert [event.value for event in of(Validated, events)] == [1.0, 4.0, 4.5]
    assert told.kept == [4, 8, 12]


def test_the_best_snapshots_are_not_known_without_validation_data(events_of):
    with pytest.raises(SettingError, match="not known without validation data"):
        events_of(average=Best())


def test_validation_does_not_change_the_training(events_of):
    _, with_it = events_of("with", validate=Told([1.0, 2.0, 3.0]))
    _, without = events_of("without")
    assert same(with_it, without)


def test_early_stopping(events_of):
    events, _ = events_of(steps=40, patience=2, validate=Told([1.0, 2.0, 1.5, 1.5, 9.0]))
    finished = of(Finished, events)[0]
    assert (finished.step, finished.best, finished.reason) == (16, 2.0, "no better for 2 validations")
    assert of(Saved, events)[-1].step == 16


def test_a_plateau_lowers_the_rate(events_of):
    plateau = Plateau(warmup=0, patience=2, factor=0.5)
    told = Told([5.0, 4.0, 3.0, 2.0, 1.0])
    events, _ = events_of(steps=20, schedule=plateau, validate=told, patience=None)
    assert [event.rate for event in of(Progress, events)] == [1.0, 1.0, 1.0, 0.5, 0.5]


# ---- trouble -------------------------------------------------------------------------------------------------------


def test_a_step_that_does_not_fit_is_made_in_parts(events_of):
    events, parted = events_of("parted", steps=1, objective=Faulty(no_memory, {1, 2}), model=UNDROPPED)
    assert [(event.step, event.parts) for event in of(Split, events)] == [(1, 2), (1, 4)]
    _, whole = events_of("whole", steps=1, model=UNDROPPED)
    for one, other in zip(parted.parameters(), whole.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5)


def test_a_single_example_that_does_not_fit_is_said(events_of):
    with pytest.raises(ModelError, match="update 1: not even a single example fits into memory"):
        events_of(objective=Faulty(no_memory, range(1, 100)))


def test_another_error_is_not_taken_for_want_of_memory(events_of):
    def broken(_model, _sums):
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes do not match"):
        events_of(objective=Faulty(broken, {1}))


@pytest.mark.parametrize("fails_at", [1, 3])
def test_where_compiling_fails_the_model_runs_as_it_is_and_a_line_says_why(events_of, monkeypatch, fails_at):
    def compiled(hidden, **_how):
        calls = itertools.count(1)

        def run(*inputs):
            torch.rand(3)  # chance that is used up before it fails must not change the run
            if next(calls) == fails_at:
                raise RuntimeError("backend='inductor' raised:\nInvalidCxxCompiler: Error: no compiler was found")
            return hidden(*inputs)

        return run

    _, plain = events_of("plain", steps=2)
    monkeypatch.setattr(torch, "compile", compiled)
    events, fallen_back = events_of("compiled", steps=2 if fails_at == 1 else 4, compile=True)
    (told,) = of(NotCompiled, events)
    assert told.reason == "RuntimeError: InvalidCxxCompiler: Error: no compiler was found"
    assert told.step == fails_at - 1
    assert fails_at > 1 or same(plain, fallen_back)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # torch warns of what it meets while it compiles
def test_a_compiled_model_computes_the_same(events_of):
    events, compiled = events_of("compiled", steps=6, compile=True, model=UNDROPPED)
    assert not of(NotCompiled, events)
    _, plain = events_of("plain", steps=6, model=UNDROPPED)
    for one, other in zip(compiled.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-4)


def test_an_update_that_is_not_finite_is_left_out_and_counted(events_of):
    events, model = events_of(objective=Faulty(not_finite, {3, 4, 7}))
    assert [event.step for event in of(Skipped, events)] == [3, 4, 7]
    assert "nan" in of(Skipped, events)[0].reason
    assert of(Skipped, events)[0].examples
    assert [event.skipped for event in of(Progress, events)] == [2, 3, 3]
    assert all(math.isfinite(event.loss) for event in of(Progress, events))
    assert of(Finished, events)[0].skipped == 3
    assert all(torch.isfinite(p).all() for p in model.parameters())


def test_no_checkpoint_is_made_while_updates_are_left_out(events_of):
    events, _ = events_of(objective=Faulty(not_finite, {4}))
    assert [event.step for event in of(Saved, events)] == [0, 8, 12]


def test_too_many_in_a_row_and_the_run_goes_back_at_half_the_rate(events_of):
    events, _ = events_of(objective=Faulty(not_finite, {6, 7, 8}), skips_before_brake=3, log_every=1)
    assert [(event.step, event.back_to, event.brake) for event in of(Braked, events)] == [(8, 4, 0.5)]
    rates = [(event.step, event.rate) for event in of(Progress, events)]
    assert rates == [(n, 1.0) for n in range(1, 8)] + [(n, 0.5) for n in range(5, 13)]
    assert of(Finished, events)[0].skipped == 3


def test_a_checkpoint_from_within_the_trouble_is_not_gone_back_to(events_of, tmp_path):
    faulty = Faulty(not_finite, {6, 7, 8})
    with pytest.raises(Interrupted):
        events_of(objective=faulty, skips_before_brake=3, stop=asked_after(7))
    assert (tmp_path / "run" / "checkpoints" / "step-7").exists()
    events, _ = events_of(objective=faulty, skips_before_brake=3)
    assert [(event.step, event.back_to) for event in of(Braked, events)] == [(8, 4)]
    assert (tmp_path / "run" / "checkpoints" / "step-7.aside").exists()
    assert of(Finished, events)[0].step == 12


def test_divergence_that_no_rate_cures_is_an_error(events_of):
    with pytest.raises(ModelError, match="training diverges: 2 updates in a row were not finite"):
        events_of(objective=Faulty(not_finite, range(6, 1000)), skips_before_brake=2)


# ---- stopping and going on -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_request_to_stop_saves_and_ends_with_its_code(events_of, tmp_path, number, code):
    with pytest.raises(Interrupted, match="stopped after update 3") as caught:
        events_of(stop=asked_after(3, number))
    assert caught.value.exit_code == code
    assert checkpoint.newest(tmp_path / "run" / "checkpoints").checkpoint.state.step == 3


@pytest.mark.parametrize("stops", [[1], [3, 5], [4], [8, 9, 10, 11], [12]])
def test_a_stopped_run_comes_to_the_same_end(events_of, tmp_path, stops):
    values = [1.0, 3.0, 2.0]
    _, whole = events_of("whole", accumulate=2, validate=Told(list(values)))
    for before, stop in itertools.pairwise([0, *stops]):
        told = Told(values[before // 4 :])
        with pytest.raises(Interrupted):
            events_of(accumulate=2, validate=told, stop=asked_after(stop - before))
    _, resumed = events_of(accumulate=2, validate=Told(values[stops[-1] // 4 :]))
    assert same(whole, resumed)
    one, other = (comparable(tmp_path / name / "events.jsonl") for name in ("whole", "run"))
    assert one == other


def comparable(log):
    """The events that must be the same however often a run was stopped, without the time they took."""
    timeless = {"seconds": 0.0, "tokens_per_second": 0.0}
    return [
        {**{f: getattr(e, f) for f in e.__struct_fields__}, **timeless}
        for e in read_events(log)
        if not isinstance(e, Started)
    ]


def test_a_finished_run_has_nothing_left_to_do(events_of, tmp_path):
    events_of()
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "run" / "checkpoints").rglob("*")}
    events, _ = events_of()
    assert [type(event) for event in events] == [Started, Finished]
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "run" / "checkpoints").rglob("*")} == before


def test_a_damaged_checkpoint_is_passed_over_and_made_again(events_of, tmp_path):
    _, whole = events_of("whole")
    events_of()
    weights = tmp_path / "run" / "checkpoints" / "step-12" / "tensors.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"!")
    events, again = events_of()
    assert events[0].step == 8
    assert "step-12" in events[0].problems[0]
    assert same(whole, again)
    names = sorted(p.name for p in (tmp_path / "run" / "checkpoints").iterdir())
    assert names == ["step-12", "step-12.aside", "step-8"]


def test_no_usable_checkpoint_at_all_is_an_error(events_of, tmp_path):
    events_of()
    for weights in (tmp_path / "run" / "checkpoints").rglob("tensors.safetensors"):
        weights.write_bytes(b"")
    with pytest.raises(FileError, match=r"no checkpoint can be used.*--fresh"):
        events_of()


def test_other_settings_or_data_are_refused(events_of, make_run, tmp_path):
    events_of()
    parts, limits = make_run()
    other = replace(parts, recipe='{"made":"by another"}')
    with pytest.raises(SettingError, match='made was "by a test" and is "by another"'):
        list(train(other, limits, tmp_path / "run"))
    facts = parts.loader.store.facts
    store = replace(parts.loader.store, facts=msgspec.structs.replace(facts, fingerprint="another"))
    other = replace(parts, loader=replace(parts.loader, store=store))
    with pytest.raises(FileError, match="the data are not those that this run began with"):
        list(train(other, limits, tmp_path / "run"))
