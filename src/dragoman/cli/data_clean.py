"""`dragoman data clean`: keep the pairs that are worth training on."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import console, corpora
from dragoman.settings import Settings, assign, decode

if TYPE_CHECKING:
    from dragoman.data.clean import Cleaner, Tally


def _settings() -> type[Settings]:
    from dragoman.cli.data_settings import CleanRun

    return CleanRun


@click.command()
@corpora.files_argument
@click.option("-o", "--out", "outputs", multiple=True, metavar="FILE", help="Write one file (TSV, or .jsonl), or two.")
@corpora.on_bad_option
@corpora.set_option
@corpora.explain_option(_settings)
@corpora.json_option
def clean(
    *, files: tuple[str, ...], outputs: tuple[str, ...], on_bad: str, assignments: tuple[str, ...], as_json: bool
) -> None:
    """Drop pairs that would teach a model nothing good.

    FILE FILE are two files whose lines belong together; a single FILE is .tsv, .jsonl, .parquet, or plain text
    for a language model; - is standard input. Without --out, nothing is written: see what would be dropped.

    \b
      dragoman data clean train.en train.fr -o clean.en -o clean.fr
      dragoman data clean pairs.tsv.gz -o clean.tsv --set clean.max_ratio=2
      dragoman data clean train.en train.fr --set clean.source_language=en --set clean.target_language=fr
    """  # noqa: D301 - click wants the character itself
    from dragoman.cli.data_settings import CleanRun
    from dragoman.data.clean import Cleaner, Tally
    from dragoman.data.corpus import Features, Mono, build
    from dragoman.data.output import refuse_unusable, writing

    document = corpora.described(files, assign({"on_bad": on_bad}, assignments))
    settings = decode(document, CleanRun)
    corpus = build(settings.corpus, on_bad=settings.on_bad, longest_line=settings.longest_line)
    mono, arrays = isinstance(settings.corpus, Mono), isinstance(settings.corpus, Features)
    targets = corpora.paths(outputs)
    if targets:
        refuse_unusable(targets, one_sided=mono)
    cleaner, tally = Cleaner(settings.clean, targets_only=mono or arrays), Tally()
    reading, pairs = corpora.read(corpus, label="cleaning")
    with contextlib.ExitStack() as stack:
        write = stack.enter_context(writing(targets, one_sided=mono, arrays=arrays)) if targets else None
        for verdict in cleaner.judge(pairs):
            tally.add(verdict)
            if write and verdict.reason is None:
                write(verdict.pair)
    if as_json:
        console.json({**_document(tally), **corpora.skipped(reading), "written": outputs})
    else:
        _print(tally)
    _warn(cleaner, tally, written=bool(outputs))
    raise SystemExit(corpora.report([reading]))


def _document(tally: Tally) -> dict[str, Any]:
    return {
        "pairs": tally.kept + tally.dropped.total(),
        "kept": tally.kept,
        "dropped": dict(tally.dropped.most_common()),
        "examples": tally.examples,
    }


def _print(tally: Tally) -> None:
    total = tally.kept + tally.dropped.total()
    rows = [(name, count, f"{count / total:.2%}") for name, count in tally.dropped.most_common()]
    console.table(["reason", "pairs", "share"], [*rows, ("kept", tally.kept, f"{tally.kept / total:.2%}")])
    for reason in tally.dropped:
        console.out(f"\n{reason}, for example:")
        for pair in tally.examples[reason]:
            console.out(f"  {pair.file}:{pair.line}")
            for side in filter(None, (pair.source, pair.target)):
                console.out(f"    {corpora.shown(side, width=100)}")


def _warn(cleaner: Cleaner, tally: Tally, *, written: bool) -> None:
    if cleaner.forgotten:
        console.warn(
            f"{cleaner.forgotten:,} texts did not fit into the memory for duplicates, so repetitions of them stayed: "
            "raise clean.duplicate_memory"
        )
    if not tally.kept:
        console.warn("no pair is left")
    if not written:
        console.note("Nothing was written: name the files to write with -o.")
