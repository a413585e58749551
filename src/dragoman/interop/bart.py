"""The BART family of transformers (Marian, BART, mBART, M2M-100 and NLLB): one map of names for all of them."""

from __future__ import annotations

from dragoman.interop.weights import Stack, WeightNames

__all__ = ["bart_names"]

_SELF = {
    "mixer.inputs": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "mixer.output": ("self_attn.out_proj",),
    "mixer_residual.norm": ("self_attn_layer_norm",),
}
_ACROSS = {
    "cross.queries": ("encoder_attn.q_proj",),
    "cross.memory": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
    "cross.output": ("encoder_attn.out_proj",),
    "cross_residual.norm": ("encoder_attn_layer_norm",),
}
_FORWARD = {
    "feedforward.inputs": ("fc1",),
    "feedforward.output": ("fc2",),
    "feedforward_residual.norm": ("final_layer_norm",),
}
_ENDS = {"entry.norm": "layernorm_embedding", "entry.positions": "embed_positions", "norm": "layer_norm"}

_SHARED = {
    "encoder.embedding.embedding.weight": (
        "model.shared.weight",
        "model.encoder.embed_tokens.weight",
        "model.decoder.embed_tokens.weight",
        "lm_head.weight",
    ),
}
_SEPARATE = {
    "encoder.embedding.embedding.weight": ("model.encoder.embed_tokens.weight", "model.shared.weight"),
    "embedding.weight": ("model.decoder.embed_tokens.weight", "lm_head.weight"),
}


def bart_names(*, shared: bool = True) -> WeightNames:
    """The names of the family, for one table of embeddings or for one on each side."""
    return WeightNames(
        stacks=(
            Stack("encoder.stack", "model.encoder", "layers", _SELF | _FORWARD, _ENDS),
            Stack("decoder", "model.decoder", "layers", _SELF | _ACROSS | _FORWARD, _ENDS),
        ),
        tables={**(_SHARED if shared else _SEPARATE), "output.bias": ("final_logits_bias",)},
        computed=("embed_positions.weight", "embed_positions.weights"),
    )
