"""A stack of Transformer layers: self-attention (or a recurrence), attention to a source, feed-forward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, assert_never, cast

from torch import Tensor, nn

from dragoman.errors import SettingError
from dragoman.models.attention import Attend, AttentionSettings, CrossAttention, Mask, SelfAttention, attend
from dragoman.models.cache import Cache
from dragoman.models.dropout import DropoutSettings, skips
from dragoman.models.embedding import EmbeddingSettings
from dragoman.models.feedforward import FeedForwardSettings
from dragoman.models.initialization import InitialSettings, XavierInitial
from dragoman.models.memory import Memory
from dragoman.models.norm import NormSettings
from dragoman.models.positions import PositionSettings, SinusoidalSettings
from dragoman.models.prefix import PrefixPast
from dragoman.models.ssru import SSRU, Cells
from dragoman.settings import Meta, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dragoman.models.embedding import Entry
    from dragoman.models.feedforward import FeedForward
    from dragoman.models.norm import Norm, Residual
    from dragoman.models.positions import Relative, Rotary, Rotation
    from dragoman.models.seq2seq import Vectors

__all__ = ["Context", "Layer", "LayerSettings", "Stack", "StackPast"]

StackPast = Cache | Cells | PrefixPast


class LayerSettings(Settings, frozen=True, kw_only=True):
    """What a stack of Transformer layers is made of."""

    size: Annotated[int, Meta(ge=2)] = 512
    """Size of the vectors between layers."""
    bias: bool = True
    """Linear maps have biases."""
    positions: PositionSettings = SinusoidalSettings()
    """How a token knows its place."""
    norm: NormSettings = NormSettings()
    """Normalisation."""
    attention: AttentionSettings = AttentionSettings()
    """Heads of attention."""
    feedforward: FeedForwardSettings = FeedForwardSettings()
    """The feed-forward sub-layer."""
    embedding: EmbeddingSettings = EmbeddingSettings()
    """Embeddings and output."""
    dropout: DropoutSettings = DropoutSettings()
    """Dropout of each kind."""
    initial: InitialSettings = XavierInitial()
    """How weights begin."""

    def check(self) -> None:
        """Sizes fit each other."""
        heads = self.attention
        if heads.head_size is None and self.size % heads.heads:
            raise SettingError(
                f"{self.size} is not a multiple of {heads.heads} heads",
                place="size",
                remedy="Choose a size that the heads divide, or give attention.head_size.",
            )
        if heads.heads % (heads.key_heads or heads.heads):
            raise SettingError(
                f"{heads.key_heads} heads of keys cannot serve {heads.heads} heads of queries evenly",
                place="attention.key_heads",
                remedy="Give a divisor of attention.heads.",
            )
        if self.positions.__struct_config__.tag in ("sinusoidal", "rotary") and self.paired_size % 2:
            raise SettingError(
                f"{self.paired_size} is odd, and these positions come in pairs",
                place="positions",
                remedy="Choose an even size, or other positions.",
            )

    @property
    def paired_size(self) -> int:
        """The size whose halves positions use: that of a head when they are rotary."""
        rotary = self.positions.__struct_config__.tag == "rotary"
        return (self.attention.head_size or self.size // self.attention.heads) if rotary else self.size


@dataclass(frozen=True, slots=True)
class Context:
    """What all layers of a stack share in one pass."""

    mask: Mask
    rotation: Rotation | None = None
    memory: Memory | None = None
    attend: Attend = attend
    attend_across: Attend = attend


class Layer(nn.Module):
    """One layer. Each sub-layer has a residual of its own."""

    def __init__(
        self,
        mixer: SelfAttention | SSRU,
        feedforward: FeedForward,
        *,
        residuals: Sequence[Residual],
        cross: CrossAttention | None = None,
    ) -> None:
        super().__init__()
        assert len(residuals) == (2 if cross is None else 3), "one residual for each sub-layer"
        self.mixer = mixer
        self.cross = cross
        self.feedforward = feedforward
        self.mixer_residual, self.feedforward_residual = residuals[0], residuals[-1]
        self.cross_residual = None if cross is None else residuals[1]

    def forward(self, x_BTD: Tensor, context: Context, index: int) -> Tensor:
        """The layer's output at every position; `index` is its place in the stack."""
        mixed = self.mixer(
            self.mixer_residual.enter(x_BTD),
            mask=context.mask,
            rotation=context.rotation,
            attend=context.attend,
        )
        x_BTD = self.mixer_residual.leave(x_BTD, mixed)
        if self.cross is not None and self.cross_residual is not None:
            memory = context.memory
            assert memory is not None, "a decoder layer needs a source"
            queries = self.cross_residual.enter(x_BTD)
            keys, values = memory.layers[index]
            looked = self.cross(queries, keys, values, mask=memory.mask, attend=context.attend_across)
            x_BTD = self.cross_residual.leave(x_BTD, looked)
        return self._fed_forward(x_BTD)

    def step(self, x_RD: Tensor, past: StackPast, context: Context, index: int) -> Tensor:
        """The layer's output for the newest position of each row."""
        entered = self.mixer_residual.enter(x_RD)
        match self.mixer:
            case SelfAttention():
                assert not isinstance(past, Cells)
                mixed = self.mixer.step(entered, past, index, rotation=context.rotation)
            case SSRU():
                assert isinstance(past, Cells)
                mixed = self.mixer.step(entered, past, index)
            case _:
                assert_never(self.mixer)
        x_RD = self.mixer_residual.leave(x_RD, mixed)
        if self.cross is not None and self.cross_residual is not None:
            memory, cross = context.memory, self.cross
            assert memory is not None, "a decoder layer needs a source"
            keys, values = memory.layers[index]
            looked = memory.beside(
                self.cross_residual.enter(x_RD),
                lambda queries: cross(queries, keys, values, mask=memory.mask, attend=context.attend_across),
            )
            x_RD = self.cross_residual.leave(x_RD, looked)
        return self._fed_forward(x_RD)

    def _fed_forward(self, x: Tensor) -> Tensor:
        result = self.feedforward(self.feedforward_residual.enter(x))
        return self.feedforward_residual.leave(x, result)


