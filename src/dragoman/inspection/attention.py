"""Where a model looks: attention of every layer and head over a pair, and the alignment read off it.

Shapes: L layers, H heads, T rows (what looks), S columns (what is looked at).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, assert_never

import numpy as np

from dragoman.errors import ModelError, SettingError
from dragoman.evaluation.linking import words_of_pieces
from dragoman.measures.alignment import alignment_scores, links_by_target, project_weights
from dragoman.text.vocabulary import BOS, EOS
from dragoman.translator import Request, forced
from dragoman.translator.words import target_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from dragoman.bundle import AlignedBy
    from dragoman.measures.alignment import Alignment, AlignmentScores, GoldAlignment
    from dragoman.translator import Translator
    from dragoman.translator.reader import Read, Reader

__all__ = ["Attention", "Looking", "Matrix", "Shown", "attention"]

Looking = Literal["cross", "encoder", "decoder"]
"""From the output to the source, within the source, or within the output."""

Matrix = tuple[tuple[float, ...], ...]
"""For each row its weights."""


@dataclass(frozen=True, slots=True)
class Attention:
    """The attention over a pair."""

    looking: Looking
    source: str
    output: str
    generated: bool
    """Whether the output is the model's own."""
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    heads: tuple[tuple[Matrix, ...], ...]
    """For each layer and head, as the model computed it, one row for each that looks."""
    by: AlignedBy
    """Which attention `weights` are."""
    weights: Matrix
    """The one attention that is shown first, and that aligns."""
    links: Alignment
    """Each row with the column that it looks at most: a hard alignment, where there is a source."""
    gold: GoldAlignment | None = None
    scores: AlignmentScores | None = None
    """The links against gold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Which attention is wanted, and what its rows and columns stand for."""

    looking: Looking = "cross"
    by: AlignedBy | None = None
    """The map shown first; else the one that the model aligns by."""
    pieces: bool = False
    """Every token of the model, the end included; else words, which is what stands between white space."""
    source_words: Sequence[str] | None = None
    """The words of the source, where they are others."""
    output_words: Sequence[str] | None = None


def attention(
    translator: Translator,
    source: str,
    output: str | None = None,
    *,
    shown: Shown | None = None,
    gold: GoldAlignment | None = None,
    target_language: str = "",
) -> Attention:
    """The attention when the model reads the pair; without an output, that which it gives itself.

    A language model looks at its own text: give it as output. `gold` counts what rows and columns stand for, from 0.
    """
    shown = shown or Shown()
    reader = translator.reader
    generated = output is None
    if output is None:
        output = translator.translate(source, request=Request(target_language=target_language)).text
    read = reader.read(source, target_language=target_language)
    labels = [*reader.bundle.tokenizers.target.encode(output), EOS]
    maps_LHTS = _maps(reader, read, labels, looking=shown.looking, language=target_language)
    rows, columns = _sides(reader, source, output, shown=shown, language=target_language)
    by = shown.by or reader.bundle.description.alignment
    each = [[rows.between(columns, map_TS.numpy()) for map_TS in layer] for layer in maps_LHTS]
    chosen_TS = rows.between(columns, forced.looks(maps_LHTS, by).numpy())
    if not (rows.names and columns.names):
        raise SettingError(
            "there is nothing to look from, or nothing to look at",
            place="attention",
            remedy="Give a source and an output that are not empty.",
        )
    links = links_by_target(chosen_TS) if shown.looking == "cross" else frozenset()
    return Attention(
        shown.looking,
        source,
        output,
        generated,
        rows.names,
        columns.names,
        tuple(tuple(_matrix(weights_TS) for weights_TS in layer) for layer in each),
        by,
        _matrix(chosen_TS),
        links,
        gold,
        None if gold is None else alignment_scores([links], [gold]),
    )


@dataclass(frozen=True, slots=True)
class _Side:
    """Names of what is shown, and to which of them each position of the model belongs."""

    names: tuple[str, ...]
    of_position: tuple[int | None, ...]

    def between(self, columns: _Side, weights_TS: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weights between what is shown: summed over the positions of a column, averaged over those of a row."""
        found = project_weights(weights_TS, source_words=columns.of_position, target_words=self.of_position)
        whole = np.zeros((len(self.names), len(columns.names)))
        whole[: found.shape[0], : found.shape[1]] = found  # of words at the end without a piece there is nothing
        return whole


def _maps(reader: Reader, read: Read, labels: list[int], *, looking: Looking, language: str) -> Tensor:
    maps = forced.attention(reader, [read], [labels], target_language=language)
    by_kind = {
        "cross": maps.cross_LBHTS,
        "encoder": maps.encoder_self_LBHSS,
        "decoder": maps.decoder_self_LBHTT,
    }
    found = by_kind[looking]
    if found is None:
        has = [name for name, each in by_kind.items() if each is not None]
        raise ModelError(
            f"this model has no attention of the kind {looking!r}",
            place="attention",
            remedy=f"It has: {', '.join(has)}." if has else "It has none at all: look at its gradients instead.",
        )
    return found[:, 0].float().cpu()


def _sides(reader: Reader, source: str, output: str, *, shown: Shown, language: str) -> tuple[_Side, _Side]:
    match shown.looking:
        case "cross":
            return _output_side(reader, output, shown), _source_side(reader, source, shown, language)
        case "encoder":
            side = _source_side(reader, source, shown, language)
            return side, side
        case "decoder":
            tokenizer = reader.bundle.tokenizers.target
            names = tuple(tokenizer.vocabulary.pieces[i] for i in (BOS, *tokenizer.encode(output)))
            side = _Side(names, tuple(range(len(names))))
            return side, side
        case _:
            assert_never(shown.looking)


def _source_side(reader: Reader, source: str, shown: Shown, language: str) -> _Side:
    read = reader.read(source, target_language=language)
    if not isinstance(read, list):  # features: frames have only their numbers
        return _Side(tuple(str(n + 1) for n in range(len(read))), tuple(range(len(read))))
    tokenizer = reader.bundle.tokenizers.source
    if shown.pieces:
        return _Side(tuple(tokenizer.vocabulary.pieces[i] for i in read), tuple(range(len(read))))
    of_position = reader.words(source, target_language=language)
    names: Sequence[str] = tokenizer.normalizer(source).split()
    if shown.source_words is not None:
        names = tuple(shown.source_words)
        pieces = words_of_pieces(tokenizer, source, names)
        of_position = [*(None for _ in range(len(of_position) - len(pieces))), *pieces]  # after a tag
    return _Side(tuple(names), (*of_position, *(None for _ in range(len(read) - len(of_position)))))


def _output_side(reader: Reader, output: str, shown: Shown) -> _Side:
    tokenizer = reader.bundle.tokenizers.target
    labels = [*tokenizer.encode(output), EOS]
    if shown.pieces:
        return _Side(tuple(tokenizer.vocabulary.pieces[i] for i in labels), tuple(range(len(labels))))
    if shown.output_words is not None:
        return _Side(tuple(shown.output_words), (*words_of_pieces(tokenizer, output, shown.output_words), None))
    return _Side(tuple(tokenizer.decode(labels).split()), tuple(target_words(tokenizer, labels)))


def _matrix(weights_TS: NDArray[np.float64]) -> Matrix:
    return tuple(tuple(row) for row in weights_TS.tolist())
