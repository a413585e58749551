"""`dragoman inspect MODEL search`."""

from __future__ import annotations

from typing import Any

import click

from dragoman.cli.inspect_output import language_option, load_model, output_options, show


@click.command()
@click.argument("source")
@click.option("--beam", type=click.IntRange(min=1), help="Hypotheses kept at each step; else as the model searches.")
@click.option("--alpha", type=click.FloatRange(min=0), help="Exponent of the length in the score.")
@click.option(
    "--expansions",
    type=click.IntRange(min=1),
    default=2_000,
    show_default=True,
    help="Hypotheses after which exact search gives its proof up.",
)
@language_option
@output_options
@click.pass_context
def search(context: click.Context, /, *, source: str, **options: Any) -> None:
    """The tree of a beam search: what was weighed, what survived, what greedy and exact search say.

    On the page it can be stepped through. Exact search tells whether the beam has missed what the model prefers.

    \b
      dragoman inspect models/en-fr search "He hit me with a pie." --beam 2 -o search.html
    """  # noqa: D301 - click wants the character itself
    import msgspec

    from dragoman.decoding.beam import BeamSettings
    from dragoman.inspection.search import search_tree
    from dragoman.inspection.views.search import view

    model = load_model(context, options)
    own = model.decoding if isinstance(model.decoding, BeamSettings) else BeamSettings()
    chosen = {name: options[name] for name in ("beam", "alpha") if options[name] is not None}
    settings = msgspec.structs.replace(own, **chosen)
    found = search_tree(
        model, source, settings=settings, expansions=options["expansions"], target_language=options["target_lang"]
    )
    show(view(found), found, options)
