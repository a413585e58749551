"""The vocabulary: pieces and their ids, the same four special ones first in every model."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from dragoman.errors import TextError
from dragoman.files import disk_errors, write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

PAD, UNK, BOS, EOS = range(4)
SPECIAL = ("<pad>", "<unk>", "<s>", "</s>")


class Vocabulary:
    """Pieces by id and ids by piece. User-defined symbols, never split, follow the special ones or came later."""

    def __init__(self, pieces: Sequence[str], symbols: Sequence[str] = ()) -> None:
        assert tuple(pieces[: len(SPECIAL)]) == SPECIAL
        self.pieces = tuple(pieces)
        self.symbols = tuple(symbols)
        self._ids = {piece: i for i, piece in enumerate(pieces)}
        assert len(self._ids) == len(pieces)

    def __len__(self) -> int:
        return len(self.pieces)

    def __contains__(self, piece: str) -> bool:
        return piece in self._ids

    def __getitem__(self, piece: str) -> int:
        return self._ids.get(piece, UNK)

    def __iter__(self) -> Iterator[str]:
        return iter(self.pieces)

    def symbol(self, name: str) -> int:
        """The id of a user-defined symbol such as a language tag."""
        if name not in self.symbols:
            known = ", ".join(self.symbols) or "none"
            raise TextError(f"{name!r} is not a symbol of this vocabulary", remedy=f"Its symbols: {known}.")
        return self._ids[name]

    def save(self, path: Path) -> None:
        """Write the pieces and symbols as JSON."""
        write_atomically(path, msgspec.json.encode(_Stored(self.pieces, self.symbols)))

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        """The vocabulary that `save` wrote."""
        with disk_errors(path, "read"):
            try:
                stored = msgspec.json.decode(path.read_bytes(), type=_Stored)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise _damaged(path, str(error)) from None
        good = stored.pieces[: len(SPECIAL)] == SPECIAL and len(set(stored.pieces)) == len(stored.pieces)
        if not good or not set(stored.symbols) <= set(stored.pieces):
            raise _damaged(path, "its pieces are not those of a vocabulary")
        return cls(stored.pieces, stored.symbols)


class _Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pieces: tuple[str, ...]
    symbols: tuple[str, ...]


def count_pieces(
    texts: Iterable[Sequence[str]],
    *,
    symbols: Sequence[str],
    size: int | None,
    min_count: int,
    always: Sequence[str] = (),
) -> Vocabulary:
    """The vocabulary of the most frequent pieces; ties go to the smaller piece, so the result is always the same.

    The pieces that are `always` in it come right after the symbols.
    """
    counts: Counter[str] = Counter()
    for pieces in texts:
        counts.update(pieces)
    fixed = [*SPECIAL, *symbols, *always]
    for piece in fixed:
        counts.pop(piece, None)
    ranked = sorted((piece for piece, n in counts.items() if n >= min_count), key=lambda p: (-counts[p], p))
    if not ranked:
        raise TextError("no text to make a vocabulary of", remedy="Check that the corpus is not empty.")
    room = len(ranked) if size is None else max(0, size - len(fixed))
    return Vocabulary([*fixed, *ranked[:room]], symbols)


def suggested_size(words: int) -> int:
    """A size for a subword vocabulary: 2,000 pieces for 60,000 words, doubling as the words grow four and a half times.

    That is about 6,500 for 30,000 captions, and the 32,000 that is common for a million sentences; 500 at the least.
    """
    return min(32_000, max(500, 100 * round(20 * math.pow(words / 60_000, 0.46))))


def _damaged(path: Path, problem: str) -> TextError:
    return TextError(f"damaged: {problem}", place=str(path), remedy="Use another copy of the model.")
