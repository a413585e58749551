"""How a text is cut into tokens, and why: the merges of byte-pair encoding one after the other, with their counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dragoman.text.spaces import MARK
from dragoman.text.subword import BpeSettings, Subword
from dragoman.text.vocabulary import UNK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.text.merges import Merge
    from dragoman.text.tokenizer import Tokenizer

__all__ = ["Applied", "Tokens", "WordCut", "tokens"]


@dataclass(frozen=True, slots=True)
class Applied:
    """A merge that was applied to a word."""

    rank: int
    """Its place among all merges, from 1: of the merges that fit, the one with the lowest rank goes first."""
    left: str
    right: str
    count: int | None
    """How often the pair stood side by side when it was merged, where the tokenizer keeps that."""
    result: tuple[str, ...]
    """The word as it is cut after the merge."""


@dataclass(frozen=True, slots=True)
class WordCut:
    """A word, and how it is cut."""

    word: str
    pieces: tuple[str, ...]
    ids: tuple[int, ...]
    applied: tuple[Applied, ...]
    """From single characters to what no merge fits any more; empty where cutting works otherwise."""
    why: str
    """Why the cutting stops here, in words."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text as a tokenizer cuts it."""

    text: str
    normal: str
    """After normalisation, which is what is cut."""
    kind: str
    """The kind of tokenizer."""
    vocabulary: int
    words: tuple[WordCut, ...]
    merges: tuple[Merge, ...]
    """Every merge in its order, with its count, where the tokenizer keeps counts."""


def tokens(tokenizer: Tokenizer, text: str) -> Tokens:
    """How the text is cut. Counts need a tokenizer that keeps them: `Subword.traced` makes one."""
    ranks, merges = _ranks(tokenizer)
    counts = [merge.count for merge in merges]
    words = [_word(tokenizer, word, ids, ranks=ranks, counts=counts) for word, ids in _grouped(tokenizer, text)]
    kind = str(tokenizer.settings.__struct_config__.tag)
    return Tokens(text, tokenizer.normalizer(text), kind, len(tokenizer.vocabulary), tuple(words), merges)


def _ranks(tokenizer: Tokenizer) -> tuple[dict[str, int], tuple[Merge, ...]]:
    """For each piece of byte-pair encoding its place among the merges, and the merges."""
    if not isinstance(tokenizer, Subword) or not isinstance(tokenizer.settings, BpeSettings):
        return {}, ()
    return {piece: rank for rank, piece in enumerate(tokenizer.merged_pieces(), 1)}, tokenizer.merges


def _grouped(tokenizer: Tokenizer, text: str) -> list[tuple[str, list[int]]]:
    """The ids of the text, word by word."""
    names = tokenizer.vocabulary.pieces
    groups: list[tuple[str, list[int]]] = []
    normal = tokenizer.normalizer(text)
    last = 0
    for piece in tokenizer.pieces(text):
        between = normal[last : piece.start]
        fresh = normal[max(piece.start, last) : piece.end]
        opens = names[piece.id].startswith(MARK) or any(c.isspace() for c in between + fresh[:1])
        if opens or not groups:
            groups.append(("", []))
        word, ids = groups[-1]
        groups[-1] = (word + fresh.strip(), [*ids, piece.id])
        last = max(last, piece.end)
    return groups


def _word(
    tokenizer: Tokenizer, word: str, ids: Sequence[int], *, ranks: dict[str, int], counts: Sequence[int]
) -> WordCut:
    pieces = tuple(tokenizer.vocabulary.pieces[i] for i in ids)
    if not ranks:
        why = "not in the vocabulary" if UNK in ids else _WHY.get(tokenizer.settings.__struct_config__.tag, "")
        return WordCut(word, pieces, tuple(ids), (), why)
    applied = _applied(MARK + word if pieces[0].startswith(MARK) else word, ranks, counts)
    spelled = any(piece.startswith("<0x") for piece in pieces)
    why = (
        "characters that the vocabulary lacks are spelled in bytes"
        if spelled
        else "one piece: nothing is left to merge"
        if len(pieces) == 1
        else f"no merge joins {' | '.join(pieces)}"
    )
    return WordCut(word, pieces, tuple(ids), tuple(applied), why)


_WHY = {
    "unigram": "of all ways to cut, the one whose pieces are most probable together",
    "words": "a word of the vocabulary",
    "characters": "every character by itself",
    "symbols": "what stands between white space",
    "sentencepiece": "as the imported model's sentencepiece model cuts it",
    "byte_pairs": "ranked merges over bytes, as the imported model has them",
}


def _applied(word: str, ranks: dict[str, int], counts: Sequence[int]) -> list[Applied]:
    """The merges from single characters on: always the first of those that fit, the leftmost of equals."""
    pieces = list(word)
    applied: list[Applied] = []
    while True:
        fitting = [
            (ranks[pieces[i] + pieces[i + 1]], i) for i in range(len(pieces) - 1) if pieces[i] + pieces[i + 1] in ranks
        ]
        if not fitting:
            return applied
        rank, i = min(fitting)
        left, right = pieces[i : i + 2]
        pieces[i : i + 2] = [left + right]
        count = counts[rank - 1] if counts else None
        applied.append(Applied(rank, left, right, count, tuple(pieces)))
