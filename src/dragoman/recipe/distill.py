"""Distillation: a student learns to say what its teacher says, and then, if asked, to find probable what it does.

    OUT/taught/      what the teacher says: pairs to learn from            `teaching.py`
    OUT/sequences/   the run of a student that learns from these pairs
    OUT/words/       the run that goes on with the teacher's probabilities for each word, if asked for
    OUT/best/        the student that came of it

Each part goes on from where it was stopped, and is passed over once it is done.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman import bundle as bundles
from dragoman.bundle import BEST
from dragoman.data import corpus as corpora
from dragoman.data.corpus import DataSettings, Jsonl, Mono
from dragoman.data.preparation import identity
from dragoman.decoding.greedy import GreedySettings
from dragoman.errors import FileError, ModelError, SettingError
from dragoman.files import MANIFEST, disk_errors, locked, whole, write_atomically
from dragoman.measures.metrics import MetricName, measure
from dragoman.recipe.corpora import Corpora
from dragoman.recipe.folder import HELD_OUT, LOCK, SEQUENCES, TAUGHT, WORDS
from dragoman.recipe.held_out import hold_out
from dragoman.recipe.planned import assigned, planned, starting_from
from dragoman.recipe.run import start_over
from dragoman.recipe.schema import Recipe, read_run_file
from dragoman.recipe.teaching import (
    Teaching,
    TeachingSettings,
    describe_teachers,
    refuse_standard_input,
    source_of,
    together,
)
from dragoman.recipe.train import Run
from dragoman.settings import Settings, explain
from dragoman.translator import Request, load
from dragoman.translator.loading import bundle_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dragoman.bundle import Description
    from dragoman.recipe.schema import RunFile
    from dragoman.recipe.teaching import Taught

__all__ = ["DistillSettings", "Distillation", "Outcome", "distill"]

_OUTCOME = "outcome.json"
_PURPOSE = "distilling in this folder"
_COMPARED = 500
"""Validation pairs that teacher and student translate in the end."""
_OF_THE_STUDENT = ("model", "text")
"""Tables that are settled when the student is made."""
_CARRIED = ("seed", "batch_tokens", "accumulate", "clip", "device", "precision", "threads", "workers")
"""What the second run takes from a run file for the first; the rest follows the rules for going on from a model."""
_NO_SETTINGS: dict[str, Any] = {}


class DistillSettings(Settings, frozen=True, kw_only=True):
    """How a student is taught."""

    teaching: TeachingSettings = TeachingSettings()
    """What the teacher is asked for."""
    originals: bool = False
    """Whether the student also learns from the pairs themselves, beside the teacher's outputs."""
    words: bool = False
    """Whether it then learns from the teacher's probabilities for each word, for which it takes its vocabulary."""


