"""The seam: what goes into a model, what comes out, and what every family of models can do.

Shapes, here and in every file of this room:

    B  sentences of a batch            S  source positions       D  size of a state (model size)
    R  rows of a decoder state         T  target positions       H  heads (G: heads of keys and values)
    M  sentences in a source memory    L  layers                 K  size of a head
    N  target positions that count     F  features of a frame    V  vocabulary
    P  most rows that share one sentence                         C  places of a cache

Batches are padded on the right. A row of a decoder state is one live hypothesis.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import torch
    from torch import Tensor, nn

__all__ = [
    "Attended",
    "AttentionMaps",
    "Attentive",
    "CarriedState",
    "Copying",
    "Hidden",
    "Model",
    "OutputLayer",
    "Resumable",
    "Source",
    "SourceEmbedding",
    "State",
    "Vectors",
]


@dataclass(frozen=True, slots=True)
class Source:
    """What an encoder reads: token ids, or feature vectors such as audio frames or image regions."""

    lengths_B: Tensor
    """Positions of each sentence that are not padding."""
    ids_BS: Tensor | None = None
    features_BSF: Tensor | None = None

    def __post_init__(self) -> None:
        assert (self.ids_BS is None) != (self.features_BSF is None), "exactly one of ids and features"

    @property
    def rows(self) -> int:
        """The number of sentences."""
        return self.lengths_B.shape[0]

    def to(self, device: torch.device | str) -> Source:
        """The same source on another device."""
        ids = None if self.ids_BS is None else self.ids_BS.to(device)
        features = None if self.features_BSF is None else self.features_BSF.to(device)
        return Source(self.lengths_B.to(device), ids, features)


@dataclass(frozen=True, slots=True)
class Vectors:
    """One vector for each position of each sentence, padding included, with the sentences' lengths."""

    vectors_BSD: Tensor
    lengths_B: Tensor


@dataclass(frozen=True, slots=True)
class Copying:
    """What a pointer needs beside the decoder's output: where each row looks, and what stands there."""

    attention_NS: Tensor
    """Attention over the source; padding has none."""
    source_ids_MS: Tensor
    """Token ids of each source sentence, kept once."""
    sentence_N: Tensor
    """The source sentence of each row."""

    def rows(self, index: slice | Tensor) -> Copying:
        """The rows at `index`, in its order."""
        return replace(self, attention_NS=self.attention_NS[index], sentence_N=self.sentence_N[index])


@dataclass(frozen=True, slots=True)
class Hidden:
    """Decoder outputs before the output layer: one row for each position that counts, sentence after sentence."""

    vectors_ND: Tensor
    copying: Copying | None = None

    def rows(self, index: slice | Tensor) -> Hidden:
        """The rows at `index`, so that output layer and loss can run in pieces."""
        return Hidden(self.vectors_ND[index], self.copying.rows(index) if self.copying else None)


@dataclass(frozen=True, slots=True)
class AttentionMaps:
    """Attention weights, layers first and stacked: each row sums to one, and padding has zero weight.

    In a decoder-only model, source and target share a softmax: there the rows of `cross_LBHTS` and
    `decoder_self_LBHTT` sum to one together.
    """

    cross_LBHTS: Tensor | None = None
    """From target positions to source positions."""
    encoder_self_LBHSS: Tensor | None = None
    decoder_self_LBHTT: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Attended:
    """Decoder outputs, and the attention to the source that one layer paid for them, with its gradients."""

    hidden: Hidden
    weights_BHTS: Tensor | None
    """Nothing where that layer was dropped this time."""


class State(Protocol):
    """What a decoder remembers, one row for each live hypothesis. A state is a value: `step` leaves it as it was."""

    def select(self, rows_R: Tensor) -> Self:
        """The state whose row i was row `rows_R[i]`: rows repeated, dropped or reordered."""
        ...

    def join(self, other: Self) -> Self:
        """The state with the rows of `other` after its own; the two may be of different age."""
        ...


class SourceEmbedding(Protocol):
    """Whatever turns a source into vectors: an embedding table, or a projection of feature vectors."""

    def __call__(self, source: Source) -> Vectors: ...


class OutputLayer(Protocol):
    """Whatever turns decoder outputs into logits: a linear map, or a pointer that mixes in copies of the source."""

    def __call__(self, hidden: Hidden) -> Tensor: ...


class Model(Protocol):
    """A trained or trainable model of any family. Language models take no source (`None`)."""

    def hidden(self, source: Source | None, inputs_BT: Tensor, lengths_B: Tensor) -> Hidden:
        """Decoder outputs under teacher forcing; the inputs are the targets, shifted right by a begin token."""
        ...

    def logits(self, hidden: Hidden) -> Tensor:
        """Logits of the next token, one row for each row of `hidden`."""
        ...

    def start(self, source: Source | None, *, rows: int = 1) -> Any:  # a State that only the model looks into
        """A state with one row for each source sentence; `rows` counts for language models alone."""
        ...

    def step(self, tokens_R: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Logits after one more token in each row, and the state that remembers it."""
        ...

    def attention_weights(self, source: Source | None, inputs_BT: Tensor, lengths_B: Tensor) -> AttentionMaps:
        """Attention of each layer and head under teacher forcing."""
        ...

    # The part of torch.nn.Module that trainers, savers and engines use.

    training: bool

    def parameters(self, recurse: bool = True) -> Iterator[nn.Parameter]: ...  # noqa: FBT001, FBT002 - torch's
    def modules(self) -> Iterator[nn.Module]: ...
    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]: ...
    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any: ...  # noqa: FBT001, FBT002 - torch's
    def train(self, mode: bool = True) -> Self: ...  # noqa: FBT001, FBT002 - torch's
    def eval(self) -> Self: ...
    def to(self, *args: Any, **kwargs: Any) -> Self: ...
    def requires_grad_(self, requires_grad: bool = True) -> Self: ...  # noqa: FBT001, FBT002 - torch's
    def zero_grad(self, set_to_none: bool = True) -> None: ...  # noqa: FBT001, FBT002 - torch's


class Attentive(Protocol):
    """A model whose attention to a source can be trained itself."""

    def attended(self, source: Source | None, inputs_BT: Tensor, lengths_B: Tensor, *, layer: int) -> Attended:
        """As `hidden`, with the attention of a layer, counted from 0 or, with negative numbers, from the end."""
        ...


class CarriedState(State, Protocol):
    """A state that can be cut off from where it came from."""

    def each(self, change: Callable[[Tensor], Tensor]) -> Self:
        """The same with each tensor through which gradients flow changed."""
        ...


class Resumable(Protocol):
    """A recurrent model, whose past is a state of fixed size: teacher forcing can stop and go on."""

    def resumed(self, inputs_BT: Tensor, lengths_B: Tensor, state: Any) -> tuple[Hidden, Any]:
        """As `hidden`, from a state of one row a sentence on, and the state after the last input."""
        ...
