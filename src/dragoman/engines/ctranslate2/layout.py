"""A Transformer's weights in the layout of CTranslate2.

Positions are written out as a table, so that every kind of added positions is the same to it; a norm stands with the
sub-layer that it belongs to, before or after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch

from dragoman.bundle import Frame
from dragoman.engines.ctranslate2.package import ctranslate2
from dragoman.errors import ModelError
from dragoman.models.adapters import merged
from dragoman.models.embedding import Output, TextSource
from dragoman.models.positions import Learned
from dragoman.models.transformer import Transformer, TransformerSettings
from dragoman.text.vocabulary import BOS, EOS, SPECIAL, UNK

if TYPE_CHECKING:
    from torch import Tensor

    from dragoman.bundle import Bundle
    from dragoman.models.attention import CrossAttention, SelfAttention
    from dragoman.models.feedforward import FeedForward
    from dragoman.models.norm import Norm
    from dragoman.models.stack import Stack

__all__ = ["LONGEST", "check_can_be_converted", "specification"]

LONGEST = 1024
"""Positions that are written out: no source and no output may be longer."""

_ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu_tanh": "GELUTanh", "silu": "SWISH"}


def check_can_be_converted(bundle: Bundle) -> None:
    """Raise ModelError with the reason unless CTranslate2 has an architecture for the model."""
    settings = bundle.description.model
    kind = settings.__struct_config__.tag
    if not isinstance(settings, TransformerSettings):
        raise _refusal(f"it runs Transformers with an encoder and a decoder, and this model is of kind {kind!r}")
    heads = settings.attention
    obstacles = {
        "its decoders have self-attention, and this one has the recurrence SSRU": settings.decoder == "ssru",
        "it has no pointer that copies words from the source": settings.copying,
        "it reads tokens, and this model reads feature vectors": settings.features is not None,
        "its encoder-decoders have no rotary positions": settings.positions.__struct_config__.tag == "rotary",
        "its encoder-decoders have as many heads of keys as of queries": heads.key_heads not in (None, heads.heads),
        "this model is given more than a begin before it speaks, or reads something after the end": _is_framed(bundle),
        "it has no further map before the output layer": settings.embedding.output_transformed,
    }
    for reason, stands_in_the_way in obstacles.items():
        if stands_in_the_way:
            raise _refusal(reason)


def _is_framed(bundle: Bundle) -> bool:
    frame = bundle.description.frame
    return isinstance(frame, Frame) and bool(frame.first or frame.after)


def _refusal(reason: str) -> ModelError:
    return ModelError(
        f"CTranslate2 cannot run this model: {reason}",
        place="model",
        remedy="Translate with the engine torch, export it to onnx, or train a plain Transformer (`model.kind` = "
        "'transformer').",
    )


@torch.no_grad()
def specification(bundle: Bundle) -> Any:
    """What CTranslate2 stores of the model, in float32."""
    check_can_be_converted(bundle)
    settings = cast("TransformerSettings", bundle.description.model)
    model = cast("Transformer", bundle.model)
    assert isinstance(model.encoder.embedding, TextSource)
    package = ctranslate2()
    spec = package.specs.TransformerSpec.from_config(
        (settings.encoder_layers, settings.decoder_layers),
        settings.attention.heads,
        pre_norm=settings.norm.place == "pre",
        activation=getattr(package.specs.Activation, _ACTIVATIONS[settings.feedforward.activation]),
        layernorm_embedding=settings.embedding.normalised,
        relative_attention_bias=settings.positions.__struct_config__.tag == "relative",
        ffn_glu=settings.feedforward.gated,
        rms_norm=settings.norm.formula == "rms",
    )
    with merged(model):
        source = model.encoder.embedding.embedding
        _set_stack(spec.encoder, model.encoder.stack)
        _set_stack(spec.decoder, model.decoder)
        spec.encoder.embeddings[0].weight = _array(source.weight)
        spec.decoder.embeddings.weight = _array(model.embedding.weight)
        spec.encoder.scale_embeddings = float(source.scale)
        spec.decoder.scale_embeddings = float(model.embedding.scale)
        _set_output(spec.decoder, cast("Output", model.output))
    _set_vocabularies(spec, bundle)
    spec.config.layer_norm_epsilon = settings.norm.epsilon
    return spec


def _set_vocabularies(spec: Any, bundle: Bundle) -> None:
    spec.register_source_vocabulary(list(bundle.tokenizers.source.vocabulary))
    spec.register_target_vocabulary(list(bundle.tokenizers.target.vocabulary))
    config = spec.config
    config.unk_token, config.bos_token, config.eos_token = SPECIAL[UNK], SPECIAL[BOS], SPECIAL[EOS]
    config.decoder_start_token = SPECIAL[BOS]
    config.add_source_eos = bundle.description.source_end


def _set_stack(spec: Any, stack: Stack) -> None:
    entry = stack.entry
    if stack.relative is None:
        spec.position_encodings.encodings = _positions(stack)
    if entry.norm is not None:
        _set_norm(spec.layernorm_embedding, entry.norm)
    if stack.norm is not None:
        _set_norm(spec.layer_norm, stack.norm)
    for theirs, layer in zip(spec.layer, stack.each(), strict=True):
        mixer = cast("SelfAttention", layer.mixer)
        _set_self_attention(theirs.self_attention, mixer, stack)
        _set_norm(theirs.self_attention.layer_norm, layer.mixer_residual.norm)
        if layer.cross is not None and layer.cross_residual is not None:
            _set_cross_attention(theirs.attention, layer.cross)
            _set_norm(theirs.attention.layer_norm, layer.cross_residual.norm)
        _set_feed_forward(theirs.ffn, layer.feedforward)
        _set_norm(theirs.ffn.layer_norm, layer.feedforward_residual.norm)


def _positions(stack: Stack) -> Any:
    """A row for each position, zeros where there are no positions."""
    added = stack.entry.positions
    if added is None:
        size = next(stack.each()).feedforward.output.weight.shape[0]
        return np.zeros((LONGEST, size), dtype=np.float32)
    longest = added.longest if isinstance(added, Learned) else LONGEST
    return _array(added(torch.arange(longest)))


def _set_self_attention(spec: Any, attention: SelfAttention, stack: Stack) -> None:
    spec.queries_scale = float(attention.heads.scale)
    _set_linear(spec.linear[0], attention.inputs.weight, attention.inputs.bias)
    _set_linear(spec.linear[1], attention.output.weight, attention.output.bias)
    if stack.relative is not None:
        spec.relative_attention_bias = _array(stack.relative.weight)
        spec.relative_attention_max_distance = np.int32(stack.relative.farthest)


def _set_cross_attention(spec: Any, attention: CrossAttention) -> None:
    spec.queries_scale = float(attention.heads.scale)
    _set_linear(spec.linear[0], attention.queries.weight, attention.queries.bias)
    _set_linear(spec.linear[1], attention.memory.weight, attention.memory.bias)
    _set_linear(spec.linear[2], attention.output.weight, attention.output.bias)


def _set_feed_forward(spec: Any, feedforward: FeedForward) -> None:
    inputs, blocks = feedforward.inputs, list(feedforward.blocks)
    weights = torch.split(inputs.weight, blocks)
    bias = cast("Tensor | None", inputs.bias)  # torch's own type forgets that there may be none
    biases = [None] * len(blocks) if bias is None else torch.split(bias, blocks)
    _set_linear(spec.linear_0, weights[0], biases[0])
    if feedforward.gated:
        _set_linear(spec.linear_0_noact, weights[1], biases[1])
    _set_linear(spec.linear_1, feedforward.output.weight, feedforward.output.bias)


def _set_output(spec: Any, output: Output) -> None:
    _set_linear(spec.projection, output.weight, output.bias)
    if output.scale != 1.0:
        spec.scale_outputs = float(output.scale)


def _set_linear(spec: Any, weight: Tensor, bias: Tensor | None) -> None:
    spec.weight = _array(weight)
    if bias is not None:
        spec.bias = _array(bias)


def _set_norm(spec: Any, norm: Norm) -> None:
    spec.gamma = _array(norm.weight)
    bias = getattr(norm, "bias", None)
    if bias is not None:
        spec.beta = _array(bias)


def _array(weight: Tensor) -> Any:
    return weight.detach().float().cpu().contiguous().numpy().copy()
