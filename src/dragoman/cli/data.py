"""`dragoman data`: everything about corpora."""

from __future__ import annotations

import click

from dragoman.cli.data_clean import clean
from dragoman.cli.data_split import split
from dragoman.cli.data_stats import stats
from dragoman.cli.datasets import get, list_


@click.group()
def data() -> None:
    """Corpora: list and fetch known ones, look at, clean and split your own."""


for command in (list_, get, stats, clean, split):
    data.add_command(command)
