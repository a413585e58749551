"""The engine for Transformers on a processor: weights prepared once, few operators a step, no copies as beams fork.

It computes what the model's own steps compute (engines/eager.py), in float32, bfloat16 or int8:

- products over packed weights (engines/products.py); sums, norms and attention stay in float32;
- sentences that came together form a cohort with a tree of nodes (engines/nodes.py): nothing is copied where
  sentences join, and attention has no columns for other cohorts' ages;
- all cohorts' rows go through each product together.

Shapes as in models/seq2seq.py, and: N rows of any sort.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never, cast

import torch
from torch import Tensor, nn

from dragoman.decoding.step import Scores
from dragoman.engines.nodes import Cohort, look
from dragoman.engines.products import Rows, product
from dragoman.models.attention import SelfAttention, padding_mask
from dragoman.models.embedding import Output
from dragoman.models.feedforward import activate
from dragoman.models.ssru import SSRU, Cells
from dragoman.models.transformer import Transformer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dragoman.devices import NumberFormat
    from dragoman.engines.products import Product
    from dragoman.models.feedforward import FeedForward
    from dragoman.models.norm import Norm, Residual
    from dragoman.models.seq2seq import Model, Source
    from dragoman.models.stack import Layer, Stack

__all__ = ["PackedState", "PackedStep", "can_be_packed"]

_POSITIONS = 512
"""Positions whose vectors are kept ready."""


def can_be_packed(model: Model) -> bool:
    """Whether this engine knows the model: a Transformer on a processor that neither copies nor turns its queries."""
    if not isinstance(model, Transformer) or next(model.parameters()).device.type != "cpu":
        return False
    stacks = (model.encoder.stack, model.decoder)
    plain = all(stack.rotary is None and stack.relative is None for stack in stacks)
    heads = all(_has_own_keys(layer) for stack in stacks for layer in stack.each())
    return plain and heads and model.pointer is None and isinstance(model.output, Output)


def _has_own_keys(layer: Layer) -> bool:
    """Whether each head of queries has keys of its own."""
    attentions = [part.heads for part in (layer.mixer, layer.cross) if part is not None and not isinstance(part, SSRU)]
    return all(heads.queries == heads.keys for heads in attentions)


@dataclass(frozen=True, slots=True)
class PackedState:
    """Cohorts of sentences; their rows stand one after the other."""

    cohorts: tuple[Cohort, ...]
    cells: Cells | None = None
    """The past of a recurrent decoder, of all rows."""
    order_R: Tensor | None = None
    """Where each row stands among those of the cohorts, when that is not its own number."""

    def select(self, rows_R: Tensor) -> PackedState:
        """The state whose row i was row `rows_R[i]`."""
        if self.order_R is not None:
            rows_R = self.order_R[rows_R]
        order_R = None
        ends = torch.tensor([cohort.rows for cohort in self.cohorts]).cumsum(0)
        owner_R = torch.bucketize(rows_R, ends, right=True)
        if bool((owner_R[1:] < owner_R[:-1]).any()):
            sorted_R = owner_R.argsort(stable=True)
            order_R = sorted_R.argsort()
            rows_R, owner_R = rows_R[sorted_R], owner_R[sorted_R]
        counts = torch.bincount(owner_R, minlength=len(self.cohorts)).tolist()
        firsts = [0, *ends.tolist()]
        parts = zip(self.cohorts, firsts, torch.split(rows_R, counts), strict=False)
        cohorts = tuple(cohort.select(part - first) for cohort, first, part in parts if part.shape[0])
        cells = None if self.cells is None else self.cells.select(rows_R)
        return PackedState(cohorts, cells, order_R)

    def join(self, other: PackedState) -> PackedState:
        """The state with the rows of `other` after its own."""
        cells = None
        if self.cells is not None and other.cells is not None:
            cells = self.cells.join(other.cells)
        order_R = None
        if self.order_R is not None or other.order_R is not None:
            ours, theirs = self._order(), other._order()
            order_R = torch.cat([ours, theirs + ours.shape[0]])
        return PackedState(self.cohorts + other.cohorts, cells, order_R)

    def _order(self) -> Tensor:
        rows = sum(cohort.rows for cohort in self.cohorts)
        return torch.arange(rows) if self.order_R is None else self.order_R


class PackedStep:
    """A Transformer as search sees it."""

    def __init__(self, model: Model, *, precision: NumberFormat = "float32") -> None:
        assert can_be_packed(model), "the eager engine takes all other models"
        model = cast("Transformer", model)
        output = cast("Output", model.output)
        self._source_embedding = model.encoder.embedding
        self._embedding = model.embedding
        self._encoder = _PackedStack(model.encoder.stack, precision)
        self._decoder = _PackedStack(model.decoder, precision)
        self._transform = output.transform
        self._rows = Rows(output.weight.detach() * output.scale, output.bias, precision=precision)
        self._output = self._rows.product()

    def start(self, source: Source | None, *, rows: int = 1) -> PackedState:
        """The state from which sentences start, one row for each."""
        del rows
        assert source is not None, "an encoder-decoder reads a source"
        embedded = self._source_embedding(source)
        lengths_B = embedded.lengths_B.clamp(min=1)  # an empty sentence is read as a single padding token
        vectors_BSD = self._encoder.forward(embedded.vectors_BSD, lengths_B)
        sources = [layer.sources(vectors_BSD) for layer in self._decoder.layers]
        cohort = Cohort.of(sources, lengths_B, attends=not self._decoder.recurrent)
        return PackedState((cohort,), self._decoder.cells(cohort.rows))

    def __call__(self, tokens_R: Tensor, state: PackedState, /) -> tuple[Scores, PackedState]:
        vectors_RD, after = self.vectors(tokens_R, state)
        return Scores.of(self._output(vectors_RD)), after

    def vectors(self, tokens_R: Tensor, state: PackedState, /) -> tuple[Tensor, PackedState]:
        """What the output layer reads after one more token in each row, and the state that remembers it."""
        order_R = state.order_R
        if order_R is not None:
            tokens_R = torch.empty_like(tokens_R).index_copy_(0, order_R, tokens_R)
        x_RD, cohorts, cells = self._decoder.step(self._embedding(tokens_R), state.cohorts, state.cells)
        if self._transform is not None:
            x_RD = self._transform(x_RD)
        return x_RD if order_R is None else x_RD[order_R], PackedState(cohorts, cells, order_R)

    def narrowed(self, ids_U: Tensor, /) -> Product:
        """The part of the output layer that gives the logits of these words."""
        return self._rows.product(ids_U)

    def select(self, state: PackedState, rows_R: Tensor, /) -> PackedState:
        return state.select(rows_R)

    def join(self, state: PackedState, other: PackedState, /) -> PackedState:
        return state.join(other)


class _PackedStack:
    """A stack of layers with what comes before and after them."""

    def __init__(self, stack: Stack, precision: NumberFormat) -> None:
        self.layers = [_PackedLayer(layer, precision) for layer in stack.each()]
        self.recurrent = isinstance(next(stack.each()).mixer, SSRU)
        self._size = next(stack.each()).feedforward.output.weight.shape[0]
        self._positions = stack.entry.positions
        self._entry_norm = _normalization(stack.entry.norm)
        self._norm = _normalization(stack.norm)
        longest = min(_POSITIONS, getattr(self._positions, "longest", _POSITIONS))
        self._ready = None if self._positions is None else self._positions(torch.arange(longest)).detach()

    def forward(self, vectors_BSD: Tensor, lengths_B: Tensor) -> Tensor:
        """The stack's output for whole sentences."""
        sentences, longest, size = vectors_BSD.shape
        if self._positions is not None:
            vectors_BSD = vectors_BSD + self._at(slice(0, longest))
        x_ND = self._entry_norm(vectors_BSD.reshape(-1, size))
        bias = padding_mask(lengths_B, longest, vectors_BSD.dtype).bias
        for layer in self.layers:
            x_ND = layer.forward(x_ND, (sentences, longest), bias)
        return self._norm(x_ND).view(sentences, longest, size)

    def cells(self, rows: int) -> Cells | None:
        """The past before the first token, of a recurrent stack."""
        return Cells.empty(len(self.layers), rows, torch.empty(self._size)) if self.recurrent else None

    def step(
        self, vectors_RD: Tensor, cohorts: Sequence[Cohort], cells: Cells | None
    ) -> tuple[Tensor, tuple[Cohort, ...], Cells | None]:
        """The output for one more token in each row, and what is then remembered."""
        cohorts = tuple(cohort.advanced() for cohort in cohorts)
        counts = [cohort.rows for cohort in cohorts]
        if self._positions is not None:
            ages = [cohort.age - 1 for cohort in cohorts]
            places = [self._at(slice(age, age + 1)).expand(count, -1) for age, count in zip(ages, counts, strict=True)]
            vectors_RD = vectors_RD + (places[0] if len(places) == 1 else torch.cat(places))
        x_RD = self._entry_norm(vectors_RD)
        cells = None if cells is None else cells.advanced()
        for index, layer in enumerate(self.layers):
            x_RD = layer.step(x_RD, index, cohorts, cells)
        return self._norm(x_RD), cohorts, cells

    def _at(self, positions: slice) -> Tensor:
        """The vectors of some positions."""
        if self._ready is not None and positions.stop <= self._ready.shape[0]:
            ready: Tensor = self._ready[positions]
            return ready
        assert self._positions is not None
        vectors: Tensor = self._positions(torch.arange(positions.start, positions.stop))
        return vectors


