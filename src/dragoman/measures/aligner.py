"""Word alignments of a corpus from its texts alone: a lexicon learned in each direction, and what the two say.

What both say counts as sure, what either says as possible. Such a reference is no gold, but good enough to tell which
attention head aligns and which does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.measures.alignment import GoldAlignment, Link
from dragoman.measures.lexicon import learn_lexicon

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["align_corpus"]

_MARKS = ".,;:!?…\"'()[]«»“”‘’¿¡"  # noqa: RUF001 - these marks are meant


def align_corpus(
    sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]], *, first: int | None = None
) -> list[GoldAlignment]:
    """The alignment of each pair of texts, given as words; of the `first` ones alone, if all only help to learn."""
    source_ids, target_ids = _numbered(sources), _numbered(targets)
    sizes = [1 + max((max(ids) for ids in side if ids), default=0) for side in (source_ids, target_ids)]
    forward = learn_lexicon(source_ids, target_ids, source_size=sizes[0])
    backward = learn_lexicon(target_ids, source_ids, source_size=sizes[1])
    found = []
    for source, target in list(zip(source_ids, target_ids, strict=True))[:first]:
        one = forward.align(source, target)
        other = frozenset(Link(s, t) for t, s in backward.align(target, source))
        found.append(GoldAlignment(sure=one & other, possible=one | other))
    return found


def _numbered(texts: Sequence[Sequence[str]]) -> list[list[int]]:
    """A number for each word, the same for words that differ in case or in the marks around them only."""
    numbers: dict[str, int] = {}
    return [[numbers.setdefault(_form(word), len(numbers)) for word in words] for words in texts]


def _form(word: str) -> str:
    return word.casefold().strip(_MARKS) or word
