"""The Transformer: an encoder and a decoder of layers, reached in all its variants by settings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal, final

import torch
from torch import Tensor, nn

from dragoman.errors import SettingError
from dragoman.models.attention import Attend, Mask, Recorder, Watcher, attend, counted, padding_mask, weights
from dragoman.models.features import FeatureSettings  # noqa: TC001 - settings look up their types at run time
from dragoman.models.linear import Linear
from dragoman.models.seq2seq import Attended, AttentionMaps, Copying, Hidden, Source, Vectors
from dragoman.models.stack import Context, LayerSettings, Stack, StackPast
from dragoman.settings import Meta

if TYPE_CHECKING:
    from dragoman.models.embedding import TokenEmbedding
    from dragoman.models.memory import Memory

__all__ = [
    "LayerSettings",
    "SourcePointer",
    "Transformer",
    "TransformerEncoder",
    "TransformerSettings",
    "TransformerState",
]


class TransformerSettings(LayerSettings, frozen=True, kw_only=True, tag_field="kind", tag="transformer"):
    """A Transformer encoder-decoder."""

    encoder_layers: Annotated[int, Meta(ge=1)] = 6
    """Layers of the encoder."""
    decoder_layers: Annotated[int, Meta(ge=1)] = 6
    """Layers of the decoder."""
    decoder: Literal["attention", "ssru"] = "attention"
    """What the decoder knows its past by: self-attention, or the recurrence SSRU, quick on a CPU."""
    features: FeatureSettings | None = None
    """For a source of feature vectors; nothing means text."""
    copying: bool = False
    """A pointer: tokens may be copied from the source."""

    def check(self) -> None:
        """Parts fit each other."""
        super().check()
        if self.features is not None and (self.copying or self.embedding.shared):
            raise SettingError(
                "feature vectors have no tokens to copy, and no embedding that could be shared",
                place="features",
                remedy="Set copying and embedding.shared to false.",
            )
        if self.decoder == "ssru" and self.positions.__struct_config__.tag in ("rotary", "relative"):
            raise SettingError(
                "rotary and relative positions live in self-attention, which an SSRU decoder has none of",
                place="positions",
                remedy="Choose sinusoidal or learned positions, or decoder = 'attention'.",
            )


@dataclass(frozen=True, slots=True)
class TransformerState:
    """A decoder's past and its sources."""

    past: StackPast
    memory: Memory

    def select(self, rows_R: Tensor) -> TransformerState:
        """The state whose row i was row `rows_R[i]`."""
        return TransformerState(self.past.select(rows_R), self.memory.select(rows_R))

    def join(self, other: TransformerState) -> TransformerState:
        """The state with the rows of `other` below."""
        past = self.past.join(other.past)  # type: ignore[arg-type]  # both come from the same decoder
        return TransformerState(past, self.memory.join(other.memory))


@final
class TransformerEncoder(nn.Module):
    """A source embedding and a stack of layers that look both ways."""

    def __init__(self, embedding: nn.Module, stack: Stack) -> None:
        super().__init__()
        self.embedding = embedding
        self.stack = stack

    def forward(self, source: Source, *, attend: Attend = attend) -> Vectors:
        """One vector for each source position."""
        embedded: Vectors = self.embedding(source)
        x_BSD = embedded.vectors_BSD
        lengths_B = embedded.lengths_B.clamp(min=1)  # an empty sentence is read as a single padding token
        positions_1S = torch.arange(x_BSD.shape[1], device=x_BSD.device)[None]
        context = Context(padding_mask(lengths_B, x_BSD.shape[1], x_BSD.dtype), attend=attend)
        return Vectors(self.stack(x_BSD, positions_1S, context), lengths_B)


@final
class SourcePointer(nn.Module):
    """One head of attention from decoder outputs to the source, which says what could be copied."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.queries = Linear(size, size)
        self.keys = Linear(size, size)

    def remember(self, memory: Memory, source: Vectors, ids_MS: Tensor | None) -> Memory:
        """The memory with this head's keys after those of the layers."""
        assert ids_MS is not None, "only tokens can be copied"
        keys_M1SD = self.keys(source.vectors_BSD)[:, None]
        return replace(memory, layers=(*memory.layers, (keys_M1SD, keys_M1SD[..., :0])), ids_MS=ids_MS)

    def forward(self, x_MTD: Tensor, memory: Memory) -> Tensor:
        """Attention on the source, [M, T, S]."""
        queries_M1TD = self.queries(x_MTD)[:, None]
        keys_M1SD = memory.layers[-1][0]
        return weights(queries_M1TD, keys_M1SD, mask=memory.mask, scale=x_MTD.shape[-1] ** -0.5)[:, 0]