class _PackedLayer:
    """A layer's products, in the order in which they are used."""

    def __init__(self, layer: Layer, precision: NumberFormat) -> None:
        self._recurrent = isinstance(layer.mixer, SSRU)
        match layer.mixer:
            case SelfAttention(heads=heads) as mixer:
                self._heads = heads.queries
                scales = torch.ones(mixer.inputs.weight.shape[0])
                scales[: heads.queries * heads.size] = heads.scale
                self._inputs = _scaled_product(mixer.inputs, scales, precision)
                self._mixed = _product(mixer.output, precision)
            case SSRU() as mixer:
                self._forget_bias = mixer.forget_bias.detach()
                self._inputs = _product(mixer.inputs, precision)
        self._mix = _Way(layer.mixer_residual)
        if layer.cross is not None and layer.cross_residual is not None:
            cross = layer.cross
            self._across = _Way(layer.cross_residual)
            self._cross_heads = cross.heads.queries
            scales = torch.full((cross.queries.weight.shape[0],), cross.heads.scale)
            self._queries = _scaled_product(cross.queries, scales, precision)
            self._sources = _product(cross.memory, precision)
            self._looked = _product(cross.output, precision)
        self._feed = _Way(layer.feedforward_residual)
        self._feedforward = _feedforward(layer.feedforward, precision)

    def sources(self, vectors_BSD: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of sources, [B, H, S, K]."""
        sentences, longest, size = vectors_BSD.shape
        joint = self._sources(vectors_BSD.view(-1, size)).view(sentences, longest, 2, self._cross_heads, -1)
        keys, values = joint.permute(2, 0, 3, 1, 4).contiguous().unbind(0)
        return keys, values

    def forward(self, x_ND: Tensor, shape: tuple[int, int], bias: Tensor | None) -> Tensor:
        """The layer's output for all positions of sentences that attend to themselves both ways."""
        joint = self._inputs(self._mix.enter(x_ND)).view(*shape, 3, self._heads, -1)
        queries, keys, values = joint.permute(2, 0, 3, 1, 4).contiguous().unbind(0)
        mixed_BSD = look(queries, keys, values, bias)
        x_ND = self._mix.leave(x_ND, self._mixed(mixed_BSD.view(x_ND.shape[0], -1)))
        return self._feed.leave(x_ND, self._feedforward(self._feed.enter(x_ND)))

    def step(self, x_RD: Tensor, index: int, cohorts: Sequence[Cohort], cells: Cells | None) -> Tensor:
        """The layer's output for the newest token of each row."""
        entered = self._inputs(self._mix.enter(x_RD))
        mixed = (
            self._recur(entered, index, cells)
            if cells is not None
            else self._mixed(self._look_back(entered, index, cohorts))
        )
        x_RD = self._mix.leave(x_RD, mixed)
        queries_RD = self._queries(self._across.enter(x_RD))
        x_RD = self._across.leave(x_RD, self._looked(self._look_across(queries_RD, index, cohorts)))
        return self._feed.leave(x_RD, self._feedforward(self._feed.enter(x_RD)))

    def _recur(self, entered: Tensor, index: int, cells: Cells) -> Tensor:
        forget_RD, candidate_RD = entered.chunk(2, dim=-1)
        cell_RD = torch.lerp(candidate_RD, cells.layers[index], torch.sigmoid(forget_RD + self._forget_bias))
        cells.layers[index] = cell_RD
        return cell_RD.relu()

    def _look_back(self, joint_R3D: Tensor, index: int, cohorts: Sequence[Cohort]) -> Tensor:
        parts = []
        for cohort, rows in zip(cohorts, torch.split(joint_R3D, [cohort.rows for cohort in cohorts]), strict=True):
            packed = cohort.packing.pack(rows)
            sentences, width, _ = packed.shape
            queries, keys, values = packed.view(sentences, width, 3, self._heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
            mixed = look(queries, *cohort.write(index, keys, values), cohort.bias_MPN)
            parts.append(cohort.packing.unpack(mixed))
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def _look_across(self, queries_RD: Tensor, index: int, cohorts: Sequence[Cohort]) -> Tensor:
        parts = []
        for cohort, rows in zip(cohorts, torch.split(queries_RD, [cohort.rows for cohort in cohorts]), strict=True):
            packed = cohort.packing.pack(rows)
            queries = packed.view(*packed.shape[:2], self._cross_heads, -1).transpose(1, 2)
            parts.append(cohort.packing.unpack(look(queries, *cohort.sources[index], cohort.bias_MS)))
        return parts[0] if len(parts) == 1 else torch.cat(parts)


class _Way:
    """The path around a sub-layer, which may write into what it carries."""

    def __init__(self, residual: Residual) -> None:
        self._before = residual.before
        self._norm = _normalization(residual.norm)

    def enter(self, x_ND: Tensor) -> Tensor:
        return self._norm(x_ND) if self._before else x_ND

    def leave(self, x_ND: Tensor, result_ND: Tensor) -> Tensor:
        total_ND = result_ND.add_(x_ND)
        return total_ND if self._before else self._norm(total_ND)


def _normalization(norm: Norm | None) -> Callable[[Tensor], Tensor]:
    match norm:
        case None:
            return lambda x_ND: x_ND
        case nn.LayerNorm(normalized_shape=shape, eps=epsilon):
            weight, bias = norm.weight.detach(), norm.bias.detach()
            return lambda x_ND: torch.layer_norm(x_ND, shape, weight, bias, epsilon)
        case nn.RMSNorm():
            return norm
        case _:
            assert_never(norm)


def _product(linear: nn.Linear, precision: NumberFormat) -> Product:
    return product(linear.weight, linear.bias, precision=precision)


def _scaled_product(linear: nn.Linear, scales_V: Tensor, precision: NumberFormat) -> Product:
    """A product whose outputs are scaled, for free."""
    return product(linear.weight * scales_V[:, None], _times(linear.bias, scales_V), precision=precision)


def _times(bias_V: Tensor | None, scales_V: Tensor) -> Tensor | None:
    return None if bias_V is None else bias_V * scales_V


def _feedforward(feedforward: FeedForward, precision: NumberFormat) -> Product:
    inputs, output = _product(feedforward.inputs, precision), _product(feedforward.output, precision)
    kind = feedforward.activation

    def plain(x_ND: Tensor) -> Tensor:
        inner = inputs(x_ND)
        return output(inner.relu_() if kind == "relu" else activate(kind, inner))

    def gated(x_ND: Tensor) -> Tensor:
        opened, passed = inputs(x_ND).chunk(2, dim=-1)
        return output(activate(kind, opened) * passed)

    return gated if feedforward.gated else plain
