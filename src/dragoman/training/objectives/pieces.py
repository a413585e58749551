"""The output layer and its loss, a few hundred positions at a time, so that a whole batch's logits never exist.

Each piece goes forward and backward at once; the model's own backward pass follows in one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from dragoman.models.seq2seq import Hidden

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor

ROWS_AT_ONCE = 512
"""Target positions whose logits exist at a time: 20 MB for a vocabulary of 10,000, which a processor's cache holds."""


def slices(count: int, rows: int) -> Iterator[slice]:
    """The stretches of so many rows that `count` rows are cut into."""
    return (slice(start, start + rows) for start in range(0, count, rows))


def in_pieces(
    hidden: Hidden,
    loss: Callable[[slice, Hidden], tuple[Tensor, Tensor]],
    *,
    rows: int,
    scale: float,
    beside: Tensor | None = None,
) -> tuple[float, float]:
    """The sums of loss and likelihood over all rows; gradients reach the output layer piece by piece, then the rest.

    `beside` is added to the loss: a number that was made from the same pass of the model, such as one of its attention.
    """
    whole = _tensors(hidden)
    leaves = [t.detach().requires_grad_(torch.is_grad_enabled() and t.requires_grad) for t in whole]
    cut = _rebuilt(hidden, leaves)
    objective = torch.zeros((), dtype=torch.float64)
    nll = torch.zeros((), dtype=torch.float64)
    for piece in slices(hidden.vectors_ND.shape[0], rows):
        value, likelihood = loss(piece, cut.rows(piece))
        if value.requires_grad:
            (value * scale).backward()  # type: ignore[no-untyped-call] # torch leaves it untyped
        objective += value.detach().cpu()
        nll += likelihood.detach().cpu()
    reached = [(t, leaf.grad) for t, leaf in zip(whole, leaves, strict=True) if leaf.grad is not None]
    if beside is not None:
        objective += beside.detach().cpu()
        if beside.requires_grad:
            reached.append((beside, torch.full_like(beside, scale)))
    if reached:
        torch.autograd.backward([t for t, _ in reached], [g for _, g in reached])
    return float(objective), float(nll)


def _tensors(hidden: Hidden) -> list[Tensor]:
    """The tensors of `hidden` through which gradients flow."""
    return [hidden.vectors_ND] if hidden.copying is None else [hidden.vectors_ND, hidden.copying.attention_NS]


def _rebuilt(hidden: Hidden, tensors: list[Tensor]) -> Hidden:
    vectors_ND, *rest = tensors
    if hidden.copying is None:
        return Hidden(vectors_ND)
    return Hidden(vectors_ND, replace(hidden.copying, attention_NS=rest[0]))
