"""The stream: a monolingual store as a few long texts, read side by side through a window, for language models.

The examples follow each other without padding, in the order of the store. Row r of every window goes on where row r
of the window before it stopped, so a recurrent model can carry its state from window to window (truncated
back-propagation through time). Each example is, as elsewhere, a begin token and its ids as inputs, its ids and an
end token as labels; every label comes once an epoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dragoman.errors import SettingError
from dragoman.text.vocabulary import BOS, EOS, PAD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from torch import Tensor

    from dragoman.data.store import Store


@dataclass(frozen=True, slots=True)
class Window:
    """The next few tokens of each row (B rows, T positions)."""

    inputs_BT: Tensor
    labels_BT: Tensor
    lengths_B: Tensor
    """Positions in each row that are not padding: all, but in an epoch's last window, where rows may lack one."""
    begins: bool
    """Whether the rows begin anew, so that no state is to be carried here."""
    tokens: int
    """Labels that are not padding."""
    position: int
    """How many windows the run has taken after this one. A run goes on from here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenStream:
    """The windows over a store's targets: `rows` stretches of the stream, `width` positions at a time."""

    store: Store
    rows: int
    width: int

    def __post_init__(self) -> None:
        if self.rows > len(self):
            raise SettingError(
                f"{self.rows} rows for a stream of {len(self)} tokens", place="rows", remedy="Give fewer rows."
            )

    def __len__(self) -> int:
        """Labels in the stream."""
        return len(self.store.target.sequences.values) + len(self.store)

    @property
    def epoch_windows(self) -> int:
        """Windows in an epoch."""
        return -(-(len(self) // self.rows) // self.width)

    def windows(self, position: int = 0) -> Iterator[Window]:
        """The windows from a position on, epoch after epoch, without end."""
        from torch import from_numpy

        starts = self._starts()
        while True:
            number = position % self.epoch_windows
            places_BT, lengths_B = self._places(number)
            inputs_BT, labels_BT = self._read(starts, places_BT)
            padding_BT = np.arange(places_BT.shape[1]) >= lengths_B[:, None]
            inputs_BT[padding_BT] = labels_BT[padding_BT] = PAD
            position += 1
            yield Window(
                from_numpy(inputs_BT),
                from_numpy(labels_BT),
                from_numpy(lengths_B),
                begins=number == 0,
                tokens=int(lengths_B.sum()),
                position=position,
            )

    def _starts(self) -> NDArray[np.int64]:
        """Where each example's labels begin in the stream, which has an end token more for each."""
        return self.store.target.sequences.offsets.astype(np.int64) + np.arange(len(self.store) + 1)

    def _places(self, number: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The places in the stream that a window covers, and how many of them each row has.

        Rows are equally long, or one longer; that one belongs to the last window.
        """
        bounds = np.arange(self.rows + 1) * len(self) // self.rows
        begins_B = bounds[:-1] + number * self.width
        ends_B = begins_B + self.width if number < self.epoch_windows - 1 else bounds[1:]
        lengths_B = ends_B - begins_B
        places_BT = begins_B[:, None] + np.arange(lengths_B.max())
        return np.minimum(places_BT, len(self) - 1), lengths_B

    def _read(
        self, starts: NDArray[np.int64], places_BT: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The inputs and labels at some places of the stream."""
        values = self.store.target.sequences.values
        example_BT = np.searchsorted(starts, places_BT, side="right") - 1
        # The stream has one token more for each example than the values before it have.
        value_BT = places_BT - example_BT
        is_first_BT = places_BT == starts[example_BT]
        is_last_BT = places_BT == starts[example_BT + 1] - 1
        inputs_BT = np.where(is_first_BT, BOS, values[np.maximum(value_BT - 1, 0)]).astype(np.int64)
        labels_BT = np.where(is_last_BT, EOS, values[np.minimum(value_BT, len(values) - 1)]).astype(np.int64)
        return inputs_BT, labels_BT
