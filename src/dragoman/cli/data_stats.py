"""`dragoman data stats`: what is in a corpus, and what its parts share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dragoman.cli import console, corpora
from dragoman.errors import SettingError
from dragoman.settings import Settings, assign, decode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dragoman.cli.data_settings import ReadRun
    from dragoman.data.corpus import CorpusSettings, Reading
    from dragoman.data.stats import Lengths, PartStats, SideStats

_BAR = 40
_BLOCKS = " ▏▎▍▌▋▊▉█"


def _settings() -> type[Settings]:
    from dragoman.cli.data_settings import ReadRun

    return ReadRun


@click.command()
@corpora.files_argument
@click.option(
    "--with",
    "others",
    multiple=True,
    metavar="NAME=FILE[,FILE]",
    help="Another part, to be compared with those before.",
)
@corpora.on_bad_option
@corpora.set_option
@corpora.explain_option(_settings)
@corpora.json_option
def stats(
    *, files: tuple[str, ...], others: tuple[str, ...], on_bad: str, assignments: tuple[str, ...], as_json: bool
) -> None:
    """Count a corpus: pairs, lengths, words, characters, scripts, repetitions, and what other parts share with it.

    FILE FILE are two files whose lines belong together; a single FILE is .tsv, .jsonl, .parquet, or plain text
    for a language model; - is standard input.

    \b
      dragoman data stats train.en train.fr
      dragoman data stats train.en train.fr --with valid=val.en,val.fr --with test=test.en,test.fr
    """  # noqa: D301 - click wants the character itself
    from dragoman.cli.data_settings import ReadRun

    settings = decode(corpora.described(files, assign({"on_bad": on_bad}, assignments)), ReadRun)
    parts = {"train": settings.corpus, **dict(_named(other, settings.corpus) for other in others)}
    if len(parts) <= len(others):
        raise SettingError("two parts have the same name", place="--with", remedy="The first corpus is called train.")
    results = list(_measured(parts, settings))
    if as_json:
        console.json([{"statistics": found, **corpora.skipped(reading)} for found, reading in results])
    else:
        for found, _ in results:
            _print(found)
    for found, _ in results:
        _warn(found)
    raise SystemExit(corpora.report(reading for _, reading in results))


def _named(other: str, like: CorpusSettings) -> tuple[str, CorpusSettings]:
    name, equals, files = other.partition("=")
    if not (name and equals and files):
        raise SettingError(f"{other!r} is not of the form NAME=FILE", place="--with", remedy="Write test=test.tsv.")
    return name, corpora.same_kind(like, files.split(","))


def _measured(parts: dict[str, CorpusSettings], settings: ReadRun) -> Iterator[tuple[PartStats, Reading]]:
    from dragoman.data.corpus import Features, build
    from dragoman.data.stats import Sentences, measure

    earlier: list[Sentences] = []
    for name, described in parts.items():
        corpus = build(described, on_bad=settings.on_bad, longest_line=settings.longest_line)
        reading, pairs = corpora.read(corpus, label=name)
        sentences = Sentences(name)
        texts = not isinstance(described, Features)
        yield measure(pairs, sentences, earlier=earlier, source_is_text=texts), reading
        earlier.append(sentences)


def _print(part: PartStats) -> None:
    many = "pair" if part.pairs == 1 else "pairs"
    console.out(f"{part.name}: {part.pairs:,} {many}, of which {part.repeated:,} have come before")
    sides = {"source": part.source, "target": part.target}
    present = {name: side for name, side in sides.items() if side is not None}
    console.out()
    console.table(["", *present], list(zip(*_columns(list(present.values())), strict=True)))
    for name, side in present.items():
        console.out(f"\n{name}: how long, in words")
        for line in histogram(side.words):
            console.out(f"  {line}")
    console.out()


def _columns(sides: Sequence[SideStats]) -> Iterator[list[str]]:
    growth = [f"different words in {point.pairs:,} pairs" for point in sides[0].growth[:-1]]
    yield [
        "words",
        "words in a text: mean",
        "5, 50, 95, 99 % have up to",
        "the longest",
        "characters in a text: mean",
        "the longest",
        *growth,
        "different words in all",
        "different characters",
        "scripts of the letters",
    ]
    for side in sides:
        percentiles = side.words.percentiles
        yield [
            f"{side.words.total:,}",
            f"{side.words.mean:.1f}",
            ", ".join(f"{percentiles[p]:,}" for p in (5, 50, 95, 99)),
            f"{side.words.longest:,}",
            f"{side.characters.mean:.1f}",
            f"{side.characters.longest:,}",
            *(f"{point.words:,}" for point in side.growth[:-1]),
            f"{'over ' if side.vocabulary_is_bound else ''}{side.vocabulary:,}",
            f"{side.alphabet:,}",
            ", ".join(f"{name} {share:.1%}" for name, share in list(side.scripts.items())[:3]) or "none",
        ]


def histogram(lengths: Lengths) -> list[str]:
    """Bars for how many texts have which length, one line a bin."""
    most = max((b.count for b in lengths.histogram), default=1)
    names = [str(b.least) if b.least == b.most else f"{b.least}-{b.most}" for b in lengths.histogram]
    width, digits = max(map(len, names), default=0), len(f"{most:,}")
    return [
        f"{name:>{width}} {b.count:>{digits},} {_bar(b.count / most)}".rstrip()
        for name, b in zip(names, lengths.histogram, strict=True)
    ]


def _bar(share: float) -> str:
    eighths = round(share * _BAR * 8)
    return _BLOCKS[-1] * (eighths // 8) + _BLOCKS[eighths % 8]


def _warn(part: PartStats) -> None:
    for overlap in part.overlaps:
        console.warn(
            f"{overlap.sentences:,} {overlap.side} sentences of {part.name} ({overlap.share:.1%}) occur in "
            f"{overlap.part}: " + "; ".join(corpora.shown(text) for text in overlap.examples)
        )
    if part.bounded:
        console.warn(f"{part.name}: too many sentences to remember: repetitions and overlaps are lower bounds")
