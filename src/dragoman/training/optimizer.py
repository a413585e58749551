"""Optimizers: AdamW, Adafactor, and Muon for the matrices, with one state dictionary of named tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, assert_never

import torch

from dragoman.errors import SettingError
from dragoman.models.embedding import Output, TokenEmbedding
from dragoman.models.positions import Learned, Relative
from dragoman.settings import Meta, Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from torch import Tensor, nn

Positive = Annotated[float, Meta(gt=0)]
Decay = Annotated[float, Meta(ge=0)]
Beta = Annotated[float, Meta(ge=0, lt=1)]


class AdamW(Settings, frozen=True, kw_only=True, tag_field="kind", tag="adamw"):
    """Adam with decoupled weight decay, which is zero by default."""

    rate: Positive = 1e-3
    """The full learning rate."""
    beta1: Beta = 0.9
    """Decay of the mean of gradients."""
    beta2: Beta = 0.98
    """Decay of the mean of squared gradients."""
    epsilon: Positive = 1e-9
    """Added to the root of the mean square."""
    decay: Decay = 0.0
    """Weight decay of matrices and embeddings."""


class Adafactor(Settings, frozen=True, kw_only=True, tag_field="kind", tag="adafactor"):
    """Factored second moments: the state of a matrix is a row and a column."""

    rate: Positive = 1e-2
    """The full learning rate."""
    decay: Decay = 0.0
    """Weight decay of matrices and embeddings."""


class Muon(Settings, frozen=True, kw_only=True, tag_field="kind", tag="muon"):
    """Orthogonalised momentum for the matrices of the layers, AdamW for tables (embeddings, output) and vectors."""

    rate: Positive = 2e-3
    """The full learning rate of the matrices."""
    momentum: Beta = 0.95
    """Decay of the mean of gradients."""
    decay: Decay = 0.0
    """Weight decay of the matrices."""
    others: AdamW = AdamW()
    """The optimizer of everything else."""


OptimizerSettings = AdamW | Adafactor | Muon


@dataclass(frozen=True, slots=True)
class _Part:
    """An optimizer of the library with the names of its parameters, in its order."""

    optimizer: torch.optim.Optimizer
    names: tuple[str, ...]
    rate: float


class Optimizer:
    """One or two optimizers that step together, at a share of their full rates."""

    def __init__(self, parts: Iterable[_Part]) -> None:
        self._parts = tuple(parts)

    def step(self, share: float) -> None:
        """Move the parameters by their gradients, at this share of the full rate."""
        for part in self._parts:
            for group in part.optimizer.param_groups:
                group["lr"] = part.rate * share
            part.optimizer.step()

    def state(self) -> dict[str, Tensor]:
        """Every tensor of the state, named `parameter|entry`."""
        found: dict[str, Tensor] = {}
        for part in self._parts:
            for index, entries in part.optimizer.state_dict()["state"].items():
                for entry, value in entries.items():
                    found[f"{part.names[index]}|{entry}"] = torch.as_tensor(value)
        return found

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Take over the state that `state` gave."""
        for part in self._parts:
            positions = {name: index for index, name in enumerate(part.names)}
            entries: dict[int, dict[str, Any]] = {}
            for key, value in state.items():
                name, _, entry = key.rpartition("|")
                if name in positions:
                    entries.setdefault(positions[name], {})[entry] = value.clone()
            groups = part.optimizer.state_dict()["param_groups"]
            part.optimizer.load_state_dict({"state": entries, "param_groups": groups})


def has_muon() -> bool:
    """Whether this torch has Muon, which came with 2.9."""
    return hasattr(torch.optim, "Muon")


def build_optimizer(settings: OptimizerSettings, model: nn.Module) -> Optimizer:
    """The optimizer of a model's trainable parameters."""
    named = {name: p for name, p in model.named_parameters() if p.requires_grad}
    match settings:
        case AdamW():
            return Optimizer([_adamw(settings, named)])
        case Adafactor(rate=rate, decay=decay):
            optimizer = torch.optim.Adafactor(_groups(named, decay), lr=rate)
            return Optimizer([_Part(optimizer, _order(named), rate)])
        case Muon():
            return Optimizer(_muon_and_others(settings, named, tables=_tables(model)))
        case _:
            assert_never(settings)


def _adamw(settings: AdamW, named: Mapping[str, nn.Parameter]) -> _Part:
    optimizer = torch.optim.AdamW(
        _groups(named, settings.decay),
        lr=settings.rate,
        betas=(settings.beta1, settings.beta2),
        eps=settings.epsilon,
        fused=True,
    )
    return _Part(optimizer, _order(named), settings.rate)


def _muon_and_others(settings: Muon, named: Mapping[str, nn.Parameter], *, tables: set[int]) -> Iterator[_Part]:
    if not has_muon():
        raise SettingError(
            f"torch {torch.__version__} has no Muon",
            place="training.optimizer.kind",
            remedy="Install torch 2.9 or newer, or use 'adamw'.",
        )
    matrices = {name: p for name, p in named.items() if p.ndim == 2 and id(p) not in tables}
    others = {name: p for name, p in named.items() if name not in matrices}
    if matrices:
        muon = torch.optim.Muon(
            list(matrices.values()),
            lr=settings.rate,
            momentum=settings.momentum,
            weight_decay=settings.decay,
            adjust_lr_fn="match_rms_adamw",
        )
        yield _Part(muon, tuple(matrices), settings.rate)
    if others:
        yield _adamw(settings.others, others)


def _groups(named: Mapping[str, nn.Parameter], decay: float) -> list[dict[str, Any]]:
    """Matrices, which decay, before vectors, which do not."""
    groups = [
        {"params": [p for p in named.values() if p.ndim >= 2], "weight_decay": decay},
        {"params": [p for p in named.values() if p.ndim < 2], "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]


def _order(named: Mapping[str, nn.Parameter]) -> tuple[str, ...]:
    """The names in the order in which the groups hold the parameters."""
    return tuple(sorted(named, key=lambda name: named[name].ndim < 2))


def _tables(model: nn.Module) -> set[int]:
    """The identities of the matrices whose rows are vectors of single words, positions or segments."""
    found = {id(m.weight) for m in model.modules() if isinstance(m, TokenEmbedding | Output | Learned | Relative)}
    return found | {id(p) for name, p in model.named_parameters() if "." not in name}
