"""The verb `generate`."""

from __future__ import annotations

from typing import Any

import click

from dragoman.cli import console
from dragoman.cli.decoding_options import chosen_search, decoding_options
from dragoman.cli.inputs import models_argument
from dragoman.cli.translate import json_line, one_line


@click.command()
@models_argument
@click.option("--prompt", "prompts", multiple=True, metavar="TEXT", help="What the text begins with; may be repeated.")
@decoding_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object for each prompt.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads to compute with; else one per core.")
def generate(*, model: str, prompts: tuple[str, ...], as_json: bool, threads: int | None, **options: Any) -> None:
    """Write with a language model: samples, unless another search is asked for; --nbest N writes N texts.

    \b
      dragoman generate models/lm --prompt "Once upon a time" --temperature 0.8 --nbest 3
      dragoman generate models/lm --beam 5 --max-length 20
    """  # noqa: D301 - click wants the character itself
    from dragoman.devices import set_threads
    from dragoman.translator import load

    set_threads(threads)
    several = (options["nbest"] or 1) > 1
    loaded = load(*model.split(","))
    search = chosen_search(options, loaded.decoding)
    for written in loaded.generate(prompts or ("",), decoding=search):
        if as_json:
            console.out(json_line(written, alignments=False, alternatives=several))
            continue
        for each in (written.best, *written.alternatives):
            console.out(one_line(each.text))
