"""ONNX graphs, node by node: an encoder, and one step of a decoder with what it has said as keys and values.

Shapes in the names as in the models: B sentences, R rows, S source positions, P past positions, H heads, K size of a
head, D size of the model.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch

from dragoman.errors import MissingExtra
from dragoman.models.positions import Learned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor, nn

    from dragoman.models.attention import CrossAttention, Heads, SelfAttention
    from dragoman.models.embedding import Output, TextSource, TokenEmbedding
    from dragoman.models.feedforward import FeedForward
    from dragoman.models.norm import Norm, Residual
    from dragoman.models.stack import Stack
    from dragoman.models.transformer import Transformer

__all__ = ["LONGEST", "decoder_graph", "encoder_graph", "onnx"]

LONGEST = 1024
"""Positions that are written out: no source and no output may be longer."""
_OPSET = 20
_HIDDEN = -1e9


def onnx() -> Any:
    """The package."""
    try:
        import onnx as package
        import onnx.helper
        import onnx.numpy_helper
    except ImportError:
        raise MissingExtra("onnx", extra="export", purpose="an export to ONNX") from None
    return package


class _Graph:
    """Nodes in the order of their work."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.stored: list[Any] = []
        self._known: dict[int, tuple[str, Tensor]] = {}  # held, so that nothing else takes its place in memory

    def op(self, kind: str, *inputs: str, count: int = 1, **attributes: Any) -> Any:
        """The name of what a node gives, or the names."""
        names = [f"{kind.lower()}_{len(self.nodes)}_{n}" for n in range(count)]
        self.nodes.append(onnx().helper.make_node(kind, list(inputs), names, **attributes))
        return names[0] if count == 1 else names

    def named(self, name: str, value: str) -> None:
        """Give a result a name for the outside."""
        self.nodes.append(onnx().helper.make_node("Identity", [value], [name]))

    def constant(self, value: NDArray[Any]) -> str:
        """A stored array."""
        name = f"constant_{len(self.stored)}"
        self.stored.append(onnx().numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def weight(self, value: Tensor, *, turned: bool = False) -> str:
        """A stored weight, each once."""
        key = (value.data_ptr() << 1) | turned
        if key not in self._known:
            array = value.detach().float().cpu().numpy()
            self._known[key] = self.constant(array.T if turned else array), value
        return self._known[key][0]

    def numbers(self, *values: int) -> str:
        """A stored list of whole numbers."""
        return self.constant(np.array(values, dtype=np.int64))

    def number(self, value: float) -> str:
        """A stored number."""
        return self.constant(np.array(value, dtype=np.float32))

    def model(self, name: str, inputs: Sequence[tuple[str, Any, list[Any]]], outputs: Sequence[str]) -> Any:
        """The graph with its inputs and outputs."""
        package = onnx()
        helper = package.helper
        given = [helper.make_tensor_value_info(each, kind, shape) for each, kind, shape in inputs]
        # all but the probabilities are keys and values
        ranks = {"log_probs": ["R", None]}
        made = [
            helper.make_tensor_value_info(each, package.TensorProto.FLOAT, ranks.get(each, [None] * 4))
            for each in outputs
        ]
        graph = helper.make_graph(self.nodes, name, given, made, initializer=self.stored)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", _OPSET)], producer_name="dragoman", ir_version=9
        )
        package.checker.check_model(model)
        return model

    # ---- parts of a Transformer -------------------------------------------------------------------------------------

    def linear(self, x: str, weight: Tensor, bias: Tensor | None) -> str:
        """The product with a matrix, and a bias."""
        product = self.op("MatMul", x, self.weight(weight, turned=True))
        return str(product if bias is None else self.op("Add", product, self.weight(bias)))

    def norm(self, x: str, norm: Norm) -> str:
        """LayerNorm or RMSNorm."""
        epsilon = float(norm.eps or 1e-6)
        bias = cast("Tensor | None", getattr(norm, "bias", None))
        weight = self.weight(norm.weight)
        if isinstance(norm, torch.nn.LayerNorm):
            extra = [] if bias is None else [self.weight(bias)]
            return str(self.op("LayerNormalization", x, weight, *extra, axis=-1, epsilon=epsilon))
        mean = self.op("ReduceMean", self.op("Mul", x, x), self.numbers(-1), keepdims=1)
        root = self.op("Sqrt", self.op("Add", mean, self.number(epsilon)))
        return str(self.op("Mul", self.op("Div", x, root), weight))

    def residual(self, x: str, residual: Residual, inner: Any) -> str:
        """A sub-layer with the path around it."""
        result = inner(self.norm(x, residual.norm) if residual.before else x)
        total = self.op("Add", x, result)
        return str(total if residual.before else self.norm(total, residual.norm))

    def feed_forward(self, x: str, part: FeedForward) -> str:
        """The feed-forward sub-layer."""
        inner: Any = self.linear(x, part.inputs.weight, _bias(part.inputs))
        passed = None
        if part.gated:
            inner, passed = self.op("Split", inner, count=2, axis=-1, num_outputs=2)
        match part.activation:
            case "relu":
                inner = self.op("Relu", inner)
            case "gelu":
                inner = self.op("Gelu", inner, approximate="none")
            case "gelu_tanh":
                inner = self.op("Gelu", inner, approximate="tanh")
            case "silu":
                inner = self.op("Mul", inner, self.op("Sigmoid", inner))
        inner = inner if passed is None else self.op("Mul", inner, passed)
        return self.linear(inner, part.output.weight, _bias(part.output))

    def split_heads(self, x_BTC: str, heads: Heads) -> str:
        """[B, T, H·K] as [B, H, T, K]."""
        parts = self.op("Reshape", x_BTC, self.numbers(0, 0, heads.queries, heads.size))
        return str(self.op("Transpose", parts, perm=[0, 2, 1, 3]))

    def attention(self, queries: str, keys: str, values: str, *, heads: Heads, biases: Sequence[str]) -> str:
        """Softmax of scores, times values, heads side by side again."""
        turned = self.op("Transpose", keys, perm=[0, 1, 3, 2])
        scores = self.op("Mul", self.op("MatMul", queries, turned), self.number(heads.scale))
        for bias in biases:
            scores = self.op("Add", scores, bias)
        mixed = self.op("MatMul", self.op("Softmax", scores, axis=-1), values)
        turned = self.op("Transpose", mixed, perm=[0, 2, 1, 3])
        return str(self.op("Reshape", turned, self.numbers(0, 0, heads.queries * heads.size)))

    def projected(self, x: str, part: SelfAttention) -> list[str]:
        """Queries, keys and values."""
        joint = self.op(
            "Split", self.linear(x, part.inputs.weight, _bias(part.inputs)), count=3, axis=-1, num_outputs=3
        )
        return [self.split_heads(each, part.heads) for each in joint]

    def padding(self, mask_BS: str) -> str:
        """[B, 1, 1, S]: what is added to scores of padding."""
        absent = self.op("Sub", self.number(1.0), self.op("Cast", mask_BS, to=onnx().TensorProto.FLOAT))
        hidden = self.op("Mul", absent, self.number(_HIDDEN))
        return str(self.op("Unsqueeze", hidden, self.numbers(1, 2)))

    def length(self, x: str, axis: int) -> str:
        """The size of an axis."""
        return str(self.op("Shape", x, start=axis, end=axis + 1))

    def counted(self, size: str) -> str:
        """0, 1, … up to a size."""
        scalar = self.op("Squeeze", size, self.numbers(0))
        zero, one = (self.constant(np.array(value, dtype=np.int64)) for value in (0, 1))
        return str(self.op("Range", zero, scalar, one))

    def entered(self, ids: str, embedding: TokenEmbedding, stack: Stack, places: str) -> str:
        """Embedded tokens with their positions."""
        x = self.op("Gather", self.weight(embedding.weight), ids)
        if embedding.scale != 1.0:
            x = self.op("Mul", x, self.number(embedding.scale))
        added = stack.entry.positions
        if added is not None:
            longest = added.longest if isinstance(added, Learned) else LONGEST
            rows = self.weight(added(torch.arange(longest)).detach().clone())
            x = self.op("Add", x, self.op("Gather", rows, places))
        return str(x) if stack.entry.norm is None else self.norm(x, stack.entry.norm)

    def relative(self, stack: Stack, distances: str) -> list[str]:
        """[1, H, T, S] of T5's relative positions, given distances [T, S]; nothing where there are none."""
        if stack.relative is None:
            return []
        table = stack.relative(torch.arange(-LONGEST + 1, LONGEST)).detach().clone()
        found = self.op("Gather", self.weight(table), self.op("Add", distances, self.numbers(LONGEST - 1)))
        return [self.op("Unsqueeze", self.op("Transpose", found, perm=[2, 0, 1]), self.numbers(0))]


