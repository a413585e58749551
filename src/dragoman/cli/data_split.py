"""`dragoman data split`: parts that share no sentence."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import console, corpora
from dragoman.errors import SettingError
from dragoman.files import STANDARD
from dragoman.settings import Settings, assign, decode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dragoman.data.corpus import Corpus, Pair, Reading
    from dragoman.data.split import Split


def _settings() -> type[Settings]:
    from dragoman.cli.data_settings import SplitRun

    return SplitRun


@click.command()
@corpora.files_argument
@click.option("--out", required=True, metavar="FOLDER", help="Folder to make for the parts.")
@click.option("--valid", type=float, default=0.0, help="Pairs for validation: a count, or a share below 1.")
@click.option("--test", type=float, default=0.0, help="Pairs for testing: a count, or a share below 1.")
@click.option("--seed", type=int, default=1, show_default=True, help="Which of all such splits.")
@corpora.on_bad_option
@corpora.set_option
@corpora.explain_option(_settings)
@corpora.json_option
def split(
    *, files: tuple[str, ...], out: str, on_bad: str, assignments: tuple[str, ...], as_json: bool, **sizes: float
) -> None:
    """Divide a corpus into train, valid and test, so that no sentence of one part occurs in another.

    \b
      dragoman data split all.en all.fr --out parts --valid 1000 --test 1000
      dragoman data split pairs.tsv --out parts --test 0.05 --set split.sides=source
    """  # noqa: D301 - click wants the character itself
    from dragoman.cli.data_settings import SplitRun
    from dragoman.data.corpus import Features, build
    from dragoman.data.output import part_names
    from dragoman.data.split import split as divide
    from dragoman.files import new_folder

    document = assign({"on_bad": on_bad, "split": sizes}, assignments)
    settings = decode(corpora.described(files, document), SplitRun)
    if STANDARD in files or isinstance(settings.corpus, Features):
        raise SettingError(
            "only a corpus of text files can be split, since it is read twice and moved to a new folder",
            place=" ".join(files),
            remedy="Name files, of any kind but features.",
        )
    corpus = build(settings.corpus, on_bad=settings.on_bad, longest_line=settings.longest_line)
    with new_folder(Path(out).resolve()) as folder:
        reading, pairs = corpora.read(corpus, label="comparing")
        made = divide(pairs, settings.split)
        parts = [part for part, size in made.sizes().items() if size]
        names = {part: part_names(part, corpus.files, one_sided=corpus.one_sided) for part in parts}
        _write(made, corpus, {part: [folder / name for name in each] for part, each in names.items()})
    _show(made, reading, names, as_json=as_json)
    raise SystemExit(corpora.report([reading]))


def _write(made: Split, corpus: Corpus, paths: Mapping[str, Sequence[Path]]) -> None:
    from dragoman.data.output import writing

    with contextlib.ExitStack() as stack:
        writers: dict[str, Callable[[Pair], None]] = {
            part: stack.enter_context(writing(each, one_sided=corpus.one_sided)) for part, each in paths.items()
        }
        _, pairs = corpora.read(corpus, label="writing")
        for part, pair in made.divide(pairs):
            writers[part](pair)


def _show(made: Split, reading: Reading, names: Mapping[str, Sequence[str]], *, as_json: bool) -> None:
    sizes = made.sizes()
    if as_json:
        document: dict[str, Any] = {"pairs": sizes, "largest_group": made.largest_group, "files": names}
        console.json({**document, **corpora.skipped(reading)})
        return
    rows = [(part, sizes[part], f"{sizes[part] / len(made.places):.2%}", " ".join(names[part])) for part in names]
    console.table(["part", "pairs", "share", "files"], rows)
    console.note(f"The largest group of pairs tied by shared sentences has {made.largest_group:,}.")
