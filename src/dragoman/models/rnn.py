"""The recurrent encoder-decoder: its settings, the model, and how the one becomes the other.

Shapes as in seq2seq.py, and: E size of an embedding, Y size of a source vector, X size of what the output layer sees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, final

import torch
from torch import Tensor, nn

from dragoman.errors import ModelError, SettingError
from dragoman.models.attention import counted
from dragoman.models.cells import CellName
from dragoman.models.copying import Pointer
from dragoman.models.dropout import WordDropout
from dragoman.models.embedding import TextSource, TokenEmbedding
from dragoman.models.features import FeatureSettings, FeatureSource
from dragoman.models.linear import Linear
from dragoman.models.reading import Reading
from dragoman.models.readout import Readout, ReadoutName, output_layer
from dragoman.models.recurrence import RecurrentDropoutSettings, RecurrentLayer, RecurrentStack, between_layers
from dragoman.models.recurrent_decoder import Form, RecurrentDecoder, RecurrentState, Taught, fed_size
from dragoman.models.recurrent_encoder import Bridge, BridgeName, Direction, RecurrentEncoder, ways
from dragoman.models.recurrent_initialization import RecurrentInitialSettings, initialize
from dragoman.models.score import ScoreName, score
from dragoman.models.seq2seq import Attended, AttentionMaps, Copying, Hidden
from dragoman.settings import Meta, Settings

if TYPE_CHECKING:
    from dragoman.models.seq2seq import OutputLayer, Source, SourceEmbedding

__all__ = [
    "RecurrentAttentionSettings",
    "RecurrentModel",
    "RecurrentSettings",
    "recurrent",
]

Size = Annotated[int, Meta(ge=1)]


class RecurrentAttentionSettings(Settings, frozen=True, kw_only=True):
    """Attention of a recurrent decoder to the source."""

    score: ScoreName = "general"
    """How well a query matches a key: qᵀk, qᵀk / √d, qᵀWk, vᵀtanh(W[q; k]) or vᵀtanh(W₁q + W₂k)."""
    form: Literal["luong", "bahdanau"] = "luong"
    """Who asks: the current state, whose answer goes to the readout, or the previous one, whose answer goes into
    the cell as well."""
    input_feeding: bool = False
    """Luong's form: what the output layer saw last goes into the cell."""
    size: Size | None = None
    """Size of the hidden layer of concat and additive; nothing means the decoder's size."""
    value_size: Size | None = None
    """Values are a learned map of the source vectors, of this size; nothing means the source vectors themselves."""

    def check(self) -> None:
        if self.input_feeding and self.form == "bahdanau":
            raise SettingError(
                "input feeding belongs to Luong's form; Bahdanau's feeds the context already",
                place="input_feeding",
                remedy="Leave it out, or set form to luong.",
            )


class RecurrentSettings(Settings, frozen=True, kw_only=True, tag_field="kind", tag="recurrent"):
    """A recurrent encoder-decoder."""

    cell: CellName = "gru"
    """Vanilla (tanh), GRU or LSTM."""
    size: Size = 256
    """Size of a decoder state."""
    encoder_size: Size | None = None
    """Size of an encoder state, for each reading direction; nothing means `size`."""
    embedding_size: Size | None = None
    """Size of the embeddings; nothing means `size`."""
    layers: Size = 1
    """Layers of the decoder."""
    encoder_layers: Size | None = None
    """Layers of the encoder; nothing means `layers`."""
    direction: Direction = "both"
    """How the encoder reads; `backward` is the reversed source of Sutskever et al."""
    bridge: BridgeName = "project"
    """From the encoder's last states to the decoder's first: as they are, through a tanh layer, or through one that
    sees only the reader that reads backward."""
    attention: RecurrentAttentionSettings | None = RecurrentAttentionSettings()
    """Attention to the source; nothing leaves the last state as all that the decoder knows."""
    readout: ReadoutName = "tanh"
    """What the output layer sees: [a; s] itself, or through a tanh or a maxout layer."""
    readout_size: Size | None = None
    """Size of the tanh or maxout layer; nothing means `size`."""
    copying: bool = False
    """A pointer: tokens may be copied from the source."""
    features: FeatureSettings | None = None
    """For a source of feature vectors; nothing means text."""
    shared_embeddings: bool = False
    """One table for source and target: needs a joint vocabulary."""
    tied_output: bool = False
    """The output layer uses the target's table: needs a readout of the embeddings' size."""
    dropout: RecurrentDropoutSettings = RecurrentDropoutSettings()
    """Dropout in training."""
    initial: RecurrentInitialSettings = RecurrentInitialSettings(forget_bias=1.0)
    """How weights start."""

    def check(self) -> None:
        if self.copying and (self.attention is None or self.features is not None):
            raise SettingError(
                "copying needs attention, and a source of text to copy from",
                place="copying",
                remedy="Leave it out, or set attention and no features.",
            )
        if self.shared_embeddings and self.features is not None:
            raise SettingError(
                "feature vectors have no embedding that could be shared",
                place="shared_embeddings",
                remedy="Leave it out.",
            )

    @property
    def form(self) -> Form:
        """The decoder's form of attention."""
        if self.attention is None:
            return "none"
        return "luong_feeding" if self.attention.input_feeding else self.attention.form


