"""How much of the gradient reaches each source position: vanishing over distance, and attention as a way around."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch

from dragoman.errors import DataError
from dragoman.inspection.sources import asked, target_log_probs, with_vectors
from dragoman.models.build import build
from dragoman.models.recurrent_initialization import RecurrentInitialSettings
from dragoman.models.rnn import RecurrentAttentionSettings, RecurrentSettings
from dragoman.models.seq2seq import Source
from dragoman.text.vocabulary import BOS, EOS, SPECIAL
from dragoman.translator import Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from dragoman.models.cells import CellName
    from dragoman.models.seq2seq import Model
    from dragoman.translator import Translator

__all__ = ["Gradients", "Reach", "compare_cells", "gradients", "reach"]

_VOCABULARY = 50
_CELLS: tuple[CellName, ...] = ("vanilla", "gru", "lstm")


@dataclass(frozen=True, slots=True)
class Reach:
    """The size of the gradient at each source position."""

    name: str
    sizes: tuple[float, ...]
    """Euclidean norms of the gradient of an output's log-probability by the vector of each position."""

    @property
    def ratio(self) -> float:
        """What reaches the first position, as a share of what reaches the last."""
        return self.sizes[0] / self.sizes[-1] if self.sizes[-1] else 0.0


@dataclass(frozen=True, slots=True)
class Gradients:
    """Several models side by side, or one over a given pair."""

    kind: Literal["fresh", "trained"]
    """Fresh models have random weights: what vanishes there is what training cannot begin with."""
    reaches: tuple[Reach, ...]
    names: tuple[str, ...] = ()
    """The source's tokens, where it is a given one."""
    sentences: int = 1
    """Random sentences over which fresh models are averaged."""
    size: int = 0
    """Size of the states of fresh models."""


def compare_cells(
    *,
    length: int = 40,
    size: int = 64,
    sentences: int = 16,
    seed: int = 1,
    initial: RecurrentInitialSettings | None = None,
) -> Gradients:
    """RNN, GRU and LSTM with fresh weights, each with and without attention.

    The encoder reads forward only, and the gradient is that of the first output word's log-probability: without
    attention all it knows has come through every state after a position.
    """
    draw = torch.Generator().manual_seed(seed)
    ids_BS = torch.randint(len(SPECIAL), _VOCABULARY, (sentences, length), generator=draw)
    source = Source(torch.full((sentences,), length), ids_BS)
    reaches = []
    for attention in (None, RecurrentAttentionSettings(score="dot")):
        for cell in _CELLS:
            settings = RecurrentSettings(
                cell=cell,
                size=size,
                direction="forward",
                attention=attention,
                bridge="copy",
                initial=initial or RecurrentInitialSettings(weights="uniform", range=size**-0.5, forget_bias=1.0),
            )
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                model = build(settings, target_vocabulary=_VOCABULARY, source_vocabulary=_VOCABULARY).eval()
            name = f"{_NAMES[cell]}{' with attention' if attention else ''}"
            reaches.append(Reach(name, tuple(reach(model, source, [EOS]).tolist())))
    return Gradients("fresh", tuple(reaches), sentences=sentences, size=size)


_NAMES = {"vanilla": "RNN", "gru": "GRU", "lstm": "LSTM"}


def gradients(
    translators: Sequence[tuple[str, Translator]], source: str, output: str | None = None, *, target_language: str = ""
) -> Gradients:
    """Trained models with their names over a pair: the gradient of the whole output's log-probability.

    All must cut the source alike; without an output, it is the first model's own.
    """
    (first, leader), *_ = translators
    if output is None and leader.has_source:
        output = leader.translate(source, request=Request(target_language=target_language)).text
    pairs = [(name, asked(each, source, output, target_language=target_language)) for name, each in translators]
    names = pairs[0][1].names
    for name, pair in pairs:
        if pair.names != names:
            raise DataError(
                f"{name} cuts the source into {' | '.join(pair.names)}, and {first} into {' | '.join(names)}",
                place="source",
                remedy="Compare models with one and the same tokenizer, or look at each by itself.",
            )
    reaches = [
        Reach(name, tuple(reach(pair.model, pair.source, pair.labels, begin=pair.begin).tolist()))
        for name, pair in pairs
    ]
    return Gradients("trained", tuple(reaches), names)


def reach(model: Model, source: Source, labels: Sequence[int], *, begin: Sequence[int] = (BOS,)) -> Tensor:
    """The mean size over the sentences of the gradient at each position, [S]."""
    held: list[Tensor] = []

    def watched(vectors_BSD: Tensor) -> Tensor:
        held.append(vectors_BSD.detach().requires_grad_())
        return held[0]

    with torch.enable_grad(), with_vectors(model, watched):
        log_probs_BT = target_log_probs(model, source, labels, begin=begin)
        (gradient_BSD,) = torch.autograd.grad(log_probs_BT.sum(), held[0])
    sizes_BS: Tensor = gradient_BSD.norm(dim=-1)
    return sizes_BS.mean(0)
