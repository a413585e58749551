"""T5, T5 1.1 and mT5 of transformers: the map of names."""

from __future__ import annotations

from dragoman.interop.weights import Stack, WeightNames

__all__ = ["t5_names"]

_SELF = {
    "mixer.inputs": ("layer.0.SelfAttention.q", "layer.0.SelfAttention.k", "layer.0.SelfAttention.v"),
    "mixer.output": ("layer.0.SelfAttention.o",),
    "mixer_residual.norm": ("layer.0.layer_norm",),
}
_ACROSS = {
    "cross.queries": ("layer.1.EncDecAttention.q",),
    "cross.memory": ("layer.1.EncDecAttention.k", "layer.1.EncDecAttention.v"),
    "cross.output": ("layer.1.EncDecAttention.o",),
    "cross_residual.norm": ("layer.1.layer_norm",),
}
_ENDS = {"norm": "final_layer_norm", "relative": "block.0.layer.0.SelfAttention.relative_attention_bias"}
_TABLE = ("shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight")


def t5_names(*, gated: bool, tied: bool) -> WeightNames:
    """The names of the family: with a gated feed-forward sub-layer or a plain one, with a tied output layer or not."""
    inner = ("wi_0", "wi_1") if gated else ("wi",)
    stacks = [("encoder.stack", "encoder", _SELF, 1), ("decoder", "decoder", _SELF | _ACROSS, 2)]
    return WeightNames(
        stacks=tuple(
            Stack(
                ours,
                theirs,
                "block",
                attention
                | {
                    "feedforward.inputs": tuple(f"layer.{last}.DenseReluDense.{name}" for name in inner),
                    "feedforward.output": (f"layer.{last}.DenseReluDense.wo",),
                    "feedforward_residual.norm": (f"layer.{last}.layer_norm",),
                },
                _ENDS,
            )
            for ours, theirs, attention, last in stacks
        ),
        tables={
            "encoder.embedding.embedding.weight": (*_TABLE, "lm_head.weight") if tied else _TABLE,
            "output.weight": ("lm_head.weight",),
            "output.bias": (),
        },
        # an old fault of T5's code stored one that is never read
        computed=("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",),
    )
