"""Guided alignment: attention is drawn to where a word aligner says that each target word comes from.

    loss = cross-entropy - w · Σ_t Σ_s A_t(s) log a_t(s)

with A_t shared out evenly over the source pieces that target piece t is linked to (Chen et al. 2016); pieces without a
link, and the end, are left alone. For alignments that are to be used: placeholders, markup, unknown words copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from dragoman.settings import Settings
from dragoman.training.objectives.looking import Looking, looked
from dragoman.training.objectives.objective import Smoothing, Sums, Weight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from dragoman.data.alignments import Alignments
    from dragoman.data.batch import Batch
    from dragoman.models.seq2seq import Model
    from dragoman.text.word_numbers import WordNumbers

_LEAST = 1e-8  # of a weight, before its logarithm


class GuidedAlignment(Settings, frozen=True, kw_only=True, tag_field="kind", tag="guided_alignment"):
    """Cross-entropy, and attention drawn to given or learned word alignments."""

    alignments: tuple[str, ...] = ()
    """Files in Pharaoh's format (0-0 1-2, words between white space counted from 0), one for each corpus of data.train
    with a line for each of its lines; none: alignments are learned from the pairs."""
    smoothing: Smoothing = 0.1
    """Share of the probability that is spread over the whole vocabulary."""
    weight: Weight = 0.1
    """Weight of the attention's distance from the alignments."""
    layer: int = -1
    """Layer of attention to the source, counted from 0, or from the end with -1 the last."""
    head: int | None = None
    """Head of that layer, counted likewise; nothing: the mean of its heads, off which translation reads alignments."""


class Guided:
    """Cross-entropy with guided alignment."""

    def __init__(
        self,
        settings: GuidedAlignment,
        alignments: Alignments,
        *,
        source_words: WordNumbers,
        target_words: WordNumbers,
    ) -> None:
        self._looking = Looking(settings.layer, settings.head, settings.smoothing)
        self._weight = settings.weight
        self._alignments = alignments
        self._source_words, self._target_words = source_words, target_words

    def __call__(self, model: Model, batch: Batch, *, scale: float, step: int = 0) -> Sums:  # noqa: ARG002 - the same at every step
        def distance(weights_BTS: Tensor) -> Tensor:
            return self._weight * distance_from(weights_BTS, self.wanted(batch))

        return looked(model, batch, self._looking, distance, scale=scale)

    def wanted(self, batch: Batch) -> Tensor:
        """The attention that the alignments ask for, [B, T, S]: each row sums to one, or has no link and is zero."""
        assert batch.source_ids_BS is not None, "built for sources of text"
        places: list[tuple[int, int, int]] = []
        rows = zip(batch.examples_B.tolist(), batch.source_ids_BS.tolist(), batch.labels_BT.tolist(), strict=True)
        for row, (example, source, target) in enumerate(rows):
            prefix = self._alignments.source_prefix(example)
            of_source = _pieces_of(self._source_words(source[prefix:]), first=prefix)
            of_target = _pieces_of(self._target_words(target))
            for source_word, target_word in self._alignments[example]:
                places += [(row, t, s) for t in of_target.get(target_word, ()) for s in of_source.get(source_word, ())]
        wanted_BTS = torch.zeros(*batch.labels_BT.shape, batch.source_ids_BS.shape[1])
        if places:
            wanted_BTS[tuple(torch.tensor(places).T)] = 1.0
        return (wanted_BTS / wanted_BTS.sum(2, keepdim=True).clamp(min=1)).to(batch.labels_BT.device)


def distance_from(weights_BTS: Tensor, wanted_BTS: Tensor) -> Tensor:
    """The cross-entropy of attention with what is wanted, summed."""
    return -(wanted_BTS * weights_BTS.clamp(min=_LEAST).log()).sum()


def _pieces_of(words: Sequence[int | None], first: int = 0) -> dict[int, list[int]]:
    """The places of each word's pieces, counted from `first`."""
    found: dict[int, list[int]] = {}
    for place, word in enumerate(words, first):
        if word is not None:
            found.setdefault(word, []).append(place)
    return found
