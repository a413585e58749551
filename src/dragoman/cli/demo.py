"""The verb `demo`."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from dragoman.cli import console
from dragoman.cli.datasets import fetch

if TYPE_CHECKING:
    from dragoman.evaluation.evaluate import Evaluated
    from dragoman.recipe.demo import Outcome
    from dragoman.recipe.demo_corpora import CorpusName, Parts

_CORPORA = ["phrasebook", "cmudict", "tatoeba"]
_SHOWN = 8


@click.command()
@click.option("--corpus", type=click.Choice(_CORPORA), default="phrasebook", show_default=True, help="What to learn.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the run; else demo, or demo-CORPUS where a corpus is named.",
)
@click.option("--steps", type=click.IntRange(min=50), help="Updates, where fewer (or more) than usual are wanted.")
@click.option("--fresh", is_flag=True, help="Start over, whatever the folder holds of an earlier run.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads to compute with; else one per core.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def demo(*, corpus: str, out: Path | None, steps: int | None, threads: int | None, fresh: bool, as_json: bool) -> None:
    """Train a small model, and show what it has learned: five minutes on two cores.

    The built-in phrasebook is English and French from a grammar. cmudict is how English words are pronounced, and
    tatoeba everyday sentences; both are fetched once, if they are not here.
    """
    from dragoman import translator
    from dragoman.cli.follow import follow
    from dragoman.pages.terminal import lines
    from dragoman.recipe import demo as demonstration
    from dragoman.recipe import demo_corpora, demo_report
    from dragoman.recipe.report import write_report
    from dragoman.recipe.train import Run

    name = cast("CorpusName", corpus)
    out = out or Path("demo" if name == "phrasebook" else f"demo-{name}")
    _fetch(name)
    console.note("Writing the corpus.")
    parts = demo_corpora.write(name, out / "corpus")
    console.note(f"This is {parts.title}.")
    recipe = demonstration.recipe(name, out / "corpus", parts, steps=steps, threads=threads)
    console.note(f"Training a GRU with attention on {parts.train:,} pairs; stopped with Ctrl-C, it goes on next time.")
    follow(Run(recipe, out, fresh=fresh))
    model = translator.load(out)
    console.note(f"Translating {len(parts.test):,} that were held out: {parts.note}.")
    found, measured = demonstration.outcome(model, parts)
    output = model.translate(parts.tried).text
    looks = demonstration.attention(model, parts, output)
    page = write_report(out, first=demo_report.sections(parts, found, measured, looks))
    picture = demo_report.write_picture(out, looks)
    if as_json:
        console.json({m.name: {"value": m.value, "signature": m.signature} for m in found.figures})
        return
    _print_samples(parts, found)
    _print_figures(found, measured)
    console.out(f"\n{parts.tried}  →  {output}\n")
    for line in lines(demo_report.heatmap(looks)):
        console.out(line)
    console.out(f"\n  model    {out / 'best'}\n  report   {page}\n  picture  {picture}\n")
    _print_next(out, parts, found)


def _fetch(name: CorpusName) -> None:
    from dragoman.data import catalog, originals
    from dragoman.recipe.demo_corpora import SETS, needs_download

    if needs_download(name):
        entry = catalog.find(SETS[name])
        console.note(f"Fetching {entry.title}. Licence: {entry.licence}.")
        fetch(entry, originals.get(entry))


def _print_samples(parts: Parts, found: Outcome) -> None:
    for example, output in list(zip(parts.test, found.outputs, strict=True))[:_SHOWN]:
        console.out(f"  {example.source}\n    {output}")
        for reference in example.references:
            console.out(f"  {'=' if output == reference else '≠'} {reference}")
    console.out()


def _print_figures(found: Outcome, measured: Evaluated) -> None:
    console.table(
        ("of the held-out part", "value", "interval"),
        [(each.name, each.value, str(measured.intervals.get(each.name, ""))) for each in found.figures],
    )
    for each in found.figures:
        console.out(f"{each.name}|{each.signature}")
    if found.alignment is not None:
        console.out("(alignment_error_rate: its attention against the grammar's own alignments; 0 is best)")


def _print_next(out: Path, parts: Parts, found: Outcome) -> None:
    from dragoman.recipe.demo_corpora import held_out_files

    program = _program()
    source, references = held_out_files(out / "corpus", parts.test)
    options = [("--src", str(source)), *(("--ref", str(each)) for each in references)]
    options += [("--metric", each.name) for each in found.measurements]
    told = " ".join(f"{option} {shlex.quote(value)}" for option, value in options)
    folder = shlex.quote(str(out))
    console.out("Now try:")
    console.out(f"  echo {shlex.quote(parts.tried)} | {program} translate {folder} --nbest 3")
    console.out(f"  {program} evaluate {folder} {told}")
    console.out(f"  {program} train --src YOURS.source --tgt YOURS.target --out my-model")


def _program() -> str:
    """What to type for this program here: after `make demo` it is in an environment that the shell does not know."""
    if shutil.which("dragoman"):
        return "dragoman"
    path = Path(sys.executable).with_name("dragoman")
    if not path.exists():
        return f"{shlex.quote(sys.executable)} -m dragoman"
    return shlex.quote(str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path))
