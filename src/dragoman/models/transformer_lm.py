"""Decoder-only Transformers: a language model, and a conditional model that reads its source as a prefix.

    prefix model    x₁ x₂ x₃ ⟨begin⟩ y₁ y₂ …

The prefix looks both ways (UniLM's shape) or only back (fully causal); what follows always looks back only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, final

import torch
from torch import Tensor, nn

from dragoman.errors import SettingError
from dragoman.models.attention import Keeper, Mask, Recorder, attend, counted, padding_mask, prefix_mask
from dragoman.models.cache import Cache
from dragoman.models.dropout import WordDropout
from dragoman.models.features import FeatureSettings  # noqa: TC001 - settings look up their types at run time
from dragoman.models.memory import Memory
from dragoman.models.prefix import PrefixPast
from dragoman.models.seq2seq import AttentionMaps, Hidden, Source, Vectors
from dragoman.models.stack import Context, LayerSettings, Stack, StackPast
from dragoman.settings import Meta

if TYPE_CHECKING:
    from dragoman.models.attention import Attend
    from dragoman.models.embedding import TokenEmbedding

__all__ = ["PrefixLM", "PrefixLMSettings", "StackState", "TransformerLM", "TransformerLMSettings"]


class TransformerLMSettings(LayerSettings, frozen=True, kw_only=True, tag_field="kind", tag="transformer_lm"):
    """A Transformer language model."""

    layers: Annotated[int, Meta(ge=1)] = 6
    """Layers of the stack."""


class PrefixLMSettings(LayerSettings, frozen=True, kw_only=True, tag_field="kind", tag="prefix_lm"):
    """A decoder-only model of a target given a source."""

    layers: Annotated[int, Meta(ge=1)] = 6
    """Layers of the stack."""
    causal_source: bool = False
    """The source, too, looks only back."""
    segments: bool = True
    """Source and target positions get a vector that says which they are."""
    features: FeatureSettings | None = None
    """For a source of feature vectors; nothing means text."""

    def check(self) -> None:
        """Parts fit each other."""
        super().check()
        if self.features is not None and self.embedding.shared:
            raise SettingError(
                "feature vectors have no embedding that could be shared",
                place="features",
                remedy="Set embedding.shared to false.",
            )


@dataclass(frozen=True, slots=True)
class StackState:
    """The past of a decoder-only model."""

    past: StackPast

    def select(self, rows_R: Tensor) -> StackState:
        """The state whose row i was row `rows_R[i]`."""
        return StackState(self.past.select(rows_R))

    def join(self, other: StackState) -> StackState:
        """The state with the rows of `other` below."""
        return StackState(self.past.join(other.past))  # type: ignore[arg-type]  # both come from the same model


@final
class TransformerLM(nn.Module):
    """A language model: each position looks back."""

    def __init__(self, embedding: TokenEmbedding, stack: Stack, output: nn.Module) -> None:
        super().__init__()
        self.embedding = embedding
        self.stack = stack
        self.output = output

    def hidden(self, source: Source | None, inputs_BT: Tensor, lengths_B: Tensor) -> Hidden:
        """Outputs under teacher forcing."""
        return Hidden(counted(self._read(source, inputs_BT, attend), lengths_B))

    def logits(self, hidden: Hidden) -> Tensor:
        """Logits of the next token."""
        result: Tensor = self.output(hidden)
        return result

    def start(self, source: Source | None, *, rows: int = 1) -> StackState:
        """A state that has seen nothing."""
        assert source is None, "a language model has no source"
        return StackState(self.stack.past(rows))

    def step(self, tokens_R: Tensor, state: StackState) -> tuple[Tensor, StackState]:
        """Logits after one more token in each row."""
        vectors_RD, past = self.stack.step(self.embedding(tokens_R), state.past)
        return self.logits(Hidden(vectors_RD)), StackState(past)

    def attention_weights(self, source: Source | None, inputs_BT: Tensor, lengths_B: Tensor) -> AttentionMaps:
        """Attention of each layer and head to the past."""
        del lengths_B
        recorder = Recorder()
        self._read(source, inputs_BT, recorder)
        return AttentionMaps(decoder_self_LBHTT=recorder.stacked())

    def _read(self, source: Source | None, inputs_BT: Tensor, attend: Attend) -> Tensor:
        assert source is None, "a language model has no source"
        positions_1T = torch.arange(inputs_BT.shape[1], device=inputs_BT.device)[None]
        context = Context(Mask(causal=True), attend=attend)
        vectors_BTD: Tensor = self.stack(self.embedding(inputs_BT), positions_1T, context)
        return vectors_BTD


@final
class PrefixLM(nn.Module):
    """A conditional model: one stack reads source and target as one sequence."""

    def __init__(
        self,
        *,
        source: nn.Module,
        embedding: TokenEmbedding,
        stack: Stack,
        output: nn.Module,
        causal_source: bool = False,
        segments: bool = False,
        word_dropout: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        """`word_dropout` has a rate for the source and one for the target."""
        super().__init__()
        self.source = source
        self.embedding = embedding
        self.stack = stack
        self.output = output
        self.causal_source = causal_source
        self.source_words, self.target_words = (WordDropout(rate) for rate in word_dropout)
        size = embedding.weight.shape[1]
        self.segments = nn.Parameter(torch.randn(2, size) * size**-0.5) if segments else None

    def hidden(self, source: Source | None, inputs_BT: Tensor, lengths_B: Tensor) -> Hidden:
        """Outputs at target positions under teacher forcing."""
        vectors_BTD, _ = self._read(source, inputs_BT, attend)
        return Hidden(counted(vectors_BTD, lengths_B))

    def logits(self, hidden: Hidden) -> Tensor:
        """Logits of the next token."""
        result: Tensor = self.output(hidden)
        return result

    def start(self, source: Source | None, *, rows: int = 1) -> StackState:
        """A state that has read the source, one row for each sentence."""
        del rows
        prefix = self._prefix(source)
        x_BSD, lengths_B = prefix.vectors_BSD, prefix.lengths_B
        padding = padding_mask(lengths_B, x_BSD.shape[1], x_BSD.dtype)
        keeper = Keeper()
        positions_1S = torch.arange(x_BSD.shape[1], device=x_BSD.device)[None]
        self.stack(x_BSD, positions_1S, Context(Mask(padding.bias, causal=self.causal_source), attend=keeper))
        cache = self.stack.past(lengths_B.shape[0])
        assert isinstance(cache, Cache), "a prefix is attended to"
        return StackState(PrefixPast(Memory.of(keeper.layers, lengths_B), cache))

    def step(self, tokens_R: Tensor, state: StackState) -> tuple[Tensor, StackState]:
        """Logits after one more token in each row."""
        vectors_RD, past = self.stack.step(self._target(tokens_R), state.past)
        return self.logits(Hidden(vectors_RD)), StackState(past)

    def attention_weights(self, source: Source | None, inputs_BT: Tensor, lengths_B: Tensor) -> AttentionMaps:
        """Attention of each layer and head, cut where the source ends."""
        del lengths_B
        recorder = Recorder()
        _, size = self._read(source, inputs_BT, recorder)
        whole = recorder.stacked()
        assert whole is not None
        return AttentionMaps(whole[..., size:, :size], whole[..., :size, :size], whole[..., size:, size:])

    def _read(self, source: Source | None, inputs_BT: Tensor, attend: Attend) -> tuple[Tensor, int]:
        """Outputs at target positions, and the size of the source."""
        prefix = self._prefix(source)
        size, length = prefix.vectors_BSD.shape[1], inputs_BT.shape[1]
        x_BXD = torch.cat([prefix.vectors_BSD, self._target(inputs_BT)], dim=1)
        places_X = torch.arange(size + length, device=x_BXD.device)
        after_B1 = (prefix.lengths_B - size)[:, None]
        positions_BX = torch.where(places_X < size, places_X, places_X + after_B1)
        mask = prefix_mask(
            prefix.lengths_B,
            prefix_size=size,
            size=length,
            causal_prefix=self.causal_source,
            dtype=x_BXD.dtype,
        )
        vectors_BXD: Tensor = self.stack(x_BXD, positions_BX, Context(mask, attend=attend))
        return vectors_BXD[:, size:], size

    def _prefix(self, source: Source | None) -> Vectors:
        assert source is not None, "a prefix model reads a source"
        prefix: Vectors = self.source(source)
        vectors_BSD = self.source_words(prefix.vectors_BSD)
        if self.segments is not None:
            vectors_BSD = vectors_BSD + self.segments[0]
        return Vectors(vectors_BSD, prefix.lengths_B)

    def _target(self, ids: Tensor) -> Tensor:
        vectors: Tensor = self.target_words(self.embedding(ids))
        return vectors if self.segments is None else vectors + self.segments[1]
