"""Sequence-to-sequence models with attention: train on your own pairs, search every way, see inside.

Importing this is quick: what needs torch is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragoman.errors import DragomanError, UserError
    from dragoman.interop.export import Export, export
    from dragoman.interop.importing import Import, import_model
    from dragoman.recipe.corpora import Corpora
    from dragoman.recipe.distill import Distillation, DistillSettings, distill
    from dragoman.recipe.schema import Recipe
    from dragoman.recipe.sweep.space import Range
    from dragoman.recipe.sweep.sweep import Sweep, SweepSettings, sweep
    from dragoman.recipe.teaching import TeachingSettings
    from dragoman.recipe.train import Run, train
    from dragoman.translator import (
        Alignments,
        Alternative,
        Blocklist,
        Explanation,
        Glossary,
        Request,
        Score,
        Token,
        Translation,
        Translator,
        load,
    )

__all__ = [
    "Alignments",
    "Alternative",
    "Blocklist",
    "Corpora",
    "DistillSettings",
    "Distillation",
    "DragomanError",
    "Explanation",
    "Export",
    "Glossary",
    "Import",
    "Range",
    "Recipe",
    "Request",
    "Run",
    "Score",
    "Sweep",
    "SweepSettings",
    "TeachingSettings",
    "Token",
    "Translation",
    "Translator",
    "UserError",
    "distill",
    "export",
    "import_model",
    "load",
    "sweep",
    "train",
]

_ELSEWHERE = {
    "Corpora": "dragoman.recipe.corpora",
    "DistillSettings": "dragoman.recipe.distill",
    "Distillation": "dragoman.recipe.distill",
    "DragomanError": "dragoman.errors",
    "Export": "dragoman.interop.export",
    "Import": "dragoman.interop.importing",
    "Range": "dragoman.recipe.sweep.space",
    "Recipe": "dragoman.recipe.schema",
    "Run": "dragoman.recipe.train",
    "Sweep": "dragoman.recipe.sweep.sweep",
    "SweepSettings": "dragoman.recipe.sweep.sweep",
    "TeachingSettings": "dragoman.recipe.teaching",
    "UserError": "dragoman.errors",
    "distill": "dragoman.recipe.distill",
    "export": "dragoman.interop.export",
    "import_model": "dragoman.interop.importing",
    "sweep": "dragoman.recipe.sweep.sweep",
    "train": "dragoman.recipe.train",
}
"""The rooms of the names that are not the translator's."""


def __getattr__(name: str) -> Any:
    """A public name, from the room that it lives in."""
    if name not in __all__:
        raise AttributeError(f"module 'dragoman' has no attribute {name!r}")
    room = _ELSEWHERE.get(name, "dragoman.translator")
    return getattr(importlib.import_module(room), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
