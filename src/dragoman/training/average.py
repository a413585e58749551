"""Averages of weights: the model that is validated and saved may be smoother than the one that is trained."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Annotated, assert_never

import torch

from dragoman.settings import Meta, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch import Tensor, nn


class NoAverage(Settings, frozen=True, kw_only=True, tag_field="kind", tag="none"):
    """The weights as they are."""


class Exponential(Settings, frozen=True, kw_only=True, tag_field="kind", tag="exponential"):
    """A running average over all updates, in which old ones fade."""

    decay: Annotated[float, Meta(gt=0, lt=1)] = 0.999
    """Weight of the past at each update; while there are few updates, less."""


class Recent(Settings, frozen=True, kw_only=True, tag_field="kind", tag="recent"):
    """The mean of the last few snapshots, one taken whenever a validation is due."""

    count: Annotated[int, Meta(ge=1, le=100)] = 10
    """How many snapshots."""


class Best(Settings, frozen=True, kw_only=True, tag_field="kind", tag="best"):
    """The mean of the best few snapshots: each is validated by itself, and the mean again when it is among them."""

    count: Annotated[int, Meta(ge=1, le=100)] = 5
    """How many snapshots."""


AverageSettings = NoAverage | Exponential | Recent | Best

Worth = tuple[float, float]
"""How good a snapshot is, and what decides between equals; more is better."""


class Average:
    """The averaged weights of a model, kept beside it."""

    def __init__(self, settings: AverageSettings, model: nn.Module) -> None:
        self._settings = settings
        self._model = model
        self._updates = 0
        self._snapshots: list[dict[str, Tensor]] = []
        self._worths: list[Worth] = []  # of the snapshots, where these are ranked
        self._mean: dict[str, Tensor] = {}
        if isinstance(settings, Exponential):
            self._mean = _copied(model)

    def update(self) -> None:
        """Take an update of the model into account."""
        if not isinstance(self._settings, Exponential):
            return
        self._updates += 1
        weight = min(self._settings.decay, self._updates / (self._updates + 10))
        current = _weights(self._model)
        means = list(self._mean.values())
        torch._foreach_lerp_(means, [current[name] for name in self._mean], 1 - weight)

    def snapshot(self) -> None:
        """Take the model as it is now among the snapshots."""
        if isinstance(self._settings, Recent):
            self._snapshots = [*self._snapshots, _copied(self._model)][-self._settings.count :]

    @property
    def ranks(self) -> bool:
        """Whether snapshots have to be validated by themselves."""
        return isinstance(self._settings, Best)

    def offer(self, worth: Worth) -> None:
        """Take the model as it is now among the snapshots, if it is one of the best."""
        assert isinstance(self._settings, Best)
        if not math.isfinite(worth[0]):
            return
        ranked = sorted(
            [*zip(self._worths, self._snapshots, strict=True), (worth, _copied(self._model))],
            key=lambda each: each[0],
            reverse=True,
        )[: self._settings.count]
        self._worths, self._snapshots = [each for each, _ in ranked], [each for _, each in ranked]

    def weights(self) -> dict[str, Tensor]:
        """The weights to validate and save."""
        match self._settings:
            case NoAverage():
                return _weights(self._model)
            case Exponential():
                return self._mean
            case Recent() | Best():
                if not self._snapshots:
                    return _weights(self._model)
                return {n: torch.stack([s[n] for s in self._snapshots]).mean(0) for n in self._snapshots[0]}
            case _:
                assert_never(self._settings)

    def state(self) -> dict[str, Tensor]:
        """Every tensor of the state, by name."""
        found = {f"mean|{name}": value for name, value in self._mean.items()}
        for number, snapshot in enumerate(self._snapshots):
            found |= {f"{number}|{name}": value for name, value in snapshot.items()}
        if self.ranks:
            found["worths"] = torch.tensor(self._worths, dtype=torch.float64).reshape(-1, 2)
        return found | {"updates": torch.tensor(self._updates)}

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Take over the state that `state` gave."""
        self._updates = int(state["updates"])
        if "worths" in state:
            self._worths = [(one, other) for one, other in state["worths"].tolist()]
        own = _weights(self._model)
        snapshots: dict[int, dict[str, Tensor]] = {}
        for key, value in state.items():
            kind, _, name = key.partition("|")
            if kind == "mean":
                self._mean[name].copy_(value)
            elif kind.isdigit():
                snapshots.setdefault(int(kind), {})[name] = value.to(own[name].device, copy=True)
        self._snapshots = [snapshots[number] for number in sorted(snapshots)]

    @contextlib.contextmanager
    def swapped(self) -> Iterator[None]:
        """A block in which the model has the averaged weights."""
        if isinstance(self._settings, NoAverage):
            yield
            return
        own = _copied(self._model)
        _assign(self._model, self.weights())
        try:
            yield
        finally:
            _assign(self._model, own)


@torch.no_grad()
def _assign(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    for name, value in _weights(model).items():
        value.copy_(weights[name])


def _weights(model: nn.Module) -> dict[str, Tensor]:
    """The weights that learn; a mean of those that stay as they are would change their last bits."""
    return {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}


def _copied(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in _weights(model).items()}
