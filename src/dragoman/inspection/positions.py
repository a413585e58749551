"""How positions are told apart: the vectors added to embeddings, and their products with each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

import torch

from dragoman.errors import ModelError, SettingError
from dragoman.models.positions import Learned, Sinusoidal

if TYPE_CHECKING:
    from torch import nn

    from dragoman.translator import Translator

__all__ = ["Positions", "positions", "positions_of", "sinusoidal"]

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Positions:
    """Vectors of the first positions, and what they have in common."""

    kind: Literal["sinusoidal", "learned"]
    size: int
    vectors: Matrix
    """A row for each position, from 0."""
    products: Matrix
    """The dot product of each position's vector with each other's."""


def sinusoidal(count: int, size: int) -> Positions:
    """The formula's own vectors: sin(p / 10000^(2i/d)) and cos(p / 10000^(2i/d)), interleaved."""
    if size % 2:
        raise SettingError(f"{size} is odd", place="size", remedy="Sines and cosines come in pairs: give an even size.")
    return positions_of(Sinusoidal(size), count)


def positions(translator: Translator, *, count: int = 40) -> Positions:
    """The vectors that a model adds; the first of its stacks, where it has several."""
    modules = cast("nn.Module", translator.bundle.model).modules()
    found = next((each for each in modules if isinstance(each, Sinusoidal | Learned)), None)
    if found is None:
        raise ModelError(
            "this model adds no vectors to tell positions apart",
            place="positions",
            remedy="Recurrent models need none, rotary and relative positions work within attention. "
            "`inspect - positions` draws the sinusoidal formula.",
        )
    return positions_of(found, count)


def positions_of(module: Sinusoidal | Learned, count: int) -> Positions:
    """The vectors of a module of positions."""
    with torch.inference_mode():
        most = min(count, module.longest) if isinstance(module, Learned) else count
        device = module.weight.device if isinstance(module, Learned) else torch.device("cpu")
        vectors_TD = module(torch.arange(most, device=device), torch.float64).cpu().double()
        products_TT = vectors_TD @ vectors_TD.T
    kind: Literal["sinusoidal", "learned"] = "learned" if isinstance(module, Learned) else "sinusoidal"
    return Positions(kind, vectors_TD.shape[1], _matrix(vectors_TD), _matrix(products_TT))


def _matrix(values: torch.Tensor) -> Matrix:
    return tuple(tuple(row) for row in values.tolist())
