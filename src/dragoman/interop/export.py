"""Models taken out: written for another library, and compared with the original before they are declared done."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, assert_never

import msgspec

from dragoman import bundle as bundles
from dragoman.errors import SettingError
from dragoman.files import new_folder, write_atomically
from dragoman.interop.agreement import Agreement, agreement, check_sentences, spoken
from dragoman.translator.loading import bundle_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.bundle import Bundle
    from dragoman.engines.ctranslate2.conversion import Quantization
    from dragoman.interop.agreement import Exported

__all__ = ["FACTS", "Export", "Target", "export"]

Target = Literal["ctranslate2", "huggingface", "onnx"]

FACTS = "export.json"
"""What was exported, and how closely it follows the original."""


@dataclass(frozen=True, slots=True)
class Export:
    """What was written."""

    folder: Path
    target: Target
    agreement: Agreement


class _Facts(msgspec.Struct, frozen=True, kw_only=True):
    format: int = 1
    target: Target
    model: str
    """SHA-256 of the manifest of the bundle."""
    agreement: Agreement


def export(
    model: Path | str,
    *,
    to: Target,
    out: Path | str,
    quantization: Quantization = "float32",
    sentences: Sequence[str] = (),
) -> Export:
    """The model of a bundle or training folder, written for another library into the new folder `out`.

    It is compared with the original on the sentences (else on some of the phrasebook); where they say different
    things nothing is written. `quantization` is CTranslate2's: in fewer bits differences are counted, not refused.
    """
    if quantization != "float32" and to != "ctranslate2":
        raise SettingError(
            f"weights for {to} are written in float32, not in {quantization}",
            place="quantization",
            remedy="Leave it out, or export to ctranslate2.",
        )
    origin, place = bundle_folder(Path(model)), Path(out)
    bundle = bundles.load(origin)
    with new_folder(place) as fresh:
        exported = _written(bundle, fresh, to=to, quantization=quantization)
        originals = spoken(bundle, check_sentences(bundle, sentences))
        found = agreement(exported, originals, exact=quantization == "float32")
        facts = _Facts(target=to, model=bundles.identity(origin), agreement=found)
        write_atomically(fresh / FACTS, msgspec.json.format(msgspec.json.encode(facts), indent=1))
    return Export(place, to, found)


def _written(bundle: Bundle, folder: Path, *, to: Target, quantization: Quantization) -> Exported:
    """The exported model in the folder, opened again as its users will."""
    match to:
        case "ctranslate2":
            from dragoman.interop.ctranslate2 import CTranslate2Model, write_ctranslate2

            write_ctranslate2(bundle, folder, quantization=quantization)
            return CTranslate2Model(folder, bundle)
        case "huggingface":
            from dragoman.interop.huggingface.writing import HuggingFaceModel, write_huggingface

            write_huggingface(bundle, folder)
            return HuggingFaceModel(folder, bundle)
        case "onnx":
            from dragoman.interop.onnx.writing import ExportedOnnx, write_onnx

            write_onnx(bundle, folder)
            return ExportedOnnx(folder)
        case _:
            assert_never(to)
