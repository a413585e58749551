"""Finished pairs read once more under teacher forcing: log-probabilities, and attention.

Shapes: B pairs, T target positions, S source positions, N target positions that count, V vocabulary.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from dragoman.data.batch import padded
from dragoman.data.store import joined
from dragoman.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor

    from dragoman.bundle import AlignedBy
    from dragoman.models.seq2seq import AttentionMaps
    from dragoman.translator.reader import Read, Reader

__all__ = [
    "attention",
    "batches",
    "cross_attention",
    "cross_maps",
    "looks",
    "tempered_log_probs",
    "token_log_probs",
]

_ROWS = 512
"""Positions whose logits are held at once."""


def token_log_probs(
    readers: Sequence[Reader],
    sources: Sequence[Sequence[Read]],
    targets: Sequence[Sequence[int]],
    *,
    target_language: str = "",
) -> list[list[float]]:
    """The log-probability of each token of each target; of several models, the logarithm of their mean probability."""
    labels = torch.tensor([token for target in targets for token in target], device=readers[0].device)
    with torch.inference_mode():
        each_N = [
            _log_probs(_Teacher(reader, target_language), batch, targets, labels)
            for reader, batch in zip(readers, sources, strict=True)
        ]
        together_N = torch.stack(each_N).logsumexp(0) - math.log(len(readers))
    values = iter(together_N.tolist())
    return [[next(values) for _ in target] for target in targets]


def tempered_log_probs(
    reader: Reader,
    sources: Sequence[Read],
    targets: Sequence[Sequence[int]],
    *,
    temperatures: Sequence[float],
    target_language: str = "",
) -> list[list[list[float]]]:
    """For each target and temperature the log-probability of each token, after the logits were divided by it."""
    labels_N = torch.tensor([token for target in targets for token in target], device=reader.device)
    with torch.inference_mode():
        columns = [
            (logits_NV / temperature).log_softmax(-1).gather(1, labels_N[rows, None])
            for rows, logits_NV in _Teacher(reader, target_language).logits(sources, targets)
            for temperature in temperatures
        ]
    count = len(temperatures)
    values = [iter(torch.cat(columns[n::count])[:, 0].tolist()) for n in range(count)]
    return [[[next(each) for _ in target] for each in values] for target in targets]


def attention(
    reader: Reader, sources: Sequence[Read], targets: Sequence[Sequence[int]], *, target_language: str = ""
) -> AttentionMaps:
    """Attention of each layer and head over the pairs."""
    teacher = _Teacher(reader, target_language)
    with torch.inference_mode():
        maps = reader.bundle.model.attention_weights(reader.source(sources), *teacher.inputs(targets))
    return teacher.without_begin(maps)


def cross_attention(
    reader: Reader,
    sources: Sequence[Read],
    targets: Sequence[Sequence[int]],
    *,
    by: AlignedBy,
    target_language: str = "",
) -> list[Tensor]:
    """For each pair the attention of target to source positions, [T, S], that aligns."""
    return [looks(map_LHTS, by) for map_LHTS in cross_maps(reader, sources, targets, target_language=target_language)]


def cross_maps(
    reader: Reader, sources: Sequence[Read], targets: Sequence[Sequence[int]], *, target_language: str = ""
) -> list[Tensor]:
    """For each pair the attention of target to source positions in each layer and head, [L, H, T, S]."""
    maps_LBHTS = attention(reader, sources, targets, target_language=target_language).cross_LBHTS
    if maps_LBHTS is None:
        raise ModelError(
            "this model has no attention over a source",
            place="alignments",
            remedy="Leave out alignments and the copying of unknown words, or use a model with attention.",
        )
    maps_BLHTS = maps_LBHTS.transpose(0, 1).float().cpu()
    sizes = zip(maps_BLHTS, sources, targets, strict=True)
    return [map_LHTS[:, :, : len(target), : len(source)] for map_LHTS, source, target in sizes]


def looks(map_LHTS: Tensor, by: AlignedBy) -> Tensor:
    """Where each token of a target looks, [T, S], as one attention shows it."""
    for name, number, count in (("layer", by.layer, map_LHTS.shape[0]), ("head", by.head or 0, map_LHTS.shape[1])):
        if not -count <= number < count:
            raise ModelError(
                f"there is no {name} {number} among {count}", place="alignments", remedy=f"Name one below {count}."
            )
    map_HTS = map_LHTS[by.layer]
    map_TS = map_HTS.mean(0) if by.head is None else map_HTS[by.head]
    # The last token is never read: it keeps the row where it was said.
    return torch.cat([map_TS[1:], map_TS[-1:]]) if by.read else map_TS


def batches(lengths: Sequence[int], *, most: int) -> Iterator[list[int]]:
    """The places of what has these lengths, the longest first, in batches of at most `most` tokens with padding."""
    order = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    while order:
        count = max(1, most // max(1, lengths[order[0]]))
        yield order[:count]
        order = order[count:]


def _log_probs(
    teacher: _Teacher, sources: Sequence[Read], targets: Sequence[Sequence[int]], labels_N: Tensor
) -> Tensor:
    found = [
        logits_NV.log_softmax(-1).gather(1, labels_N[rows, None])[:, 0]
        for rows, logits_NV in teacher.logits(sources, targets)
    ]
    return torch.cat(found)


class _Teacher:
    """What the decoder of a model reads of finished targets."""

    def __init__(self, reader: Reader, target_language: str) -> None:
        self._reader = reader
        self._begin = reader.begin(target_language)

    def inputs(self, targets: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Each target, shifted right by what comes before it, and the length of that."""
        rows = joined([[*self._begin, *target[:-1]] for target in targets], dtype="int64")
        inputs_BT = torch.from_numpy(padded(rows, width=int(rows.lengths.max()), dtype="int64"))
        return inputs_BT.to(self._reader.device), torch.from_numpy(rows.lengths).to(self._reader.device)

    def logits(self, sources: Sequence[Read], targets: Sequence[Sequence[int]]) -> Iterator[tuple[slice, Tensor]]:
        """Logits at all positions of the targets, some rows at a time."""
        model = self._reader.bundle.model
        hidden = model.hidden(self._reader.source(sources), *self.inputs(targets))
        given = len(self._begin) - 1
        if given:  # what is given is not said
            is_said = [place >= given for target in targets for place in range(given + len(target))]
            hidden = hidden.rows(torch.tensor(is_said, device=self._reader.device).nonzero().flatten())
        for begin in range(0, sum(map(len, targets)), _ROWS):
            rows = slice(begin, begin + _ROWS)
            yield rows, model.logits(hidden.rows(rows)).float()

    def without_begin(self, maps: AttentionMaps) -> AttentionMaps:
        """The maps from where the first token of a target is said on."""
        given = len(self._begin) - 1
        if not given:
            return maps
        across, back = maps.cross_LBHTS, maps.decoder_self_LBHTT
        return replace(
            maps,
            cross_LBHTS=None if across is None else across[..., given:, :],
            decoder_self_LBHTT=None if back is None else back[..., given:, given:],
        )
