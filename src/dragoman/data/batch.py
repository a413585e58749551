"""Batches: examples side by side in padded tensors, as a model reads them.

Shapes: B sentences, S source positions, T target positions, F numbers in a feature vector. Padding is on the right.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dragoman.text.vocabulary import BOS, EOS, PAD

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from torch import Tensor

    from dragoman.data.store import Sequences


Prompts = Literal["none", "given", "learned"]
"""Whether sources are prompts: no; yes, and their labels do not count; yes, and they count as those of answers do."""


@dataclass(frozen=True, slots=True)
class Draw:
    """The examples of a batch before they are padded. Free of torch, so that worker processes are light."""

    epoch: int
    position: int
    examples: NDArray[np.int64]
    source: Sequences | None
    target: Sequences


@dataclass(frozen=True, slots=True)
class Batch:
    """What a model is trained on in one step, or, with several ranks, one rank's rows of it."""

    inputs_BT: Tensor
    """Target ids, shifted right by a begin token."""
    labels_BT: Tensor
    """Target ids with an end token: what should follow each input."""
    target_lengths_B: Tensor
    """Labels in each row that are not padding."""
    source_ids_BS: Tensor | None
    """None for feature sources and for monolingual text."""
    source_features_BSF: Tensor | None
    source_lengths_B: Tensor | None
    """Source positions in each row that are not padding."""
    examples_B: Tensor
    """The number of each example in the store."""
    source_tokens: int
    """Source positions that are not padding."""
    target_tokens: int
    """Labels that count."""
    epoch: int
    position: int
    """How many examples the run has taken after this batch, over all ranks. A run goes on from here."""
    prompt_lengths_B: Tensor | None = None
    """Where a prompt and its answer are one sequence: labels at the begin of each row that belong to the prompt, are
    given and do not count; none: all labels count."""

    @property
    def rows(self) -> int:
        """The number of examples."""
        return self.examples_B.shape[0]

    def split(self, parts: int) -> list[Batch]:
        """The batch as this many smaller ones, or as many as it has rows."""
        if parts <= 1:
            return [self]
        edges = [round(i * self.rows / parts) for i in range(parts + 1)]
        return [self._rows(slice(a, b)) for a, b in pairwise(edges) if a < b]

    def _rows(self, rows: slice) -> Batch:
        source_lengths = None if self.source_lengths_B is None else self.source_lengths_B[rows]
        tensors: dict[str, Any] = {
            f.name: value[rows] for f in fields(self) if hasattr(value := getattr(self, f.name), "device")
        }
        return replace(
            self,
            **tensors,
            source_tokens=0 if source_lengths is None else int(source_lengths.sum()),
            target_tokens=_counting(self.target_lengths_B[rows], tensors.get("prompt_lengths_B")),
        )

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> Batch:
        """The same batch on another device."""
        tensors: dict[str, Any] = {
            f.name: value.to(device, non_blocking=non_blocking)
            for f in fields(self)
            if hasattr(value := getattr(self, f.name), "device")
        }
        return replace(self, **tensors)

    def pin_memory(self) -> Batch:
        """The same batch in page-locked memory, from which a GPU can copy while it works."""
        tensors: dict[str, Any] = {
            f.name: value.pin_memory() for f in fields(self) if hasattr(value := getattr(self, f.name), "pin_memory")
        }
        return replace(self, **tensors)


def collate(draw: Draw, *, source_end: bool, prompts: Prompts = "none") -> Batch:
    """The batch of a draw; `source_end` puts an end token after source ids that are not prompts."""
    from torch import from_numpy

    if prompts != "none":
        return _with_prompts(draw, count_prompts=prompts == "learned")
    inputs_BT, labels_BT = shifted(draw.target)
    target_lengths_B = draw.target.lengths + 1
    source_BS, source_lengths_B = _source(draw.source, end=source_end)
    is_ids = source_BS is not None and source_BS.ndim == 2
    return Batch(
        inputs_BT=from_numpy(inputs_BT),
        labels_BT=from_numpy(labels_BT),
        target_lengths_B=from_numpy(target_lengths_B),
        source_ids_BS=from_numpy(source_BS) if source_BS is not None and is_ids else None,
        source_features_BSF=from_numpy(source_BS) if source_BS is not None and not is_ids else None,
        source_lengths_B=None if source_lengths_B is None else from_numpy(source_lengths_B),
        examples_B=from_numpy(draw.examples),
        source_tokens=0 if source_lengths_B is None else int(source_lengths_B.sum()),
        target_tokens=int(target_lengths_B.sum()),
        epoch=draw.epoch,
        position=draw.position,
    )


def _with_prompts(draw: Draw, *, count_prompts: bool) -> Batch:
    """The batch of a draw whose sources and targets are one sequence each."""
    from torch import from_numpy

    assert draw.source is not None, "prompts are sources"
    prompt_lengths_B = draw.source.lengths
    whole = replace(draw, source=None, target=_side_by_side(draw.source, draw.target))
    batch = collate(whole, source_end=False)
    if count_prompts:
        return batch
    answers = batch.target_tokens - int(prompt_lengths_B.sum())
    return replace(batch, prompt_lengths_B=from_numpy(prompt_lengths_B), target_tokens=answers)


def _side_by_side(first: Sequences, second: Sequences) -> Sequences:
    """Each sequence of the one with that of the other behind it."""
    from dragoman.data.store import Sequences

    lengths = np.stack([first.lengths, second.lengths], axis=1).ravel()
    is_first = np.repeat(np.arange(len(lengths)) % 2 == 0, lengths)
    values = np.empty(len(is_first), dtype=np.int64)
    values[is_first], values[~is_first] = first.values, second.values
    return Sequences(values, first.lengths + second.lengths)


def padded(sequences: Sequences, *, width: int, dtype: Any) -> NDArray[Any]:
    """The sequences as rows of this width, padded on the right."""
    rows = np.full((len(sequences), width, *sequences.values.shape[1:]), PAD, dtype)
    rows[np.arange(width) < sequences.lengths[:, None]] = sequences.values
    return rows


def shifted(sequences: Sequences) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A decoder's inputs (a begin token, then the ids) and labels (the ids, then an end token)."""
    labels_BT = padded(sequences, width=_longest(sequences) + 1, dtype=np.int64)
    inputs_BT = np.empty_like(labels_BT)
    inputs_BT[:, 0] = BOS
    inputs_BT[:, 1:] = labels_BT[:, :-1]
    labels_BT[np.arange(len(sequences)), sequences.lengths] = EOS
    return inputs_BT, labels_BT


def _source(sequences: Sequences | None, *, end: bool) -> tuple[NDArray[Any] | None, NDArray[np.int64] | None]:
    if sequences is None:
        return None, None
    if sequences.values.ndim == 2:
        return padded(sequences, width=_longest(sequences), dtype=np.float32), sequences.lengths
    ids_BS = padded(sequences, width=_longest(sequences) + end, dtype=np.int64)
    if end:
        ids_BS[np.arange(len(sequences)), sequences.lengths] = EOS
    return ids_BS, sequences.lengths + end


def _longest(sequences: Sequences) -> int:
    return int(sequences.lengths.max(initial=0))


def _counting(target_lengths_B: Tensor, prompt_lengths_B: Tensor | None) -> int:
    return int(target_lengths_B.sum()) - (0 if prompt_lengths_B is None else int(prompt_lengths_B.sum()))
