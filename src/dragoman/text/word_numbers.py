"""From ids to words: which word of the text, between white space, each piece belongs to.

It needs no text: what begins a word is told by the pieces themselves, so it holds for every way of cutting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.text.characters import CharacterSettings
from dragoman.text.spaces import MARK
from dragoman.text.symbols import SymbolSettings
from dragoman.text.vocabulary import SPECIAL, UNK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dragoman.text.tokenizer import Tokenizer

__all__ = ["WordNumbers"]

_NO_WORD, _GOES_ON, _BEGINS, _SPACE = range(4)


class WordNumbers:
    """A function from the ids of one text to the number of each id's word; nothing for what belongs to no word."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        role = {SymbolSettings: _symbol, CharacterSettings: _character}.get(type(tokenizer.settings), _marked)
        self._roles = [role(piece) for piece in tokenizer.vocabulary.pieces]
        # An unknown word of a vocabulary of words has lost its mark: it is taken for a word of its own.
        self._roles[: len(SPECIAL)] = [_NO_WORD] * len(SPECIAL)
        self._roles[UNK] = _GOES_ON if type(tokenizer.settings) is CharacterSettings else _BEGINS

    def __call__(self, ids: Iterable[int]) -> list[int | None]:
        numbers: list[int | None] = []
        word, apart = -1, True
        for token in ids:
            role = self._roles[token]
            if role in (_NO_WORD, _SPACE):
                numbers.append(None)
                apart = apart or role == _SPACE
                continue
            if apart or role == _BEGINS:
                word += 1
            apart = False
            numbers.append(word)
        return numbers


def _symbol(_piece: str) -> int:
    return _BEGINS


def _character(piece: str) -> int:
    return _SPACE if piece.isspace() else _GOES_ON


def _marked(piece: str) -> int:
    if piece == MARK:
        return _SPACE
    return _BEGINS if piece.startswith(MARK) else _GOES_ON
