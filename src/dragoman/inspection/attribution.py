"""Which source tokens an output token owes its probability to, what each head is good for, and what would be if.

Shapes: T output positions, S source positions, D size of a source vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, assert_never, cast

import torch

from dragoman.errors import DataError, ModelError
from dragoman.inspection.sources import asked, source_vectors, with_vectors
from dragoman.models.attention import CrossAttention, SelfAttention
from dragoman.models.seq2seq import Source
from dragoman.text.vocabulary import UNK
from dragoman.translator import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor, nn

    from dragoman.inspection.sources import Asked
    from dragoman.models.seq2seq import Model
    from dragoman.translator import Translator

__all__ = ["Ablation", "Attribution", "Head", "Method", "Variant", "ablate", "attribute", "what_if"]

Method = Literal["gradient", "integrated", "occlusion"]
"""Gradient times input; its integral on the way from nothing (vectors of zeros); what is lost without a word."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """How much each source token counts for each output token, in nats of log-probability; it may be negative."""

    method: Method
    source: tuple[str, ...]
    output: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]
    """For each output token a number for each source token."""
    log_probs: tuple[float, ...]
    """Of each output token."""
    baseline: tuple[float, ...] = ()
    """Integrated gradients: the same where the source is nothing."""

    @property
    def gap(self) -> float:
        """Integrated gradients: how far the sums are from what they must add up to, at most; 0 with endless steps."""
        rows = zip(self.weights, self.log_probs, self.baseline, strict=False)
        return max((abs(sum(row) - (full - empty)) for row, full, empty in rows), default=0.0)


@dataclass(frozen=True, slots=True)
class Head:
    """A head, and the log-probability of the output without it."""

    kind: Literal["encoder", "decoder", "cross"]
    layer: int
    """From 1, within its kind."""
    head: int
    """From 1."""
    log_prob: float


@dataclass(frozen=True, slots=True)
class Ablation:
    """What the output loses without each head."""

    source: str
    output: str
    log_prob: float
    """With all heads."""
    heads: tuple[Head, ...]


@dataclass(frozen=True, slots=True)
class Variant:
    """What becomes of a source, or of a beginning of the output, that was changed."""

    source: str
    prefix: str
    output: str
    log_prob: float
    was: float
    """The log-probability of the first output under this source."""


def attribute(
    translator: Translator,
    source: str,
    output: str | None = None,
    *,
    method: Method = "integrated",
    steps: int = 64,
    target_language: str = "",
) -> Attribution:
    """What each source token counts for each output token; the output is the model's own unless it is given."""
    pair = asked(translator, source, output, target_language=target_language)
    pieces = translator.bundle.tokenizers.target.vocabulary.pieces
    with torch.no_grad():
        log_probs_T = pair.log_probs()[0]
    baseline: tuple[float, ...] = ()
    match method:
        case "gradient":
            vectors_SD = source_vectors(pair.model, pair.source)[0]
            weights_TS = _jacobian(pair, vectors_SD).mul(vectors_SD).sum(-1)
        case "integrated":
            weights_TS = _integrated(pair, steps)
            with torch.no_grad(), with_vectors(pair.model, torch.zeros_like):
                baseline = tuple(pair.log_probs()[0].tolist())
        case "occlusion":
            weights_TS = log_probs_T[:, None] - _occluded(pair)
        case _:
            assert_never(method)
    return Attribution(
        method,
        pair.names,
        tuple(pieces[i] for i in pair.labels),
        tuple(tuple(row) for row in weights_TS.tolist()),
        tuple(log_probs_T.tolist()),
        baseline,
    )


def ablate(translator: Translator, source: str, output: str | None = None, *, target_language: str = "") -> Ablation:
    """The log-probability of the output without each head of a Transformer, one at a time."""
    if output is None:
        output = translator.translate(source, request=Request(target_language=target_language)).text
    pair = asked(translator, source, output, target_language=target_language)
    found = []
    with torch.no_grad():
        whole = float(pair.log_probs().sum())
        for kind, layer, module in _attentions(pair.model):
            for head in range(module.heads.queries):
                handle = module.output.register_forward_pre_hook(_without(head, module.heads.size))
                try:
                    found.append(Head(kind, layer, head + 1, float(pair.log_probs().sum())))
                finally:
                    handle.remove()
    if not found:
        raise ModelError("this model has no heads", place="heads", remedy="Use a Transformer.")
    return Ablation(source, output, whole, tuple(found))


