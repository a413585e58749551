"""A vocabulary that grows: symbols and pieces put after those that are there, whose ids stay as they are.

In byte-pair encoding new merges rank below the old ones: a text is first cut as before, and only then are small pieces
that are left joined by the new merges. In a unigram model the new pieces compete with the old ones. A sentencepiece
model is a protocol-buffers message, and such a message grows by appending to it.
"""

from __future__ import annotations

import itertools
import struct
from collections import Counter
from typing import TYPE_CHECKING

from dragoman.errors import TextError
from dragoman.text.build import cutting_of
from dragoman.text.lookup import Lookup
from dragoman.text.markup import check_symbols
from dragoman.text.messages import bytes_field, number_field
from dragoman.text.subword import BYTES, Subword, UnigramSettings, train_subword
from dragoman.text.vocabulary import SPECIAL, Vocabulary
from dragoman.text.words import WordSettings, always_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dragoman.text.tokenizer import Tokenizer

_NORMAL, _USER_DEFINED = 1, 4
"""Types of pieces, as sentencepiece numbers them."""
_ROUNDS = 6


def extend(
    tokenizer: Tokenizer, *, symbols: Sequence[str] = (), texts: Iterable[str] = (), pieces: int = 0
) -> Tokenizer:
    """The tokenizer with further symbols, and with so many pieces (at most) that it lacks, learned from the texts."""
    check_symbols(symbols)
    new = [symbol for symbol in symbols if symbol not in tokenizer.vocabulary]
    match tokenizer:
        case Subword():
            return _subword(tokenizer, new, texts, pieces)
        case Lookup():
            return _lookup(tokenizer, new, texts, pieces)
        case _:
            raise TextError(
                f"a vocabulary of kind {type(tokenizer).__name__} cannot grow",
                remedy="Train a new model, or leave out the new languages.",
            )


def _lookup(tokenizer: Lookup, symbols: list[str], texts: Iterable[str], pieces: int) -> Lookup:
    vocabulary = tokenizer.vocabulary
    every = (*vocabulary.symbols, *symbols)
    cutting = cutting_of(tokenizer.settings, every)
    cut = itertools.chain.from_iterable(cutting.cut(tokenizer.normalizer(text)) for text in (texts if pieces else ()))
    lacking = Counter(piece for piece in cut if piece not in vocabulary and piece not in symbols)
    learned = sorted(lacking, key=lambda piece: (-lacking[piece], piece))[:pieces]
    needed = always_known(every) if isinstance(tokenizer.settings, WordSettings) else ()
    added = dict.fromkeys(piece for piece in (*symbols, *needed, *learned) if piece not in vocabulary)
    grown = Vocabulary([*vocabulary.pieces, *added], every)
    return Lookup(cutting, settings=tokenizer.settings, vocabulary=grown, normalizer=tokenizer.normalizer)


def _subword(tokenizer: Subword, symbols: list[str], texts: Iterable[str], pieces: int) -> Subword:
    every = (*tokenizer.vocabulary.symbols, *symbols)
    model = tokenizer.model + b"".join(_piece(symbol, 0.0, _USER_DEFINED) for symbol in symbols)
    if pieces:
        learned = list(_learned(tokenizer, every, texts, pieces))
        model += b"".join(_piece(piece, score, _NORMAL) for piece, score in learned)
    return Subword(
        model, settings=tokenizer.settings, symbols=every, normalizer=tokenizer.normalizer, merges=tokenizer.merges
    )


def _learned(
    tokenizer: Subword, symbols: Sequence[str], texts: Iterable[str], pieces: int
) -> Iterator[tuple[str, float]]:
    """Pieces that the vocabulary lacks, in the order in which they matter, with their scores."""
    size = len(SPECIAL) + len(symbols) + BYTES + pieces
    lacking: list[str] = []
    for _ in range(_ROUNDS):  # many of those learned may be known already
        trained = train_subword(
            texts, settings=tokenizer.settings, size=size, symbols=symbols, normalizer=tokenizer.normalizer
        )
        before, lacking = len(lacking), [p for p in trained.scores() if p not in tokenizer.vocabulary]
        if len(lacking) >= pieces or (before and len(lacking) == before):
            break
        size += 2 * (pieces - len(lacking))
    letters = [p for p in lacking if len(p) == 1]  # without these no merge is reached
    chosen = (letters + [p for p in lacking if len(p) > 1])[:pieces]
    if isinstance(tokenizer.settings, UnigramSettings):
        scores = trained.scores()
        yield from ((piece, scores[piece]) for piece in chosen)
        return
    lowest = min(tokenizer.scores().values(), default=0.0)
    yield from ((piece, lowest - rank) for rank, piece in enumerate(chosen, 1))


def _piece(text: str, score: float, kind: int) -> bytes:
    """A piece as a field of a sentencepiece model: piece = 1, score = 2, type = 3 of field 1."""
    inner = bytes_field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + number_field(3, kind)
    return bytes_field(1, inner)
