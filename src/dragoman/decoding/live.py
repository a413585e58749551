"""The hypotheses that are alive in a search, and the sentences that they belong to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

__all__ = ["Live", "Phrase", "Sentence"]

Phrase = tuple[int, ...]
"""Tokens that stand side by side."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """What is asked of the output for one source sentence."""

    key: int
    """A number of the caller's by which the outputs are known; no two in search share one."""
    max_length: int
    """Most tokens of an output, prefix and end included."""
    min_length: int = 0
    """Fewest tokens before the end, prefix included."""
    prefix: Phrase = ()
    """Tokens that the output must begin with."""
    required: tuple[tuple[Phrase, ...], ...] = ()
    """Phrases that the output must hold: of each tuple, one of its alternatives."""
    seed: int = 0
    """Makes its samples its own; with it they do not depend on what else is in the batch."""

    def __post_init__(self) -> None:
        assert self.max_length > 0, "an output has room for its end at least"
        assert all(alternatives and all(alternatives) for alternatives in self.required), "no phrase is empty"


@dataclass(frozen=True, slots=True)
class Live:
    """Live hypotheses as rows, sentence after sentence."""

    sentences: tuple[Sentence, ...]
    lengths_B: Tensor
    """Tokens that the hypotheses of each sentence have so far: of one sentence all have the same."""
    limits_B: Tensor
    """Most tokens of each sentence's outputs."""
    sentence_R: Tensor
    """The place in `sentences` of each row, ascending."""
    last_R: Tensor
    """The newest token of each row, which the next step reads."""
    totals_R: Tensor
    """What the search has added up for each row; without adjustments the log-probability so far."""
    entry_R: Tensor
    """Where each row stands in the newest beam; -1 at the start."""
    history_RT: Tensor | None = None
    """Tokens so far, the newest one last and -1 on the left of shorter ones; kept only for who reads it."""

    @property
    def rows(self) -> int:
        return self.sentence_R.shape[0]

    @classmethod
    def starting(
        cls, sentences: Sequence[Sentence], *, width: int, begin: int, history: bool, device: torch.device
    ) -> Live:
        """New sentences with `width` rows each."""
        rows = len(sentences) * width
        return cls(
            sentences=tuple(sentences),
            lengths_B=torch.zeros(len(sentences), dtype=torch.long, device=device),
            limits_B=torch.tensor([s.max_length for s in sentences], dtype=torch.long, device=device),
            sentence_R=torch.arange(len(sentences), device=device).repeat_interleave(width),
            last_R=torch.full((rows,), begin, dtype=torch.long, device=device),
            totals_R=torch.zeros(rows, device=device),
            entry_R=torch.full((rows,), -1, dtype=torch.long, device=device),
            history_RT=torch.empty(rows, 0, dtype=torch.long, device=device) if history else None,
        )

    def join(self, other: Live) -> Live:
        """These rows and those of new sentences after them."""
        history = None
        if self.history_RT is not None and other.history_RT is not None:
            width = max(self.history_RT.shape[1], other.history_RT.shape[1])
            padded = [functional.pad(h, (width - h.shape[1], 0), value=-1) for h in (self.history_RT, other.history_RT)]
            history = torch.cat(padded)
        return Live(
            sentences=self.sentences + other.sentences,
            lengths_B=torch.cat([self.lengths_B, other.lengths_B]),
            limits_B=torch.cat([self.limits_B, other.limits_B]),
            sentence_R=torch.cat([self.sentence_R, other.sentence_R + len(self.sentences)]),
            last_R=torch.cat([self.last_R, other.last_R]),
            totals_R=torch.cat([self.totals_R, other.totals_R]),
            entry_R=torch.cat([self.entry_R, other.entry_R]),
            history_RT=history,
        )

    def without(self, over_B: Tensor) -> Live:
        """The same rows where some sentences, which have no rows any more, are forgotten."""
        stay_B = ~over_B
        kept = stay_B.nonzero().flatten()
        return replace(
            self,
            sentences=tuple(self.sentences[i] for i in kept.tolist()),
            lengths_B=self.lengths_B[kept],
            limits_B=self.limits_B[kept],
            sentence_R=(stay_B.cumsum(0) - 1)[self.sentence_R],
        )