class Stack(nn.Module):
    """Layers with their way in and their last normalisation."""

    def __init__(
        self,
        layers: Sequence[Layer],
        *,
        entry: Entry,
        norm: Norm | None = None,
        rotary: Rotary | None = None,
        relative: Relative | None = None,
        layer_drop: float = 0.0,
    ) -> None:
        super().__init__()
        self.entry = entry
        self.layers = nn.ModuleList(layers)
        self.norm = norm
        self.rotary = rotary
        self.relative = relative
        self.layer_drop = layer_drop

    def each(self) -> Iterator[Layer]:
        """The layers, from the first to the last."""
        return (cast("Layer", layer) for layer in self.layers)

    def forward(self, vectors_BTD: Tensor, positions_BT: Tensor, context: Context) -> Tensor:
        """The stack's output; the positions' batch axis may be 1."""
        x_BTD: Tensor = self.entry(vectors_BTD, positions_BT)
        context = self.positioned(context, positions_BT, x_BTD)
        for index, layer in enumerate(self.each()):
            if not (self.training and skips(self.layer_drop)):
                x_BTD = layer(x_BTD, context, index)
        return x_BTD if self.norm is None else self.norm(x_BTD)

    def positioned(self, context: Context, positions_BT: Tensor, like: Tensor) -> Context:
        """The context with the positions that layers need to know."""
        mask, rotation = context.mask, context.rotation
        if self.rotary is not None:
            rotation = self.rotary(positions_BT, like.dtype)
        if self.relative is not None:
            distances_BTT = positions_BT[:, None, :] - positions_BT[:, :, None]
            mask = mask.plus(self.relative(distances_BTT).permute(0, 3, 1, 2))
        return Context(mask, rotation, context.memory, context.attend, context.attend_across)

    def memory(self, source: Vectors, *, ids_MS: Tensor | None = None) -> Memory:
        """Keys and values of the source for every layer."""
        layers = [layer.cross.project(source.vectors_BSD) for layer in self.each() if layer.cross is not None]
        return Memory.of(layers, source.lengths_B, ids_MS=ids_MS)

    def past(self, rows: int) -> Cache | Cells:
        """A past without any position."""
        first = next(self.each())
        like = first.feedforward.output.weight
        match first.mixer:
            case SelfAttention(heads=heads):
                return Cache.empty(len(self.layers), rows, heads, like)
            case SSRU():
                return Cells.empty(len(self.layers), rows, like[:, 0])
            case _:
                assert_never(first.mixer)

    def step(
        self, vectors_RD: Tensor, past: StackPast, *, memory: Memory | None = None, attend_across: Attend = attend
    ) -> tuple[Tensor, StackPast]:
        """The output for one more token in each row, and the past with that token in it."""
        positions_R = past.positions
        x_RD: Tensor = self.entry(vectors_RD, positions_R)
        rotation = None if self.rotary is None else self.rotary(positions_R[:, None], x_RD.dtype)
        past = past.advanced(self.relative)
        context = Context(Mask(), rotation, memory, attend_across=attend_across)
        for index, layer in enumerate(self.each()):
            x_RD = layer.step(x_RD, past, context, index)
        return (x_RD if self.norm is None else self.norm(x_RD)), past
