"""`dragoman inspect MODEL attention`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dragoman.cli.inspect_output import language_option, load_model, output_options, show

if TYPE_CHECKING:
    from dragoman.bundle import AlignedBy
    from dragoman.inspection.attention import Looking
    from dragoman.translator import Translator


@click.command()
@click.argument("source")
@click.argument("output", required=False)
@click.option(
    "--looking",
    type=click.Choice(["cross", "encoder", "decoder"]),
    help="From the output to the source, within the source, or within the output; else the first that there is.",
)
@click.option("--layer", type=int, help="The layer shown first, from 1; else the one that the model aligns by.")
@click.option("--head", type=int, help="The head of that layer, from 1; else the mean of all.")
@click.option("--pieces", is_flag=True, help="A row and a column for every token, not for every word.")
@click.option("--gold", metavar="LINKS", help="Gold alignment such as '0-0 1-2 2?1', counting words from 0.")
@language_option
@output_options
@click.pass_context
def attention(context: click.Context, /, *, source: str, output: str | None, **options: Any) -> None:
    """Where the model looks: the source across, the output down, darker for more.

    OUTPUT is the model's own unless it is given. Words are what stands between white space. Links, which are what each
    word looks at most, are ringed; with --gold they are measured by alignment error rate. The page has every layer
    and head. A language model looks at its own text only.

    \b
      dragoman inspect models/en-fr attention "He hit me with a pie."
      dragoman inspect models/en-fr attention "a black cat" "un chat noir" --gold "0-0 1-2 2-1" -o cat.svg
    """  # noqa: D301 - click wants the character itself
    from dragoman.inspection.attention import Shown
    from dragoman.inspection.attention import attention as look
    from dragoman.inspection.views.attention import view
    from dragoman.measures.alignment import read_pharaoh

    model = load_model(context, options)
    if not model.has_source and output is None:
        source, output = "", source
    looking: Looking = options["looking"] or ("cross" if model.has_source else "decoder")
    by = _chosen(model, options["layer"], options["head"])
    gold = options["gold"]
    found = look(
        model,
        source,
        output,
        shown=Shown(looking=looking, by=by, pieces=options["pieces"]),
        gold=None if gold is None else read_pharaoh(gold, place="--gold"),
        target_language=options["target_lang"],
    )
    show(view(found), found, options)


def _chosen(model: Translator, layer: int | None, head: int | None) -> AlignedBy | None:
    """The attention asked for; numbers count from 1 here and from 0 there, negative ones from the end."""
    from dragoman.bundle import AlignedBy

    if layer is None and head is None:
        return None
    by = model.bundle.description.alignment
    return AlignedBy(layer=by.layer if layer is None else _place(layer), head=None if head is None else _place(head))


def _place(number: int) -> int:
    return number - 1 if number > 0 else number
