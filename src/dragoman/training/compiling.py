"""torch.compile for a model in training: its pass over whole sequences, as long as that works.

Whether it pays is for a user to see: it takes minutes at the start, and again for some new shapes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from dragoman.models.seq2seq import Model

__all__ = ["Compiling", "said"]


class Compiling:
    """A model's `hidden`, compiled while gradients are wanted; where that fails, as it was before."""

    def __init__(self, model: Model) -> None:
        self._plain: Any = model.hidden
        self._compiled: Any = None
        self._in_force = True
        model.hidden = self._hidden  # type: ignore[method-assign] # of this one model

    def gives_up(self) -> bool:
        """Whether it was in force, and is no longer: an error may have been its own."""
        was_in_force, self._in_force = self._in_force, False
        return was_in_force

    def _hidden(self, *inputs: Any, **more: Any) -> Any:
        if not self._in_force or not torch.is_grad_enabled():
            return self._plain(*inputs, **more)
        if self._compiled is None:
            self._compiled = torch.compile(self._plain, dynamic=True)
        return self._compiled(*inputs, **more)


def said(error: BaseException) -> str:
    """The line of an error that says what went wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = next((line for line in lines if "Error" in line or "not found" in line), "".join(lines[:1]))
    return f"{type(error).__name__}: {telling}"[:200]
