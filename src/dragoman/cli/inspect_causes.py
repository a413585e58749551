"""`dragoman inspect MODEL attribution`, `heads` and `whatif`."""

from __future__ import annotations

from typing import Any

import click

from dragoman.cli.inspect_output import language_option, load_model, output_options, show


@click.command()
@click.argument("source")
@click.argument("output", required=False)
@click.option(
    "--method",
    type=click.Choice(["gradient", "integrated", "occlusion"]),
    default="integrated",
    show_default=True,
    help="Gradient times input, integrated gradients, or what is lost without each token.",
)
@click.option("--steps", type=click.IntRange(min=1), default=64, show_default=True, help="Of integrated gradients.")
@language_option
@output_options
@click.pass_context
def attribution(context: click.Context, /, *, source: str, output: str | None, **options: Any) -> None:
    """Which source tokens each output token owes its probability to.

    \b
      dragoman inspect models/en-fr attribution "He hit me with a pie." --method occlusion -o why.html
    """  # noqa: D301 - click wants the character itself
    from dragoman.inspection.attribution import attribute
    from dragoman.inspection.views import attribution as views

    model = load_model(context, options)
    method, steps = options["method"], options["steps"]
    found = attribute(model, source, output, method=method, steps=steps, target_language=options["target_lang"])
    show(views.attribution(found), found, options)


@click.command()
@click.argument("source")
@click.argument("output", required=False)
@language_option
@output_options
@click.pass_context
def heads(context: click.Context, /, *, source: str, output: str | None, **options: Any) -> None:
    """What an output loses without each head of a Transformer, one at a time."""
    from dragoman.inspection.attribution import ablate
    from dragoman.inspection.views import attribution as views

    found = ablate(load_model(context, options), source, output, target_language=options["target_lang"])
    show(views.ablation(found), found, options)


@click.command()
@click.argument("source")
@click.option("--change", "changes", multiple=True, metavar="OLD=NEW", help="Another word of the source.")
@click.option("--prefix", "prefixes", multiple=True, metavar="TEXT", help="Another beginning of the output.")
@language_option
@output_options
@click.pass_context
def whatif(context: click.Context, /, *, source: str, changes: tuple[str, ...], **options: Any) -> None:
    """What the model says if a word of the source, or the beginning of the output, were another.

    \b
      dragoman inspect models/en-fr whatif "My aunt is tired." --change aunt=uncle --prefix "Mon oncle"
    """  # noqa: D301 - click wants the character itself
    from dragoman.inspection.attribution import what_if
    from dragoman.inspection.views import attribution as views

    pairs = []
    for each in changes:
        old, mark, new = each.partition("=")
        if not mark:
            raise click.UsageError(f"--change {each!r} is not of the form OLD=NEW.", context)
        pairs.append((old, new))
    model = load_model(context, options)
    language = options["target_lang"]
    found = what_if(model, source, changes=pairs, prefixes=options["prefixes"], target_language=language)
    show(views.variants(found), found, options)