def _bias(part: nn.Module) -> Tensor | None:
    return cast("Tensor | None", part.bias)


def encoder_graph(model: Transformer) -> Any:
    """From ids and mask [B, S] to the keys and values that each layer of the decoder looks at."""
    graph, stack = _Graph(), model.encoder.stack
    source = cast("TextSource", model.encoder.embedding).embedding
    places = graph.counted(graph.length("ids", 1))
    x = graph.entered("ids", source, stack, places)
    rows = graph.op("Unsqueeze", places, graph.numbers(1))
    distances = graph.op("Sub", graph.op("Unsqueeze", places, graph.numbers(0)), rows)
    biases = [graph.padding("mask"), *graph.relative(stack, distances)]
    for layer in stack.each():
        mixer = cast("SelfAttention", layer.mixer)

        def mixed(x: str, mixer: SelfAttention = mixer) -> str:
            queries, keys, values = graph.projected(x, mixer)
            looked = graph.attention(queries, keys, values, heads=mixer.heads, biases=biases)
            return graph.linear(looked, mixer.output.weight, _bias(mixer.output))

        x = graph.residual(x, layer.mixer_residual, mixed)
        x = graph.residual(x, layer.feedforward_residual, partial(graph.feed_forward, part=layer.feedforward))
    if stack.norm is not None:
        x = graph.norm(x, stack.norm)
    names = []
    for number, layer in enumerate(model.decoder.each()):
        cross = cast("CrossAttention", layer.cross)
        joint = graph.linear(x, cross.memory.weight, _bias(cross.memory))
        parts = graph.op("Split", joint, count=2, axis=-1, num_outputs=2)
        for name, part in zip(("keys", "values"), parts, strict=True):
            graph.named(f"source_{name}_{number}", graph.split_heads(part, cross.heads))
            names.append(f"source_{name}_{number}")
    whole = onnx().TensorProto.INT64
    return graph.model("encoder", [(name, whole, ["B", "S"]) for name in ("ids", "mask")], names)


