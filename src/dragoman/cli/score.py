"""The verb `score`."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dragoman.cli import console
from dragoman.cli.inputs import models_argument, text_lines, text_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dragoman.translator import Score, Translator

_WINDOW = 2048


@click.command()
@models_argument
@click.argument("files", nargs=-1, required=True, metavar="SRC TGT", type=click.Path(path_type=Path))
@click.option("--tokens", is_flag=True, help="Also the log-probability of each token.")
@click.option("--target-lang", metavar="LANG", default="", help="Language of the targets, where there are several.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads to compute with; else one per core.")
def score(
    *, model: str, files: tuple[Path, ...], tokens: bool, target_lang: str, as_json: bool, threads: int | None
) -> None:
    """How probable MODEL finds each line of TGT, given the same line of SRC; of a language model, one file's lines.

    A line has the log-probability, the perplexity, and with --tokens each token with its own, between tabs. What holds
    for the whole comes last, on standard error.
    """
    from dragoman.devices import set_threads
    from dragoman.translator import load

    set_threads(threads)
    loaded = load(*model.split(","))
    if len(files) != (2 if loaded.has_source else 1):
        wanted = (
            "a file of sources and one of targets" if loaded.has_source else "one file: a language model has no source"
        )
        raise click.UsageError(f"this model scores {wanted}.")
    total, count, lines = 0.0, 0, 0
    for source, target, found in _scored(loaded, files, target_lang):
        total, count, lines = total + found.log_prob, count + len(found.tokens), lines + 1
        if as_json:
            console.json(_document(source, target, found))
            continue
        fields = [f"{found.log_prob:.4f}", f"{found.perplexity:.4f}"]
        if tokens:
            fields.append(" ".join(f"{token.text}:{token.log_prob:.4f}" for token in found.tokens))
        console.out("\t".join(fields))
    perplexity = math.exp(min(700.0, -total / max(1, count)))
    console.note(f"{lines:,} lines, {count:,} tokens: log-probability {total:.4f}, perplexity {perplexity:.4f}")


def _scored(loaded: Translator, files: tuple[Path, ...], language: str) -> Iterator[tuple[str | None, str, Score]]:
    """Each pair with its score."""
    pairs = _pairs(files, arrays=loaded.reads_features)
    while window := list(itertools.islice(pairs, _WINDOW)):
        sources = [source for source, _ in window if source is not None]
        targets = [target for _, target in window]
        scores = loaded.score(sources if loaded.has_source else None, targets, target_language=language)
        for (source, target), found in zip(window, scores, strict=True):
            yield source, target, found


def _pairs(files: tuple[Path, ...], *, arrays: bool) -> Iterator[tuple[str | None, str]]:
    if len(files) == 1:
        yield from ((None, line) for line in text_lines(files))
    else:
        yield from text_pairs(*files, arrays=arrays)


def _document(source: str | None, target: str, found: Score) -> dict[str, object]:
    document: dict[str, object] = {} if source is None else {"source": source}
    return document | {
        "target": target,
        "log_prob": found.log_prob,
        "perplexity": found.perplexity,
        "tokens": [{"text": t.text, "log_prob": t.log_prob} for t in found.tokens],
    }
