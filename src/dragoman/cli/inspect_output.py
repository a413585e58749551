"""Where what was seen inside a model goes: the terminal, or files in the format of their ending."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from dragoman.cli import console
from dragoman.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dragoman.inspection.views.view import View
    from dragoman.translator import Translator

Command = TypeVar("Command", bound="Callable[..., None]")

_ENDINGS = (".html", ".svg", ".png", ".pdf", ".json")


def output_options(command: Command) -> Command:
    """The options that every look inside has: where to, and how many threads."""
    for option in reversed(
        (
            click.option(
                "--out",
                "-o",
                "files",
                type=click.Path(dir_okay=False, path_type=Path),
                multiple=True,
                metavar="FILE",
                callback=_checked,
                help="Write to this file: .html, .svg, .png, .pdf or .json; may be repeated.",
            ),
            click.option("--json", "as_json", is_flag=True, help="Print the numbers as one JSON document."),
            click.option("--threads", type=click.IntRange(min=1), help="Threads to compute with; else one per core."),
        )
    ):
        command = option(command)
    return command


language_option = click.option(
    "--target-lang", metavar="LANG", default="", help="Language of the output, where there are several."
)


def load_model(context: click.Context, options: dict[str, Any]) -> Translator:
    """The model that the group was given."""
    from dragoman.devices import set_threads
    from dragoman.translator import load

    set_threads(options["threads"])
    if context.obj == "-":
        raise SettingError("this needs a model", place="MODEL", remedy="Name a bundle or a training folder.")
    return load(context.obj)


def show(view: View, result: object, options: dict[str, Any]) -> None:
    """Write the files that were asked for; print the drawing, or the numbers."""
    files: tuple[Path, ...] = options["files"]
    for file in files:
        _write(file, view, result)
        console.note(f"written: {file}")
    if options["as_json"]:
        console.out(_document(result).decode())
    elif not files:
        for line in view.lines:
            console.out(line)


def _write(file: Path, view: View, result: object) -> None:
    from dragoman.files import write_atomically
    from dragoman.pages.page import drawing

    ending = file.suffix.lower()
    if ending == ".json":
        write_atomically(file, _document(result) + b"\n")
    elif ending == ".html":
        write_atomically(file, view.page().encode())
    elif view.picture is None:
        raise SettingError(
            f"of this there is no single picture for {ending}",
            place=str(file),
            remedy="Write it as .html or .json.",
        )
    elif ending == ".svg":
        write_atomically(file, drawing(view.picture).encode())
    else:
        from dragoman.pages.image import image

        found = image(view.picture, kind=ending[1:])
        if found.missing:
            console.warn(f"no font here has {' '.join(found.missing)}: there are boxes in {file}; .svg has the letters")
        write_atomically(file, found.content)


def _document(result: object) -> bytes:
    return msgspec.json.encode(result, enc_hook=_plain, order="deterministic")


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, frozenset) else str(value)


def _checked(_context: click.Context, _parameter: click.Parameter, files: tuple[Path, ...]) -> tuple[Path, ...]:
    for file in files:
        if file.suffix.lower() not in _ENDINGS:
            raise click.BadParameter(f"{str(file)!r} ends with none of {', '.join(_ENDINGS)}.")
    return files