@final
class Transformer(nn.Module):
    """An encoder, and a decoder that looks back at itself and across at the source."""

    def __init__(
        self,
        *,
        encoder: TransformerEncoder,
        embedding: TokenEmbedding,
        decoder: Stack,
        output: nn.Module,
        pointer: SourcePointer | None = None,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.embedding = embedding
        self.decoder = decoder
        self.pointer = pointer
        self.output = output

    def hidden(self, source: Source | None, inputs_BT: Tensor, lengths_B: Tensor) -> Hidden:
        """Decoder outputs under teacher forcing."""
        return self._hidden(self._memory(source, attend), inputs_BT, lengths_B)

    def attended(self, source: Source | None, inputs_BT: Tensor, lengths_B: Tensor, *, layer: int) -> Attended:
        """Decoder outputs under teacher forcing, with the attention of a layer to the source."""
        memory = self._memory(source, attend)
        watcher = Watcher(memory.layers[range(len(self.decoder.layers))[layer]][0])
        hidden = self._hidden(memory, inputs_BT, lengths_B, across=watcher)
        return Attended(hidden, watcher.weights_BHTS)

    def _hidden(self, memory: Memory, inputs_BT: Tensor, lengths_B: Tensor, *, across: Attend = attend) -> Hidden:
        vectors_BTD = self._taught(inputs_BT, Context(Mask(causal=True), memory=memory, attend_across=across))
        copying = None
        if self.pointer is not None and memory.ids_MS is not None:
            attention_NS = counted(self.pointer(vectors_BTD, memory), lengths_B)
            sentence_N = memory.sentence_R.repeat_interleave(lengths_B)
            copying = Copying(attention_NS, memory.ids_MS, sentence_N)
        return Hidden(counted(vectors_BTD, lengths_B), copying)

    def logits(self, hidden: Hidden) -> Tensor:
        """Logits of the next token."""
        result: Tensor = self.output(hidden)
        return result

    def start(self, source: Source | None, *, rows: int = 1) -> TransformerState:
        """A state with one row for each source sentence."""
        del rows
        memory = self._memory(source, attend)
        return TransformerState(self.decoder.past(memory.lengths_M.shape[0]), memory)

    def step(self, tokens_R: Tensor, state: TransformerState) -> tuple[Tensor, TransformerState]:
        """Logits after one more token in each row."""
        memory, pointer = state.memory, self.pointer
        vectors_RD, past = self.decoder.step(self.embedding(tokens_R), state.past, memory=memory)
        copying = None
        if pointer is not None and memory.ids_MS is not None:
            attention_RS = memory.beside(vectors_RD, lambda x_MPD: pointer(x_MPD, memory))
            copying = Copying(attention_RS, memory.ids_MS, memory.sentence_R)
        return self.logits(Hidden(vectors_RD, copying)), TransformerState(past, memory)

    def attention_weights(self, source: Source | None, inputs_BT: Tensor, lengths_B: Tensor) -> AttentionMaps:
        """Attention of each layer and head under teacher forcing."""
        del lengths_B
        within, across, back = Recorder(), Recorder(), Recorder()
        memory = self._memory(source, within)
        self._taught(inputs_BT, Context(Mask(causal=True), memory=memory, attend=back, attend_across=across))
        return AttentionMaps(across.stacked(), within.stacked(), back.stacked())

    def _taught(self, inputs_BT: Tensor, context: Context) -> Tensor:
        positions_1T = torch.arange(inputs_BT.shape[1], device=inputs_BT.device)[None]
        vectors_BTD: Tensor = self.decoder(self.embedding(inputs_BT), positions_1T, context)
        return vectors_BTD

    def _memory(self, source: Source | None, within: Attend) -> Memory:
        assert source is not None, "an encoder-decoder reads a source"
        encoded: Vectors = self.encoder(source, attend=within)
        memory = self.decoder.memory(encoded)
        return memory if self.pointer is None else self.pointer.remember(memory, encoded, source.ids_BS)