@final
class RecurrentModel(nn.Module):
    """A recurrent encoder-decoder behind the seam of all models."""

    def __init__(
        self, encoder: RecurrentEncoder, bridge: Bridge, decoder: RecurrentDecoder, output: OutputLayer
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.bridge = bridge
        self.decoder = decoder
        self.output = output

    def hidden(self, source: Source | None, inputs_BT: Tensor, lengths_B: Tensor) -> Hidden:
        """Decoder outputs under teacher forcing, at the positions that count."""
        state = self.start(source)
        return _hidden(self.decoder(inputs_BT, lengths_B, state), state, lengths_B)

    def attended(self, source: Source | None, inputs_BT: Tensor, lengths_B: Tensor, *, layer: int) -> Attended:
        """Decoder outputs under teacher forcing, with the attention to the source, of which there is one layer."""
        assert layer in (0, -1), "there is but one layer of attention"
        state = self.start(source)
        taught: Taught = self.decoder(inputs_BT, lengths_B, state)
        weights_BHTS = None if taught.weights_BTS is None else taught.weights_BTS[:, None]
        return Attended(_hidden(taught, state, lengths_B), weights_BHTS)

    def resumed(self, inputs_BT: Tensor, lengths_B: Tensor, state: RecurrentState) -> tuple[Hidden, RecurrentState]:
        """As `hidden`, from a state of one row a sentence on, and the state after the last input."""
        taught: Taught = self.decoder(inputs_BT, lengths_B, state)
        return _hidden(taught, state, lengths_B), taught.state

    def logits(self, hidden: Hidden) -> Tensor:
        """Logits of the next token."""
        return self.output(hidden)

    def start(self, source: Source | None, *, rows: int = 1) -> RecurrentState:
        """A state with one row for each source sentence."""
        del rows
        assert source is not None, "an encoder-decoder reads a source"
        encoded = self.encoder(source)
        reading = self.decoder.reading
        ids_MS = source.ids_BS if isinstance(self.output, Pointer) else None
        memory = None if reading is None else reading.memory(encoded.vectors, ids_MS)
        return self.decoder.start(self.bridge(encoded), memory)

    def step(self, tokens_R: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """Logits after one more token in each row, and the state that remembers it."""
        turn = self.decoder.step(tokens_R, state)
        copying = None
        if turn.weights_RS is not None and state.memory is not None and state.memory.ids_MS is not None:
            copying = Copying(turn.weights_RS, state.memory.ids_MS, state.memory.sentence_R)
        return self.output(Hidden(turn.vectors_RX, copying)), turn.state

    def attention_weights(self, source: Source | None, inputs_BT: Tensor, lengths_B: Tensor) -> AttentionMaps:
        """The decoder's attention, one layer and one head, computed step by step."""
        taught: Taught = self.decoder(inputs_BT, lengths_B, self.start(source), stepwise=True)
        return AttentionMaps(None if taught.weights_BTS is None else taught.weights_BTS[None, :, None])


def _hidden(taught: Taught, state: RecurrentState, lengths_B: Tensor) -> Hidden:
    """What the output layer sees, with what a pointer needs beside it."""
    if taught.weights_BTS is None or state.memory is None or state.memory.ids_MS is None:
        return Hidden(taught.vectors_ND)
    attention_NS = counted(taught.weights_BTS, lengths_B)
    sentences_B = torch.arange(lengths_B.shape[0], device=lengths_B.device)
    copying = Copying(attention_NS, state.memory.ids_MS, sentences_B.repeat_interleave(lengths_B))
    return Hidden(taught.vectors_ND, copying)


def recurrent(
    settings: RecurrentSettings,
    *,
    source_vocabulary: int,
    target_vocabulary: int,
    copied_ids: Tensor | None = None,
) -> RecurrentModel:
    """The model that the settings describe; `copied_ids` gives the target id of each source id, for a pointer."""
    target = TokenEmbedding(target_vocabulary, settings.embedding_size or settings.size)
    if settings.shared_embeddings and source_vocabulary != target_vocabulary:
        raise ModelError(
            f"shared embeddings need a joint vocabulary, got {source_vocabulary} and {target_vocabulary} words",
            place="model.shared_embeddings",
            remedy="Train one vocabulary on both languages, or set shared_embeddings to false.",
        )
    encoder = _encoder(settings, _source_embedding(settings, target, source_vocabulary))
    decoder = _decoder(settings, target)
    output: OutputLayer = output_layer(target, decoder.readout.size, tied=settings.tied_output)
    if settings.copying:
        if copied_ids is None and source_vocabulary != target_vocabulary:
            raise ModelError(
                f"copying between vocabularies of {source_vocabulary} and {target_vocabulary} words needs a map",
                place="model.copying",
                remedy="Use a joint vocabulary, or give the target id of each source id.",
            )
        output = Pointer(output, decoder.readout.size, copied_ids)
    layers = (settings.encoder_layers or settings.layers, settings.layers)
    sizes = (settings.encoder_size or settings.size, settings.size)
    readers = len(ways(settings.direction))
    bridge = Bridge.of(settings.bridge, settings.cell, layers=layers, sizes=sizes, readers=readers)
    model = RecurrentModel(encoder, bridge, decoder, output)
    initialize(model, settings.initial)
    return model


def _source_embedding(settings: RecurrentSettings, target: TokenEmbedding, vocabulary: int) -> SourceEmbedding:
    size = settings.embedding_size or settings.size
    if settings.features is not None:
        return FeatureSource.of(settings.features, size)
    return TextSource(target if settings.shared_embeddings else TokenEmbedding(vocabulary, size))


def _encoder(settings: RecurrentSettings, embedding: SourceEmbedding) -> RecurrentEncoder:
    size = settings.encoder_size or settings.size
    readers = len(ways(settings.direction))
    layers = [
        [
            RecurrentLayer(
                settings.cell,
                readers * size if index else settings.embedding_size or settings.size,
                size,
                recurrent_dropout=settings.dropout.recurrent,
            )
            for _ in range(readers)
        ]
        for index in range(settings.encoder_layers or settings.layers)
    ]
    return RecurrentEncoder(
        embedding,
        layers,
        direction=settings.direction,
        entry=nn.Sequential(WordDropout(settings.dropout.source_words), between_layers(settings.dropout)),
        dropout=between_layers(settings.dropout),
    )


def _decoder(settings: RecurrentSettings, embedding: TokenEmbedding) -> RecurrentDecoder:
    source_size = len(ways(settings.direction)) * (settings.encoder_size or settings.size)
    reading, context_size = _reading(settings, source_size)
    embedding_size = settings.embedding_size or settings.size
    readout = Readout(
        settings.readout,
        state_size=settings.size,
        context_size=context_size,
        embedding_size=embedding_size,
        size=settings.readout_size or settings.size,
    )
    lowest = embedding_size + fed_size(settings.form, context_size, readout.size)
    layers = [
        RecurrentLayer(
            settings.cell,
            settings.size if index else lowest,
            settings.size,
            recurrent_dropout=settings.dropout.recurrent,
        )
        for index in range(settings.layers)
    ]
    entry = nn.Sequential(WordDropout(settings.dropout.target_words), between_layers(settings.dropout))
    return RecurrentDecoder(
        nn.Sequential(embedding, *entry),
        RecurrentStack(layers, between_layers(settings.dropout)),
        form=settings.form,
        reading=reading,
        readout=readout,
        dropout=between_layers(settings.dropout),
    )


def _reading(settings: RecurrentSettings, source_size: int) -> tuple[Reading | None, int]:
    """The attention, and the size of what it reads."""
    attention = settings.attention
    if attention is None:
        return None, 0
    matched = score(
        attention.score,
        query_size=settings.size,
        memory_size=source_size,
        size=attention.size or settings.size,
    )
    value_map = Linear(source_size, attention.value_size, bias=False) if attention.value_size else None
    return Reading(matched, value_map), attention.value_size or source_size
