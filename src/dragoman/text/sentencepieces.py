"""Sentencepiece models that were made elsewhere: they tidy and cut as they always did, and our vocabulary numbers the
pieces.

The numbers of the pieces are often not those of the sentencepiece model: Marian has one model for each side and one
vocabulary for both, BART's family moves everything by one row. So only forms travel between the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sentencepiece

from dragoman.errors import TextError
from dragoman.files import disk_errors, write_atomically
from dragoman.settings import Settings
from dragoman.text import originals
from dragoman.text.markup import SymbolSplitter
from dragoman.text.spaces import MARK
from dragoman.text.tokenizer import Piece
from dragoman.text.vocabulary import SPECIAL, UNK, Vocabulary

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from dragoman.text.normalize import Normalizer

__all__ = ["MODEL_FILE", "SentencePieceSettings", "SentencePieces", "load_sentencepieces"]

MODEL_FILE, VOCABULARY_FILE = "sentencepiece.model", "vocabulary.json"


class SentencePieceSettings(Settings, frozen=True, kw_only=True, tag_field="kind", tag="sentencepiece"):
    """The pieces of a sentencepiece model that was made elsewhere."""

    silent: tuple[str, ...] = ()
    """Pieces that are no text: languages, for one."""


class SentencePieces:
    """A tokenizer around a sentencepiece model and a vocabulary of its pieces."""

    stochastic = False

    def __init__(
        self,
        model: bytes,
        *,
        settings: SentencePieceSettings,
        vocabulary: Vocabulary,
        normalizer: Normalizer,
        kept: Mapping[str, bytes] | None = None,
    ) -> None:
        self.model = model
        self.originals = dict(kept or {})
        self.settings = settings
        self.vocabulary = vocabulary
        self.normalizer = normalizer
        self._processor: Any = sentencepiece.SentencePieceProcessor(model_proto=model)
        self._split = SymbolSplitter(vocabulary.symbols)
        self._silent = {*range(len(SPECIAL)), *(vocabulary[piece] for piece in settings.silent)}

    def encode(self, text: str) -> list[int]:
        ids: list[int] = []
        for stretch, is_symbol in self._split(self.normalizer(text)):
            if is_symbol:
                ids.append(self.vocabulary[stretch])
            else:
                ids += map(self._id, self._processor.encode(stretch, out_type=str))
        return ids

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def sample(self, text: str, generator: random.Random) -> list[int]:  # noqa: ARG002 - it was not made to be drawn from
        return self.encode(text)

    def decode(self, ids: Sequence[int]) -> str:
        text: str = self._processor.decode_pieces([self.vocabulary.pieces[i] for i in ids if i not in self._silent])
        return text.replace(MARK, " ").strip() if MARK in text else text  # pieces that the other side's model has

    def pieces(self, text: str) -> list[Piece]:
        return list(self._placed(self.normalizer(text)))

    def save(self, folder: Path) -> None:
        write_atomically(folder / MODEL_FILE, self.model)
        originals.write(self.originals, folder)
        self.vocabulary.save(folder / VOCABULARY_FILE)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.model, self.settings, self.vocabulary, self.normalizer)

    def _placed(self, text: str) -> Iterator[Piece]:
        start = 0
        for stretch, is_symbol in self._split(text):
            if is_symbol:
                yield Piece(self.vocabulary[stretch], stretch, start, start + len(stretch))
            else:
                _, places = self._processor.normalize(stretch, with_offsets=True)
                end = 0  # in the text as the library tidies it
                for form in self._processor.encode(stretch, out_type=str):
                    begin, end = end, end + len(form)
                    yield Piece(self._id(form), form, start + places[begin], start + places[end])
            start += len(stretch)

    def _id(self, piece: str) -> int:
        """The id of a piece; a text that spells a special piece out does not become one."""
        return UNK if piece in SPECIAL else self.vocabulary[piece]


def load_sentencepieces(folder: Path, *, settings: SentencePieceSettings, normalizer: Normalizer) -> SentencePieces:
    """The tokenizer that `save` wrote."""
    path = folder / MODEL_FILE
    vocabulary = Vocabulary.load(folder / VOCABULARY_FILE)
    with disk_errors(path, "read"):
        model = path.read_bytes()
    try:
        return SentencePieces(
            model,
            settings=settings,
            vocabulary=vocabulary,
            normalizer=normalizer,
            kept=originals.read(folder),
        )
    except RuntimeError as error:
        raise TextError(f"damaged: {error}", place=str(path), remedy="Use another copy of the model.") from None


def _rebuilt(
    model: bytes, settings: SentencePieceSettings, vocabulary: Vocabulary, normalizer: Normalizer
) -> SentencePieces:
    return SentencePieces(model, settings=settings, vocabulary=vocabulary, normalizer=normalizer)
