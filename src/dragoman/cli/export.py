"""The verb `export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dragoman.cli import console
from dragoman.cli.inputs import whole_texts

if TYPE_CHECKING:
    from dragoman.engines.ctranslate2.conversion import Quantization
    from dragoman.interop.export import Target

_QUANTIZATIONS = ["float32", "float16", "bfloat16", "int16", "int8", "int8_float16", "int8_bfloat16"]


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--to", "target", required=True, type=click.Choice(["ctranslate2", "huggingface", "onnx"]), help="Format."
)
@click.option("--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="Folder to make.")
@click.option(
    "--quantization",
    type=click.Choice(_QUANTIZATIONS),
    default="float32",
    show_default=True,
    help="Number format of CTranslate2's weights.",
)
@click.option(
    "--sentences",
    type=click.Path(allow_dash=True, path_type=Path),
    metavar="FILE",
    help="Source sentences to compare by; else some of the phrasebook.",
)
@click.option("--json", "as_json", is_flag=True, help="The result as one JSON document.")
def export(
    *, model: Path, target: Target, out: Path, quantization: Quantization, sentences: Path | None, as_json: bool
) -> None:
    """Write MODEL, a bundle or a training folder, for another library.

    What was written is opened by that library and compared with the original on real sentences: the same tokens read,
    the same log-probabilities, the same greedy outputs. Where they differ nothing is written.

    \b
      dragoman export models/en-fr --to ctranslate2 --out en-fr-ct2 --quantization int8
    """  # noqa: D301 - click wants the character itself
    from dragoman.interop.export import export as write

    given = () if sentences is None else whole_texts(sentences)
    found = write(model, to=target, out=out, quantization=quantization, sentences=given)
    if as_json:
        console.json({"folder": found.folder, "target": found.target, "agreement": found.agreement})
        return
    console.out(str(found.folder))
    console.note(f"compared with the original: {found.agreement}")
