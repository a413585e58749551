"""The verb `shortlist`."""

from __future__ import annotations

import itertools
from pathlib import Path

import click

from dragoman.cli import console
from dragoman.cli.inputs import text_pairs


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("src", type=click.Path(path_type=Path))
@click.argument("tgt", type=click.Path(path_type=Path))
@click.option("--most", type=click.IntRange(min=1), metavar="N", help="Translations kept for each source word.")
@click.option("--frequent", type=click.IntRange(min=0), metavar="N", help="So many frequent words are on every list.")
@click.option(
    "--pairs", type=click.IntRange(min=1), default=200_000, show_default=True, help="No more pairs are learned from."
)
@click.option("--json", "as_json", is_flag=True, help="What was learned as one JSON document.")
def shortlist(
    *, model: Path, src: Path, tgt: Path, most: int | None, frequent: int | None, pairs: int, as_json: bool
) -> None:
    """Teach MODEL which words of its vocabulary a source may call for, from its training data SRC and TGT.

    Word translations are learned from the pairs, and kept in the model. `translate --short-list N` then looks at N
    translations of each source word and at frequent words alone: quicker where vocabularies are large, and now
    and then another output.

    \b
      dragoman shortlist models/en-fr train.en train.fr
      dragoman translate models/en-fr --short-list 100 < in.txt > out.txt
    """  # noqa: D301 - click wants the character itself
    from dragoman import bundle as bundles
    from dragoman.measures.short_list import ShortListSettings
    from dragoman.translator.loading import bundle_folder
    from dragoman.translator.short_list import with_short_list

    folder = bundle_folder(model)
    bundle = bundles.load(folder)
    usual = ShortListSettings()
    settings = ShortListSettings(
        most=usual.most if most is None else most, frequent=usual.frequent if frequent is None else frequent
    )
    lines = list(itertools.islice(text_pairs(src, tgt), pairs))
    sources, targets = map(list, zip(*lines, strict=True)) if lines else ([], [])
    console.note(f"learning from {len(lines):,} pairs")
    taught = with_short_list(bundle, sources, targets, settings=settings)
    bundles.save(taught, folder)
    learned = taught.short_list
    assert learned is not None
    facts = {
        "folder": str(folder),
        "pairs": len(lines),
        "source_words": int((learned.offsets[1:] > learned.offsets[:-1]).sum()),
        "translations": len(learned.targets),
        "always": len(learned.always),
    }
    if as_json:
        console.json(facts)
        return
    console.out(str(folder))
    console.note(
        f"{facts['translations']:,} translations of {facts['source_words']:,} source words;"
        f" {facts['always']:,} words are on every list"
    )
