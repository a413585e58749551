"""Parts of a model that stay as they are while the rest learns."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from dragoman.errors import ModelError
from dragoman.models.embedding import TokenEmbedding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn

__all__ = ["EMBEDDINGS", "freeze"]

EMBEDDINGS = "embeddings"
"""Stands for the tables of token vectors, wherever they are."""


def freeze(model: nn.Module, names: Sequence[str]) -> tuple[str, ...]:
    """The names of the weights that do not learn from now on: those of parts (`encoder`), of patterns (`*.bias`)."""
    tables = {id(m.weight) for m in model.modules() if isinstance(m, TokenEmbedding)}
    named = dict(model.named_parameters())
    frozen: list[str] = []
    for wanted in names:
        found = [n for n, p in named.items() if (wanted == EMBEDDINGS and id(p) in tables) or _fits(n, wanted)]
        if not found:
            parts = sorted({name.partition(".")[0] for name in named})
            raise ModelError(
                f"no weight belongs to {wanted!r}",
                place="training.freeze",
                remedy=f"The parts are: {', '.join([*parts, EMBEDDINGS])}; or a pattern like 'decoder.*.bias'.",
            )
        frozen += found
    for name in frozen:
        named[name].requires_grad = False
    if not any(p.requires_grad for p in named.values()):
        raise ModelError("nothing is left that could learn", place="training.freeze", remedy="Freeze less.")
    return tuple(dict.fromkeys(frozen))


def _fits(name: str, wanted: str) -> bool:
    return name.startswith(f"{wanted}.") or fnmatchcase(name, wanted)
