"""Adapters (LoRA): a trained model goes on learning through a low-rank addition to chosen weights.

    W' = W + (alpha / rank) · up · down        up [O, rank] starts at zero, down [rank, I] at random

At first nothing changes, since `up` is zero; only `up` and `down` learn. The addition is part of the weight itself,
so whatever a model does with a weight (slices it, runs a fused kernel on it, ties it) sees the adapted one.

Shapes: I inputs and O outputs of a linear map.
"""

from __future__ import annotations

import contextlib
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, final

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from dragoman.errors import ModelError
from dragoman.settings import Meta, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "AdapterSettings",
    "LowRank",
    "adapt",
    "adapter_parameters",
    "bake",
    "merge",
    "merged",
    "plain_weights",
    "unmerge",
]


class AdapterSettings(Settings, frozen=True, kw_only=True):
    """Low-rank adapters."""

    rank: Annotated[int, Meta(ge=1)] = 8
    """Rank of the addition to a weight."""
    alpha: Annotated[float, Meta(gt=0)] = 16.0
    """The addition counts alpha / rank times."""
    weights: tuple[str, ...] = ("*",)
    """Names of the weights to adapt, with * for any part of a name: `decoder.*.weight`. Only matrices are adapted."""


@final
class LowRank(nn.Module):
    """The addition to one weight."""

    kept_OI: Tensor | None

    def __init__(self, weight_OI: Tensor, rank: int, *, alpha: float) -> None:
        super().__init__()
        outputs, inputs = weight_OI.shape
        self.scale = alpha / rank
        self.down = nn.Parameter(weight_OI.new_empty(rank, inputs))
        self.up = nn.Parameter(weight_OI.new_zeros(outputs, rank))
        nn.init.normal_(self.down, std=inputs**-0.5)
        self.kept_OI = None

    def forward(self, weight_OI: Tensor) -> Tensor:
        """The adapted weight."""
        return weight_OI if self.kept_OI is not None else weight_OI + self.scale * (self.up @ self.down)


@torch.no_grad()
def adapt(model: nn.Module, settings: AdapterSettings) -> tuple[str, ...]:
    """Freeze the model, give the chosen weights adapters, and return their names."""
    chosen = [
        (name, module, attribute)
        for name, module, attribute, weight in _weights(model)
        if weight.dim() == 2 and any(fnmatchcase(name, pattern) for pattern in settings.weights)
    ]
    if not chosen:
        known = ", ".join(name for name, _, _, weight in _weights(model) if weight.dim() == 2)
        raise ModelError(
            f"no matrix has a name like {' or '.join(settings.weights)}",
            place="weights",
            remedy=f"The matrices are: {known}.",
        )
    if any(True for _ in _adapters(model)):
        raise ModelError("the model has adapters already", place="weights", remedy="Bake them into its weights first.")
    model.requires_grad_(requires_grad=False)
    shared: dict[int, LowRank] = {}
    for _, module, attribute in chosen:
        weight_OI = getattr(module, attribute)
        # A table that two modules share stays shared, adapter included.
        adapter = shared.setdefault(id(weight_OI), LowRank(weight_OI, settings.rank, alpha=settings.alpha))
        parametrize.register_parametrization(module, attribute, adapter)
    return tuple(name for name, _, _ in chosen)


def adapter_parameters(model: nn.Module) -> dict[str, nn.Parameter]:
    """What the adapters learn, by name: all that need be stored beside the original model."""
    ours = {id(parameter) for adapter, _ in _adapters(model) for parameter in adapter.parameters()}
    return {name: parameter for name, parameter in model.named_parameters() if id(parameter) in ours}


@torch.no_grad()
def merge(model: nn.Module) -> None:
    """Write the adapted weights in place of the original ones, which are kept: as fast as without adapters."""
    for adapter, original_OI in _adapters(model):
        if adapter.kept_OI is None:
            merged_OI = adapter(original_OI)
            adapter.kept_OI = original_OI.clone()
            original_OI.copy_(merged_OI)


@torch.no_grad()
def unmerge(model: nn.Module) -> None:
    """Bring the original weights back, bit for bit."""
    for adapter, original_OI in _adapters(model):
        if adapter.kept_OI is not None:
            original_OI.copy_(adapter.kept_OI)
            adapter.kept_OI = None


@contextlib.contextmanager
def merged(model: nn.Module) -> Iterator[None]:
    """A block in which the adapted weights stand in place of the original ones."""
    merge(model)
    try:
        yield
    finally:
        unmerge(model)


def plain_weights(model: nn.Module) -> dict[str, Tensor]:
    """The weights and stored buffers, each once, as the model would have them after `bake`."""
    found: dict[str, Tensor] = {}
    seen: set[int] = set()
    for key, value in model.state_dict(keep_vars=True).items():
        path, adapted, rest = key.rpartition("parametrizations.")
        if id(value) in seen:
            continue
        seen.add(id(value))
        if not adapted:
            found[key] = value.detach()
        elif rest.endswith(".original"):
            name = rest.removesuffix(".original")
            found[path + name] = getattr(model.get_submodule(path.removesuffix(".")), name).detach()
    return found


def bake(model: nn.Module) -> None:
    """Make the adapted weights the model's own, without adapters, and let all of them learn again."""
    merge(model)  # so that a table which two modules share is adapted once
    for module in list(model.modules()):
        if parametrize.is_parametrized(module):
            for attribute in list(module.parametrizations):  # type: ignore[arg-type]  # a ModuleDict of names
                parametrize.remove_parametrizations(module, attribute, leave_parametrized=True)
    model.requires_grad_()


def _weights(model: nn.Module) -> Iterator[tuple[str, nn.Module, str, Tensor]]:
    """Each parameter with its name, its module and its name there; a shared one under each of its names."""
    for prefix, module in model.named_modules():
        for attribute, parameter in module.named_parameters(recurse=False):
            yield f"{prefix}.{attribute}".lstrip("."), module, attribute, parameter


def _adapters(model: nn.Module) -> Iterator[tuple[LowRank, Tensor]]:
    """Each adapter with the original weight it adds to."""
    seen = set()
    for module in model.modules():
        if isinstance(module, parametrize.ParametrizationList):
            for each in module:
                if isinstance(each, LowRank) and id(each) not in seen:
                    seen.add(id(each))
                    yield each, module.original
