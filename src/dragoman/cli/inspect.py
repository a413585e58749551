"""`dragoman inspect MODEL WHAT`: everything that can be seen inside a model."""

from __future__ import annotations

import click

from dragoman.cli.inspect_attention import attention
from dragoman.cli.inspect_causes import attribution, heads, whatif
from dragoman.cli.inspect_learning import cost, gradients, length, repetition
from dragoman.cli.inspect_probes import bias, health
from dragoman.cli.inspect_search import search
from dragoman.cli.inspect_text import positions, tokens


@click.group()
@click.argument("model")
@click.pass_context
def inspect(context: click.Context, model: str) -> None:
    """Look inside MODEL, a bundle or a training folder; - where none is needed.

    A drawing or a table is printed. With --out it is written to a file, in the format of its ending: .html is a page
    that needs nothing else, .svg, .png and .pdf are pictures for papers, and .json has the numbers behind them.

    \b
      dragoman inspect models/en-fr attention "He hit me with a pie." --out attention.html
    """  # noqa: D301 - click wants the character itself
    context.obj = model


for command in (
    attention,
    search,
    tokens,
    positions,
    gradients,
    length,
    cost,
    repetition,
    attribution,
    heads,
    whatif,
    bias,
    health,
):
    inspect.add_command(command)
