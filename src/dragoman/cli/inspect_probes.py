"""`dragoman inspect MODEL bias` and `health`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli.inspect_output import language_option, load_model, output_options, show

if TYPE_CHECKING:
    from collections.abc import Iterable

_FILE = click.Path(path_type=Path, allow_dash=True)


@click.command()
@click.option("--sentences", type=_FILE, metavar="FILE", help="Lines as in WinoMT; else the catalogue's own.")
@click.option("--pro", type=_FILE, metavar="FILE", help="Those of the lines that are stereotypical.")
@click.option("--anti", type=_FILE, metavar="FILE", help="Those that are anti-stereotypical.")
@click.option("--language", type=click.Choice(["de", "fr"]), help="Whose forms are read; else the model's own.")
@language_option
@click.option("--most", type=click.IntRange(min=1), metavar="N", help="Only so many lines, evenly spread.")
@click.option("--no-pairs", is_flag=True, help="Leave out the pairs that differ in the pronoun alone.")
@output_options
@click.pass_context
def bias(
    context: click.Context, /, *, sentences: Path | None, pro: Path | None, anti: Path | None, **options: Any
) -> None:
    """Which gender a model gives to professions whose gender the sentence tells: WinoMT, for French and German.

    \b
      dragoman data get winomt
      dragoman inspect models/en-fr bias --most 400 -o bias.html
    """  # noqa: D301 - click wants the character itself
    from dragoman.data import catalog
    from dragoman.inspection.bias import bias as probe
    from dragoman.inspection.bias import read_lines
    from dragoman.inspection.views.probes import bias as view

    if sentences is None:
        folder = catalog.locate("winomt")
        sentences = catalog.file("winomt", "en.txt.gz")
        pro, anti = (
            each or _existing(folder / name) for each, name in ((pro, "en_pro.txt.gz"), (anti, "en_anti.txt.gz"))
        )
    lines = read_lines(_lines(sentences), place=str(sentences), pro=_lines(pro), anti=_lines(anti))
    if options["most"]:
        lines = lines[:: max(1, -(-len(lines) // options["most"]))]
    found = probe(
        load_model(context, options),
        lines,
        language=options["language"],
        target_language=options["target_lang"],
        pairs=not options["no_pairs"],
    )
    show(view(found), found, options)


@click.command()
@click.option("--src", required=True, type=_FILE, metavar="FILE", help="Sources, one a line.")
@click.option("--hyp", type=_FILE, metavar="FILE", help="Outputs, one a line; else the model's own.")
@language_option
@output_options
@click.pass_context
def health(context: click.Context, /, *, src: Path, hyp: Path | None, **options: Any) -> None:
    """What looks wrong with outputs: repetition, untranslated, dropped, added, scripts, numbers, names, low confidence.

    With - for MODEL, only by the texts of --src and --hyp. With one, also how sure it is of them, and how much the
    source counts for it. docs/concepts/measures.md says how often the detectors are right.

    \b
      dragoman inspect models/en-fr health --src news.en -o health.html
      dragoman inspect - health --src news.en --hyp news.fr
    """  # noqa: D301 - click wants the character itself
    from dragoman.cli.inputs import text_lines
    from dragoman.inspection.health import health as check
    from dragoman.inspection.views.probes import health as view

    outputs = None if hyp is None else list(text_lines((hyp,)))
    model = None if context.obj == "-" and outputs is not None else load_model(context, options)
    found = check(list(text_lines((src,))), outputs, translator=model, target_language=options["target_lang"])
    show(view(found), found, options)


def _existing(path: Path) -> Path | None:
    return path if path.is_file() else None


def _lines(path: Path | None) -> Iterable[str]:
    from dragoman.cli.inputs import text_lines

    return () if path is None else text_lines((path,))
