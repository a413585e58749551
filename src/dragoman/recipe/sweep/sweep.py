"""A sweep in a folder: runs that differ in what is varied, one after the other, and what came of each.

    OUT/run.toml       the run file that all of them start from
    OUT/plan.json      what is varied, and how
    OUT/trials.jsonl   what came of each trial
    OUT/runs/001/      the folder of a trial's run, without its checkpoints once it has ended
    OUT/prepared/      tokenizers and data, made once for all runs that can share them
    OUT/best/          the best model, and OUT/best.toml, the run file that trains one like it

Stopped at any point, it goes on with the run that it was at. Trials that differ only in how outputs are searched share
a run; where such settings are varied, all models are compared by what they say when they search as they are set.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from dragoman import bundle as bundles
from dragoman.bundle import BEST
from dragoman.data import corpus as corpora
from dragoman.data.corpus import Features, Mono
from dragoman.errors import ModelError, SettingError, TextError
from dragoman.files import disk_errors, locked, whole, write_atomically
from dragoman.measures.metrics import higher_is_better, measure
from dragoman.recipe.folder import LOCK, RUN_FILE
from dragoman.recipe.planned import assigned, changed
from dragoman.recipe.prepared import prepare_data
from dragoman.recipe.report import read_history
from dragoman.recipe.run import start_over
from dragoman.recipe.sharing import share_prepared
from dragoman.recipe.sweep.effects import effects, noise
from dragoman.recipe.sweep.proposals import Method, listed, proposed
from dragoman.recipe.sweep.space import space_of
from dragoman.recipe.sweep.trials import PLAN, TRIALS, Found, Plan, Trial, ranked, read_trials
from dragoman.recipe.toml import settings_to_toml
from dragoman.recipe.train import Run, folder_of, run_file_of
from dragoman.settings import Meta, Settings
from dragoman.training import checkpoint
from dragoman.training.identity import identity, refuse_changes
from dragoman.training.loop import CHECKPOINTS, EVENTS
from dragoman.translator import Request, load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from dragoman.data.corpus import DataSettings
    from dragoman.recipe.corpora import Corpora
    from dragoman.recipe.schema import Recipe, RunFile
    from dragoman.recipe.sweep.proposals import Proposal
    from dragoman.recipe.sweep.space import Point, Range, Varied
    from dragoman.training.events import Event

__all__ = ["Attempt", "Sweep", "SweepSettings", "sweep"]

RUNS, PREPARED, BEST_RUN_FILE = "runs", "prepared", "best.toml"
PURPOSE = "sweeping in this folder"
_SEARCH = "decoding"
_UNLISTED = 20
"""Trials of a method that has no end of its own, where no budget is named."""
_NO_SETTINGS: dict[str, Any] = {}

Count = Annotated[int, Meta(ge=1)]


class SweepSettings(Settings, frozen=True, kw_only=True):
    """How a sweep goes about it."""

    method: Method = "each"
    """One setting after the other, all combinations, some at random, or some near those that were good (optuna)."""
    trials: Count | None = None
    """Most runs in all; nothing: as many as the method lists, or 20 where it draws."""
    hours: Annotated[float, Meta(gt=0)] | None = None
    """Hours of training after which no further run begins."""
    repeats: Count = 1
    """Seeds that each choice is tried with. Only repeated runs tell a difference from chance."""
    points: Annotated[int, Meta(ge=2)] = 3
    """How many values of a range the methods each and grid try."""
    seed: Annotated[int, Meta(ge=0)] = 1
    """Start of all chance in what is tried."""


class Attempt:
    """A trial in progress: a run to be followed, or nothing to do but to look at an earlier one's model."""

    def __init__(self, number: int, proposal: Proposal, *, prepare: Callable[[Recipe, Path], None]) -> None:
        self.number, (self.point, self.repeat) = number, proposal
        self.problem = ""
        self.run: Run | None = None
        self.over = False
        self._prepare = prepare

    @property
    def described(self) -> str:
        """What differs from the run file, in words."""
        changes = ", ".join(f"{name} = {_shown(value)}" for name, value in self.point.items())
        return (changes or "as in the run file") + (f" (seed + {self.repeat})" if self.repeat else "")

    def events(self, stop: Callable[[], int | None] = lambda: None) -> Iterator[Event]:
        """What happens in its run; what the trial's own settings are to blame for ends it, and is its `problem`."""
        try:
            if self.run is not None:
                self._prepare(self.run.recipe, self.run.folder)
                yield from self.run.events(stop)
        except (ModelError, SettingError, TextError) as error:
            if isinstance(error, TextError) and not self._cuts_otherwise:
                raise  # the corpus is to blame, in every trial
            self.problem = str(error)
        self.over = True

    @property
    def _cuts_otherwise(self) -> bool:
        return any(key.split(".")[0] == "text" for name in self.point for key in name.split("+"))


