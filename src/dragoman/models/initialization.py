"""How weights begin. Maps that are one product for speed begin as the separate maps they stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, assert_never

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from dragoman.models.attention import CrossAttention, SelfAttention
from dragoman.models.embedding import Output, TokenEmbedding
from dragoman.models.positions import Learned, Relative
from dragoman.settings import Meta, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Blank", "InitialSettings", "NormalInitial", "T5Initial", "XavierInitial", "initialize"]


class XavierInitial(Settings, frozen=True, kw_only=True, tag_field="kind", tag="xavier"):
    """Glorot's uniform range for maps, embeddings of variance 1/size: as tensor2tensor and Marian begin."""


class NormalInitial(Settings, frozen=True, kw_only=True, tag_field="kind", tag="normal"):
    """One normal distribution for everything: BART, mBART, GPT."""

    deviation: Annotated[float, Meta(gt=0)] = 0.02
    """Standard deviation."""


class T5Initial(Settings, frozen=True, kw_only=True, tag_field="kind", tag="t5"):
    """Maps of variance 1/inputs, embeddings of variance 1; queries are smaller, as T5 does not scale scores.

    An output layer of its own is a map, and relative positions begin as small as a map's weights.
    """


InitialSettings = XavierInitial | NormalInitial | T5Initial


class Blank(TorchFunctionMode):
    """Where models are made whose weights are read from a file: nothing is drawn by chance, all such weights are zero.

    To draw takes longer than to read, and on the device `meta`, where there is nothing to draw, torch would import
    its compiler for it, which takes a second.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if getattr(func, "__name__", "") in _DRAWS:
            with torch.no_grad():
                return (args[0] if args else (kwargs or {})["tensor"]).zero_()
        return func(*args, **(kwargs or {}))


_DRAWS = frozenset({"normal_", "uniform_", "trunc_normal_", "xavier_uniform_", "kaiming_uniform_"})


def initialize(model: nn.Module, how: InitialSettings) -> None:
    """Give every weight of the model its first value."""
    match how:
        case XavierInitial():
            for block in _blocks(model):
                nn.init.xavier_uniform_(block)
            for table in (*_tables(model), *_outputs(model)):
                nn.init.normal_(table, std=table.shape[1] ** -0.5)
            for table in _relative(model):
                nn.init.xavier_uniform_(table)
        case NormalInitial(deviation=deviation):
            for tensor in (*_blocks(model), *_tables(model), *_outputs(model), *_relative(model)):
                nn.init.normal_(tensor, std=deviation)
        case T5Initial():
            for block in (*_blocks(model), *_outputs(model)):
                nn.init.normal_(block, std=block.shape[1] ** -0.5)
            for table in _tables(model):
                nn.init.normal_(table, std=1.0)
            size = next(_tables(model)).shape[1]
            for table in _relative(model):
                nn.init.normal_(table, std=size**-0.5)
            for queries, head in _queries(model):
                nn.init.normal_(queries, std=(queries.shape[1] * head) ** -0.5)
        case _:
            assert_never(how)


def _blocks(model: nn.Module) -> Iterator[Tensor]:
    """The weight of each linear map, cut where several maps are one; their biases are set to zero on the way."""
    cuts: dict[nn.Module, tuple[int, ...]] = {}
    for module in model.modules():
        blocks = getattr(module, "blocks", None)
        if blocks is not None:
            joint = module.memory if isinstance(module, CrossAttention) else module.inputs
            assert isinstance(joint, nn.Linear)
            cuts[joint] = blocks
    for module in model.modules():
        if isinstance(module, nn.Linear):
            if module.bias is not None:
                nn.init.zeros_(module.bias)
            yield from torch.split(module.weight.detach(), list(cuts.get(module, (module.out_features,))))


def _tables(model: nn.Module) -> Iterator[Tensor]:
    """The vectors of tokens, learned positions and segments."""
    for module in model.modules():
        if isinstance(module, TokenEmbedding | Learned):
            yield module.weight
        segments = getattr(module, "segments", None)
        if segments is not None:
            yield segments


def _outputs(model: nn.Module) -> Iterator[Tensor]:
    """The weight of each output layer that is not an embedding's."""
    tables = {id(module.weight) for module in model.modules() if isinstance(module, TokenEmbedding)}
    for module in model.modules():
        if isinstance(module, Output) and id(module.weight) not in tables:
            yield module.weight


def _relative(model: nn.Module) -> Iterator[Tensor]:
    """The numbers that relative positions add to scores."""
    return (module.weight for module in model.modules() if isinstance(module, Relative))


def _queries(model: nn.Module) -> Iterator[tuple[Tensor, int]]:
    """The map to queries of each attention, with the size of a head."""
    for module in model.modules():
        match module:
            case SelfAttention():
                yield module.inputs.weight.detach()[: module.blocks[0]], module.heads.size
            case CrossAttention():
                yield module.queries.weight.detach(), module.heads.size
            case _:
                pass
