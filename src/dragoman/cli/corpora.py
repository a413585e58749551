"""Corpora named on the command line: one or two files, whose names say what they are unless --set says otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dragoman.cli import console
from dragoman.errors import DONE, DONE_WITH_SKIPS, SettingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from dragoman.data.corpus import Corpus, CorpusSettings, Pair, Reading
    from dragoman.recipe.corpora import Corpora

Command = TypeVar("Command", bound="Callable[..., None]")

_KINDS = {".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
_NAMED = {
    "text": ("source", "target"),
    "features": ("source", "target"),
    "known": ("set", "part"),
    **dict.fromkeys(("tsv", "jsonl", "parquet", "mono"), ("file",)),
}
"""What the names on the command line are to a corpus of each kind."""

files_argument = click.argument("files", nargs=-1, required=True, metavar="FILE [FILE]")
on_bad_option = click.option(
    "--on-bad",
    type=click.Choice(["refuse", "skip"]),
    default="refuse",
    show_default=True,
    help="What happens to lines that cannot be used.",
)
set_option = click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Set any setting.")
json_option = click.option("--json", "as_json", is_flag=True, help="The result as one JSON document.")


def training_options(command: Command) -> Command:
    """The options that name what to train on where there is no run file."""
    for option in reversed(
        (
            click.option(
                "--src",
                "source",
                metavar="FILE",
                help="Without a run file: sources, or pairs (.tsv .jsonl .parquet).",
            ),
            click.option("--tgt", "target", metavar="FILE", help="Targets; line i belongs to line i of the sources."),
            click.option(
                "--valid-src", "valid_source", metavar="FILE", help="Sources to validate on; else some are held out."
            ),
            click.option("--valid-tgt", "valid_target", metavar="FILE", help="Their targets."),
            click.option("--text", metavar="FILE", help="Texts for a language model, one a line."),
            click.option("--valid-text", metavar="FILE", help="Texts to validate it on; else some are held out."),
            click.option("--source-lang", "source_language", metavar="LANG", help="Language of the sources."),
            click.option(
                "--target-lang", "target_language", metavar="LANG", help="Language of the targets, or of the text."
            ),
        )
    ):
        command = option(command)
    return command


def named(run_file: Path | None, options: Mapping[str, Any]) -> Corpora | None:
    """The corpora that these options name, if they do; then there is no run file beside them."""
    from dragoman.recipe.corpora import Corpora

    files = ("source", "target", "valid_source", "valid_target", "text", "valid_text")
    found = {name: options[name] for name in (*files, "source_language", "target_language") if options[name]}
    if not found:
        return None
    if run_file is not None:
        raise click.UsageError("Name either a run file or corpora: the file says already what to train on.")
    if not any(name in found for name in files):
        raise click.UsageError("Languages are of corpora: name these with --src and --tgt, or in a run file.")
    return Corpora(**found)


def explain_option(kind: Callable[[], Any]) -> Callable[[Any], Any]:
    """The option --explain, which prints what a setting means and ends the program."""

    def show(context: click.Context, _parameter: click.Parameter, key: str | None) -> None:
        if key is None or context.resilient_parsing:
            return
        from dragoman.settings import explain

        for each in explain(kind(), key):
            console.out(str(each))
        context.exit()

    return click.option(
        "--explain", metavar="KEY", is_eager=True, expose_value=False, callback=show, help="What a setting means."
    )


def described(files: Sequence[str], document: dict[str, Any]) -> dict[str, Any]:
    """The document with its table `corpus` completed: the files, and their kind if it is not given."""
    corpus = dict(document.get("corpus", {}))
    kind = corpus.setdefault("kind", _guessed(files))
    if kind not in _NAMED:
        return {**document, "corpus": corpus}  # decoding says which kinds there are
    names = _NAMED[kind]
    if len(files) != len(names):
        known = kind == "known"
        raise SettingError(
            f"{_counted(files)}, but a corpus of kind {kind!r} has {len(names)}",
            place=" ".join(files),
            remedy="Give the data set's name and that of its part."
            if known
            else "Give two files of lines, or one of pairs (.tsv, .jsonl, .parquet) or of text.",
        )
    return {**document, "corpus": {**dict(zip(names, files, strict=True)), **corpus}}


def same_kind(settings: CorpusSettings, files: Sequence[str]) -> CorpusSettings:
    """The settings of another corpus: the same in everything but its files."""
    import msgspec

    names = _NAMED[str(settings.__struct_config__.tag)]
    if len(files) != len(names):
        raise SettingError(
            f"{_counted(files)}, where {len(names)} are expected as in the first corpus",
            place=",".join(files),
            remedy="Write --with NAME=FILE, or --with NAME=FILE,FILE for two files.",
        )
    return msgspec.structs.replace(settings, **dict(zip(names, files, strict=True)))


def _counted(files: Sequence[str]) -> str:
    return f"{len(files)} {'file' if len(files) == 1 else 'files'}"


def read(corpus: Corpus, *, label: str) -> tuple[Reading, Iterator[Pair]]:
    """A pass over a corpus, and its pairs as they go by a progress bar."""
    reading = corpus.read()
    return reading, console.progress(reading, label=label, unit="pairs")


def report(readings: Iterable[Reading]) -> int:
    """The exit code after saying, on standard error, what was mended and what was skipped."""
    code = DONE
    for reading in readings:
        for what, count in reading.notes.items():
            console.note(f"{what}: {count:,} {'time' if count == 1 else 'times'}")
        for reason, count in reading.skipped.most_common():
            code = DONE_WITH_SKIPS
            console.warn(f"skipped {count:,} of {reading.lines:,} lines: {reason}")
            for example in reading.examples[reason]:
                console.note(f"  {example}")
    return code


def skipped(reading: Reading) -> dict[str, Any]:
    """What was mended and skipped, for --json."""
    return {
        "lines": reading.lines,
        "skipped": dict(reading.skipped),
        "skipped_examples": reading.examples,
        "mended": dict(reading.notes),
    }


def shown(text: str, *, width: int = 60) -> str:
    """A text as a terminal can show it: cut, and without characters that would move the cursor."""
    visible = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text[: width + 1])
    return visible if len(text) <= width else f"{visible[: width - 1]}…"


def _guessed(files: Sequence[str]) -> str:
    if len(files) == 2:
        return "text"
    from dragoman.data.output import ending

    return _KINDS.get(ending(files[0]), "mono")


def paths(names: Sequence[str]) -> list[Path]:
    """The names as paths."""
    return [Path(name) for name in names]
