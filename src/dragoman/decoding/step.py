"""The seam that search stands on: one step of a decoder, and the scores that it gives.

Shapes, here and in every file of this room:

    R  rows: live hypotheses            V  columns of the scores (vocabulary, or a short-list of it)
    B  sentences in search              K  the best few of each row
    N  what a step chose                C  candidates of a sentence
    T  tokens so far                    S  source positions
    D  size of a hidden state           G  tokens of a phrase
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

import torch

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Best", "DecoderStep", "Scores", "Trace", "TracedStep", "best_columns", "log_normalizer"]

State = TypeVar("State")

_CHUNK = 64  # columns whose maximum stands for them all in the search for the best
_IN_CACHE = 1 << 18  # logits that are handled at once without leaving the processor's cache
_LOG2_E = math.log2(math.e)


@dataclass(frozen=True, slots=True)
class Best:
    """The best tokens of each row, best first."""

    log_probs_RK: Tensor
    tokens_RK: Tensor


@dataclass(frozen=True, slots=True)
class Scores:
    """What a step says of the next token: logits, and what turns them into log-probabilities."""

    logits_RV: Tensor
    normalizer_R: Tensor
    """Log of the sum of the exponentials of each row: what a logit must lose to be a log-probability."""
    ids: Tensor | None = None
    """The tokens that the columns stand for, ascending, when a short-list is in force."""

    @classmethod
    def of(cls, logits_RV: Tensor, ids: Tensor | None = None) -> Scores:
        """The scores that belong to plain logits, in float32 at least: sums over a vocabulary need it."""
        logits_RV = logits_RV.float()
        return cls(logits_RV, log_normalizer(logits_RV), ids)

    def log_probs(self) -> Tensor:
        """Log-probabilities of all columns: the plain view, which fast paths do without."""
        return self.logits_RV - self.normalizer_R[:, None]

    def best(self, k: int) -> Best:
        """The `k` best tokens of each row; fewer where there are fewer columns."""
        columns_RK = best_columns(self.logits_RV, min(k, self.logits_RV.shape[1]))
        log_probs_RK = self.logits_RV.gather(1, columns_RK) - self.normalizer_R[:, None]
        return Best(log_probs_RK, self.tokens(columns_RK))

    def at(self, rows_N: Tensor, tokens_N: Tensor) -> Tensor:
        """Log-probabilities of single tokens in single rows; of what is not in the short-list: minus infinity."""
        columns_N = self.columns(tokens_N)
        log_probs_N = self.logits_RV[rows_N, columns_N.clamp(min=0)] - self.normalizer_R[rows_N]
        return log_probs_N.masked_fill(columns_N < 0, -torch.inf)

    def tokens(self, columns: Tensor) -> Tensor:
        """The tokens that columns stand for."""
        return columns if self.ids is None else self.ids[columns]

    def columns(self, tokens: Tensor) -> Tensor:
        """The columns of tokens; -1 for those that have none."""
        if self.ids is None:
            return torch.where((tokens >= 0) & (tokens < self.logits_RV.shape[1]), tokens, -1)
        columns = torch.searchsorted(self.ids, tokens).clamp(max=self.ids.shape[0] - 1)
        return torch.where(self.ids[columns] == tokens, columns, -1)

    def copied(self) -> Scores:
        """The same scores with logits of their own."""
        return Scores(self.logits_RV.clone(), self.normalizer_R, self.ids)


class DecoderStep(Protocol[State]):
    """One step of a model, an ensemble, or whatever gives scores to a next token. Search never looks inside `State`.

    Logits are fresh: search may write into them. A state is a value: a step leaves it as it was.
    """

    def __call__(self, tokens_R: Tensor, state: State, /) -> tuple[Scores, State]:
        """Scores after one more token in each row, and the state that remembers it."""
        ...

    def select(self, state: State, rows_R: Tensor, /) -> State:
        """The state whose row i was row `rows_R[i]`: rows repeated, dropped or reordered."""
        ...

    def join(self, state: State, other: State, /) -> State:
        """The state with the rows of `other` after its own."""
        ...


@dataclass(frozen=True, slots=True)
class Trace:
    """What else a step can tell: where the model stands, and where it looks."""

    hidden_RD: Tensor
    """What the output layer read."""
    attention_RS: Tensor | None = None
    """Attention over source positions, none on padding; nothing for models without a source."""
    source_lengths_R: Tensor | None = None
    """Source positions that are not padding."""


class TracedStep(DecoderStep[State], Protocol[State]):
    """A step that can also say where the model stands, for the searches that need it."""

    def trace(self, tokens_R: Tensor, state: State, /) -> tuple[Scores, State, Trace]:
        """What a call gives, and its trace."""
        ...


def log_normalizer(logits_RV: Tensor) -> Tensor:
    """Log of the sum of the exponentials of each row.

    Powers of two take torch a quarter of the time of exponentials; they are summed over few rows at a time.
    """
    parts = [_log_of_sum(rows) for rows in torch.split(logits_RV, max(1, _IN_CACHE // logits_RV.shape[1]))]
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _log_of_sum(logits_RV: Tensor) -> Tensor:
    """With m the largest: log Σ exp(x) = m + log Σ 2^((x - m) / log 2)."""
    largest_R1 = logits_RV.amax(1, keepdim=True)
    powers_RV = torch.add(largest_R1 * -_LOG2_E, logits_RV, alpha=_LOG2_E).exp2_()
    return largest_R1[:, 0] + powers_RV.sum(1).log_()


def best_columns(logits_RV: Tensor, k: int) -> Tensor:
    """The columns of the `k` largest logits of each row, best first.

    The k largest lie in the k chunks with the largest maxima, so most columns are only ever read once:

        | 3 1 2 | 0 9 4 | 7 8 5 |      maxima 3, 9, 8: for k = 2 the first chunk cannot matter
    """
    rows, width = logits_RV.shape
    chunks = width // _CHUNK
    if chunks < 4 * k:
        return logits_RV.topk(k, dim=1).indices
    whole = chunks * _CHUNK
    maxima_RC = logits_RV[:, :whole].reshape(rows, chunks, _CHUNK).amax(2)
    starts_RK = maxima_RC.topk(k, dim=1).indices * _CHUNK
    columns_RKC = starts_RK[:, :, None] + torch.arange(_CHUNK, device=logits_RV.device)
    rest = torch.arange(whole, width, device=logits_RV.device).expand(rows, -1)
    columns_RC = torch.cat([columns_RKC.reshape(rows, -1), rest], dim=1)
    winners_RK = logits_RV.gather(1, columns_RC).topk(k, dim=1).indices
    return columns_RC.gather(1, winners_RK)