class Sweep:
    """A sweep in a folder: attempt after attempt, or all of it with `finish`; made again, it goes on."""

    def __init__(
        self, base: RunFile, folder: Path, space: Sequence[Varied], settings: SweepSettings, *, fresh: bool = False
    ) -> None:
        self.folder, self.settings, self._base = folder, settings, base
        self._space = tuple(space)
        self._searches = any(key.split(".")[0] == _SEARCH for each in space for key in each.keys)
        self._fresh = fresh
        self._check()
        self._trials = [] if fresh else list(read_trials(folder))
        self._listed = self._all_listed()

    @property
    def model(self) -> Path:
        """The folder of the best model."""
        return self.folder / BEST

    @property
    def planned(self) -> int:
        """How many trials there will be at most, a budget of hours aside."""
        if self._listed is None:
            return self.settings.trials or _UNLISTED
        return min(len(self._listed), self.settings.trials or len(self._listed))

    @property
    def choices(self) -> list[Point] | None:
        """What will be tried, in that order; nothing where it depends on chance or on outcomes."""
        return None if self._listed is None else [point for point, _ in self._listed[: self.planned]]

    def attempts(self) -> Iterator[Attempt]:
        """The trials that are left, each of which has to be followed to its end before the next is asked for."""
        with locked(self.folder / LOCK, purpose=PURPOSE):
            if self._fresh:
                self._fresh = False  # asked again, it goes on
                _remove(self.folder)
            self._keep_plan()
            for trial in self._trials:
                checkpoint.remove_all(self.folder / RUNS / trial.run / CHECKPOINTS)
            while (proposal := self._next()) is not None:
                attempt = Attempt(len(self._trials) + 1, proposal, prepare=self._prepare)
                began = time.monotonic()
                shared, recipe = self._settle(attempt)
                yield attempt
                assert attempt.over, "an attempt is followed to its end"
                self._record(attempt, recipe, shared, began=began)
            self._keep_best()

    def finish(self) -> Found:
        """What was found, after all of it was done."""
        for attempt in self.attempts():
            for _ in attempt.events():
                pass
        return self.found()

    def found(self) -> Found:
        """What the trials so far have come to."""
        recipe, scored = self._base.recipe, [(each.settings, each.value) for each in self._trials]
        mattered = effects(
            self._space,
            scored,
            {each.name: _looked_up(recipe, each.keys[0]) for each in self._space},
            one_by_one=self.settings.method == "each",
            higher=self._higher,
        )
        best = next(iter(ranked(self._trials, higher=self._higher)), None)
        facts = None if best is None else bundles.describe(self.folder / RUNS / best.run / BEST).training
        return Found(
            metric=recipe.evaluation.metric,
            signature="" if facts is None else facts.signature,
            higher_is_better=self._higher,
            trials=tuple(self._trials),
            mattered=tuple(mattered),
            noise=noise(scored),
            best=best,
        )

    # ---- before it begins --------------------------------------------------------------------------------------------

    @property
    def _higher(self) -> bool:
        metric = self._base.recipe.evaluation.metric
        return metric != "loss" and higher_is_better(metric)

    def _check(self) -> None:
        """Raise SettingError for what cannot be, before anything is trained."""
        recipe = self._base.recipe
        if not self._space:
            raise SettingError("nothing is varied", place="--vary", remedy="Write --vary KEY=VALUE,VALUE.")
        if recipe.data.valid is None:
            raise SettingError(
                "runs cannot be compared without validation data", place="data.valid", remedy="Name some."
            )
        if self._searches and (recipe.evaluation.metric == "loss" or isinstance(recipe.data.valid, Mono | Features)):
            raise SettingError(
                "how outputs are searched for makes no difference to the loss",
                place="evaluation.metric",
                remedy="Choose a metric of outputs, or vary other settings.",
            )
        for each in self._space:
            self._check_values(each)

    def _check_values(self, varied: Varied) -> None:
        """Raise SettingError for a value that cannot be; combined with others, it must be so for all values."""
        problems: list[SettingError] = []
        values = varied.tried(2)
        for value in values:
            try:
                self._recipe({varied.name: value}, 0)
            except SettingError as error:
                problems.append(error)
        if problems and (self.settings.method == "each" or len(problems) == len(values)):
            raise problems[0]

    def _all_listed(self) -> list[Proposal] | None:
        """Every trial that the method lists, without those that come to the same as an earlier one."""
        how = self.settings
        every = listed(how.method, self._space, points=how.points, repeats=how.repeats)
        if every is None:
            return None
        kept: dict[bytes, Proposal] = {}
        for point, repeat in every:
            try:
                key = msgspec.json.encode(self._recipe(point, repeat))
            except SettingError:
                key = msgspec.json.encode((point, repeat))  # it is tried, so that it is told of
            kept.setdefault(key, (point, repeat))
        return list(kept.values())

    def _keep_plan(self) -> None:
        how = self.settings
        plan = Plan(space=self._space, method=how.method, repeats=how.repeats, points=how.points, seed=how.seed)
        path, kept = self.folder / PLAN, self.folder / RUN_FILE
        now = identity({"plan": plan, "run file": msgspec.to_builtins(self._base.recipe)})
        if self._trials or (self.folder / RUNS).exists():
            with disk_errors(path, "read"):
                refuse_changes(path.read_text(encoding="utf-8"), now, place=str(self.folder))
        write_atomically(path, now.encode())
        write_atomically(kept, self._base.text.encode())

    # ---- trial after trial -------------------------------------------------------------------------------------------

    def _next(self) -> Proposal | None:
        how, done = self.settings, len(self._trials)
        if done >= self.planned:
            return None
        if how.hours is not None and sum(each.seconds for each in self._trials) >= 3600 * how.hours:
            return None
        if self._listed is not None:
            return self._listed[done]
        scored = [(each.settings, each.value) for each in self._trials]
        return proposed(how.method, self._space, scored, seed=how.seed, repeats=how.repeats, higher=self._higher)

    def _recipe(self, point: Point, repeat: int) -> Recipe:
        """The run file with the values of a point; where one table holds another, it is the outer one that counts."""
        keys = {
            key: value
            for each in self._space
            if each.name in point
            for key in each.keys
            for value in [point[each.name]]
        }
        ordered = dict(sorted(keys.items(), key=lambda item: -item[0].count(".")))
        seed = self._base.recipe.training.seed + repeat
        return changed(self._base.recipe, assigned({**ordered, "training.seed": seed}))

    def _settle(self, attempt: Attempt) -> tuple[Trial | None, Recipe | None]:
        """Give the attempt its run; or the earlier trial whose run it shares."""
        try:
            recipe = self._recipe(attempt.point, attempt.repeat)
        except SettingError as error:
            attempt.problem = str(error)
            return None, None
        same = _taught(attempt.point), attempt.repeat + self._base.recipe.training.seed
        shared = next((t for t in self._trials if (_taught(t.settings), t.seed) == same and not t.problem), None)
        if shared is None:
            reasons = {key: "varied by this sweep" for name in attempt.point for key in name.split("+")}
            text = settings_to_toml(recipe, {**reasons, "training.seed": "of this trial"})
            attempt.run = Run(recipe, self._place(attempt.number), text=text)
        return shared, recipe

    def _place(self, number: int) -> Path:
        return self.folder / RUNS / f"{number:03}"

    def _prepare(self, recipe: Recipe, run: Path) -> None:
        """Put data into the folder of a run: prepared once for all whose texts are cut in the same way."""
        cut = {"start": recipe.start, "text": recipe.text, "store": recipe.store, "data": recipe.data}
        hashed = hashlib.sha256(identity(cut).encode()).hexdigest()[:12]
        prepare_data(recipe, self.folder / PREPARED / hashed)
        share_prepared(self.folder / PREPARED / hashed, run)

    def _record(self, attempt: Attempt, recipe: Recipe | None, shared: Trial | None, *, began: float) -> None:
        trial = self._outcome(attempt, recipe, shared)
        if attempt.run is None:
            trial = msgspec.structs.replace(trial, seconds=time.monotonic() - began)
        self._trials.append(trial)
        lines = b"".join(msgspec.json.encode(each) + b"\n" for each in self._trials)
        write_atomically(self.folder / TRIALS, lines)
        checkpoint.remove_all(self.folder / RUNS / trial.run / CHECKPOINTS)

    def _outcome(self, attempt: Attempt, recipe: Recipe | None, shared: Trial | None) -> Trial:
        run = self._place(attempt.number) if shared is None else self.folder / RUNS / shared.run
        trial = Trial(
            number=attempt.number,
            settings=attempt.point,
            seed=self._base.recipe.training.seed + attempt.repeat,
            run=run.name,
            value=None,
            loss=None,
            parameters=0,
            steps=0,
            best_step=0,
            seconds=0.0,
            tokens_per_second=0.0,
            problem=attempt.problem,
        )
        if attempt.problem or recipe is None:
            return trial
        history = read_history(run / EVENTS)
        best, spent = history.best, sum(each.seconds for each in history.progress)
        assert history.started is not None
        assert history.finished is not None
        trial = msgspec.structs.replace(
            trial,
            parameters=history.started.parameters,
            steps=history.finished.step,
            seconds=history.finished.seconds,
            tokens_per_second=history.finished.tokens / max(spent, 1e-9),
        )
        if best is None or not math.isfinite(best.value):
            return msgspec.structs.replace(trial, problem=f"{recipe.evaluation.metric} was never a number")
        value, seconds = best.value, 0.0
        if self._searches:
            before = time.monotonic()
            value = _searched(recipe, run / BEST)
            seconds = time.monotonic() - before
        return msgspec.structs.replace(
            trial, value=value, loss=best.others["loss"], best_step=best.step, seconds=trial.seconds + seconds
        )

    def _keep_best(self) -> None:
        """Copy the best model out of its run, with the run file that trains one like it."""
        best = self.found().best
        if best is None:
            return
        recipe = self._recipe(best.settings, best.seed - self._base.recipe.training.seed)
        bundle = bundles.load(whole(self.folder / RUNS / best.run / BEST))
        if self._searches:
            described = msgspec.structs.replace(bundle.description, decoding=recipe.decoding)
            bundle = bundles.Bundle(described, bundle.model, bundle.tokenizers)
        bundles.save(bundle, self.model)
        title = f"The best of {len(self._trials)} trials of a sweep."
        write_atomically(self.folder / BEST_RUN_FILE, settings_to_toml(recipe, title=title).encode())


