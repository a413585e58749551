"""From pieces to words: alignments read off attention, and unknown words copied from the source.

Shapes: T target pieces, S source pieces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.measures.alignment import links_by_source, links_by_target, project_weights, symmetrize
from dragoman.text.lookup import Lookup
from dragoman.text.spaces import MARK
from dragoman.text.tokenizer import words_of
from dragoman.text.vocabulary import SPECIAL, UNK
from dragoman.text.words import WordSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from dragoman.measures.alignment import Alignment, Symmetrization
    from dragoman.text.tokenizer import Tokenizer

__all__ = ["source_words", "target_words", "with_unknown_copied", "word_alignment"]


def source_words(tokenizer: Tokenizer, text: str) -> list[int | None]:
    """The word of the normalised text that each of its pieces belongs to."""
    return words_of(tokenizer.normalizer(text), tokenizer.pieces(text))


def target_words(tokenizer: Tokenizer, ids: Sequence[int]) -> list[int | None]:
    """The word of the output that each of its ids belongs to; nothing for what adds no word, such as the end."""
    counts = [len(tokenizer.decode(ids[:n]).split()) for n in range(1, len(ids) + 1)]
    return [count - 1 if count and token not in _WORDLESS else None for count, token in zip(counts, ids, strict=True)]


_WORDLESS = frozenset(range(len(SPECIAL))) - {UNK}


def word_alignment(
    weights_TS: Tensor,
    *,
    sources: Sequence[int | None],
    targets: Sequence[int | None],
    symmetrization: Symmetrization | None = None,
) -> Alignment:
    """Links between words by the attention between their pieces; source positions beyond the words are left out."""
    weights = weights_TS[:, : len(sources)].numpy()
    if not any(word is not None for word in sources) or not any(word is not None for word in targets):
        return frozenset()
    between_words = project_weights(weights, source_words=sources, target_words=targets)
    forward = links_by_target(between_words)
    if symmetrization is None:
        return forward
    return symmetrize(forward, links_by_source(between_words), method=symmetrization)


def with_unknown_copied(
    source_tokenizer: Tokenizer, target: Tokenizer, *, source: str, ids: Sequence[int], looks: Tensor
) -> str:
    """The text of an output where each unknown piece is the source piece that it looks at most; `looks` is [T, S]."""
    if UNK not in ids or not isinstance(target, Lookup):  # other tokenizers spell out what they do not know
        return target.decode(ids)
    pieces = source_tokenizer.pieces(source)
    forms = []
    for place, token in enumerate(ids):
        if token != UNK:
            forms += [target.vocabulary.pieces[token]] if token not in _WORDLESS else []
        elif pieces:
            looked = looks[place, : len(pieces)]
            forms.append(_form(source_tokenizer, target, pieces[int(looked.argmax())].form))
    return target.cutting.join(forms)


def _form(source: Tokenizer, target: Tokenizer, form: str) -> str:
    """A source piece as the target's tokenizer would write it."""
    if type(source.settings) is type(target.settings):
        return form
    word = form.replace(MARK, "")
    return f"{MARK}{word}" if isinstance(target.settings, WordSettings) else word
