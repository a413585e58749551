"""How the weights of recurrent models start, as in the papers.

orthogonal   recurrent matrices orthogonal gate by gate, other matrices Xavier, biases zero
uniform      everything uniform: Sutskever et al. within ±0.08, Luong et al. within ±0.1
bahdanau     recurrent matrices orthogonal, attention's maps N(0, 0.001²) and its v zero, biases zero,
             everything else N(0, 0.01²)
"""

from __future__ import annotations

from typing import Annotated, Literal, assert_never

import torch
from torch import Tensor, nn

from dragoman.models.embedding import TokenEmbedding
from dragoman.models.reading import Reading
from dragoman.models.recurrence import RecurrentLayer
from dragoman.models.score import AdditiveScore, ConcatScore
from dragoman.settings import Meta, Settings

__all__ = ["RecurrentInitialSettings", "initialize"]


class RecurrentInitialSettings(Settings, frozen=True, kw_only=True):
    """How the weights of a recurrent model start."""

    weights: Literal["orthogonal", "uniform", "bahdanau"] = "orthogonal"
    """Orthogonal recurrence and Xavier elsewhere; everything uniform; or as Bahdanau et al. did."""
    range: Annotated[float, Meta(gt=0)] = 0.08
    """For uniform weights: they lie between plus and minus this."""
    forget_bias: float | None = None
    """Where the bias of an LSTM's forget gate starts; nothing leaves it to `weights`."""


@torch.no_grad()
def initialize(model: nn.Module, settings: RecurrentInitialSettings) -> None:
    """Give every parameter of the model its first value."""
    match settings.weights:
        case "orthogonal":
            _orthogonal(model)
        case "uniform":
            for parameter in model.parameters():
                parameter.uniform_(-settings.range, settings.range)
        case "bahdanau":
            _bahdanau(model)
        case _:
            assert_never(settings.weights)
    if settings.forget_bias is not None:
        for layer in _layers(model):
            if layer.cell == "lstm":
                gate = slice(layer.size, 2 * layer.size)
                layer.bias_ih[gate] = settings.forget_bias
                layer.bias_hh[gate] = 0.0


def _orthogonal(model: nn.Module) -> None:
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
        else:
            parameter.zero_()
    for module in model.modules():
        if isinstance(module, TokenEmbedding):
            nn.init.normal_(module.weight, std=module.weight.shape[1] ** -0.5)
    for layer in _layers(model):
        for block in _blocks(layer.weight_ih, layer.size):
            nn.init.xavier_uniform_(block)
        for block in _blocks(layer.weight_hh, layer.size):
            nn.init.orthogonal_(block)


def _bahdanau(model: nn.Module) -> None:
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.normal_(std=0.01)
        else:
            parameter.zero_()
    for module in model.modules():
        if isinstance(module, Reading):
            for parameter in module.parameters():
                parameter.normal_(std=0.001)
            if isinstance(module.score, AdditiveScore | ConcatScore):
                module.score.energy.weight.zero_()
    for layer in _layers(model):
        for block in _blocks(layer.weight_hh, layer.size):
            nn.init.orthogonal_(block)


def _layers(model: nn.Module) -> list[RecurrentLayer]:
    return [module for module in model.modules() if isinstance(module, RecurrentLayer)]


def _blocks(weight_ZI: Tensor, size: int) -> tuple[Tensor, ...]:
    """The matrix of each gate."""
    return torch.split(weight_ZI, size)