def sweep(
    what: str | Path | Recipe | Corpora | DataSettings,
    *,
    vary: Mapping[str, Sequence[Any] | Range],
    out: str | Path = "",
    how: SweepSettings | None = None,
    settings: Mapping[str, Any] = _NO_SETTINGS,
    fresh: bool = False,
) -> Sweep:
    """The sweep around a run file, a recipe, or one that is chosen for corpora. Nothing is trained before it is asked.

    `vary` names settings by their dotted keys, each with the values to try or a Range; keys joined by + have the same
    value. `settings` are those of all runs.
    """
    folder = folder_of(what, out) if out or not isinstance(what, str | Path) else Path(f"{Path(what).stem}-sweep")
    base = run_file_of(what, folder, assigned(settings), fresh=fresh)
    return Sweep(base, folder, space_of(vary), how or SweepSettings(), fresh=fresh)


def _taught(point: Point) -> Point:
    """What of a point training knows of."""
    return {name: value for name, value in point.items() if name.split(".")[0] != _SEARCH}


def _searched(recipe: Recipe, model: Path) -> float:
    """The metric of a model's outputs for the validation sources, searched as the recipe says."""
    data, asked = recipe.data, recipe.evaluation
    assert data.valid is not None
    assert asked.metric != "loss"
    held_out = corpora.build(data.valid, on_bad=data.on_bad, longest_line=data.longest_line)
    pairs = list(itertools.islice(held_out, asked.sentences))
    request = Request(target_language=data.valid.target_language, confidence=False)
    sources: list[Any] = [pair.source for pair in pairs]
    outputs = load(model).translate(sources, decoding=recipe.decoding, request=request)
    return measure(asked.metric, [each.text for each in outputs], [pair.target for pair in pairs]).value


def _looked_up(recipe: Recipe, key: str) -> Any:
    """The value of a dotted key in the recipe; nothing where it has no such setting."""
    value: Any = msgspec.to_builtins(msgspec.structs.replace(recipe, model=recipe.model and recipe.architecture))
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _remove(folder: Path) -> None:
    """Forget an earlier sweep; whatever else lies in the folder stays."""
    with disk_errors(folder, "remove"):
        for name in (RUNS, PREPARED):
            if (folder / name).exists():
                shutil.rmtree(folder / name)
        for name in (TRIALS, PLAN, BEST_RUN_FILE):
            (folder / name).unlink(missing_ok=True)
    start_over(folder)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
