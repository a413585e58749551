"""The vectors that a model reads of its source, to be watched and replaced: the way in of all that asks what matters.

Shapes as in models/seq2seq.py: B sentences, S source positions, T target positions, D size of a vector.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import torch

from dragoman.errors import ModelError
from dragoman.models.embedding import TextSource
from dragoman.models.features import FeatureSource
from dragoman.models.seq2seq import Source, Vectors
from dragoman.text.vocabulary import BOS, EOS, SPECIAL
from dragoman.translator import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor, nn

    from dragoman.models.seq2seq import Model
    from dragoman.translator import Translator

__all__ = ["Asked", "asked", "random_source", "source_vectors", "target_log_probs", "with_vectors"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A pair as a model reads it."""

    model: Model
    source: Source
    names: tuple[str, ...]
    """The source's tokens; of features, their numbers."""
    begin: tuple[int, ...]
    """What the decoder is given before it says anything."""
    labels: tuple[int, ...]
    """The output's tokens, the end included."""

    def log_probs(self, source: Source | None = None) -> Tensor:
        """The log-probability of each label, [B, T], with gradients; after another source, where one is given."""
        return target_log_probs(self.model, self.source if source is None else source, self.labels, begin=self.begin)


def asked(translator: Translator, source: str, output: str | None, *, target_language: str = "") -> Asked:
    """The pair as the (first) model reads it; the output is the model's own unless it is given."""
    reader = translator.reader
    if not reader.has_source:
        raise _no_source()
    if output is None:
        output = translator.translate(source, request=Request(target_language=target_language)).text
    read = reader.read(source, target_language=target_language)
    if not len(read):
        raise ModelError("there is nothing to read", place="source", remedy="Give a source that is not empty.")
    given = reader.source([read])
    assert given is not None, "it reads sources"
    tokenizers = reader.bundle.tokenizers
    pieces = tokenizers.source.vocabulary.pieces
    names = tuple(pieces[i] for i in read) if isinstance(read, list) else tuple(map(str, range(1, len(read) + 1)))
    labels = (*tokenizers.target.encode(output), EOS)
    return Asked(reader.bundle.model, given, names, tuple(reader.begin(target_language)), labels)


@contextmanager
def with_vectors(model: Model, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """While this lasts, the model reads what `change` makes of its source vectors, [B, S, D]."""

    def replaced(_module: nn.Module, _given: Any, vectors: Vectors) -> Vectors:
        return Vectors(change(vectors.vectors_BSD), vectors.lengths_B)

    handle = _entry(model).register_forward_hook(replaced)
    try:
        yield
    finally:
        handle.remove()


def source_vectors(model: Model, source: Source) -> Tensor:
    """The vectors that the model reads of the source, [B, S, D], cut off from where they came from."""
    with torch.no_grad():
        vectors: Vectors = _entry(model)(source)
    return vectors.vectors_BSD.detach()


def target_log_probs(model: Model, source: Source, labels: Sequence[int], *, begin: Sequence[int] = (BOS,)) -> Tensor:
    """The log-probability of each label after `begin` and the labels before it, [B, T], with gradients."""
    rows, given = source.rows, len(begin) - 1  # what is given is not said
    inputs_BT = torch.tensor([[*begin, *labels[:-1]]], device=source.lengths_B.device).expand(rows, -1)
    lengths_B = torch.full((rows,), given + len(labels), device=source.lengths_B.device)
    logits_NV = model.logits(model.hidden(source, inputs_BT, lengths_B)).float()
    labels_N = torch.tensor([*begin[1:], *labels], device=logits_NV.device).repeat(rows)
    return logits_NV.log_softmax(-1).gather(1, labels_N[:, None]).view(rows, -1)[:, given:]


def random_source(model: Model, length: int, *, draw: torch.Generator) -> Source:
    """A source of so many random tokens that the model knows, or of so many frames."""
    lengths_B, entry = torch.tensor([length]), _entry(model)
    if isinstance(entry, FeatureSource):
        source = Source(lengths_B, features_BSF=torch.randn(1, length, entry.size, generator=draw))
    else:
        known = entry.embedding.weight.shape[0]
        source = Source(lengths_B, torch.randint(len(SPECIAL), known, (1, length), generator=draw))
    return source.to(next(model.parameters()).device)


def _entry(model: Model) -> TextSource | FeatureSource:
    modules = cast("nn.Module", model).modules()
    found = [each for each in modules if isinstance(each, TextSource | FeatureSource)]
    if not found:
        raise _no_source()
    return found[0]


def _no_source() -> ModelError:
    return ModelError("a language model has no source", place="source", remedy="Use a model that translates.")
