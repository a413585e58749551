"""The recurrent encoder: a vector for each source position, and the last state of each layer.

It reads forward, backward, or both ways. Reading backward is what Sutskever et al. call reversing the source; the
vectors come out in the order of the source all the same.

Shapes as in seq2seq.py, and: E size of an input, Y size of a source vector (D, or 2D when it reads both ways).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, assert_never, final

import torch
from torch import Tensor, nn

from dragoman.errors import ModelError
from dragoman.models.cells import Carry
from dragoman.models.linear import Linear
from dragoman.models.recurrence import RecurrentLayer, reversed_within
from dragoman.models.seq2seq import Vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.models.cells import CellName
    from dragoman.models.seq2seq import Source, SourceEmbedding

__all__ = ["Bridge", "BridgeName", "Direction", "Encoded", "RecurrentEncoder"]

Direction = Literal["forward", "backward", "both"]
BridgeName = Literal["copy", "project", "project_backward"]


@dataclass(frozen=True, slots=True)
class Encoded:
    """What the encoder leaves for the decoder."""

    vectors: Vectors
    last: tuple[tuple[Carry, ...], ...]
    """The last state of each layer and, within it, of each direction: forward first."""


@final
class RecurrentEncoder(nn.Module):
    """Layers over an embedding; in each, one or two readers whose states lie side by side."""

    def __init__(
        self,
        embedding: SourceEmbedding,
        layers: Sequence[Sequence[RecurrentLayer]],
        *,
        direction: Direction,
        entry: nn.Module | None = None,
        dropout: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.layers = nn.ModuleList(nn.ModuleList(readers) for readers in layers)
        self.direction: Direction = direction
        self.entry = entry or nn.Identity()
        self.dropout = dropout or nn.Identity()
        assert all(len(readers) == len(ways(direction)) for readers in layers)

    def forward(self, source: Source) -> Encoded:
        """The vectors of the source and the layers' last states."""
        embedded = self.embedding(source)
        outputs_BSY = self.entry(embedded.vectors_BSD)
        lengths_B = embedded.lengths_B.clamp(min=1)  # an empty sentence is read as a single padding token
        last = []
        for index, readers in enumerate(self.layers):
            inputs_BSE = self.dropout(outputs_BSY) if index else outputs_BSY
            assert isinstance(readers, nn.ModuleList)
            read = [
                _read(reader, inputs_BSE, lengths_B, backward=backward)
                for reader, backward in zip(readers, ways(self.direction), strict=True)
            ]
            outputs_BSY = torch.cat([vectors_BSD for vectors_BSD, _ in read], dim=2) if len(read) > 1 else read[0][0]
            last.append(tuple(carry for _, carry in read))
        return Encoded(Vectors(self.dropout(outputs_BSY), lengths_B), tuple(last))


def ways(direction: Direction) -> tuple[bool, ...]:
    """For each reader of a layer, whether it reads backward."""
    match direction:
        case "forward":
            return (False,)
        case "backward":
            return (True,)
        case "both":
            return (False, True)
        case _:
            assert_never(direction)


def _read(layer: nn.Module, inputs_BSE: Tensor, lengths_B: Tensor, *, backward: bool) -> tuple[Tensor, Carry]:
    assert isinstance(layer, RecurrentLayer)
    if not backward:
        return layer.sequence(inputs_BSE, lengths_B=lengths_B)
    outputs_BSD, last = layer.sequence(reversed_within(inputs_BSE, lengths_B), lengths_B=lengths_B)
    return reversed_within(outputs_BSD, lengths_B), last


@final
class Bridge(nn.Module):
    """From the encoder's last states to the decoder's first: handed over, or through `tanh(W h + b)`."""

    def __init__(
        self, maps: Sequence[nn.Module] = (), cell_maps: Sequence[nn.Module] = (), *, first_way: int = 0
    ) -> None:
        super().__init__()
        self.maps = nn.ModuleList(maps)
        self.cell_maps = nn.ModuleList(cell_maps)
        self.first_way = first_way

    @classmethod
    def of(
        cls, name: BridgeName, cell: CellName, *, layers: tuple[int, int], sizes: tuple[int, int], readers: int
    ) -> Bridge:
        """The bridge of that name between so many layers (encoder, decoder) of those sizes."""
        match name:
            case "copy":
                if readers != 1 or layers[0] != layers[1] or sizes[0] != sizes[1]:
                    raise ModelError(
                        f"the bridge 'copy' needs both sides alike, got {readers} reading directions, "
                        f"layers {layers[0]} and {layers[1]}, sizes {sizes[0]} and {sizes[1]}",
                        place="model.bridge",
                        remedy="Use the bridge 'project', or make encoder and decoder alike.",
                    )
                return cls()
            case "project" | "project_backward":
                used = readers if name == "project" else 1
                maps = [Linear(used * sizes[0], sizes[1]) for _ in range(layers[1])]
                cell_maps = [Linear(used * sizes[0], sizes[1]) for _ in range(layers[1] if cell == "lstm" else 0)]
                return cls(maps, cell_maps, first_way=readers - used)
            case _:
                assert_never(name)

    def forward(self, encoded: Encoded) -> tuple[Carry, ...]:
        """The first state of each decoder layer; where the decoder is deeper, it starts from the highest layer."""
        if not len(self.maps):
            return tuple(readers[0] for readers in encoded.last)
        carries = []
        for index, state_map in enumerate(self.maps):
            readers = encoded.last[min(index, len(encoded.last) - 1)][self.first_way :]
            hidden_BD = torch.tanh(state_map(torch.cat([carry.hidden_RD for carry in readers], dim=1)))
            cells = [carry.cell_RD for carry in readers if carry.cell_RD is not None]
            cell_BD = self.cell_maps[index](torch.cat(cells, dim=1)) if cells else None
            carries.append(Carry(hidden_BD, cell_BD))
        return tuple(carries)
