"""The program as a whole: quick help, exit codes, what goes to which stream."""

from __future__ import annotations

import subprocess
import sys
import time

import click
import pytest

from dragoman.cli import console, main
from dragoman.errors import DataError, Interrupted

HELP_SECONDS = 0.3


def run(*arguments, **options):
    command = [sys.executable, "-m", "dragoman", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, **options)


def every_verb():
    def below(group, path):
        for name in group.list_commands(click.Context(group)):
            command = group.get_command(click.Context(group), name)
            yield (*path, name)
            if isinstance(command, click.Group):
                yield from below(command, (*path, name))

    return [(), *below(main.program, ())]


@pytest.mark.parametrize("verb", every_verb(), ids=" ".join)
def test_help_is_quick_and_loads_no_torch(verb):
    program = (
        "import sys, dragoman.cli.main as m\n"
        "try: m.main(sys.argv[1:])\n"
        "finally: sys.stderr.write(' '.join(sys.modules))"
    )
    took = []
    for _ in range(3):  # the best of three: the machine may be busy
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", program, *verb, "--help"], capture_output=True, text=True, check=False, timeout=60
        )
        took.append(time.perf_counter() - start)
        assert done.returncode == 0
        assert done.stdout.startswith("Usage: dragoman")
        assert not {"torch", "numpy", "sacrebleu", "rich"} & set(done.stderr.split())
        if took[-1] <= HELP_SECONDS:
            break
    assert min(took) <= HELP_SECONDS


def test_a_wrong_verb_names_the_nearest():
    done = run("doctro")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "there is no verb 'doctro'. Did you mean 'doctor'?" in done.stderr
    assert "The verbs are: data," in run("xyzzy").stderr


def test_no_verb_shows_the_help_and_is_a_mistake():
    done = run()
    assert done.returncode == 2
    assert "Usage: dragoman" in done.stderr


def test_version():
    assert run("--version").stdout.startswith("dragoman 0.")


@pytest.fixture
def verb(monkeypatch):
    """A function that makes `main.program` run a callable as its only verb."""

    def install(function):
        command = click.Command("probe", callback=function)
        monkeypatch.setattr(main.program, "get_command", lambda ctx, name: command if name == "probe" else None)

    return install


def ending(arguments=("probe",)):
    with pytest.raises(SystemExit) as end:
        main.main(list(arguments))
    return end.value.code


def test_exit_codes(verb, capsys):
    verb(lambda: console.out("done"))
    assert ending() == 0
    assert capsys.readouterr().out == "done\n"

    def mistake():
        raise DataError("a line is empty", place="corpus.en:7", remedy="Fill it.")

    verb(mistake)
    assert ending() == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "error: corpus.en:7: a line is empty. Fill it.\n"

    def fault():
        raise ZeroDivisionError

    verb(fault)
    assert ending() == 1
    assert "a fault of dragoman's own (ZeroDivisionError)" in capsys.readouterr().err

    def stopped():
        raise Interrupted(15, "stopped at step 7; the state is saved")

    verb(stopped)
    assert ending() == 143

    def interrupted():
        raise KeyboardInterrupt

    verb(interrupted)
    assert ending() == 130

    def skipped():
        click.get_current_context().exit(3)

    verb(skipped)
    assert ending() == 3


def test_quiet_may_stand_anywhere(verb, capsys):
    verb(lambda: (console.note("only a note"), console.warn("a warning"))[1])
    assert ending(["probe", "--quiet"]) == 0
    assert capsys.readouterr().err == "warning: a warning\n"
    assert ending(["probe"]) == 0
    assert "only a note" in capsys.readouterr().err


def test_a_reader_who_stops_early_ends_the_program_quietly():
    program = (
        "import click, dragoman.cli.main as m, dragoman.cli.console as c\n"
        "talk = lambda: [c.out('y' * 99) for _ in range(9**6)] and None\n"
        "m.program.get_command = lambda ctx, name: click.Command('x', callback=talk)\n"
        "m.main(['x'])"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) == 0