def what_if(
    translator: Translator,
    source: str,
    *,
    changes: Sequence[tuple[str, str]] = (),
    prefixes: Sequence[str] = (),
    target_language: str = "",
) -> tuple[Variant, ...]:
    """The output as it is, then with each source word changed, then after each other beginning."""
    request = Request(target_language=target_language)
    words = source.split()
    asked = [(source, "")]
    for old, new in changes:
        if old not in words:
            raise DataError(
                f"{old!r} is no word of the source", place="change", remedy=f"Its words are: {', '.join(words)}."
            )
        asked.append((" ".join(new if word == old else word for word in words), ""))
    asked += [(source, prefix) for prefix in prefixes]
    sources, beginnings = [each for each, _ in asked], [prefix for _, prefix in asked]
    found = translator.translate(sources, prefixes=beginnings, request=request)
    first = translator.score(sources, [found[0].text] * len(sources), target_language=target_language)
    own = translator.score(sources, [each.text for each in found], target_language=target_language)
    return tuple(
        Variant(each, prefix, outcome.text, now.log_prob, was.log_prob)
        for (each, prefix), outcome, now, was in zip(asked, found, own, first, strict=True)
    )


# ---- the ways of asking --------------------------------------------------------------------------------------------


def _jacobian(pair: Asked, vectors_SD: Tensor) -> Tensor:
    """The gradient of each output token's log-probability at these source vectors, [T, S, D]."""
    held = vectors_SD.clone()[None].requires_grad_()
    with torch.enable_grad(), with_vectors(pair.model, lambda _: held):
        log_probs_T = pair.log_probs()[0]
        rows = [torch.autograd.grad(each, held, retain_graph=True)[0][0] for each in log_probs_T.unbind()]
    return torch.stack(rows)


def _integrated(pair: Asked, steps: int) -> Tensor:
    """The midpoints of equal steps from zeros to the vectors: their mean gradient, times the vectors."""
    vectors_SD = source_vectors(pair.model, pair.source)[0]
    total: Tensor | None = None
    for step in range(steps):
        here = _jacobian(pair, vectors_SD * ((step + 0.5) / steps))
        total = here if total is None else total + here
    assert total is not None, "a step at least"
    weights_TS: Tensor = (total / steps * vectors_SD).sum(-1)
    return weights_TS


def _occluded(pair: Asked) -> Tensor:
    """The log-probability of each output token where one source token is unknown, or one frame is zeros, [T, S]."""
    source = pair.source
    count = int(source.lengths_B[0])
    lengths_B = source.lengths_B.expand(count)
    if source.ids_BS is not None:
        ids_BS = source.ids_BS.repeat(count, 1)
        ids_BS.fill_diagonal_(UNK)
        hidden = Source(lengths_B, ids_BS)
    else:
        assert source.features_BSF is not None
        features = source.features_BSF.repeat(count, 1, 1)
        features[range(count), range(count)] = 0
        hidden = Source(lengths_B, features_BSF=features)
    with torch.no_grad():
        return pair.log_probs(hidden).T


def _attentions(
    model: Model,
) -> Iterator[tuple[Literal["encoder", "decoder", "cross"], int, SelfAttention | CrossAttention]]:
    counts: dict[str, int] = {}
    for name, module in cast("nn.Module", model).named_modules():
        kind: Literal["encoder", "decoder", "cross"]
        match module:
            case SelfAttention():
                kind = "encoder" if name.startswith("encoder") else "decoder"
            case CrossAttention():
                kind = "cross"
            case _:
                continue
        counts[kind] = counts.get(kind, 0) + 1
        yield kind, counts[kind], module


def _without(head: int, size: int) -> Callable[[nn.Module, tuple[Tensor, ...]], tuple[Tensor, ...]]:
    """A hook that silences a head before the heads are mixed."""
    place = slice(head * size, (head + 1) * size)

    def silenced(_module: nn.Module, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        mixed = given[0].clone()
        mixed[..., place] = 0
        return (mixed, *given[1:])

    return silenced
