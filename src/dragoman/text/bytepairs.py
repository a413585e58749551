"""Byte-level byte-pair encoding, as GPT-2 and BART have it: words are spelled in bytes, and ranked merges join them.

Each byte is written as a visible character: those that are visible in Latin-1 as themselves, the others as the
characters from U+0100 on, so that the space is Ġ.
"""

from __future__ import annotations

import functools
import itertools
import re
import sys
import unicodedata
from typing import TYPE_CHECKING

import msgspec

from dragoman.errors import TextError
from dragoman.files import disk_errors, write_atomically
from dragoman.settings import Settings
from dragoman.text import originals
from dragoman.text.character_class import inside
from dragoman.text.markup import SymbolSplitter
from dragoman.text.tokenizer import Piece
from dragoman.text.vocabulary import SPECIAL, UNK, Vocabulary

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from dragoman.text.normalize import Normalizer

__all__ = ["BytePairSettings", "BytePairs", "load_bytepairs"]

MERGES_FILE, VOCABULARY_FILE = "byte_merges.json", "vocabulary.json"
_WORDS_KEPT = 1 << 16


class BytePairSettings(Settings, frozen=True, kw_only=True, tag_field="kind", tag="byte_pairs"):
    """Byte-level byte-pair encoding that was learned elsewhere."""

    leading_space: bool = False
    """Every text is read as if a space stood before it."""
    silent: tuple[str, ...] = ()
    """Pieces that are no text."""


class BytePairs:
    """A tokenizer of ranked merges over bytes."""

    stochastic = False

    def __init__(
        self,
        merges: Sequence[tuple[str, str]],
        *,
        settings: BytePairSettings,
        vocabulary: Vocabulary,
        normalizer: Normalizer,
        kept: Mapping[str, bytes] | None = None,
    ) -> None:
        self.merges = tuple(merges)
        self.originals = dict(kept or {})
        self.settings = settings
        self.vocabulary = vocabulary
        self.normalizer = normalizer
        self._ranks = {pair: rank for rank, pair in enumerate(self.merges)}
        self._split = SymbolSplitter(vocabulary.symbols)
        self._silent = {*range(len(SPECIAL)), *(vocabulary[piece] for piece in settings.silent)}
        self._cut_words: dict[str, tuple[str, ...]] = {}

    def encode(self, text: str) -> list[int]:
        return [piece.id for piece in self.pieces(text)]

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def sample(self, text: str, generator: random.Random) -> list[int]:  # noqa: ARG002 - it was not made to be drawn from
        return self.encode(text)

    def decode(self, ids: Sequence[int]) -> str:
        values = _values()
        written = bytearray()
        for number in ids:
            if number in self._silent:
                continue
            piece = self.vocabulary.pieces[number]
            is_spelled = piece not in self.vocabulary.symbols and all(character in values for character in piece)
            written += bytes(values[character] for character in piece) if is_spelled else piece.encode()
        return written.decode(errors="replace")

    def pieces(self, text: str) -> list[Piece]:
        return list(self._placed(self.normalizer(text)))

    def save(self, folder: Path) -> None:
        write_atomically(folder / MERGES_FILE, msgspec.json.encode(self.merges))
        self.vocabulary.save(folder / VOCABULARY_FILE)
        originals.write(self.originals, folder)

    def _placed(self, text: str) -> Iterator[Piece]:
        start = 0
        stretches = list(self._split(text))
        for number, (stretch, is_symbol) in enumerate(stretches):
            end = start + len(stretch)
            if is_symbol:
                yield Piece(self.vocabulary[stretch], stretch, start, end)
            else:
                before_symbol = number + 1 < len(stretches)
                yield from self._in_plain(stretch.rstrip() if before_symbol else stretch, start)
            start = end

    def _in_plain(self, stretch: str, start: int) -> Iterator[Piece]:
        added = int(self.settings.leading_space and bool(stretch) and not stretch[0].isspace())
        for match in _words().finditer(" " * added + stretch):
            word = match.group()
            offset = start + match.start() - added
            places = [place for place, character in enumerate(word) for _ in character.encode()]
            first = 0
            for form in self._cut(word):
                begin, last = places[first], places[first + len(form) - 1]
                yield Piece(self._id(form), form, max(offset + begin, start), offset + last + 1)
                first += len(form)

    def _cut(self, word: str) -> tuple[str, ...]:
        known = self._cut_words.get(word)
        if known is None:
            if len(self._cut_words) >= _WORDS_KEPT:
                self._cut_words.clear()
            letters = _letters()
            known = self._cut_words[word] = self._joined([letters[value] for value in word.encode()])
        return known

    def _joined(self, parts: list[str]) -> tuple[str, ...]:
        """The parts after all merges, the one of the lowest rank first."""
        while len(parts) > 1:
            rank, pair = min((self._ranks.get(pair, len(self._ranks)), pair) for pair in itertools.pairwise(parts))
            if rank == len(self._ranks):
                break
            joined: list[str] = []
            for part in parts:
                if joined and (joined[-1], part) == pair:
                    joined[-1] += part
                else:
                    joined.append(part)
            parts = joined
        return tuple(parts)

    def _id(self, piece: str) -> int:
        """The id of a piece; a text that spells a special piece out does not become one."""
        return UNK if piece in SPECIAL else self.vocabulary[piece]


def load_bytepairs(folder: Path, *, settings: BytePairSettings, normalizer: Normalizer) -> BytePairs:
    """The tokenizer that `save` wrote."""
    path = folder / MERGES_FILE
    vocabulary = Vocabulary.load(folder / VOCABULARY_FILE)
    with disk_errors(path, "read"):
        written = path.read_bytes()
    try:
        merges = msgspec.json.decode(written, type=tuple[tuple[str, str], ...])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise TextError(f"damaged: {error}", place=str(path), remedy="Use another copy of the model.") from None
    return BytePairs(
        merges, settings=settings, vocabulary=vocabulary, normalizer=normalizer, kept=originals.read(folder)
    )


@functools.cache
def _letters() -> tuple[str, ...]:
    """The character that each byte is written as."""
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = itertools.count(0x100)
    return tuple(chr(value if value in visible else next(others)) for value in range(256))


@functools.cache
def _values() -> dict[str, int]:
    return {letter: value for value, letter in enumerate(_letters())}


@functools.cache
def _words() -> re.Pattern[str]:
    """English clitics, runs of letters, of digits, of anything else, each with the space before it; white space."""
    kinds: dict[str, list[int]] = {"L": [], "N": []}
    for code in range(sys.maxunicode + 1):
        kind = unicodedata.category(chr(code))[0]
        if kind in kinds:
            kinds[kind].append(code)
    letters, digits = (inside(codes) for codes in kinds.values())
    others = rf"[^\s{letters}{digits}]"
    return re.compile(rf"'s|'t|'re|'ve|'m|'ll|'d| ?[{letters}]+| ?[{digits}]+| ?{others}+|\s+(?!\S)|\s+")
