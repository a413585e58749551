"""Which words of a pair belong together, by the attention of a model that reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from dragoman.errors import DataError, ModelError
from dragoman.measures.alignment import links_by_target, project_weights

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dragoman.measures.alignment import Alignment
    from dragoman.text.tokenizer import Tokenizer
    from dragoman.translator import Translator

Words: TypeAlias = Sequence[str]
"""The words of a text, in order; they need not be what stands between white space."""


def links(
    translator: Translator,
    source: str,
    target: str,
    *,
    source_words: Words,
    target_words: Words,
    layer: int | None = None,
) -> Alignment:
    """Each target word with the source word that it looks at most."""
    if not source_words or not target_words:
        return frozenset()
    return links_by_target(
        looks(translator, source, target, source_words=source_words, target_words=target_words, layer=layer)
    )


def looks(
    translator: Translator,
    source: str,
    target: str,
    *,
    source_words: Words,
    target_words: Words,
    layer: int | None = None,
) -> NDArray[np.float64]:
    """Attention from target words (rows) to source words: that of the layer, or else that which aligns best."""
    from dragoman.translator import Alignments, forced

    maps = translator.explain(source, target).maps.cross_LBHTS
    if maps is None:
        raise ModelError("this model has no attention over a source", place="alignment", remedy="Use one that has.")
    tokenizers = translator.bundle.tokenizers
    sources = words_of_pieces(tokenizers.source, source, source_words)
    targets = words_of_pieces(tokenizers.target, target, target_words)
    by = Alignments(layer).chosen(translator.bundle.description.alignment)
    looks_TS = forced.looks(maps[:, 0].float().cpu(), by)
    weights_TS = looks_TS.numpy()[: len(targets), : len(sources)]  # without the end tokens
    return project_weights(weights_TS, source_words=sources, target_words=targets)


def words_of_pieces(tokenizer: Tokenizer, text: str, words: Words) -> list[int | None]:
    """For each piece of the text, which of the words it belongs to: the first that it touches."""
    normal = tokenizer.normalizer(text)
    spans: list[tuple[int, int]] = []
    position = 0
    for word in words:
        form = tokenizer.normalizer(word)
        begin = normal.find(form, position)
        if begin < 0:
            raise DataError(
                f"the word {word!r} is not in {text!r}, after those before it",
                place="words",
                remedy="Give the words of the same text, in order, as they are spelled there.",
            )
        position = begin + len(form)
        spans.append((begin, position))
    return [
        next((n for n, (begin, end) in enumerate(spans) if piece.start < end and piece.end > begin), None)
        for piece in tokenizer.pieces(text)
    ]
