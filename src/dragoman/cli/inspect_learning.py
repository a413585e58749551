"""`dragoman inspect MODEL gradients`, `length`, `cost` and `repetition`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli.inspect_output import language_option, load_model, output_options, show

if TYPE_CHECKING:
    from dragoman.translator import Translator

_FILE = click.Path(allow_dash=True, path_type=Path)
_beside = click.option(
    "--beside", multiple=True, metavar="MODEL", help="Another model to show beside it; may be repeated."
)


@click.command()
@click.argument("source", required=False)
@click.argument("output", required=False)
@_beside
@click.option("--length", type=click.IntRange(min=2), default=40, show_default=True, help="Of random sentences.")
@click.option("--size", type=click.IntRange(min=2), default=64, show_default=True, help="Of fresh models' states.")
@language_option
@output_options
@click.pass_context
def gradients(context: click.Context, /, *, source: str | None, output: str | None, **options: Any) -> None:
    """How much of the gradient reaches each source position.

    With - for MODEL: RNN, GRU and LSTM with fresh weights, with and without attention, side by side. Else the models
    read SOURCE, and OUTPUT or what the first makes of it.

    \b
      dragoman inspect - gradients -o gradients.html
      dragoman inspect models/gru gradients "He hit me with a pie." --beside models/lstm
    """  # noqa: D301 - click wants the character itself
    from dragoman.devices import set_threads
    from dragoman.inspection import gradients as inside
    from dragoman.inspection.views import curves

    if context.obj == "-":
        set_threads(options["threads"])
        found = inside.compare_cells(length=options["length"], size=options["size"])
    elif source is None:
        raise click.UsageError("give a source sentence, or - for MODEL.", context)
    else:
        found = inside.gradients(_models(context, options), source, output, target_language=options["target_lang"])
    show(curves.gradients(found), found, options)


@click.command()
@click.option("--src", required=True, type=_FILE, metavar="FILE", help="Sources, one a line.")
@click.option("--ref", required=True, type=_FILE, metavar="FILE", help="References, one a line.")
@click.option("--metric", default="chrf", show_default=True, help="Any metric that `evaluate` knows.")
@_beside
@language_option
@output_options
@click.pass_context
def length(context: click.Context, /, *, src: Path, ref: Path, metric: str, **options: Any) -> None:
    """Quality by the length of the source, for one or several models: the bottleneck.

    \b
      dragoman inspect models/plain length --src test.en --ref test.fr --beside models/attention -o length.html
    """  # noqa: D301 - click wants the character itself
    from dragoman.cli.inputs import text_lines
    from dragoman.inspection.length import by_length
    from dragoman.inspection.views import curves
    from dragoman.measures.metrics import metric_name

    sources, references = list(text_lines((src,))), list(text_lines((ref,)))
    found = by_length(
        _models(context, options),
        sources,
        references,
        metric=metric_name(metric),
        target_language=options["target_lang"],
    )
    show(curves.lengths(found), found, options)


@click.command()
@click.option("--longest", type=click.IntRange(min=16), default=512, show_default=True, help="Source tokens at most.")
@_beside
@output_options
@click.pass_context
def cost(context: click.Context, /, *, longest: int, **options: Any) -> None:
    """Time and memory of reading a source, against its length, measured here; with - a small Transformer and a GRU.

    \b
      dragoman inspect - cost --threads 1 -o cost.html
    """  # noqa: D301 - click wants the character itself
    from dragoman.devices import set_threads
    from dragoman.inspection import cost as inside
    from dragoman.inspection.views import curves

    set_threads(options["threads"])
    models = inside.fresh_models() if context.obj == "-" else tuple(_models(context, options, most=3))
    lengths = [each for each in (16 << n for n in range(20)) if each <= longest]
    found = inside.costs(models, lengths=lengths)
    show(curves.costs(found), found, options)


@click.command()
@click.argument("phrase")
@click.option("--src", "source", default="", metavar="TEXT", help="The source, for a model that translates.")
@click.option("--times", type=click.IntRange(min=2), default=8, show_default=True, help="How often it is said.")
@language_option
@output_options
@click.pass_context
def repetition(context: click.Context, /, *, phrase: str, source: str, **options: Any) -> None:
    """How probable PHRASE becomes with each time it was said, and whether the model's own output loops.

    \b
      dragoman inspect models/lm repetition "I don't know."
    """  # noqa: D301 - click wants the character itself
    from dragoman.inspection import repetition as inside
    from dragoman.inspection.views import curves
    from dragoman.translator import Request

    model = load_model(context, options)
    language = options["target_lang"]
    found = inside.repetition(model, phrase, source, times=options["times"], target_language=language)
    loop = None
    if model.has_source and source:
        loop = inside.find_loop(model.translate(source, request=Request(target_language=language)).text)
    show(curves.repetition(found, loop), found, options)


def _models(context: click.Context, options: dict[str, Any], *, most: int = 6) -> list[tuple[str, Translator]]:
    """The models with their names, no more than one chart has room for."""
    from dragoman.translator import load

    if len(options["beside"]) >= most:
        raise click.UsageError(
            f"{len(options['beside']) + 1} models are too many for one chart: name {most} at most.",
            context,
        )
    return [(context.obj, load_model(context, options)), *((name, load(name)) for name in options["beside"])]
