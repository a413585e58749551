"""What `evaluate` is given: models and files of outputs, and what they are measured against.

All of it is read and checked before a model says its first word.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli.decoding_options import SEARCH_OPTIONS, chosen_search
from dragoman.cli.inputs import text_lines
from dragoman.errors import DataError, FileError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.decoding.build import DecodingSettings
    from dragoman.evaluation.comet import CometSettings
    from dragoman.evaluation.contrastive import Contrast
    from dragoman.evaluation.evaluate import EvaluateSettings, Gold, TestSet
    from dragoman.evaluation.significance import SignificanceSettings
    from dragoman.measures.alignment import Alignment, GoldAlignment
    from dragoman.translator import Translator

_OWN_TABLE = "significance."
_STANDARD = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A model with its search, or the lines of a file of outputs."""

    name: str
    model: Translator | None = None
    search: DecodingSettings | None = None
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be evaluated, and against what."""

    systems: tuple[System, ...]
    """The one that it is about, and the one that it is compared with."""
    test: TestSet | None
    metrics: EvaluateSettings
    significance: SignificanceSettings
    comet: CometSettings | None
    gold: Gold | None
    alignments: tuple[Alignment, ...]
    """To be measured against the gold ones, where no model makes them."""
    contrasts: tuple[Contrast, ...] | None


def read(options: dict[str, Any], names: Sequence[str], *, threads: int | None) -> Wanted:
    """All that the options name; refused where it does not belong together."""
    _refuse_second_reading([*names, *_files(options)])
    significance = _significance(options)
    metrics, comet = _metrics(options), _comet(options)
    models = [_model(name, threads, into=options["target_lang"]) for name in names]
    _refuse_contradictions(options, names, models)
    systems = tuple(_system(name, model, options) for name, model in zip(names, models, strict=True))
    test = _test_set(options, models) if options["refs"] else None
    if test is not None:
        _refuse_other_lines(systems, test)
    return Wanted(
        systems=systems,
        test=test,
        metrics=metrics,
        significance=significance,
        comet=comet,
        gold=None if test is None else _gold(options, test),
        alignments=() if test is None else _alignments(options, test),
        contrasts=_contrasts(options["contrastive"]),
    )


# ---- models and files of outputs -----------------------------------------------------------------------------------


def _model(name: str, threads: int | None, *, into: str) -> Translator | None:
    """A folder, or several between commas, is a model; anything else is a file of outputs."""
    parts = name.split(",")
    if not all(Path(part).is_dir() for part in parts):
        if name != _STANDARD and not Path(name).exists():
            raise FileError("there is no such model or file", place=name, remedy="Name a folder, or a file of lines.")
        return None
    from dragoman.devices import set_threads
    from dragoman.translator import load

    set_threads(threads)
    found = load(*parts)
    return found.into(into) if into else found


def _system(name: str, model: Translator | None, options: dict[str, Any]) -> System:
    if model is not None:
        return System(name=name, model=model, search=chosen_search(dict(options), model.decoding))
    shown = "standard input" if name == _STANDARD else name
    return System(name=shown, lines=tuple(text_lines((Path(name),))) if options["refs"] else ())


def _refuse_other_lines(systems: Sequence[System], test: TestSet) -> None:
    for each in systems:
        if each.model is None and len(each.lines) != len(test.references):
            raise DataError(
                f"{len(each.lines):,} outputs and {len(test.references):,} references",
                place=each.name,
                remedy="Give one output a line, in the order of the references.",
            )


# ---- what they are measured against --------------------------------------------------------------------------------


def _test_set(options: dict[str, Any], models: Sequence[Translator | None]) -> TestSet:
    from dragoman.evaluation.evaluate import TestSet

    arrays = any(model is not None and model.reads_features for model in models)
    src, classes = options["src"], options["classes"]
    return TestSet.of(
        [list(text_lines((each,))) for each in options["refs"]],
        sources=() if src is None else list(text_lines((src,), arrays=arrays)),
        classes=() if classes is None else list(text_lines((classes,))),
    )


def _gold(options: dict[str, Any], test: TestSet) -> Gold | None:
    if options["gold_alignment"] is None:
        return None
    from dragoman.evaluation.evaluate import Gold

    known = _pharaoh(options["gold_alignment"], test)
    words = [tuple(tuple(line.split()) for line in text_lines((path,))) for path in options["words"] or ()]
    gold = Gold(alignments=known, source_words=words[0], target_words=words[1]) if words else Gold(alignments=known)
    if options["alignment"] is None:
        deque(gold.words(test), maxlen=0)  # links of other words are refused
    return gold


def _alignments(options: dict[str, Any], test: TestSet) -> tuple[Alignment, ...]:
    if options["alignment"] is None:
        return ()
    return tuple(each.possible for each in _pharaoh(options["alignment"], test))


def _pharaoh(path: Path, test: TestSet) -> tuple[GoldAlignment, ...]:
    from dragoman.measures.alignment import read_pharaoh

    lines = enumerate(text_lines((path,)), 1)
    found = tuple(read_pharaoh(line, place=f"{path}:{number}") for number, line in lines)
    if len(found) != len(test.references):
        raise DataError(
            f"{len(found):,} alignments and {len(test.references):,} references",
            place=str(path),
            remedy="Give one alignment a line, in the order of the references; an empty line says that nothing is.",
        )
    return found


def _contrasts(path: Path | None) -> tuple[Contrast, ...] | None:
    if path is None:
        return None
    from dragoman.evaluation.contrastive import read_jsonl, read_tsv

    read_lines = read_jsonl if path.suffix in (".jsonl", ".ndjson") else read_tsv
    found = tuple(read_lines(text_lines((path,)), place=str(path)))
    if not found:
        raise DataError("there are no contrasts", place=str(path), remedy="Give at least one line.")
    return found


# ---- how it is measured --------------------------------------------------------------------------------------------


def _metrics(options: dict[str, Any]) -> EvaluateSettings:
    from dragoman.evaluation.evaluate import EvaluateSettings
    from dragoman.measures.metrics import metric_name
    from dragoman.settings import decode

    names = [metric_name(each) for each in options["metrics"]]
    document = {"tokenize": options["tokenize"], "lowercase": options["lowercase"]}
    return decode(document | ({"metrics": names} if names else {}), EvaluateSettings, place="evaluate")


def _comet(options: dict[str, Any]) -> CometSettings | None:
    if options["comet_model"] is None:
        return None
    if options["src"] is None:
        raise click.UsageError("--comet looks at the sources too: give --src.")
    from dragoman.evaluation.comet import CometSettings, program

    program()  # refused now, not after a model has translated everything
    return CometSettings(model=options["comet_model"])


def _significance(options: dict[str, Any]) -> SignificanceSettings:
    """How differences are tested; what is assigned to it is taken out of the options."""
    from dragoman.evaluation.significance import SignificanceSettings
    from dragoman.settings import assign, decode

    given = options["assignments"]
    own = [each for each in given if each.replace(" ", "").startswith(_OWN_TABLE)]
    options["assignments"] = tuple(each for each in given if each not in own)
    return decode(assign({"significance": {}}, own)["significance"], SignificanceSettings, place="significance")


# ---- what does not go together -------------------------------------------------------------------------------------


def _files(options: dict[str, Any]) -> list[str]:
    single = ("src", "classes", "gold_alignment", "alignment", "contrastive")
    named = [*options["refs"], *(options["words"] or ()), *(options[name] for name in single)]
    return [str(each) for each in named if each is not None]


def _refuse_second_reading(names: Sequence[str]) -> None:
    if sum(name == _STANDARD for name in names) > 1:
        raise click.UsageError("standard input (-) can be read once: write the other lines into a file.")


def _refuse_contradictions(options: dict[str, Any], names: Sequence[str], models: Sequence[Translator | None]) -> None:
    translates = any(model is not None and model.has_source for model in models)
    has_refs, has_src, two = bool(options["refs"]), options["src"] is not None, len(names) > 1
    has_gold, has_contrasts = options["gold_alignment"] is not None, options["contrastive"] is not None
    problems = {
        "give --ref, the file of references, or --contrastive": not has_refs and not has_contrasts,
        "a model needs --src, the file of sources, to be measured": has_refs and translates and not has_src,
        "--against compares measurements: give --ref": two and not has_refs and not has_contrasts,
        "--report is about the differences from --against: give --ref": options["report"] is not None
        and not (two and has_refs),
        "--calibrate needs --src and --ref, of lines to fit on": options["calibrate"] and not has_refs,
        "--search-errors needs --src and --ref": options["search_errors"] and not (has_refs and has_src),
        "--gold-alignment needs --src and --ref": has_gold
        and not (has_refs and (has_src or options["alignment"] is not None)),
        "--gold-alignment of a file of outputs needs --alignment": has_gold
        and options["alignment"] is None
        and None in models,
        "--alignment is measured against --gold-alignment": options["alignment"] is not None and not has_gold,
        "--words are those that the links of --gold-alignment count": bool(options["words"]) and not has_gold,
    }
    for problem, is_there in problems.items():
        if is_there:
            raise click.UsageError(f"{problem}.")
    _refuse_files_without_model(options, names, models)


def _refuse_files_without_model(
    options: dict[str, Any], names: Sequence[str], models: Sequence[Translator | None]
) -> None:
    if models[0] is None and (needs := [each for each in ("search_errors", "calibrate") if options[each]]):
        raise click.UsageError(f"--{needs[0].replace('_', '-')} asks a model, and {names[0]} is a file of outputs.")
    if options["contrastive"] is not None and None in models:
        raise click.UsageError(f"--contrastive asks a model, and {names[models.index(None)]} is a file of outputs.")
    if set(models) == {None} and (stray := [name for name in (*SEARCH_OPTIONS, "target_lang") if options[name]]):
        name = "set" if stray[0] == "assignments" else stray[0].replace("_", "-")
        raise click.UsageError(f"--{name} is for a model, and there is none here: leave it out.")
