"""Sentences that came together, and the trees of their hypotheses: keys and values are kept once for each node.

A hypothesis is a path in the tree of its sentence. Hypotheses of a sentence stand beside each other, and each looks
at all nodes of the tree except those that are not on its path. So nothing is copied when hypotheses fork or die:

    step 0      step 1                 nodes  he  hit  struck  me
    he ────┬─── hit ─────── me         he hit me       x   x    .     x
           └─── struck                 he struck       x   .    x     .

A step adds as many columns as the widest sentence has rows. When there is no room for more, nodes that no path uses
any more are dropped, and with them the sentences that are over.

States share tensors as long as each only appends, as in models/cache.py.

Shapes as in models/seq2seq.py, and: N nodes (columns), C places for them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import torch
from torch.nn import functional

from dragoman.models.attention import padding_mask
from dragoman.models.memory import Packing

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Cohort", "look"]

_STEPS = 8
"""Steps for which there is room after one that had none."""
_HIDDEN = -1e9


class _Tree:
    """Keys and values of the nodes for each layer, [M, H, C, K]; columns before `filled` are taken by some state."""

    def __init__(self, layers: list[tuple[Tensor, Tensor]], filled: int) -> None:
        self.layers = layers
        self.filled = filled

    @property
    def places(self) -> int:
        return self.layers[0][0].shape[2] if self.layers else 0


@dataclass(frozen=True)
class Cohort:
    """Sentences of one age, with what their hypotheses look at."""

    sources: tuple[tuple[Tensor, Tensor], ...]
    """Keys and values of the sources for each layer, [M, H, S, K]."""
    lengths_M: Tensor
    packing: Packing
    """Which sentence each row belongs to, and its place there."""
    age: int = 0
    """Tokens that the rows have so far."""
    tree: _Tree = field(default_factory=lambda: _Tree([], 0))
    columns: int = 0
    seen_RN: Tensor | None = None
    """Which nodes are on the path of each row; nothing as long as all are."""
    bias_MS: Tensor | None = None
    """Added to scores of source positions, [M, 1, 1, S]."""
    bias_MPN: Tensor | None = None
    """Added to scores of nodes, [M, 1, P, N], after `advanced`."""

    @classmethod
    def of(cls, sources: list[tuple[Tensor, Tensor]], lengths_M: Tensor, *, attends: bool) -> Cohort:
        """A cohort with one row for each sentence; one that does not attend to its own past has no nodes."""
        keys_MHSK = sources[0][0]
        sentences, heads, _, size = keys_MHSK.shape
        shape = (sentences, heads, 0, size)
        layers = [(keys_MHSK.new_empty(shape), keys_MHSK.new_empty(shape)) for _ in sources] if attends else []
        return cls(
            tuple(sources),
            lengths_M,
            Packing(torch.arange(sentences), sentences),
            tree=_Tree(layers, 0),
            bias_MS=padding_mask(lengths_M, keys_MHSK.shape[2], keys_MHSK.dtype).bias,
        )

    @property
    def rows(self) -> int:
        return self.packing.sentence_R.shape[0]

    def select(self, rows_R: Tensor) -> Cohort:
        """The cohort whose row i was row `rows_R[i]`."""
        seen_RN = None if self.seen_RN is None else self.seen_RN[rows_R]
        packing = Packing(self.packing.sentence_R[rows_R], self.packing.sentences)
        return replace(self, packing=packing, seen_RN=seen_RN, bias_MPN=None)

    def advanced(self) -> Cohort:
        """The cohort one token later, with columns for the new nodes, which the layers then write."""
        cohort = self._tidied()
        if not cohort.tree.layers:
            return replace(cohort, age=self.age + 1)
        width, columns = cohort.packing.widest, cohort.columns
        seen_RN, bias = cohort.seen_RN, None
        if width > 1 or seen_RN is not None:
            if seen_RN is None:
                seen_RN = torch.ones(self.rows, columns, dtype=torch.bool)
            own_RP = cohort.packing.ranks[:, None] == torch.arange(width)
            seen_RN = torch.cat([seen_RN, own_RP], dim=1)
            bias = (cohort.packing.pack(seen_RN.float()) - 1).mul_(-_HIDDEN)[:, None]
        cohort.tree.filled = columns + width
        return replace(cohort, age=self.age + 1, columns=columns + width, seen_RN=seen_RN, bias_MPN=bias)

    def write(self, layer: int, keys_MHPK: Tensor, values_MHPK: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of a layer, those of the newest nodes included, [M, H, N, K]."""
        keys_MHCK, values_MHCK = self.tree.layers[layer]
        first = self.columns - keys_MHPK.shape[2]
        keys_MHCK[:, :, first : self.columns] = keys_MHPK
        values_MHCK[:, :, first : self.columns] = values_MHPK
        return keys_MHCK[:, :, : self.columns], values_MHCK[:, :, : self.columns]

    def _tidied(self) -> Cohort:
        """The same where there is room for one more step, without sentences that are over."""
        packing, tree = self.packing, self.tree
        living_M = packing.counts > 0
        living = int(living_M.sum())
        cohort = self
        if living * 2 <= packing.sentences:
            cohort = self._without(living_M)
        elif not tree.layers or (tree.filled == self.columns and self.columns + packing.widest <= tree.places):
            return self
        return cohort._with_room() if tree.layers else cohort  # noqa: SLF001 - of the same class

    def _without(self, living_M: Tensor) -> Cohort:
        """The cohort without sentences that have no rows."""
        kept_M = living_M.nonzero().flatten()
        lengths_M = self.lengths_M[kept_M]
        longest = int(lengths_M.max())

        def of_sentences(tensors: tuple[Tensor, Tensor], most: int) -> tuple[Tensor, Tensor]:
            keys, values = (tensor.index_select(0, kept_M)[:, :, :most].contiguous() for tensor in tensors)
            return keys, values

        sources = tuple(of_sentences(pair, longest) for pair in self.sources)
        layers = [of_sentences(pair, self.columns) for pair in self.tree.layers]
        renamed_M = living_M.cumsum(0) - 1
        return replace(
            self,
            sources=sources,
            lengths_M=lengths_M,
            packing=Packing(renamed_M[self.packing.sentence_R], kept_M.shape[0]),
            tree=_Tree(layers, self.columns),
            bias_MS=padding_mask(lengths_M, longest, sources[0][0].dtype).bias,
        )

    def _with_room(self) -> Cohort:
        """The cohort with tensors of its own that have room for some steps, without nodes that no path uses."""
        room = _STEPS * max(2, self.packing.widest)
        if self.seen_RN is None:
            layers = [
                (_padded(keys[:, :, : self.columns], room), _padded(values[:, :, : self.columns], room))
                for keys, values in self.tree.layers
            ]
            return replace(self, tree=_Tree(layers, self.columns))
        used_MN = self.packing.pack(self.seen_RN).any(1)
        columns = int(used_MN.sum(1).max())
        order_MN = used_MN.to(torch.uint8).argsort(dim=1, descending=True, stable=True)[:, :columns]
        kept_MN = used_MN.gather(1, order_MN)
        chosen_RN = order_MN[self.packing.sentence_R]
        seen_RN = self.seen_RN.gather(1, chosen_RN) & kept_MN[self.packing.sentence_R]
        places_MC = functional.pad(order_MN, (0, room))  # what is there does not matter: nobody looks
        layers = [(_taken(keys, places_MC), _taken(values, places_MC)) for keys, values in self.tree.layers]
        return replace(self, tree=_Tree(layers, columns), columns=columns, seen_RN=seen_RN)


