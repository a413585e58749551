"""R-Drop: teacher forcing twice, and the two answers drawn towards each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional

from dragoman.models.attention import within
from dragoman.models.seq2seq import Source
from dragoman.settings import Settings
from dragoman.training.objectives import pieces
from dragoman.training.objectives.cross_entropy import Smoothed
from dragoman.training.objectives.objective import Smoothing, Sums, Weight, counting, labels_of, source_of

if TYPE_CHECKING:
    from torch import Tensor

    from dragoman.data.batch import Batch
    from dragoman.models.seq2seq import Hidden, Model


class RDrop(Settings, frozen=True, kw_only=True, tag_field="kind", tag="r_drop"):
    """Teacher forcing twice with different dropout, and the two answers drawn towards each other."""

    smoothing: Smoothing = 0.1
    """Share of the probability that is spread over the whole vocabulary."""
    weight: Weight = 5.0
    """Weight of the divergence between the two answers."""


class TwoPasses:
    """R-Drop: each sentence goes through the model twice, side by side in one batch."""

    def __init__(self, smoothing: float, weight: float) -> None:
        self._smoothing = smoothing
        self._weight = weight

    def __call__(self, model: Model, batch: Batch, *, scale: float, step: int = 0) -> Sums:  # noqa: ARG002 - the same at every step
        labels_N = labels_of(batch)
        count = labels_N.shape[0]
        source = source_of(batch)
        twice = None if source is None else _twice(source)
        inputs_BT, lengths_B = torch.cat((batch.inputs_BT,) * 2), torch.cat((batch.target_lengths_B,) * 2)
        hidden = model.hidden(twice, inputs_BT, lengths_B)
        first_N = counting(batch)[within(batch.target_lengths_B, batch.labels_BT.shape[1])].nonzero().flatten()
        second_N = first_N + int(batch.target_lengths_B.sum())
        hidden = hidden.rows(torch.stack((first_N, second_N), dim=1).flatten())  # the two of a position side by side
        labels_2N = labels_N.repeat_interleave(2)

        def loss(rows: slice, piece: Hidden) -> tuple[Tensor, Tensor]:
            logits_2NV = model.logits(piece).float()
            entropy, nll = Smoothed.apply(logits_2NV, labels_2N[rows], self._smoothing)  # type: ignore[no-untyped-call] # torch leaves it untyped
            first_NV, second_NV = functional.log_softmax(logits_2NV, dim=-1).view(-1, 2, logits_2NV.shape[1]).unbind(1)
            apart = (first_NV.exp() - second_NV.exp()) * (first_NV - second_NV)  # both directions of the divergence
            return (entropy + self._weight * apart.sum() / 2) / 2, nll / 2

        objective, nll = pieces.in_pieces(hidden, loss, rows=pieces.ROWS_AT_ONCE // 2, scale=scale)
        return Sums(objective, nll, count)


def _twice(source: Source) -> Source:
    ids, features = source.ids_BS, source.features_BSF
    return Source(
        torch.cat((source.lengths_B,) * 2),
        None if ids is None else torch.cat((ids, ids)),
        None if features is None else torch.cat((features, features)),
    )
