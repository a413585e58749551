"""Models written for CTranslate2, and the cache in which each is kept once it is converted."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Literal

from dragoman import bundle as bundles
from dragoman.data.catalog import cache_folder
from dragoman.engines.ctranslate2.layout import check_can_be_converted, specification
from dragoman.engines.ctranslate2.package import ctranslate2
from dragoman.errors import FileError
from dragoman.files import disk_errors, locked, new_folder, verify

if TYPE_CHECKING:
    from pathlib import Path

    from dragoman.bundle import Bundle

__all__ = ["Quantization", "converted", "write"]

Quantization = Literal["float32", "float16", "bfloat16", "int16", "int8", "int8_float16", "int8_bfloat16"]

_LAYOUT = 1
"""What is to change when `layout.py` writes something else, so that nobody uses what an older version converted."""


def write(bundle: Bundle, folder: Path, *, quantization: Quantization = "float32") -> None:
    """Write the model into an existing folder, its weights in a number format."""
    spec = specification(bundle)
    spec.validate()
    spec.optimize(quantization=quantization)
    with disk_errors(folder, "write"):
        spec.save(str(folder))


def converted(bundle: Bundle, origin: Path) -> Path:
    """The folder of the converted model, which is made when it is first asked for; `origin` is the bundle's folder.

    Of several processes that ask at once, one converts and the others wait.
    """
    check_can_be_converted(bundle)
    version = ctranslate2().__version__
    place = cache_folder() / "ctranslate2" / f"{bundles.identity(origin)}-{_LAYOUT}-{version}"
    with locked(place.with_name(f"{place.name}.lock"), purpose="converting this model", wait=True):
        if not _is_whole(place):
            with disk_errors(place, "replace"):
                shutil.rmtree(place, ignore_errors=not place.exists())
            with new_folder(place) as fresh:
                write(bundle, fresh)
    return place


def _is_whole(place: Path) -> bool:
    try:
        verify(place)
    except FileError:
        return False
    return True
