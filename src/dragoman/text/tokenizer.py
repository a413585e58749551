"""What every tokenizer offers, whatever it cuts texts into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence
    from pathlib import Path

    from dragoman.text.normalize import Normalizer
    from dragoman.text.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a normalised text: its id, its form in the vocabulary, and the characters it covers."""

    id: int
    form: str
    start: int
    end: int


class Tokenizer(Protocol):
    """Texts to ids and back: `decode(encode(text))` is the normalised text where nothing is unknown."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The pieces and their ids."""

    @property
    def normalizer(self) -> Normalizer:
        """What is done to a text before it is cut."""

    @property
    def settings(self) -> Any:
        """The settings of its kind."""

    @property
    def stochastic(self) -> bool:
        """Whether `sample` may differ from `encode`."""

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without begin or end."""

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts, faster than one by one."""

    def sample(self, text: str, generator: random.Random) -> list[int]:
        """The ids of one way of cutting the text, drawn at random; the same generator state gives the same."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids; special ones are left out."""

    def pieces(self, text: str) -> list[Piece]:
        """The pieces of the normalised text, with the characters that each covers."""

    def save(self, folder: Path) -> None:
        """Write what it has learned into an existing folder."""


def words_of(text: str, pieces: Sequence[Piece]) -> list[int | None]:
    """For each piece, which word of the text (between white space) it belongs to; None where it is all white space."""
    word_at: list[int | None] = []
    word, inside = -1, False
    for character in text:
        if character.isspace():
            word_at.append(None)
            inside = False
        else:
            word += not inside
            inside = True
            word_at.append(word)
    return [next((w for w in word_at[p.start : p.end] if w is not None), None) for p in pieces]
