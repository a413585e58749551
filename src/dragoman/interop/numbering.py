"""How the rows of a foreign vocabulary become ours, which begins with the same four special pieces in every model.

    ours      0 pad   1 unknown   2 begin        3 end   4 …
    theirs    pad     unknown     begin, copied  end     all others, in their order

The piece that a foreign decoder begins with serves for something else too (padding in Marian and T5, the end in BART,
a language in mBART). Here the begin has a row of its own: a copy, which is read but can never be said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import torch

from dragoman.text.vocabulary import BOS

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["NEVER", "Numbering"]

NEVER = -1000.0
"""What is added to the logit of the begin: its share of any probability is then zero."""


class Numbering(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The foreign ids that become our special ones, and how many rows there are."""

    pad: int
    unknown: int
    begin: int
    end: int
    size: int

    def theirs(self) -> list[int]:
        """The foreign id of each of our ids."""
        special = [self.pad, self.unknown, self.begin, self.end]
        moved = {self.pad, self.unknown, self.end}
        return [*special, *(i for i in range(self.size) if i not in moved)]

    def ours(self) -> list[int]:
        """Our id of each foreign id; that of the begin is not the copy's."""
        found = [0] * self.size
        for our_id, their_id in enumerate(self.theirs()):
            if our_id != BOS:
                found[their_id] = our_id
        return found

    def rows(self, table_VX: Tensor) -> Tensor:
        """A foreign table with its rows where we have them."""
        return table_VX[torch.tensor(self.theirs())]

    def rows_back(self, table_VX: Tensor) -> Tensor:
        """A table of ours as the foreign library has it."""
        return table_VX[torch.tensor(self.ours())]

    def bias(self, bias_V: Tensor | None) -> Tensor:
        """The bias of an output layer of ours, under which the begin is never said."""
        bias = torch.zeros(self.size + 1) if bias_V is None else self.rows(bias_V.reshape(-1).float())
        bias[BOS] = NEVER
        return bias
