"""Teacher forcing: the right next token against all others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import torch
from torch.autograd.function import once_differentiable

from dragoman.settings import Meta, Settings
from dragoman.training.objectives import pieces
from dragoman.training.objectives.objective import Smoothing, Sums, labels_of, taught

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from dragoman.data.batch import Batch
    from dragoman.models.seq2seq import Hidden, Model


class CrossEntropy(Settings, frozen=True, kw_only=True, tag_field="kind", tag="cross_entropy"):
    """Teacher forcing: the right next token against all others."""

    smoothing: Smoothing = 0.1
    """Share of the probability that is spread over the whole vocabulary."""
    truncate: Annotated[int, Meta(ge=1)] | None = None
    """Target positions over which gradients flow back through a recurrent decoder, which bounds memory for long
    targets (truncated back-propagation through time); nothing: over all."""


class TeacherForcing:
    """Cross-entropy with label smoothing."""

    def __init__(self, smoothing: float) -> None:
        self._smoothing = smoothing

    def __call__(self, model: Model, batch: Batch, *, scale: float, step: int = 0) -> Sums:  # noqa: ARG002 - the same at every step
        labels_N = labels_of(batch)
        loss = smoothed(model, labels_N, self._smoothing)
        objective, nll = pieces.in_pieces(taught(model, batch), loss, rows=pieces.ROWS_AT_ONCE, scale=scale)
        return Sums(objective, nll, labels_N.shape[0])


def smoothed(model: Model, labels_N: Tensor, smoothing: float) -> Callable[[slice, Hidden], tuple[Tensor, Tensor]]:
    """The loss of any stretch of rows, as `in_pieces` asks for it."""

    def loss(rows: slice, piece: Hidden) -> tuple[Tensor, Tensor]:
        return Smoothed.apply(model.logits(piece), labels_N[rows], smoothing)  # type: ignore[no-untyped-call, no-any-return] # torch leaves it untyped

    return loss


class Smoothed(torch.autograd.Function):
    """Sums over rows of cross-entropy with label smoothing, and of the plain negative log-likelihood.

    The gradient is made of the forward pass's softmax, so that exponents are taken once.
    """

    @staticmethod
    def forward(ctx: Any, logits_NV: Tensor, labels_N: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        logits_NV = logits_NV.to(torch.promote_types(logits_NV.dtype, torch.float32))
        shares_NV = torch.softmax(logits_NV, dim=-1)
        # Where the largest logit is, its share is at least 1/V: unlike the label's, its logarithm is always exact.
        normalizer_N = logits_NV.amax(dim=-1) - shares_NV.amax(dim=-1).log()
        picked_N = logits_NV.gather(1, labels_N[:, None]).squeeze(1)
        nll = (normalizer_N - picked_N).sum()
        spread = (normalizer_N - logits_NV.mean(dim=-1)).sum() if smoothing else nll
        ctx.save_for_backward(shares_NV, labels_N)
        ctx.smoothing = smoothing
        ctx.mark_non_differentiable(nll)
        return (1 - smoothing) * nll + smoothing * spread, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        shares_NV, labels_N = ctx.saved_tensors
        gradient = gradients[0].to(shares_NV.dtype)
        spread = gradient * (-ctx.smoothing / shares_NV.shape[1])
        gradient_NV = torch.add(spread, shares_NV, alpha=float(gradient))
        right_N1 = (gradient * (ctx.smoothing - 1)).expand(labels_N.shape[0], 1)
        return gradient_NV.scatter_add_(1, labels_N[:, None], right_N1), None, None
