"""Copying: a pointer that mixes what the model would generate with copies of source tokens.

    p(w) = g · softmax(logits)_w + (1 - g) · Σ attention on the positions where w stands,   g = sig(v·x + b)

`sig` is the logistic function, x the decoder's output. The result is given as a logarithm, computed so that neither
a very small g nor attention of zero brings an infinity or a lost gradient.

Shapes as in seq2seq.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.models.linear import Linear
from dragoman.models.seq2seq import Copying, Hidden

if TYPE_CHECKING:
    from dragoman.models.seq2seq import OutputLayer

__all__ = ["Pointer", "mixed"]


@final
class Pointer(nn.Module):
    """An output layer that wraps another; its logits are the log-probabilities of the mixture."""

    target_ids: Tensor | None

    def __init__(self, generator: OutputLayer, size: int, target_ids: Tensor | None = None) -> None:
        """`target_ids` gives the target id of each source id; nothing means that both share a vocabulary."""
        super().__init__()
        self.generator = generator
        self.gate = Linear(size, 1)
        self.register_buffer("target_ids", target_ids)

    def forward(self, hidden: Hidden) -> Tensor:
        """Log-probabilities, [N, V]."""
        copying = hidden.copying
        assert copying is not None, "a pointer needs the decoder's attention"
        ids_MS = copying.source_ids_MS
        if self.target_ids is not None:
            ids_MS = self.target_ids[ids_MS]
        gate_N1 = self.gate(hidden.vectors_ND)
        return mixed(self.generator(hidden), gate_N1, Copying(copying.attention_NS, ids_MS, copying.sentence_N))


def mixed(logits_NV: Tensor, gate_N1: Tensor, copying: Copying) -> Tensor:
    """The log of the mixture; `gate_N1` is the logit of generating."""
    # With b = log g + log softmax and m = log (1 - g) + log attention, log(e^b + e^m) = b + softplus(m - b): only the
    # few words of the source change. A word that stands twice changes once, by the attention on both.
    wide = torch.promote_types(logits_NV.dtype, torch.float32)
    gate_N1 = gate_N1.to(wide)
    base_NV = functional.log_softmax(logits_NV, dim=-1, dtype=wide) + functional.logsigmoid(gate_N1)
    first_MS = _first_places(copying.source_ids_MS)
    first_NS, ids_NS = first_MS[copying.sentence_N], copying.source_ids_MS[copying.sentence_N]
    attention_NS = copying.attention_NS.to(wide)
    mass_NS = torch.zeros_like(attention_NS).scatter_add(1, first_NS, attention_NS)
    copied_NS = functional.logsigmoid(-gate_N1) + mass_NS.clamp(min=torch.finfo(wide).tiny).log()
    gain_NS = functional.softplus(copied_NS - base_NV.gather(1, ids_NS))
    repeated_NS = first_NS != torch.arange(first_NS.shape[1], device=first_NS.device)
    return base_NV.scatter_add(1, ids_NS, gain_NS.masked_fill(repeated_NS, 0.0))


def _first_places(ids_MS: Tensor) -> Tensor:
    """For each position, the first one where the same word stands."""
    places_S = torch.arange(ids_MS.shape[1], device=ids_MS.device)
    same_MSS = ids_MS.unsqueeze(2) == ids_MS.unsqueeze(1)
    return torch.where(same_MSS, places_S, ids_MS.shape[1]).amin(dim=2)
