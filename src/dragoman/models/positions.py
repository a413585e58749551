"""Positions: sinusoidal and learned ones are added to embeddings, rotary ones turn queries and keys, relative ones
(T5's) are added to attention scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.errors import ModelError
from dragoman.settings import Meta, Settings

__all__ = [
    "Learned",
    "LearnedSettings",
    "NoPositions",
    "PositionSettings",
    "Relative",
    "RelativeSettings",
    "Rotary",
    "RotarySettings",
    "Rotation",
    "Sinusoidal",
    "SinusoidalSettings",
]


class SinusoidalSettings(Settings, frozen=True, kw_only=True, tag_field="kind", tag="sinusoidal"):
    """Fixed waves of ever greater length, added to the embeddings."""

    interleaved: bool = True
    """Sine and cosine alternate, as in Vaswani 2017; otherwise all sines come first, as in Marian."""
    endpoint: bool = False
    """The last wavelength is exactly 10000·2π, as in tensor2tensor and M2M-100; in the paper it falls just short."""
    offset: Annotated[int, Meta(ge=0)] = 0
    """What the first position is called: 2 in M2M-100."""


class LearnedSettings(Settings, frozen=True, kw_only=True, tag_field="kind", tag="learned"):
    """A trained vector for each position, added to the embeddings."""

    longest: Annotated[int, Meta(ge=1)] = 1024
    """Positions that have a vector; longer sequences are refused."""
    offset: Annotated[int, Meta(ge=0)] = 0
    """Rows of the table before the first position: 2 in BART."""


class RotarySettings(Settings, frozen=True, kw_only=True, tag_field="kind", tag="rotary"):
    """Queries and keys are turned by an angle that grows with their position."""

    wavelength: Annotated[float, Meta(gt=1)] = 10000.0
    """Ratio of the longest to the shortest wavelength."""


class RelativeSettings(Settings, frozen=True, kw_only=True, tag_field="kind", tag="relative"):
    """A trained number for each head and distance, added to the scores of self-attention."""

    buckets: Annotated[int, Meta(ge=4)] = 32
    """Classes of distance; half of them are single distances, the others grow logarithmically."""
    farthest: Annotated[int, Meta(ge=8)] = 128
    """Distances from here on share one class."""


class NoPositions(Settings, frozen=True, kw_only=True, tag_field="kind", tag="none"):
    """No positions at all: order is known from the causal mask, or from a recurrent decoder."""


PositionSettings = SinusoidalSettings | LearnedSettings | RotarySettings | RelativeSettings | NoPositions


class Sinusoidal(nn.Module):
    """sin(pos / 10000^(2i/d)) and cos(pos / 10000^(2i/d))."""

    def __init__(self, size: int, *, interleaved: bool = True, endpoint: bool = False, offset: int = 0) -> None:
        super().__init__()
        assert size % 2 == 0, "sinusoidal positions come in pairs"
        self.size = size
        self.interleaved = interleaved
        self.endpoint = endpoint
        self.offset = offset

    def forward(self, positions: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """One vector for each position, whatever the axes of `positions`; computed in float64, as phases grow large."""
        half = self.size // 2
        steps = torch.arange(half, device=positions.device, dtype=torch.float64)
        fractions = steps / max(half - 1, 1) if self.endpoint else steps / half
        frequencies = torch.exp(fractions * -math.log(10000.0))
        phases = (positions + self.offset).unsqueeze(-1) * frequencies
        if self.interleaved:
            return torch.stack([phases.sin(), phases.cos()], dim=-1).flatten(-2).to(dtype)
        return torch.cat([phases.sin(), phases.cos()], dim=-1).to(dtype)


class Learned(nn.Module):
    """A table of position vectors."""

    def __init__(self, longest: int, size: int, *, offset: int = 0) -> None:
        super().__init__()
        self.longest = longest
        self.offset = offset
        self.weight = nn.Parameter(torch.empty(longest + offset, size))
        nn.init.normal_(self.weight, std=size**-0.5)

    def forward(self, positions: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """One vector for each position; ModelError where a position is beyond the table."""
        if positions.device.type != "meta" and positions.numel() and int(positions.max()) >= self.longest:
            raise ModelError(
                f"a sequence of {int(positions.max()) + 1} tokens is longer than the {self.longest} positions learned",
                remedy="Split the text, or train a model with a greater positions.longest.",
            )
        return functional.embedding(positions + self.offset, self.weight).to(dtype)


@dataclass(frozen=True, slots=True)
class Rotation:
    """Angles by which the heads' vectors are turned, pair of neighbours by pair."""

    cosines_BTK: Tensor
    sines_BTK: Tensor

    def turn(self, vectors_BHTK: Tensor) -> Tensor:
        """The vectors turned by the angles of their positions."""
        cosines, sines = self.cosines_BTK.unsqueeze(-3), self.sines_BTK.unsqueeze(-3)
        even, odd = vectors_BHTK[..., 0::2], vectors_BHTK[..., 1::2]
        return torch.stack([even * cosines - odd * sines, even * sines + odd * cosines], dim=-1).flatten(-2)


class Rotary(nn.Module):
    """Rotary positions: the product of a query and a key depends on their distance alone."""

    def __init__(self, head_size: int, *, wavelength: float = 10000.0) -> None:
        super().__init__()
        assert head_size % 2 == 0, "rotary positions turn pairs"
        self.head_size = head_size
        self.wavelength = wavelength

    def forward(self, positions_BT: Tensor, dtype: torch.dtype = torch.float32) -> Rotation:
        """The rotation of each position."""
        half = self.head_size // 2
        steps = torch.arange(half, device=positions_BT.device, dtype=torch.float64)
        phases = positions_BT.unsqueeze(-1) * torch.exp(steps / half * -math.log(self.wavelength))
        return Rotation(phases.cos().to(dtype), phases.sin().to(dtype))


class Relative(nn.Module):
    """T5's relative positions: a number for each head and class of distance."""

    def __init__(self, heads: int, *, buckets: int = 32, farthest: int = 128, both_ways: bool) -> None:
        super().__init__()
        self.buckets = buckets
        self.farthest = farthest
        self.both_ways = both_ways
        self.weight = nn.Parameter(torch.empty(buckets, heads))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, distances: Tensor) -> Tensor:
        """What is added to the scores at each distance (key minus query), with the heads as last axis."""
        return functional.embedding(self.bucket(distances), self.weight)

    def bucket(self, distances: Tensor) -> Tensor:
        """The class of each distance."""
        if self.both_ways:
            classes = self.buckets // 2
            start = (distances > 0).long() * classes
            far = distances.abs()
        else:
            classes = self.buckets
            start = torch.zeros_like(distances)
            far = (-distances).clamp_min(0)
        single = classes // 2
        growth = (far.clamp_min(single).float() / single).log() / math.log(self.farthest / single)
        shared = (single + (growth * (classes - single)).long()).clamp_max(classes - 1)
        return start + torch.where(far < single, far, shared)
