"""The door to the package."""

from __future__ import annotations

from typing import Any

from dragoman.errors import MissingExtra

__all__ = ["ctranslate2"]


def ctranslate2() -> Any:
    """The package, with the parts that are used here."""
    try:
        import ctranslate2
        import ctranslate2.specs
    except ImportError:
        raise MissingExtra("ctranslate2", extra="export", purpose="CTranslate2") from None
    return ctranslate2
