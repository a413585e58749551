"""The verb `train`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import console, corpora
from dragoman.errors import DONE_WITH_SKIPS, FAULT

if TYPE_CHECKING:
    from dragoman.recipe.schema import RunFile
    from dragoman.recipe.train import Run
    from dragoman.training.events import Finished


def _settings() -> Any:
    from dragoman.recipe.schema import Recipe

    return Recipe


def _write_report(context: click.Context, _parameter: click.Parameter, folder: Path | None) -> None:
    if folder is None or context.resilient_parsing:
        return
    from dragoman.errors import FileError
    from dragoman.recipe.report import write_report
    from dragoman.training.loop import EVENTS

    if not (folder / EVENTS).exists():
        raise FileError("is not the folder of a run", place=str(folder), remedy="Name a folder that --out named.")
    console.out(str(write_report(folder)))
    context.exit()


@click.command()
@click.argument("run_file", required=False, type=click.Path(dir_okay=False, path_type=Path), metavar="[RUN.toml]")
@corpora.training_options
@click.option("--from", "start", metavar="MODEL", help="Go on from a trained model.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder of the run.")
@corpora.set_option
@click.option("--fresh", is_flag=True, help="Start over, whatever the folder holds of an earlier run.")
@click.option("--dry-run", is_flag=True, help="Check everything, and estimate time and memory.")
@click.option("--verify-resume", is_flag=True, help="Prove that this run, killed and resumed, ends with the same bits.")
@click.option(
    "--report",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    is_eager=True,
    expose_value=False,
    callback=_write_report,
    help="Write report.html of the run in a folder, as it stands now.",
)
@corpora.json_option
@corpora.explain_option(_settings)
def train(*, run_file: Path | None, out: Path | None, as_json: bool, fresh: bool, **options: Any) -> None:
    """Train a model by a run file, or on corpora alone: then a recipe is chosen for them, and written to OUT/run.toml.

    Run again, it goes on from where it stopped; then the folder alone is enough, for it keeps the run file.

    \b
      dragoman train --src train.en --tgt train.fr --out models/en-fr
      dragoman train --src pairs.tsv --out models/mine --dry-run
      dragoman train --text novels.txt --out models/lm
      dragoman train --src new.en --tgt new.fr --from models/en-fr --out models/tuned
      dragoman train run.toml --out models/en-fr --set training.steps=5000
      dragoman train --out models/en-fr
      dragoman train --explain training.schedule
    """  # noqa: D301 - click wants the character itself
    from dragoman.recipe.train import Run

    folder = out or (run_file and Path(run_file.stem))
    if folder is None:
        raise click.UsageError("Name the folder of the run with --out.")
    dry, verify = options.pop("dry_run"), options.pop("verify_resume")
    given = _given(run_file, folder, fresh=fresh, options=options)
    if dry:
        _try(given, folder, as_json=as_json)
        return
    if verify:
        _verify(given, folder, as_json=as_json)
        return
    from dragoman.cli.follow import follow
    from dragoman.training.distributed import is_alone

    run = Run(given.recipe, folder, text=given.text, fresh=fresh)
    followed = follow(run)
    if followed.finished is None:
        return
    if as_json:
        console.json(_result(run, followed.finished, unusable=followed.unusable))
    else:
        console.out(str(run.model))
    if followed.skipped and is_alone():  # torchrun would take the code for a failure
        click.get_current_context().exit(DONE_WITH_SKIPS)


# ---- what is to be run ---------------------------------------------------------------------------------------------


def _given(run_file: Path | None, folder: Path, *, fresh: bool, options: dict[str, Any]) -> RunFile:
    from dragoman.recipe.folder import RUN_FILE
    from dragoman.recipe.planned import planned, starting_from, written
    from dragoman.training.distributed import is_alone

    start = options["start"]
    assignments = [*([starting_from(start)] if start else []), *options["assignments"]]
    named = corpora.named(run_file, options)
    if named is None:
        return written(run_file, folder, assignments)
    settings = named.settings()
    if fresh or not (folder / RUN_FILE).exists():
        if not is_alone():
            raise click.UsageError("Let one process choose the recipe, with --dry-run, before several train by it.")
        console.note("Reading the corpora, to choose a recipe for them.")
    return planned(settings, folder, assignments=assignments, fresh=fresh)


# ---- what comes of it ----------------------------------------------------------------------------------------------


def _try(given: RunFile, folder: Path, *, as_json: bool) -> None:
    """Check everything, and say what a run would take."""
    from dragoman.recipe.dry_run import dry_run
    from dragoman.recipe.folder import RUN_FILE

    found = dry_run(given.recipe, folder)
    if not (folder / RUN_FILE).exists():
        (folder / RUN_FILE).write_text(given.text, encoding="utf-8")
    if as_json:
        console.json({**{name: getattr(found, name) for name in found.__slots__}, "warnings": found.warnings})
        return
    longest = found.longest_batch
    rows: list[tuple[str, object]] = [
        ("training examples", found.examples),
        ("left out: empty", found.empty),
        ("left out: too long", found.too_long),
        ("validation examples", found.valid_examples),
        ("pieces of the source", found.source_vocabulary),
        ("pieces of the target", found.target_vocabulary),
        ("parameters", found.parameters),
        ("device", found.device),
        ("updates", found.updates),
        ("passes over the data", round(found.epochs, 1)),
        ("padding in batches", f"{found.padding:.1%}"),
        ("longest batch", f"{longest.rows:,} x ({longest.source_length:,} + {longest.target_length:,}) tokens"),
        ("loss before training", round(found.loss, 3)),
        ("seconds per update", round(found.seconds_per_update, 3)),
        ("target tokens per second", round(found.tokens_per_second)),
        ("all updates", _duration(found.seconds)),
        ("memory at the peak", f"{found.memory / 2**20:,.0f} MiB"),
        ("memory there is", f"{found.memory_available / 2**20:,.0f} MiB"),
        ("disk for the run", f"{found.disk / 2**20:,.0f} MiB"),
    ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        console.out(f"{name:<{width}}  {value:,}" if isinstance(value, int | float) else f"{name:<{width}}  {value}")
    for warning in found.warnings:
        console.warn(warning)


def _verify(given: RunFile, folder: Path, *, as_json: bool) -> None:
    """Prove that the run survives being killed."""
    from dragoman.recipe.verify_resume import verify_resume

    console.note("Training a little, twice: once undisturbed, and once killed and started again.")
    verdict = verify_resume(given.recipe, folder)
    if as_json:
        console.json({**{name: getattr(verdict, name) for name in verdict.__slots__}, "identical": verdict.identical})
    else:
        for each in verdict.compared:
            mark = "identical" if each.undisturbed == each.resumed else "DIFFERENT"
            console.out(f"{each.what:<14} {mark}  {each.undisturbed[:16]}  {each.resumed[:16]}")
        killed = " and ".join(f"{step:,}" for step in verdict.killed_after)
        ending = "the same bits" if verdict.identical else "NOT the same bits"
        console.out(f"Killed after update {killed} of {verdict.updates:,}, and resumed: {ending}.")
    if not verdict.identical:
        console.error("a resumed run would not repeat this one: please report it, with OUT/run.toml")
        click.get_current_context().exit(FAULT)


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def _result(run: Run, end: Finished, *, unusable: int) -> dict[str, Any]:
    """What the run has come to, for --json."""
    from dragoman import bundle
    from dragoman.recipe.folder import REPORT

    facts = bundle.describe(run.model).training
    return {
        "model": str(run.model),
        "report": str(run.folder / REPORT),
        "reason": end.reason,
        "steps": end.step,
        "best_step": facts.steps,
        "metric": facts.metric or None,
        "value": facts.value,
        "signature": facts.signature or None,
        "tokens": end.tokens,
        "seconds": end.seconds,
        "skipped_updates": end.skipped,
        "skipped_lines": unusable,
    }
