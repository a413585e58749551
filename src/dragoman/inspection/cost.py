"""What reading costs by the length of the source: time, and the memory that a training step keeps.

Attention compares every position with every other, so its work grows with the square of the length. Written out, so
does its memory; the fused kernels that models use go through the weights block by block and keep none of them.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import torch

from dragoman.inspection.sources import random_source, target_log_probs
from dragoman.models.attention import AttentionSettings
from dragoman.models.build import build
from dragoman.models.feedforward import FeedForwardSettings
from dragoman.models.rnn import RecurrentSettings
from dragoman.models.transformer import TransformerSettings
from dragoman.text.vocabulary import EOS
from dragoman.translator import Translator

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from dragoman.models.build import ModelSettings
    from dragoman.models.seq2seq import Model

__all__ = ["Cost", "Costs", "costs", "fresh_models"]

LENGTHS = (16, 32, 64, 128, 256, 512)
_VOCABULARY = 100


@dataclass(frozen=True, slots=True)
class Cost:
    """What one length costs."""

    length: int
    seconds: float
    """The median of several readings of one source, without gradients."""
    weights: int
    """Attention weights of encoder layers that one source needs: positions times positions, for each layer and head."""
    kept: int
    """Bytes of tensors that a training step keeps for its gradients, the model's own weights left out."""
    written_out: int
    """The same where attention weights are computed one by one, as formulas write them; 0 without attention."""


@dataclass(frozen=True, slots=True)
class Costs:
    """A model's costs, length by length."""

    name: str
    costs: tuple[Cost, ...]
    threads: int
    """With which time was measured."""


def fresh_models(*, size: int = 64, heads: int = 4) -> tuple[tuple[str, Model], ...]:
    """A Transformer and a recurrent model of one layer and the same size, with fresh weights."""
    transformer = TransformerSettings(
        size=size,
        encoder_layers=1,
        decoder_layers=1,
        attention=AttentionSettings(heads=heads),
        feedforward=FeedForwardSettings(size=2 * size),
    )
    recurrent = RecurrentSettings(size=size, direction="forward", attention=None)
    kinds: tuple[tuple[str, ModelSettings], ...] = (("Transformer", transformer), ("GRU", recurrent))
    return tuple(
        (name, build(settings, target_vocabulary=_VOCABULARY, source_vocabulary=_VOCABULARY).eval())
        for name, settings in kinds
    )


def costs(
    models: Sequence[tuple[str, Model | Translator]], *, lengths: Sequence[int] = LENGTHS, repeats: int = 5
) -> tuple[Costs, ...]:
    """The costs of each model with its name, measured here and now, up to the longest that all of them can read."""
    longest = [one.reader.longest_source(sys.maxsize) for _, one in models if isinstance(one, Translator)]
    lengths = tuple(dict.fromkeys(min([length, *longest]) for length in lengths))
    return tuple(
        Costs(name, tuple(_cost(_model(one), length, repeats) for length in lengths), torch.get_num_threads())
        for name, one in models
    )


def _model(one: Model | Translator) -> Model:
    return one.bundle.model if isinstance(one, Translator) else one


def _cost(model: Model, length: int, repeats: int) -> Cost:
    source = random_source(model, length, draw=torch.Generator().manual_seed(length))
    device = source.lengths_B.device
    inputs_BT = torch.tensor([[EOS]], device=device)
    seconds = []
    with torch.inference_mode():
        model.start(source)  # what is prepared once is none of the length's cost
        for _ in range(repeats):
            begin = time.perf_counter()
            model.start(source)
            seconds.append(time.perf_counter() - begin)
        maps = model.attention_weights(source, inputs_BT, torch.tensor([1], device=device)).encoder_self_LBHSS
    kept = _kept(model, lambda: target_log_probs(model, source, [EOS]))
    if maps is None:
        return Cost(length, median(seconds), 0, kept, 0)
    written_out = _kept(model, lambda: model.attention_weights(source, inputs_BT, torch.tensor([1], device=device)))
    return Cost(length, median(seconds), maps.numel(), kept, written_out)


def _kept(model: Model, compute: Callable[[], object]) -> int:
    """Bytes of the tensors saved for the backward pass: each storage once, and none of the weights'."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    sizes: dict[int, int] = {}
    held: list[Tensor] = []  # so that no address is used twice

    def saved(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            sizes[storage.data_ptr()] = storage.nbytes()
            held.append(tensor)
        return tensor

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(saved, lambda tensor: tensor):
        result = compute()  # held until all is counted
    del result
    return sum(sizes.values())
