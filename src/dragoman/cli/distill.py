"""The verb `distill`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import console, corpora
from dragoman.cli.decoding_options import chosen_search, decoding_options
from dragoman.cli.inputs import models_argument
from dragoman.errors import DONE_WITH_SKIPS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.decoding.build import DecodingSettings
    from dragoman.recipe.distill import Distillation, Outcome

_METRICS = ["bleu", "chrf", "chrf++", "exact_match", "token_similarity"]
_SEARCH = "decoding."


@click.command()
@models_argument
@click.option("--src", "source", metavar="FILE", required=True, help="Sources, or pairs (.tsv .jsonl .parquet).")
@click.option("--tgt", "target", metavar="FILE", default="", help="Their targets, where there are any.")
@click.option("--valid-src", "valid_source", metavar="FILE", default="", help="Sources to validate on; else some.")
@click.option("--valid-tgt", "valid_target", metavar="FILE", default="", help="Their targets; else the teacher's.")
@click.option("--source-lang", "source_language", metavar="LANG", default="", help="Language of the sources.")
@click.option("--target-lang", "target_language", metavar="LANG", default="", help="Language to translate into.")
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder of it all.")
@click.option(
    "--student",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="RUN.toml",
    help="Run file of the student, with other data; else a recipe is chosen.",
)
@decoding_options
@click.option(
    "--nearest", type=click.Choice(_METRICS), help="Learn only the output nearest to the target, by this metric."
)
@click.option("--originals", is_flag=True, help="Learn from your own pairs as well.")
@click.option("--words", is_flag=True, help="Then learn from the teacher's probabilities for each word.")
@corpora.on_bad_option
@click.option("--fresh", is_flag=True, help="Start over, whatever the folder holds of an earlier distillation.")
@corpora.json_option
def distill(*, model: str, out: Path, student: Path | None, fresh: bool, as_json: bool, **options: Any) -> None:
    """Teach a student to translate as MODEL does, a trained model; MODEL,MODEL is an ensemble.

    The teacher translates the sources; the student learns from its outputs: the best one, the --nbest ones of a beam,
    or, with --sample, so many samples. What the student is follows from the data as in `dragoman train`, unless
    --student says so. --set decoding.X=V is for the teacher's search; every other --set is for the student's run.
    Run again, it goes on from where it stopped.

    \b
      dragoman distill models/big --src train.en --out models/small
      dragoman distill models/big --src train.en --tgt train.fr --nbest 5 --nearest chrf --out models/small
      dragoman distill a,b,c --src more.en --valid-src dev.en --valid-tgt dev.fr --student run.toml --out models/small
      dragoman distill models/big --src train.en --words --set words.training.steps=2000 --out models/small
    """  # noqa: D301 - click wants the character itself
    assignments = options.pop("assignments")
    options["assignments"] = [each for each in assignments if each.startswith(_SEARCH)]
    distillation = _made(
        [Path(each) for each in model.split(",")],
        options,
        out=out,
        student=student,
        assignments=[each for each in assignments if not each.startswith(_SEARCH)],
        fresh=fresh,
    )
    _teach(distillation)
    taught = distillation.taught
    assert taught is not None
    if not _train(distillation):
        return
    found = distillation.outcome()
    if as_json:
        console.json({"model": str(distillation.model), "taught": taught, "outcome": found})
    else:
        _print(found)
        console.out(str(distillation.model))
    if taught.silent:
        click.get_current_context().exit(DONE_WITH_SKIPS)


def _made(
    teachers: Sequence[Path],
    options: dict[str, Any],
    *,
    out: Path,
    student: Path | None,
    assignments: Sequence[str],
    fresh: bool,
) -> Distillation:
    import msgspec

    from dragoman.recipe.corpora import Corpora
    from dragoman.recipe.distill import Distillation, DistillSettings
    from dragoman.recipe.teaching import TeachingSettings

    named = {name: value for name, value in options.items() if name in Corpora.__slots__}
    data = msgspec.structs.replace(Corpora(**named).settings(sources_alone=True), on_bad=options["on_bad"])
    asked = TeachingSettings(
        decoding=_search(options, teachers[0]),
        nearest=options["nearest"],
        target_language=named["target_language"],
    )
    return Distillation(
        teachers,
        data,
        out,
        settings=DistillSettings(teaching=asked, originals=options["originals"], words=options["words"]),
        student=student,
        assignments=assignments,
        fresh=fresh,
    )


def _search(options: dict[str, Any], teacher: Path) -> DecodingSettings:
    from dragoman import bundle as bundles
    from dragoman.translator.loading import bundle_folder

    return chosen_search(options, bundles.describe(bundle_folder(teacher)).decoding)


def _teach(distillation: Distillation) -> None:
    """Let the teacher speak, with a bar."""
    from dragoman.cli.stopping import Signals

    if distillation.taught is None:
        console.note("The teacher translates the sources.")
    with Signals(early="stopped; run it again to go on").heard():
        known, total = distillation.known, distillation.sources
        for _ in console.progress(distillation.teaching(), total=total, done=known, label="taught", unit="sources"):
            pass
    taught = distillation.taught
    assert taught is not None
    console.note(f"{taught.pairs:,} pairs to learn from, of {taught.sources:,} sources")
    if taught.refused:
        console.note(f"  {taught.refused:,} outputs left out: without an end, empty, or going in circles")
    if taught.silent:
        console.warn(f"{taught.silent:,} sources are left out, for no output of theirs can be learned from")


def _train(distillation: Distillation) -> bool:
    """Whether all runs of the student have ended."""
    from dragoman.cli.follow import follow
    from dragoman.recipe.folder import WORDS

    for run in distillation.runs():
        what = "probabilities for each word" if run.folder.name == WORDS else "outputs"
        console.note(f"The student learns from the teacher's {what}, in {run.folder}.")
        if follow(run).finished is None:
            return False
    return True


def _print(found: Outcome) -> None:
    rows = [
        (name, side.parameters, side.value, side.seconds)
        for name, side in (("teacher", found.teacher), ("student", found.student))
    ]
    console.table(("", "parameters", found.metric, "seconds"), rows)
    against = "outputs of the teacher's own" if found.own else "validation pairs"
    console.note(f"greedily, on {found.sentences:,} {against}: {found.signature}")
    if found.student.parameters > found.teacher.parameters:
        console.warn("the student is larger than its teacher: say what it shall be with --student")
