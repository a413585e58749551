"""Every code block of the README and the documentation runs.

A ```python block is executed, top to bottom per page, in an empty folder; a ```bash block is run there too. Blocks
marked ```console or ```text are for reading; of a ```console block the program must know each command and option.
The README and the first guide begin where `make demo` has been: they find its folder, made with a few phrases and
updates.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from dragoman.cli.main import program
from dragoman.recipe import demo_corpora

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(p for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts)])
BLOCK = re.compile(r"^```(python|bash)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (dragoman .*?[^\\])$", re.MULTILINE | re.DOTALL)
WITH_BLOCKS = [p for p in PAGES if BLOCK.search(p.read_text(encoding="utf-8"))]
AFTER_DEMO = [ROOT / "README.md", ROOT / "docs" / "guides" / "start.md"]


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory):
    """The folder that `dragoman demo` writes, of a model that knows next to nothing."""
    folder = tmp_path_factory.mktemp("demonstration") / "demo"
    words = ["--quiet", "demo", "--out", str(folder), "--steps", "50", "--threads", "1"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo_corpora, "_PHRASES", 300)
        patch.setattr(demo_corpora, "_HELD_OUT", 6)
        CliRunner().invoke(program, words, catch_exceptions=False)
    return folder


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=lambda p: str(p.relative_to(ROOT)))
def test_code_blocks_run(page, request, tmp_path, monkeypatch):
    if page in AFTER_DEMO:
        shutil.copytree(request.getfixturevalue("demonstration"), tmp_path / "demo")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    names: dict[str, object] = {"__name__": "__main__"}
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        kind, code = match.groups()
        line = text[: match.start()].count("\n") + 2
        if kind == "python":
            exec(compile("\n" * (line - 1) + code, str(page), "exec"), names)  # noqa: S102 - our own pages
        else:
            run = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", code],
                env={**os.environ, "PATH": programs},
                capture_output=True,
                text=True,
                check=False,
            )
            assert run.returncode == 0, f"{page}:{line}\n{run.stdout}{run.stderr}"


def test_commands_for_reading_are_known():
    """None is run: it is only looked whether such verbs and options exist."""
    seen = 0
    for page in PAGES:
        for block in CONSOLE.findall(page.read_text(encoding="utf-8")):
            for line in COMMAND.findall(block):
                seen += 1
                try:
                    _parse(line)
                except click.UsageError as error:
                    pytest.fail(f"{page}: {line}: {error.format_message()}")
    assert seen > 20
    with pytest.raises(click.UsageError):
        _parse("dragoman translate model --bream 5")


def _parse(line):
    words = shlex.split(line.replace("\\\n", " "), comments=True)[1:]
    words = words[: next((i for i, word in enumerate(words) if word in {"|", "<", ">"}), len(words))]
    command, context = program, click.Context(program)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        own = sum(isinstance(each, click.Argument) for each in command.params)
        name = (words := words[own:]).pop(0)
        found = command.get_command(context, name)
        if found is None:
            raise click.UsageError(f"no verb {name!r}")
        command, context = found, click.Context(found, parent=context)
    command.make_parser(context).parse_args(words)
