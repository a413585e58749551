"""Which attention tells which words belong together: layers and heads tried on pairs whose alignment is known.

In a Transformer the last layer seldom aligns best, and often a word's place is clearer one step later, where the
decoder reads the word, than where it says it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.bundle import AlignedBy
from dragoman.errors import DataError
from dragoman.measures.alignment import alignment_scores
from dragoman.text.vocabulary import EOS
from dragoman.translator import forced
from dragoman.translator.words import target_words, word_alignment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dragoman.measures.alignment import Alignment, GoldAlignment
    from dragoman.translator import Translator

__all__ = ["best_attention"]

_TOKENS = 4096
"""Tokens with padding whose attention is held at once."""


def best_attention(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    gold: Sequence[GoldAlignment],
    *,
    target_language: str = "",
) -> AlignedBy:
    """The attention with the lowest alignment error rate; words are what stands between white space."""
    if not len(sources) == len(targets) == len(gold) > 0:
        raise DataError(
            f"{len(sources)} sources, {len(targets)} targets and {len(gold)} alignments",
            place="gold",
            remedy="Give one of each for every pair, and one pair at least.",
        )
    found: dict[AlignedBy, list[Alignment]] = {}
    order: list[int] = []
    for place, by, links in _tried(translator, sources, targets, target_language):
        found.setdefault(by, []).append(links)
        if not order or order[-1] != place:
            order.append(place)
    known = [gold[place] for place in order]
    rates = {by: alignment_scores(links, known).error_rate for by, links in found.items()}
    best = min(rates, key=lambda by: rates[by])  # of equals the first: the mean of all heads before any single one
    return AlignedBy(layer=best.layer, head=best.head, read=best.read, error_rate=rates[best])


def _tried(
    translator: Translator, sources: Sequence[str], targets: Sequence[str], language: str
) -> Iterator[tuple[int, AlignedBy, Alignment]]:
    """For each pair, by its place, the links that each attention gives."""
    reader, tokenizers = translator.reader, translator.bundle.tokenizers
    reads = [reader.read(source, target_language=language) for source in sources]
    labels = [[*tokenizers.target.encode(target), EOS] for target in targets]
    lengths = [max(len(read), len(label)) for read, label in zip(reads, labels, strict=True)]
    for batch in forced.batches(lengths, most=_TOKENS):
        kept = [i for i in batch if len(reads[i])]
        if not kept:
            continue
        maps = forced.cross_maps(reader, [reads[i] for i in kept], [labels[i] for i in kept], target_language=language)
        for place, map_LHTS in zip(kept, maps, strict=True):
            words = reader.words(sources[place], target_language=language)
            said = target_words(tokenizers.target, labels[place])
            for by in _attentions(map_LHTS.shape[0], map_LHTS.shape[1]):
                looks = forced.looks(map_LHTS, by)
                yield place, by, word_alignment(looks, sources=words, targets=said)


def _attentions(layers: int, heads: int) -> Iterator[AlignedBy]:
    """Every choice, the last layers first."""
    for layer in reversed(range(layers)):
        for head in (None, *(range(heads) if heads > 1 else ())):
            for read in (False, True):
                yield AlignedBy(layer=layer, head=head, read=read)
