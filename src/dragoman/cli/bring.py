"""The verb `import`."""

from __future__ import annotations

from pathlib import Path

import click

from dragoman.cli import console
from dragoman.cli.inputs import whole_texts


@click.command("import")
@click.argument("source")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder to make; else the name itself.")
@click.option("--source-lang", "source_language", default="", metavar="LANG", help="Language read if none is said.")
@click.option("--target-lang", "target_language", default="", metavar="LANG", help="Language written if none is said.")
@click.option("--prompt", default="", metavar="TEXT", help='Stands before each source: T5\'s "summarize: ".')
@click.option(
    "--sentences",
    type=click.Path(allow_dash=True, path_type=Path),
    metavar="FILE",
    help="Source sentences to compare by; else some of the phrasebook.",
)
@click.option("--json", "as_json", is_flag=True, help="The result as one JSON document.")
def bring(
    *,
    source: str,
    out: Path | None,
    source_language: str,
    target_language: str,
    prompt: str,
    sentences: Path | None,
    as_json: bool,
) -> None:
    """Bring in SOURCE: a folder of transformers, a name on the Hugging Face hub, or a checkpoint of another library.

    Marian (opus-mt), BART, mBART, mBART-50, M2M-100, NLLB, T5, T5 1.1 and mT5 become bundles. Where transformers is
    installed, both then read, score and search the same sentences; where they differ nothing is written. Checkpoints of
    Marian (.npz), JoeyNMT (.ckpt) and OpenNMT-py (.pt) are read as well, without a comparison. Nothing is executed.

    \b
      dragoman import Helsinki-NLP/opus-mt-en-fr
      dragoman import ./nllb --out nllb --source-lang eng_Latn --target-lang fra_Latn
    """  # noqa: D301 - click wants the character itself
    from dragoman.interop.importing import import_model

    given = () if sentences is None else whole_texts(sentences)
    place = Path(Path(source).name) if out is None else out
    console.note(f"importing {source}")
    found = import_model(
        source,
        out=place,
        source_language=source_language,
        target_language=target_language,
        prompt=prompt,
        sentences=given,
    )
    if as_json:
        facts = None if found.probe is None else found.probe.facts()
        console.json({"folder": found.folder, "architecture": found.architecture, "probe": facts})
        return
    console.out(str(found.folder))
    if found.probe is None:
        console.warn(found.remark)
    else:
        console.note(f"compared with the original: {found.probe}")
