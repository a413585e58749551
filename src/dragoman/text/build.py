"""Settings of the text floor, and the one place where they become tokenizers."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, assert_never

import msgspec

from dragoman.errors import SettingError, TextError
from dragoman.files import disk_errors, write_atomically
from dragoman.settings import Meta, Settings
from dragoman.text.bytepairs import BytePairSettings, load_bytepairs
from dragoman.text.characters import CharacterCutting, CharacterSettings
from dragoman.text.lookup import VOCABULARY_FILE, Lookup
from dragoman.text.markup import check_symbols
from dragoman.text.normalize import Normalization, Normalizer
from dragoman.text.sentencepieces import SentencePieceSettings, load_sentencepieces
from dragoman.text.subword import BYTES, BpeSettings, UnigramSettings, load_subword, train_subword
from dragoman.text.symbols import SymbolCutting, SymbolSettings
from dragoman.text.vocabulary import SPECIAL, Vocabulary, count_pieces, suggested_size
from dragoman.text.words import WordCutting, WordSettings, always_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from dragoman.text.lookup import Cutting
    from dragoman.text.tokenizer import Tokenizer

TokenizerSettings = BpeSettings | UnigramSettings | WordSettings | CharacterSettings | SymbolSettings

ImportedSettings = SentencePieceSettings | BytePairSettings
"""Tokenizers that come with an imported model, and cannot be trained here."""

_SETTINGS_FILE = "tokenizer.json"
_MOST_WORDS = 50_000


class TextSettings(Settings, frozen=True, kw_only=True):
    """The table [text] of a run file: how both sides are tidied and cut."""

    source: TokenizerSettings = BpeSettings()
    """How the source is cut."""
    target: TokenizerSettings | None = None
    """How the target is cut; nothing: as the source."""
    joint: bool = True
    """Whether both sides share one vocabulary, learned from both."""
    vocabulary_size: Annotated[int, Meta(ge=8, le=1_000_000)] | None = None
    """How many pieces the vocabulary has at most; nothing: chosen from the size of the data."""
    target_vocabulary_size: Annotated[int, Meta(ge=8, le=1_000_000)] | None = None
    """The same for the target, where it has a vocabulary of its own; nothing: as vocabulary_size."""
    like: str = ""
    """A trained model whose tokenizers are used instead of new ones: for ensembles, and for a language model that is to
    help a translating one, whose target side it then shares."""
    symbols: tuple[str, ...] = ()
    """Texts that are never split and always known: placeholders, tags."""
    normalization: Normalization = Normalization()
    """How texts are tidied before they are cut."""

    def check(self) -> None:
        if self.joint and self.target is not None and self.target != self.source:
            raise SettingError(
                "a joint vocabulary needs both sides to be cut in one way",
                place="joint",
                remedy="Set joint = false, or leave out text.target.",
            )
        if self.joint and self.target_vocabulary_size is not None:
            raise SettingError(
                "a joint vocabulary has one size",
                place="target_vocabulary_size",
                remedy="Set joint = false, or give vocabulary_size alone.",
            )
        cut_at_spaces = isinstance(self.source, SymbolSettings) or isinstance(self.target, SymbolSettings)
        if cut_at_spaces and self.normalization.spaces == "keep":
            raise SettingError(
                "kind='symbols' cuts at spaces and cannot keep them as they are",
                place="normalization.spaces",
                remedy="Set it to 'collapse', or use kind='words'.",
            )
        check_symbols(self.symbols)
        normalizer = Normalizer(self.normalization)
        for symbol in self.symbols:
            if normalizer(symbol) != symbol:
                raise SettingError(
                    f"{symbol!r} is altered by the normalisation and would never be found",
                    place="symbols",
                    remedy=f"Use {normalizer(symbol)!r}, or another normalisation.",
                )


@dataclass(frozen=True, slots=True)
class Tokenizers:
    """The tokenizers of the two sides; with a joint vocabulary they are one and the same."""

    source: Tokenizer
    target: Tokenizer

    @property
    def joint(self) -> bool:
        """Whether both sides share one vocabulary."""
        return self.source is self.target


class _Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    format: int
    kind: TokenizerSettings | ImportedSettings
    normalization: Normalization
    symbols: tuple[str, ...]


def train_tokenizers(settings: TextSettings, *, sources: Iterable[str], targets: Iterable[str]) -> Tokenizers:
    """The tokenizers learned from the texts of both sides, which are read more than once."""
    target = settings.target or settings.source
    if settings.joint:
        both = train_tokenizer(settings.source, settings, texts=_Both(sources, targets), size=settings.vocabulary_size)
        return Tokenizers(both, both)
    target_size = settings.target_vocabulary_size or settings.vocabulary_size
    return Tokenizers(
        train_tokenizer(settings.source, settings, texts=sources, size=settings.vocabulary_size),
        train_tokenizer(target, settings, texts=targets, size=target_size),
    )


def train_tokenizer(
    kind: TokenizerSettings, settings: TextSettings, *, texts: Iterable[str], size: int | None
) -> Tokenizer:
    """A tokenizer of a kind learned from texts, which are read more than once."""
    normalizer = Normalizer(settings.normalization)
    match kind:
        case BpeSettings() | UnigramSettings():
            if size is None:
                words = sum(len(normalizer(text).split()) for text in texts)
                size = suggested_size(words) + len(SPECIAL) + len(settings.symbols) + BYTES
            trained = train_subword(texts, settings=kind, size=size, symbols=settings.symbols, normalizer=normalizer)
            return trained.traced(texts) if isinstance(kind, BpeSettings) else trained
        case WordSettings() | CharacterSettings() | SymbolSettings():
            cutting = cutting_of(kind, settings.symbols)
            most = _MOST_WORDS if size is None and not isinstance(kind, CharacterSettings) else size
            cut = (cutting.cut(normalizer(text)) for text in texts)
            vocabulary = count_pieces(
                cut,
                symbols=settings.symbols,
                size=most,
                min_count=kind.min_count,
                always=always_known(settings.symbols) if isinstance(kind, WordSettings) else (),
            )
            return Lookup(cutting, settings=kind, vocabulary=vocabulary, normalizer=normalizer)
        case _:
            assert_never(kind)


def save(tokenizer: Tokenizer, folder: Path) -> None:
    """Write a tokenizer into an existing folder."""
    stored = _Stored(
        format=1,
        kind=tokenizer.settings,
        normalization=tokenizer.normalizer.settings,
        symbols=tokenizer.vocabulary.symbols,
    )
    write_atomically(folder / _SETTINGS_FILE, msgspec.json.format(msgspec.json.encode(stored), indent=1))
    tokenizer.save(folder)


def load(folder: Path) -> Tokenizer:
    """The tokenizer that `save` wrote."""
    path = folder / _SETTINGS_FILE
    with disk_errors(path, "read"):
        written = path.read_bytes()
    try:
        stored = msgspec.json.decode(written, type=_Stored)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise TextError(f"damaged: {error}", place=str(path), remedy="Use another copy of the model.") from None
    if stored.format != 1:
        raise TextError(
            f"format {stored.format} is not known here", place=str(path), remedy="Use a newer version of dragoman."
        )
    normalizer = Normalizer(stored.normalization)
    match stored.kind:
        case BpeSettings() | UnigramSettings() as subword:
            return load_subword(folder, settings=subword, symbols=stored.symbols, normalizer=normalizer)
        case WordSettings() | CharacterSettings() | SymbolSettings() as kind:
            vocabulary = Vocabulary.load(folder / VOCABULARY_FILE)
            cutting = cutting_of(kind, stored.symbols)
            return Lookup(cutting, settings=kind, vocabulary=vocabulary, normalizer=normalizer)
        case SentencePieceSettings() as sentencepiece:
            return load_sentencepieces(folder, settings=sentencepiece, normalizer=normalizer)
        case BytePairSettings() as bytepairs:
            return load_bytepairs(folder, settings=bytepairs, normalizer=normalizer)
        case _:
            assert_never(stored.kind)


def cutting_of(kind: WordSettings | CharacterSettings | SymbolSettings, symbols: Sequence[str]) -> Cutting:
    """The rule of a kind of pieces that are looked up."""
    match kind:
        case WordSettings():
            return WordCutting(symbols)
        case CharacterSettings():
            return CharacterCutting(symbols)
        case SymbolSettings():
            return SymbolCutting()
        case _:
            assert_never(kind)


@dataclass(frozen=True, slots=True)
class _Both:
    """The texts of both sides, one after the other, as often as they are asked for."""

    sources: Iterable[str]
    targets: Iterable[str]

    def __iter__(self) -> Iterator[str]:
        return itertools.chain(self.sources, self.targets)
