"""How the two sides of a corpus are cut, as its lengths and numbers of words suggest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, assert_never

from dragoman.text.build import TextSettings
from dragoman.text.characters import CharacterSettings
from dragoman.text.subword import BYTES, BpeSettings
from dragoman.text.symbols import SymbolSettings
from dragoman.text.vocabulary import SPECIAL, suggested_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from dragoman.data.stats import PartStats, SideStats
    from dragoman.text.build import TokenizerSettings

Kind = Literal["characters", "symbols", "subwords"]

_FEW_WORDS, _FEW_CHARACTERS, _LETTERS = 3, 40, 300
_FEW_SYMBOLS, _OFTEN = 500, 30
_SUBWORDS_PER_WORD = 1.3
_CHARACTERS_PER_SUBWORD = 1.7
"""In scripts that put no spaces between words."""
_LARGE_ALPHABET, _COVERAGE = 1_500, 0.9995


@dataclass(frozen=True, slots=True)
class SideCutting:
    """How one side is cut, and what comes of it, by estimate."""

    kind: Kind
    reason: str
    tokens: int
    """In the training data, an end token for each text included."""
    usual_longest: int
    """Tokens of a text that 99 of 100 do not exceed."""
    pieces: int
    """Of a vocabulary for this side alone, at most."""
    words: int
    script: str
    """The script of most letters."""
    alphabet: int
    spaced: bool
    """Whether there are spaces between words."""


@dataclass(frozen=True, slots=True)
class Cutting:
    """How both sides are cut. There is no source in text for a language model."""

    source: SideCutting | None
    target: SideCutting

    @property
    def joint(self) -> bool:
        """Whether the sides share a vocabulary: cut in one way, in one script; symbols are never shared."""
        source, target = self.source, self.target
        if source is None:
            return True
        return source.kind == target.kind != "symbols" and source.script == target.script

    @property
    def is_transduction(self) -> bool:
        """Whether short strings become short strings, as in spelling to sound."""
        return self.source is not None and "subwords" not in (self.source.kind, self.target.kind)

    @property
    def pieces(self) -> int:
        """Pieces of all vocabularies, at most."""
        if self.joint and self.source is not None and self.target.kind == "subwords":
            return _subwords(self.source.words + self.target.words)
        return self.target.pieces + (0 if self.source is None else self.source.pieces)


def cutting_of(train: PartStats) -> Cutting:
    """How the corpus with these statistics is cut."""
    source = None if train.source is None else _side(train.source, train.pairs)
    return Cutting(source, _side(train.target, train.pairs))


def texts_of(cutting: Cutting, because: Callable[[str, str], None]) -> TextSettings:
    """The settings of the text floor; `because` is told the reasons."""
    source, target = cutting.source or cutting.target, cutting.target
    because("text.source", source.reason)
    settings: dict[str, Any] = {"source": _tokenizer(source), "joint": cutting.joint}
    if not cutting.joint:
        because("text.target", target.reason)
        because("text.joint", _why_separate(source, target))
        settings["target"] = _tokenizer(target)
    elif cutting.source is not None:
        because("text.joint", f"both sides are cut alike and written in {target.script or 'the same script'}")
    if target.kind != "subwords" and source.kind != "subwords":
        return TextSettings(**settings)
    because(
        "text.vocabulary_size", "grows with the words of the corpus: the special pieces and bytes, and 500 to 32,000"
    )
    if cutting.joint:
        return TextSettings(**settings, vocabulary_size=cutting.pieces)
    if target.kind == "subwords":
        because("text.target_vocabulary_size", "the same for the target")
        settings["target_vocabulary_size"] = target.pieces
    return TextSettings(**settings, vocabulary_size=source.pieces)


def _side(stats: SideStats, texts: int) -> SideCutting:
    words, characters = stats.words, stats.characters
    script = next(iter(stats.scripts), "")
    spaced = words.mean > 1 and characters.mean / words.mean < 20
    kind, reason = _kind(stats)
    match kind:
        case "characters":
            tokens, longest, pieces = characters.total, characters.percentiles[99], stats.alphabet
        case "symbols":
            tokens, longest, pieces = words.total, words.percentiles[99], stats.vocabulary
        case "subwords":
            rate, counted = (_SUBWORDS_PER_WORD, words) if spaced else (1 / _CHARACTERS_PER_SUBWORD, characters)
            tokens, longest = round(rate * counted.total), round(rate * counted.percentiles[99])
            pieces = _subwords(words.total if spaced else tokens)
        case _:
            assert_never(kind)
    return SideCutting(
        kind=kind,
        reason=reason,
        tokens=tokens + texts,
        usual_longest=longest + 1,
        pieces=pieces + (0 if kind == "subwords" else len(SPECIAL)),
        words=words.total if spaced else tokens,
        script=script,
        alphabet=stats.alphabet,
        spaced=spaced,
    )


def _kind(stats: SideStats) -> tuple[Kind, str]:
    words, characters = stats.words, stats.characters
    if stats.vocabulary <= _FEW_SYMBOLS and words.total >= _OFTEN * stats.vocabulary:
        often = words.total // stats.vocabulary
        return "symbols", f"no more than {stats.vocabulary:,} different words, each {often:,} times"
    if (
        words.percentiles[95] <= _FEW_WORDS
        and characters.percentiles[95] <= _FEW_CHARACTERS
        and stats.alphabet <= _LETTERS
    ):
        return "characters", f"texts of a word or so: 95 of 100 have at most {characters.percentiles[95]} characters"
    return "subwords", f"texts of {words.mean:.1f} words with {stats.vocabulary:,} different ones"


def _tokenizer(side: SideCutting) -> TokenizerSettings:
    match side.kind:
        case "characters":
            return CharacterSettings()
        case "symbols":
            return SymbolSettings()
        case "subwords":
            return BpeSettings(coverage=_COVERAGE if side.alphabet > _LARGE_ALPHABET else 1.0)
        case _:
            assert_never(side.kind)


def _why_separate(source: SideCutting, target: SideCutting) -> str:
    if source.kind != target.kind:
        return "the sides are cut in different ways"
    if source.kind == "symbols":
        return "the symbols of the two sides need not mean the same"
    return f"the sides are written in different scripts: {source.script or 'none'} and {target.script or 'none'}"


def _subwords(words: int) -> int:
    return suggested_size(words) + len(SPECIAL) + BYTES
