"""The verb `translate`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import console
from dragoman.cli.decoding_options import chosen_search, decoding_options
from dragoman.cli.inputs import models_argument, text_lines, whole_texts
from dragoman.errors import DONE_WITH_SKIPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dragoman.decoding.build import DecodingSettings
    from dragoman.devices import NumberFormat
    from dragoman.engines.searcher import Engine
    from dragoman.translator import Batching, Loading, Request, Translation

_METHODS = ["intersection", "union", "grow-diag", "grow-diag-final-and"]
_REFUSED = {"blocked_input", "blocked_output", "no_output"}
_BREAKS = re.compile(r"[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")


@click.command()
@models_argument
@click.argument("files", nargs=-1, type=click.Path(allow_dash=True, path_type=Path))
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="File to write; else the screen.")
@decoding_options
@click.option("--prefix", type=click.Path(path_type=Path), metavar="FILE", help="Line i must begin with its line i.")
@click.option("--glossary", type=click.Path(path_type=Path), metavar="FILE", help="TSV: source term, translations.")
@click.option(
    "--banned", type=click.Path(path_type=Path), metavar="FILE", help="Words that are never said, one a line."
)
@click.option("--blocklist", type=click.Path(path_type=Path), metavar="FILE", help="No line with such words.")
@click.option("--copy-unknown", is_flag=True, help="Unknown words become the source word that is looked at.")
@click.option("--lm", metavar="MODEL", help="A language model that has a say in each word.")
@click.option("--lm-weight", type=float, metavar="W", help="How much of a say; 0.2 where nothing is said.")
@click.option("--source-lang", metavar="LANG", default="", help="Make sure that the model reads it.")
@click.option("--target-lang", metavar="LANG", default="", help="Language to translate into, where there are several.")
@click.option("--alignments", is_flag=True, help="Also which words belong together, as 0-0 1-2.")
@click.option("--layer", type=int, metavar="N", help="With --alignments: layer to read; else the one that aligns best.")
@click.option("--symmetrize", type=click.Choice(_METHODS), help="With --alignments: how both directions are joined.")
@click.option("--scores", is_flag=True, help="Also the score of each output.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, with all that is known.")
@click.option("--batch-tokens", type=click.IntRange(min=1), metavar="N", help="Source tokens worked on at once.")
@click.option(
    "--precision",
    type=click.Choice(["float32", "bfloat16", "int8"]),
    default="float32",
    show_default=True,
    help="Number format of the products.",
)
@click.option(
    "--engine",
    type=click.Choice(["torch", "ctranslate2"]),
    default="torch",
    show_default=True,
    help="Who searches: ctranslate2 runs --greedy and --beam of one Transformer.",
)
@click.option(
    "--short-list",
    type=click.IntRange(min=1),
    metavar="N",
    help="Look at N translations of each source word; for models taught by `dragoman shortlist`.",
)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    metavar="N",
    help="Cores to use, all where nothing is said; of many lines each translates a share.",
)
def translate(
    *, model: str, files: tuple[Path, ...], output: Path | None, as_json: bool, scores: bool, **options: Any
) -> None:
    """Translate FILES (or standard input) line by line with MODEL, a bundle or a training folder.

    Line i of the output belongs to line i of the input, whatever it holds. MODEL,MODEL is an ensemble. With --nbest,
    --scores or --alignments a line has fields between tabs: number of the line, score, output, alignment, and of a
    calibrated model how probable it is that the output is right. The exit code is 3 if a line has no output, because
    the blocklist refused it or nothing that may be said was left.

    \b
      dragoman translate models/en-fr < in.txt > out.txt
      dragoman translate models/en-fr in.txt --beam 8 --nbest 3
      dragoman translate a,b in.txt --json --alignments
    """  # noqa: D301 - click wants the character itself
    from dragoman.devices import set_threads
    from dragoman.translator import shared

    threads = set_threads(options.pop("threads"))
    alignments, prefix_file = options["alignments"], options.pop("prefix")
    request = _request(options, confidence=as_json or scores)
    inputs = files or (Path("-"),)
    interactive = str(inputs[0]) == "-" and sys.stdin.isatty()
    helper = (options.pop("lm"), options.pop("lm_weight"))
    batching = _batching(options.pop("batch_tokens"), interactive=interactive)
    loading = _loading(model, helper, batching, precision=options.pop("precision"), engine=options.pop("engine"))
    loaded = loading.translator()
    search = chosen_search(options, loaded.decoding)
    shown = _Shown(as_json=as_json, scores=scores, alignments=alignments, nbest=getattr(search, "nbest", 1))
    sources = text_lines(inputs, arrays=loaded.reads_features)
    prefixes = None if prefix_file is None else text_lines((prefix_file,))
    tally = _Tally()
    found = shared(loaded, loading, sources, settings=search, prefixes=prefixes, request=request, threads=threads)
    del loaded  # it may no longer be needed
    translations = tally.of(found)
    lines = (line for number, each in enumerate(translations, 1) for line in shown.lines(number, each))
    _write(lines, output, at_once=interactive)
    for remark in tally.remarks(search):
        console.note(remark)
    if tally.refused:
        click.get_current_context().exit(DONE_WITH_SKIPS)


def _write(lines: Iterator[str], output: Path | None, *, at_once: bool) -> None:
    if output is None:
        for line in lines:
            console.out(line)
            if at_once:
                sys.stdout.flush()
        return
    from dragoman.files import replacing

    with replacing(output) as stream:
        for line in lines:
            stream.write(f"{line}\n".encode())


def _batching(tokens: int | None, *, interactive: bool) -> Batching:
    from dataclasses import replace

    from dragoman.translator import Batching

    batching = Batching(window=1) if interactive else Batching()
    return batching if tokens is None else replace(batching, tokens=tokens)


def _loading(
    model: str,
    helper: tuple[str | None, float | None],
    batching: Batching,
    *,
    precision: NumberFormat,
    engine: Engine,
) -> Loading:
    """How the translator is loaded, with the language model and its weight that are asked for."""
    from dragoman.translator import Loading

    name, weight = helper
    if name is None and weight is not None:
        raise click.UsageError("--lm-weight is the weight of a language model: name it with --lm.")
    return Loading(
        tuple(model.split(",")),
        batching=batching,
        language_model=name,
        language_weight=0.2 if weight is None else weight,
        precision=precision,
        engine=engine,
    )


def _request(options: dict[str, Any], *, confidence: bool) -> Request:
    """What the options ask for beside the search; they are taken out of the dictionary."""
    from dragoman.translator import Alignments, Blocklist, Glossary, Request

    glossary, banned, blocklist = options.pop("glossary"), options.pop("banned"), options.pop("blocklist")
    method, layer = options.pop("symmetrize"), options.pop("layer")
    wanted = options.pop("alignments")
    if not wanted and (method is not None or layer is not None):
        raise click.UsageError("--symmetrize and --layer say how --alignments are made: add --alignments.")
    guard = None if blocklist is None else Blocklist(whole_texts(blocklist))
    return Request(
        glossary=Glossary() if glossary is None else Glossary.read(text_lines((glossary,)), place=str(glossary)),
        banned=() if banned is None else tuple(whole_texts(banned)),
        alignments=Alignments(layer=layer, symmetrization=method) if wanted else None,
        copy_unknown=options.pop("copy_unknown"),
        input_guard=guard,
        output_guard=guard,
        source_language=options.pop("source_lang"),
        target_language=options.pop("target_lang"),
        confidence=confidence,
        short_list=options.pop("short_list") or 0,
    )


class _Tally:
    """What has become of the lines, counted while they pass."""

    def __init__(self) -> None:
        self.lines = self.refused = self.proven = self.unproven = 0

    def of(self, translations: Iterator[Translation]) -> Iterator[Translation]:
        """The translations, which are counted."""
        for each in translations:
            self.lines += 1
            self.refused += not _REFUSED.isdisjoint(each.notes)
            self.proven += each.proven is True
            self.unproven += each.proven is False
            yield each

    def remarks(self, search: DecodingSettings) -> Iterator[str]:
        """What a user should know in the end."""
        from dragoman.decoding.exact import ExactSettings

        if self.refused:
            yield f"{self.refused:,} of {self.lines:,} lines have no output: blocked, or nothing was left to say"
        if self.proven or self.unproven:
            limit = f" within {search.expansions:,} expansions" if isinstance(search, ExactSettings) else ""
            yield f"{self.proven:,} lines proven to have the best output, {self.unproven:,} not proven{limit}"


class _Shown:
    """How translations become lines."""

    def __init__(self, *, as_json: bool, scores: bool, alignments: bool, nbest: int | None) -> None:
        self._as_json = as_json
        self._scores = scores
        self._alignments = alignments
        self._several = (nbest or 1) > 1

    def lines(self, number: int, translation: Translation) -> Iterator[str]:
        """The lines of one translation: one, or with --nbest one for each output."""
        if self._as_json:
            yield json_line(translation, alignments=self._alignments, alternatives=self._several)
        elif not (self._several or self._scores or self._alignments):
            yield one_line(translation.text)
        else:
            for rank, each in enumerate((translation.best, *translation.alternatives)):
                fields = [str(number), f"{each.score:.4f}", one_line(each.text).replace("\t", " ")]
                if self._alignments:
                    fields.append(_pharaoh(translation) if rank == 0 else "")
                if translation.confidence is not None:
                    fields.append(f"{translation.confidence:.4f}" if rank == 0 else "")
                yield "\t".join(fields)


def one_line(text: str) -> str:
    """The text without line breaks: an output is one line whatever a model says."""
    return _BREAKS.sub(" ", text)


def _pharaoh(translation: Translation) -> str:
    from dragoman.measures.alignment import write_pharaoh

    return write_pharaoh(translation.alignment or ())


def json_line(translation: Translation, *, alignments: bool, alternatives: bool) -> str:
    """The translation as one line of JSON; a score that is not finite, where there is no output, is null."""
    import msgspec

    value: dict[str, Any] = {
        "source": translation.source,
        "translation": translation.text,
        "score": translation.score,
        "log_prob": translation.log_prob,
        "tokens": [{"text": t.text, "log_prob": t.log_prob} for t in translation.tokens],
    }
    if alignments:
        value["alignment"] = sorted(translation.alignment or ())
    if alternatives:
        value["alternatives"] = [{"translation": a.text, "score": a.score} for a in translation.alternatives]
    if translation.confidence is not None:
        value["confidence"] = translation.confidence
        value["words"] = [{"text": word.text, "confidence": word.confidence} for word in translation.words]
    value["warnings"] = translation.warnings
    if translation.proven is not None:
        value["proven"] = translation.proven
        value["expansions"] = translation.expansions
    return msgspec.json.encode(value).decode()