class Side(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of the two that are compared."""

    parameters: int
    value: float
    seconds: float
    """That its translations of the validation sources took, greedily."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What came of a distillation: teacher and student on the validation pairs."""

    of: str
    """Changes whenever one of the models does."""
    metric: str
    signature: str
    sentences: int
    own: bool
    """Whether the references are the teacher's own outputs, as nothing else is known."""
    teacher: Side
    student: Side


@dataclass(frozen=True, slots=True)
class _Lessons:
    """The parts of the corpora that teachers are asked about, and the data that come of it."""

    asked: tuple[Teaching, ...]
    student: DataSettings
    own: bool
    """Whether the validation pairs are of the teacher's making too."""


class Distillation:
    """A distillation in a folder: part after part, or all of it with `finish`; made again, it goes on."""

    def __init__(
        self,
        teachers: Sequence[Path],
        data: DataSettings,
        folder: Path,
        *,
        settings: DistillSettings | None = None,
        student: Path | None = None,
        assignments: Sequence[str] = (),
        fresh: bool = False,
    ) -> None:
        self.folder, self.settings = folder, settings or DistillSettings()
        self.teachers = tuple(bundle_folder(each).absolute() for each in teachers)
        self._described = describe_teachers(self.teachers)
        self._check(data)
        self._student, self._assignments = student, tuple(assignments)
        self._lessons = self._planned(data)
        self._check_student()
        if fresh:
            self._start_over()

    @property
    def model(self) -> Path:
        """The folder of the student."""
        return self.folder / BEST

    @property
    def sources(self) -> int:
        """How many sources the teacher is asked about."""
        return sum(sum(1 for _ in each.corpus) for each in self._lessons.asked)

    @property
    def known(self) -> int:
        """About how many of them it has spoken already."""
        return sum(each.known() for each in self._lessons.asked)

    @property
    def taught(self) -> Taught | None:
        """What the teacher has said about the training sources, once it has."""
        found = [each.done() for each in self._lessons.asked]
        if self._lessons.own:
            found.pop()
        known = [each for each in found if each is not None]
        return together(known) if len(known) == len(found) else None

    def teaching(self) -> Iterator[int]:
        """The number of each source that the teacher speaks about, while it does."""
        with locked(self.folder / LOCK, purpose=_PURPOSE):
            for each in self._lessons.asked:
                yield from each.outputs()

    def runs(self) -> Iterator[Run]:
        """The runs of the student. Each has to be finished before the next is asked for."""
        if any(each.done() is None for each in self._lessons.asked):
            raise SettingError("the teacher has not spoken yet", place="runs", remedy="Go through teaching() first.")
        given = self._first()
        yield Run(given.recipe, self.folder / SEQUENCES, text=given.text)
        if self.settings.words:
            after = self._second(given)
            yield Run(after.recipe, self.folder / WORDS, text=after.text)

    def outcome(self) -> Outcome:
        """The student, kept in OUT/best, beside its teacher."""
        with locked(self.folder / LOCK, purpose=_PURPOSE):
            trained = whole(self.folder / (WORDS if self.settings.words else SEQUENCES) / BEST)
            student = bundles.load(trained)
            of = identity([trained / MANIFEST, *(whole(each) / MANIFEST for each in self.teachers)])
            with contextlib.suppress(FileError, msgspec.MsgspecError):
                found = msgspec.json.decode(_read(self.folder / _OUTCOME), type=Outcome)
                bundles.describe(self.model)
                if found.of == of:
                    return found
            bundles.save(student, self.model)
            found = self._compared(of)
            write_atomically(self.folder / _OUTCOME, msgspec.json.encode(found))
            return found

    def finish(self) -> Outcome:
        """What came of it, after all of it was done."""
        for _ in self.teaching():
            pass
        for run in self.runs():
            run.finish()
        return self.outcome()

    # ---- what is learned from ----------------------------------------------------------------------------------------

    def _check(self, data: DataSettings) -> None:
        alone = [each for each in data.train if isinstance(each, Mono)]
        asked = self.settings.teaching
        if alone and (self.settings.originals or asked.nearest is not None):
            raise SettingError(
                "sources alone are given, and targets are needed",
                place="originals" if self.settings.originals else "nearest",
                remedy="Name the targets too, or leave this out.",
            )
        if self.settings.words and len(self.teachers) > 1:
            raise ModelError(
                f"probabilities for each word come from one teacher, and there are {len(self.teachers)}",
                place=", ".join(map(str, self.teachers)),
                remedy="Name one teacher, or learn from the outputs of the ensemble alone.",
            )

    def _check_student(self) -> None:
        """Raise SettingError for what the student cannot be, before the teacher has spoken for hours."""
        if self._student is not None:
            self._first()
        for each in itertools.chain.from_iterable(map(self._settled, (SEQUENCES, WORDS))):
            explain(Recipe, each.partition("=")[0].strip())

    def _start_over(self) -> None:
        for name in (SEQUENCES, WORDS):
            start_over(self.folder / name)
            with disk_errors(self.folder, "remove"):
                (self.folder / name / "run.toml").unlink(missing_ok=True)
        with disk_errors(self.folder, "remove"):
            if (self.folder / TAUGHT).exists():
                shutil.rmtree(self.folder / TAUGHT)
            (self.folder / _OUTCOME).unlink(missing_ok=True)

    def _planned(self, data: DataSettings) -> _Lessons:
        """What to ask for; validation pairs, where there are none, are held out before anybody learns from them."""
        if data.valid is None:
            data = hold_out(data, self.folder / HELD_OUT).data
        assert data.valid is not None
        asked = [self._asked(number, each, data) for number, each in enumerate(data.train)]
        lessons = [_pairs(teaching, each, self._described[0]) for teaching, each in zip(asked, data.train, strict=True)]
        valid = data.valid
        if isinstance(valid, Mono):  # whose sources alone are known: the teacher's best output is what to come close to
            asked.append(self._asked(-1, valid, data))
            valid = _pairs(asked[-1], valid, self._described[0])
        student = DataSettings(
            train=(*lessons, *(data.train if self.settings.originals else ())),
            valid=valid,
            on_bad=data.on_bad,
            longest_line=min(
                1 << 30, 8 * data.longest_line
            ),  # a source and an output, with signs for what JSON escapes
        )
        return _Lessons(tuple(asked), student, own=valid is not data.valid)

    def _asked(self, number: int, each: corpora.CorpusSettings, data: DataSettings) -> Teaching:
        corpus = corpora.build(each, on_bad=data.on_bad, longest_line=data.longest_line)
        refuse_standard_input(corpus)
        asked = self.settings.teaching
        name = "valid" if number < 0 else "train" if len(data.train) == 1 else f"train-{number + 1}"
        asked = msgspec.structs.replace(asked, target_language=asked.target_language or each.target_language)
        if number < 0:
            asked = msgspec.structs.replace(asked, decoding=GreedySettings(), nearest=None)
        return Teaching(teachers=self.teachers, corpus=corpus, folder=self.folder / TAUGHT / name, settings=asked)

    # ---- the student -------------------------------------------------------------------------------------------------

    def _first(self) -> RunFile:
        assignments = self._settled(SEQUENCES)
        if self.settings.words:
            assignments = [*assigned({"text.like": str(self.teachers[0])}), *assignments]
        if self._student is None:
            return planned(self._lessons.student, self.folder / SEQUENCES, assignments=assignments)
        data = msgspec.to_builtins(self._lessons.student)
        named = {"data.train": data["train"], "data.valid": data["valid"], "data.longest_line": data["longest_line"]}
        return read_run_file(self._student, [*assigned(named), *assignments])

    def _second(self, first: RunFile) -> RunFile:
        carried: dict[str, Any] = {}
        if self._student is not None:
            chosen = msgspec.to_builtins(first.recipe)
            carried = {f"training.{key}": chosen["training"][key] for key in _CARRIED} | {
                table: chosen[table] for table in ("store", "evaluation")
            }
        objective = {"kind": "distillation", "teacher": str(self.teachers[0])}
        settled = [each for each in self._settled(WORDS) if each.partition(".")[0].strip() not in _OF_THE_STUDENT]
        return planned(
            self._lessons.student,
            self.folder / WORDS,
            assignments=[
                starting_from(self.folder / SEQUENCES),
                *assigned({"training.objective": objective, **carried}),
                *settled,
            ],
        )

    def _settled(self, stage: str) -> list[str]:
        """What the user has set for a run of the student: without a name before it, for both."""
        stages = (f"{SEQUENCES}.", f"{WORDS}.")
        return [
            each.removeprefix(f"{stage}.")
            for each in self._assignments
            if each.startswith(f"{stage}.") or not each.startswith(stages)
        ]

    # ---- how good it is ----------------------------------------------------------------------------------------------

    def _compared(self, of: str) -> Outcome:
        data = self._lessons.student
        assert data.valid is not None
        held_out = corpora.build(data.valid, on_bad=data.on_bad, longest_line=data.longest_line)
        pairs = list(itertools.islice(held_out, _COMPARED))
        recipe = read_run_file(self.folder / SEQUENCES / "run.toml").recipe
        metric: MetricName = "chrf" if recipe.evaluation.metric == "loss" else recipe.evaluation.metric
        request = Request(target_language=self._lessons.asked[0].settings.target_language, confidence=False)
        sides = []
        for folders in (self.teachers, (self.model,)):
            translator = load(*folders)
            sources = [source_of(pair) for pair in pairs]
            began = time.monotonic()
            outputs = translator.translate(sources, decoding=GreedySettings(), request=request)
            seconds = time.monotonic() - began
            found = measure(metric, [each.text for each in outputs], [pair.target for pair in pairs])
            sides.append(Side(parameters=_parameters(folders), value=found.value, seconds=seconds))
        return Outcome(
            of=of,
            metric=found.name,
            signature=found.signature,
            sentences=len(pairs),
            own=self._lessons.own,
            teacher=sides[0],
            student=sides[1],
        )


def distill(
    teacher: str | Path | Sequence[str | Path],
    what: Corpora | DataSettings,
    *,
    out: str | Path,
    student: str | Path = "",
    how: DistillSettings | None = None,
    settings: Mapping[str, Any] = _NO_SETTINGS,
    fresh: bool = False,
) -> Distillation:
    """The distillation of a teacher, or an ensemble of them, on sources with or without targets. Nothing is done yet.

    `student` is a run file whose data are put in place; without one, a recipe is chosen as for any corpora. `settings`
    of its runs are set by their dotted keys; after `words.` or `sequences.` those of one run alone.
    """
    teachers = [teacher] if isinstance(teacher, str | Path) else list(teacher)
    data = what.settings(sources_alone=True) if isinstance(what, Corpora) else what
    return Distillation(
        [Path(each) for each in teachers],
        data,
        Path(out),
        settings=how,
        student=Path(student) if student else None,
        assignments=assigned(settings),
        fresh=fresh,
    )


def _pairs(teaching: Teaching, each: corpora.CorpusSettings, teacher: Description) -> Jsonl:
    """The corpus of what was taught."""
    return Jsonl(
        file=str(teaching.pairs.absolute()),
        source_language=each.source_language or teacher.source_language,
        target_language=teaching.settings.target_language or each.target_language or teacher.target_language,
        weight=each.weight,
    )


def _parameters(folders: Sequence[Path]) -> int:
    return sum(value.numel() for each in folders for value in bundles.weights(bundles.load(each).model).values())


def _read(path: Path) -> bytes:
    with disk_errors(path, "read"):
        return path.read_bytes()