def look(queries_MHPK: Tensor, keys_MHNK: Tensor, values_MHNK: Tensor, bias: Tensor | None) -> Tensor:
    """Attention of queries that are scaled already, [M, P, H·K]."""
    sentences, heads, width, size = queries_MHPK.shape
    scores = torch.bmm(queries_MHPK.reshape(-1, width, size), keys_MHNK.flatten(0, 1).transpose(1, 2))
    if bias is not None:
        scores.view(sentences, heads, width, -1).add_(bias)
    mixed = torch.bmm(scores.softmax(-1), values_MHNK.flatten(0, 1))
    return mixed.view(sentences, heads, width, size).transpose(1, 2).reshape(sentences, width, heads * size)


def _padded(columns: Tensor, room: int) -> Tensor:
    return functional.pad(columns, (0, 0, 0, room))


def _taken(nodes_MHCK: Tensor, places_MC: Tensor) -> Tensor:
    """The nodes at these places of each sentence, [M, H, C, K]."""
    sentences, heads, places, size = nodes_MHCK.shape
    starts_MH = torch.arange(sentences * heads).view(sentences, heads) * places
    at = (starts_MH[:, :, None] + places_MC[:, None]).flatten()
    return nodes_MHCK.reshape(-1, size).index_select(0, at).view(sentences, heads, -1, size)
