"""Tokenizers that cut a text by rule and look each piece up: words, characters, symbols between spaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from dragoman.text.tokenizer import Piece
from dragoman.text.vocabulary import BOS, EOS, PAD, SPECIAL, UNK, Vocabulary

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence
    from pathlib import Path

    from dragoman.text.characters import CharacterSettings
    from dragoman.text.normalize import Normalizer
    from dragoman.text.symbols import SymbolSettings
    from dragoman.text.words import WordSettings

VOCABULARY_FILE = "vocabulary.json"

_SILENT = frozenset((PAD, BOS, EOS))


class Cutting(Protocol):
    """A rule that cuts a normalised text into pieces, and joins them again."""

    def cut(self, text: str) -> list[str]:
        """The pieces of a text."""

    def join(self, pieces: Sequence[str]) -> str:
        """The text of the pieces."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        """The characters that each piece of the text covers."""


class Lookup:
    """A tokenizer made of a rule for cutting and a vocabulary."""

    stochastic = False

    def __init__(
        self,
        cutting: Cutting,
        *,
        settings: WordSettings | CharacterSettings | SymbolSettings,
        vocabulary: Vocabulary,
        normalizer: Normalizer,
    ) -> None:
        self.cutting = cutting
        self.settings = settings
        self.vocabulary = vocabulary
        self.normalizer = normalizer

    def encode(self, text: str) -> list[int]:
        return [self._id(piece) for piece in self.cutting.cut(self.normalizer(text))]

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def sample(self, text: str, generator: random.Random) -> list[int]:  # noqa: ARG002 - there is but one way to cut
        return self.encode(text)

    def decode(self, ids: Sequence[int]) -> str:
        return self.cutting.join([self.vocabulary.pieces[i] for i in ids if i not in _SILENT])

    def pieces(self, text: str) -> list[Piece]:
        normal = self.normalizer(text)
        cut = zip(self.cutting.cut(normal), self.cutting.spans(normal), strict=True)
        return [Piece(self._id(form), form, start, end) for form, (start, end) in cut]

    def save(self, folder: Path) -> None:
        self.vocabulary.save(folder / VOCABULARY_FILE)

    def _id(self, piece: str) -> int:
        """The id of a piece; a text that spells a special piece out does not become one."""
        return UNK if piece in SPECIAL else self.vocabulary[piece]
