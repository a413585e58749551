"""`dragoman inspect MODEL tokens` and `positions`: how texts are cut, and how positions are told apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dragoman.cli.inspect_output import load_model, output_options, show


@click.command()
@click.argument("text")
@click.option("--side", type=click.Choice(["source", "target"]), default="source", show_default=True)
@click.option(
    "--corpus",
    type=click.Path(allow_dash=True, path_type=Path),
    metavar="FILE",
    help="Count the merges of byte-pair encoding in this text, one line after the other.",
)
@output_options
@click.pass_context
def tokens(context: click.Context, /, *, text: str, side: str, corpus: Path | None, **options: Any) -> None:
    """How TEXT is cut into tokens, and why: every merge of byte-pair encoding, with its count given --corpus.

    \b
      dragoman inspect models/en-fr tokens "newest" --corpus train.en
    """  # noqa: D301 - click wants the character itself
    from dragoman.cli.inputs import text_lines
    from dragoman.errors import ModelError
    from dragoman.inspection.tokens import tokens as cut
    from dragoman.inspection.views.tokens import view
    from dragoman.text.subword import BpeSettings, Subword

    tokenizer = getattr(load_model(context, options).bundle.tokenizers, side)
    if corpus is not None:
        if not isinstance(tokenizer, Subword) or not isinstance(tokenizer.settings, BpeSettings):
            raise ModelError("this tokenizer has no merges to count", place="--corpus", remedy="Leave it out.")
        tokenizer = tokenizer.traced(text_lines((corpus,)))
    found = cut(tokenizer, text)
    show(view(found), found, options)


@click.command()
@click.option("--count", type=click.IntRange(min=2), default=40, show_default=True, help="Positions shown.")
@click.option(
    "--size", type=click.IntRange(min=2), default=32, show_default=True, help="Of the formula, without MODEL."
)
@output_options
@click.pass_context
def positions(context: click.Context, /, *, count: int, size: int, **options: Any) -> None:
    """The vectors that tell positions apart, and their dot products; with - for MODEL, those of the sinusoidal formula.

    \b
      dragoman inspect - positions --size 64 -o positions.html
      dragoman inspect models/en-fr positions
    """  # noqa: D301 - click wants the character itself
    from dragoman.inspection import positions as inside
    from dragoman.inspection.views.positions import view

    if context.obj == "-":
        found = inside.sinusoidal(count, size)
    else:
        found = inside.positions(load_model(context, options), count=count)
    show(view(found), found, options)
