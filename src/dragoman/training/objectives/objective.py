"""What every objective is: a function that runs a model on a batch, forward and backward, and returns sums.

Shapes, here and in every file of this room, as in `dragoman.models.seq2seq`, and: N target positions that count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Protocol

from dragoman.models.attention import within
from dragoman.models.seq2seq import Source
from dragoman.settings import Meta

if TYPE_CHECKING:
    from torch import Tensor

    from dragoman.data.batch import Batch
    from dragoman.models.seq2seq import Hidden, Model

Smoothing = Annotated[float, Meta(ge=0, lt=1)]
Weight = Annotated[float, Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class Sums:
    """What an objective returns, summed over the target positions of a batch."""

    objective: float
    """What was made small."""
    nll: float
    """Negative log-likelihood of the right tokens, without smoothing."""
    tokens: int


class Objective(Protocol):
    """Runs forward and, where gradients are on, backward with the loss multiplied by `scale`."""

    def __call__(self, model: Model, batch: Batch, *, scale: float, step: int = 0) -> Sums:
        """The sums over the batch; `step` is how many updates were made before this one."""
        ...


def source_of(batch: Batch) -> Source | None:
    """The source of a batch as models take it; nothing for language models."""
    if batch.source_lengths_B is None:
        return None
    return Source(batch.source_lengths_B, batch.source_ids_BS, batch.source_features_BSF)


def counting(batch: Batch) -> Tensor:
    """True at the target positions that count: neither padding nor part of a prompt, [B, T]."""
    not_padding_BT = within(batch.target_lengths_B, batch.labels_BT.shape[1])
    if batch.prompt_lengths_B is None:
        return not_padding_BT
    return not_padding_BT & ~within(batch.prompt_lengths_B, batch.labels_BT.shape[1])


def labels_of(batch: Batch) -> Tensor:
    """The labels at the target positions that count, sentence after sentence."""
    return batch.labels_BT[counting(batch)]


def taught(model: Model, batch: Batch) -> Hidden:
    """Decoder outputs under teacher forcing at the target positions that count, sentence after sentence."""
    hidden = model.hidden(source_of(batch), batch.inputs_BT, batch.target_lengths_B)
    return without_prompts(hidden, batch)


def without_prompts(hidden: Hidden, batch: Batch) -> Hidden:
    """The outputs at the positions that count, of those at all positions that are not padding."""
    if batch.prompt_lengths_B is None:
        return hidden
    counting_N = counting(batch)[within(batch.target_lengths_B, batch.labels_BT.shape[1])]
    return hidden.rows(counting_N.nonzero().flatten())