def decoder_graph(model: Transformer) -> Any:
    """A token in each row, and what was said and read so far, to log-probabilities of the next."""
    graph, stack = _Graph(), model.decoder
    past = graph.length("past_keys_0", 2)
    ids = graph.op("Unsqueeze", "tokens", graph.numbers(1))
    x = graph.entered(ids, model.embedding, stack, past)
    said = graph.counted(graph.op("Add", past, graph.numbers(1)))
    distances = graph.op("Unsqueeze", graph.op("Sub", said, past), graph.numbers(0))
    within, across = graph.relative(stack, distances), [graph.padding("mask")]
    kind = onnx().TensorProto
    inputs: list[tuple[str, Any, list[Any]]] = [("tokens", kind.INT64, ["R"]), ("mask", kind.INT64, ["R", "S"])]
    outputs = ["log_probs"]
    for number, layer in enumerate(stack.each()):
        mixer, cross = cast("SelfAttention", layer.mixer), cast("CrossAttention", layer.cross)
        shape = [mixer.heads.queries, mixer.heads.size]
        for part in ("keys", "values"):
            inputs.append((f"past_{part}_{number}", kind.FLOAT, ["R", shape[0], "P", shape[1]]))
            inputs.append((f"source_{part}_{number}", kind.FLOAT, ["R", shape[0], "S", shape[1]]))
            outputs.append(f"new_past_{part}_{number}")

        def mixed(x: str, mixer: SelfAttention = mixer, number: int = number) -> str:
            queries, *new = graph.projected(x, mixer)
            whole = []
            for part, each in zip(("keys", "values"), new, strict=True):
                whole.append(graph.op("Concat", f"past_{part}_{number}", each, axis=2))
                graph.named(f"new_past_{part}_{number}", whole[-1])
            looked = graph.attention(queries, whole[0], whole[1], heads=mixer.heads, biases=within)
            return graph.linear(looked, mixer.output.weight, _bias(mixer.output))

        def looked(x: str, cross: CrossAttention = cross, number: int = number) -> str:
            queries = graph.split_heads(graph.linear(x, cross.queries.weight, _bias(cross.queries)), cross.heads)
            keys, values = f"source_keys_{number}", f"source_values_{number}"
            found = graph.attention(queries, keys, values, heads=cross.heads, biases=across)
            return graph.linear(found, cross.output.weight, _bias(cross.output))

        x = graph.residual(x, layer.mixer_residual, mixed)
        x = graph.residual(x, cast("Residual", layer.cross_residual), looked)
        x = graph.residual(x, layer.feedforward_residual, partial(graph.feed_forward, part=layer.feedforward))
    if stack.norm is not None:
        x = graph.norm(x, stack.norm)
    output = cast("Output", model.output)
    if output.scale != 1.0:
        x = graph.op("Mul", x, graph.number(output.scale))
    logits = graph.op("Squeeze", graph.linear(x, output.weight, output.bias), graph.numbers(1))
    graph.named("log_probs", graph.op("LogSoftmax", logits, axis=-1))
    return graph.model("decoder", inputs, outputs)
