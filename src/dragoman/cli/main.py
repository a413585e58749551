"""The program `dragoman`: its verbs, and how errors end it.

A verb's file is imported when the verb runs, and its line of help stands here, so that `--help` is quick.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import console
from dragoman.devices import yield_cores
from dragoman.errors import FAULT, MISTAKE, DragomanError

if TYPE_CHECKING:
    from collections.abc import Sequence

_VERBS = {
    "data": "Corpora: list and fetch known ones, look at, clean and split your own.",
    "demo": "Five minutes with the built-in corpus.",
    "distill": "Teach a smaller student what a trained model says.",
    "evaluate": "How good a model or a file of outputs is, and whether better than another.",
    "export": "Write a model for another library.",
    "inspect": "Look inside: attention, search, tokens, gradients, bias, health.",
    "generate": "Write with a language model.",
    "import": "Bring in a model of another library, and prove that it is the same.",
    "score": "How probable a model finds given pairs, or texts.",
    "sweep": "Train many times with settings that differ, and see which of them matter.",
    "shortlist": "Teach a model which words a source may call for, so that it looks at fewer.",
    "train": "Train a model on your own pairs.",
    "translate": "Translate line by line with a trained model.",
    "doctor": "What this machine can do, and what is wrong with it.",
}

_FILES = {"import": "bring"}
"""Files of verbs that Python has for words of its own."""

_COMPLETION = "_DRAGOMAN_COMPLETE"


class _Verbs(click.Group):
    """A group that imports the file of a verb when the verb is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the signature is click's
        return sorted(_VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002 - as above
        if name not in _VERBS:
            return None
        file = _FILES.get(name, name)
        command: click.Command = getattr(importlib.import_module(f"dragoman.cli.{file}"), file)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        with formatter.section("Verbs"):
            formatter.write_dl(sorted(_VERBS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            import difflib

            close = difflib.get_close_matches(args[0], sorted(_VERBS), n=1)
            hint = f" Did you mean {close[0]!r}?" if close else f" The verbs are: {', '.join(sorted(_VERBS))}."
            raise click.UsageError(f"there is no verb {args[0]!r}.{hint}", ctx) from None


def _print_version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's
    if wanted and not context.resilient_parsing:
        from importlib.metadata import version

        console.out(f"dragoman {version('dragoman')}")
        context.exit()


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--quiet", is_flag=True, help="No notes and no progress, only results, warnings and errors.")
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_version, help="The version."
)
def program(quiet: bool) -> None:  # noqa: FBT001 - the console asks the context for it; flags are click's
    """Sequence-to-sequence models with attention: train on your own pairs, search every way, see inside."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program and end the process with the documented exit code."""
    if _COMPLETION in os.environ:  # a shell asks what may follow
        program.main(prog_name="dragoman")
    yield_cores()
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader stopped early, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)


def _quiet_first(arguments: Sequence[str] | None) -> list[str]:
    """The arguments with --quiet, which may stand anywhere, at the front, where the program reads it."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    end = given.index("--") if "--" in given else len(given)
    rest = [a for a in given[:end] if a != "--quiet"]
    return ["--quiet"] * (len(rest) < end) + rest + given[end:]


def _run(arguments: Sequence[str] | None) -> Any:
    try:
        with program.make_context("dragoman", _quiet_first(arguments)) as whole:  # main() would end a broken pipe
            return program.invoke(whole) or 0
    except click.exceptions.NoArgsIsHelpError as nothing_said:
        console.say(nothing_said.format_message())
        return MISTAKE
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as mistake:
        context = getattr(mistake, "ctx", None)
        console.error(mistake.format_message())
        if context is not None:
            console.note(f"See: {context.command_path} --help")
        return MISTAKE
    except DragomanError as mistake:
        console.error(str(mistake))
        return mistake.exit_code
    except (KeyboardInterrupt, click.Abort):
        console.error("interrupted")
        return 128 + signal.SIGINT
    except BrokenPipeError:
        raise  # main() ends it quietly
    except Exception as fault:  # noqa: BLE001 - the last door: the user must not be left with a bare traceback
        import traceback

        traceback.print_exc()
        console.error(
            f"this is a fault of dragoman's own ({type(fault).__name__}): please report it with the lines above"
        )
        return FAULT
