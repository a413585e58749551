"""What the README names is there: files, targets of make, verbs, options, rooms."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

import dragoman
from dragoman.cli import main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def matches(pattern, text=README):
    found = re.findall(pattern, text, re.MULTILINE)
    assert found, f"nothing like {pattern}"
    return sorted(set(found))


@pytest.mark.parametrize("link", matches(r"\]\(([^)#:]+)\)") + matches(r'src="([^":]+)"'))
def test_files_are_there(link):
    assert (ROOT / link).exists()


@pytest.mark.parametrize("target", matches(r"make (demo|test|check|docs|[a-z]+)(?=`|  )"))
def test_targets_of_make_are_there(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def command(verb):
    """The verb's command."""
    with click.Context(main.program) as context:
        found = main.program.get_command(context, verb)
    assert found is not None, f"there is no verb {verb}"
    return found


def rows():
    """The verbs of the table, and what is said of them."""
    table = README.split("## The verbs")[1].split("```")[0]
    return [
        (verb, told)
        for names, told in matches(r"^\| ((?:`\w+`(?:, )?)+) \| (.*) \|$", table)
        for verb in re.findall(r"\w+", names)
    ]


def test_the_table_has_the_verbs():
    with click.Context(main.program) as context:
        assert {verb for verb, _ in rows()} <= set(main.program.list_commands(context))
    assert len(rows()) >= 12


@pytest.mark.parametrize(("verb", "told"), rows(), ids=lambda each: each.split()[0])
def test_options_in_the_table_are_those_of_the_verb(verb, told):
    known = {name for each in command(verb).params for name in each.opts}
    assert set(re.findall(r"(?<!\w)--[a-z-]+", told)) <= known


def test_the_map_names_rooms_that_are_there():
    rooms = re.findall(r"^([a-z |·]+?)  +\S", README.split("## The house")[1].split("```")[1], re.MULTILINE)
    names = [name for room in rooms for name in re.split(r" [|·] ", room)]
    house = Path(dragoman.__file__).parent
    assert len(names) > 15
    assert [name for name in names if not (house / name).is_dir() and not (house / f"{name}.py").is_file()] == []
