"""Writes the reference pages that are made from the code, when the documentation is built."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dragoman.cli.main import program
from dragoman.recipe.schema import Recipe
from dragoman.settings import fields

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def write_reference(folder: Path) -> None:
    """Write commands.md and settings.md into the folder."""
    (folder / "commands.md").write_text("\n".join(_commands()), encoding="utf-8")
    (folder / "settings.md").write_text("\n".join(_settings()), encoding="utf-8")


def _commands() -> Iterator[str]:
    yield "# Commands\n\nThis is what `--help` of each verb prints.\n"
    yield from _command(program, click.Context(program, info_name="dragoman"))


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f"## `{context.command_path}`\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _command(below, click.Context(below, info_name=name, parent=context))


def _settings() -> Iterator[str]:
    yield "# Settings\n\n"
    yield "Every key of a run file. Where a table has a `kind`, its keys are those of the kind in brackets.\n"
    table = ""
    for each in fields(Recipe):
        first = each.key.partition(".")[0].partition("(")[0]
        if first != table:
            table = first
            yield f"## `[{table}]`\n"
        extent = f" ({each.range})" if each.range else ""
        yield f"`{each.key}`\n: {each.meaning} {each.type}{extent}; default: {each.default}.\n"
