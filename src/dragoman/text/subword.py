"""Subwords through sentencepiece: byte-pair encoding and unigram models that lose nothing.

Characters that the vocabulary lacks are spelled out in bytes, `▁` in a text is escaped, and the space before the
first word is the library's own, so that any text comes back as it was.
"""

from __future__ import annotations

import io
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import sentencepiece

from dragoman.errors import TextError
from dragoman.files import disk_errors, write_atomically
from dragoman.settings import Meta, Settings
from dragoman.text.markup import SymbolSplitter
from dragoman.text.merges import Merge, read, replay, write
from dragoman.text.sampling import LatticeSampling, MergeDropout
from dragoman.text.spaces import MARK, Positions, escape, unescape
from dragoman.text.tokenizer import Piece
from dragoman.text.vocabulary import BOS, EOS, PAD, SPECIAL, UNK, Vocabulary

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from dragoman.text.normalize import Normalizer

MODEL_FILE = "subword.model"
MERGES_FILE = "merges.jsonl"
BYTES = 256
"""The pieces that spell out what the vocabulary lacks."""


class BpeSettings(Settings, frozen=True, kw_only=True, tag_field="kind", tag="bpe"):
    """Byte-pair encoding: frequent neighbours merged, step by step."""

    dropout: Annotated[float, Meta(ge=0, lt=1)] = 0.0
    """Probability that a merge is passed over in training (BPE-dropout): 0.1 helps with little data."""
    coverage: Annotated[float, Meta(gt=0.9, le=1)] = 1.0
    """Share of the characters that get a piece of their own; 0.9995 for writings with thousands of characters."""
    training_texts: Annotated[int, Meta(ge=1)] = 2_000_000
    """How many texts, drawn at random, the vocabulary is learned from at most."""


class UnigramSettings(Settings, frozen=True, kw_only=True, tag_field="kind", tag="unigram"):
    """A unigram model: the most probable way of cutting, with the chance to draw others in training."""

    alpha: Annotated[float, Meta(gt=0)] | None = None
    """Draw the cut in training, with probabilities to this power (0.1 to 0.5 help with little data)."""
    coverage: Annotated[float, Meta(gt=0.9, le=1)] = 1.0
    """Share of the characters that get a piece of their own; 0.9995 for writings with thousands of characters."""
    training_texts: Annotated[int, Meta(ge=1)] = 2_000_000
    """How many texts, drawn at random, the vocabulary is learned from at most."""


SubwordSettings = BpeSettings | UnigramSettings


class Subword:
    """A tokenizer around a trained sentencepiece model."""

    def __init__(
        self,
        model: bytes,
        *,
        settings: SubwordSettings,
        symbols: Sequence[str],
        normalizer: Normalizer,
        merges: Sequence[Merge] = (),
    ) -> None:
        self.model = model
        self.settings = settings
        self.normalizer = normalizer
        self.merges = tuple(merges)
        self._processor: Any = sentencepiece.SentencePieceProcessor(model_proto=model)
        names: list[str] = self._processor.id_to_piece(list(range(self._processor.vocab_size())))
        self.vocabulary = Vocabulary(names, symbols)
        self._split = SymbolSplitter(symbols)
        self._bytes = [self._processor.piece_to_id(f"<0x{value:02X}>") for value in range(BYTES)]
        self._cutter = self._make_cutter()
        self._ids_of: dict[str, list[int]] = {}

    @property
    def stochastic(self) -> bool:
        return self._cutter is not None

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self._processor.encode(escape(self.normalizer(text)))
        return ids

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        normal = [escape(text) for text in self.normalizer.all(texts)]
        ids: list[list[int]] = self._processor.encode(normal, num_threads=1)
        return ids

    def sample(self, text: str, generator: random.Random) -> list[int]:
        if self._cutter is None:
            return self.encode(text)
        ids: list[int] = []
        for piece in self._drawn(escape(self.normalizer(text)), self._cutter, generator):
            ids += self._ids_of.get(piece) or self._look_up(piece)
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        text: str = self._processor.decode([int(i) for i in ids])
        return unescape(text)

    def pieces(self, text: str) -> list[Piece]:
        normal = self.normalizer(text)
        covered, names = Positions(normal), self.vocabulary.pieces
        return [Piece(i, names[i], *covered(start, end)) for i, start, end in self._spans(escape(normal))]

    def save(self, folder: Path) -> None:
        write_atomically(folder / MODEL_FILE, self.model)
        if self.merges:
            write(folder / MERGES_FILE, self.merges)

    def traced(self, texts: Iterable[str]) -> Subword:
        """The same tokenizer with every merge and its count in the texts, in the order in which merges are applied."""
        escaped = (escape(self.normalizer(text)) for text in texts)
        counts = Counter(word for text in escaped for word, is_symbol in self._words(text) if not is_symbol)
        return Subword(
            self.model,
            settings=self.settings,
            symbols=self.vocabulary.symbols,
            normalizer=self.normalizer,
            merges=list(replay(counts, self.merged_pieces())),
        )

    def merged_pieces(self) -> list[str]:
        """The pieces that merges make, in the order in which merges are applied."""
        return [p for p in self._normal_pieces() if len(p) > 1]

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.model, self.settings, self.vocabulary.symbols, self.normalizer)

    def _spans(self, escaped: str) -> Iterator[tuple[int, int, int]]:
        """Each id with the characters of the escaped text that it covers; bytes all cover the character they spell."""
        position = -1  # the library puts a space before the first word
        left = 0  # bytes still to come of the character at `position`
        for piece_id in self._processor.encode(escaped):
            if not self._processor.is_byte(piece_id):
                start, position = position, position + len(self.vocabulary.pieces[piece_id])
                yield piece_id, max(start, 0), position
                continue
            left = left or len(escaped[position].encode())
            yield piece_id, position, position + 1
            left -= 1
            position += not left

    def _drawn(self, escaped: str, cutter: MergeDropout | LatticeSampling, generator: random.Random) -> Iterator[str]:
        for word, is_symbol in self._words(escaped):
            if is_symbol:
                yield word
            elif isinstance(cutter, MergeDropout):
                yield from cutter.cut(tuple(word), generator)
            else:
                yield from cutter.cut(word, generator)

    def _words(self, escaped: str) -> Iterator[tuple[str, bool]]:
        """The symbols, and the words between them; each mark begins a word, and no piece reaches over one."""
        if not escaped:
            return
        for stretch, is_symbol in self._split(MARK + escaped.replace(" ", MARK)):
            if is_symbol:
                yield stretch, True
                continue
            first, *rest = stretch.split(MARK)
            if first:
                yield first, False
            for word in rest:
                yield MARK + word, False

    def _look_up(self, piece: str) -> list[int]:
        if piece in self.vocabulary and piece not in SPECIAL:
            ids = [self.vocabulary[piece]]
        else:
            ids = [self._bytes[value] for value in piece.encode()]
        self._ids_of[piece] = ids
        return ids

    def _normal_pieces(self) -> list[str]:
        symbols = set(self.vocabulary.symbols)  # not all at the front, where a vocabulary has grown
        rest = range(len(SPECIAL), len(self.vocabulary))
        pieces = ((i, self.vocabulary.pieces[i]) for i in rest)
        return [piece for i, piece in pieces if piece not in symbols and not self._processor.is_byte(i)]

    def _make_cutter(self) -> MergeDropout | LatticeSampling | None:
        match self.settings:
            case BpeSettings(dropout=dropout) if dropout > 0:
                return MergeDropout(self.scores(), dropout=dropout)
            case UnigramSettings(alpha=alpha) if alpha is not None:
                return LatticeSampling(self.scores(), alpha=alpha)
            case _:
                return None

    def scores(self) -> dict[str, float]:
        """The pieces that are neither special nor symbols nor bytes, in order, with the library's scores."""
        return {p: self._processor.get_score(self.vocabulary[p]) for p in self._normal_pieces()}


class _Watched:
    """Texts in one pass, which remember the error that ended it."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = texts
        self.error: BaseException | None = None

    def __iter__(self) -> Iterator[str]:
        try:
            yield from self._texts
        except GeneratorExit:
            raise
        except BaseException as error:
            self.error = error
            raise


def train_subword(
    texts: Iterable[str],
    *,
    settings: SubwordSettings,
    size: int,
    symbols: Sequence[str],
    normalizer: Normalizer,
) -> Subword:
    """The tokenizer learned from the texts; it may have fewer pieces than asked for where the texts have no more."""
    written = io.BytesIO()
    smallest = len(SPECIAL) + len(symbols) + BYTES
    if size <= smallest:
        raise TextError(
            f"a vocabulary of {size} is too small: the special pieces, symbols and bytes alone are {smallest}",
            place="text.vocabulary_size",
            remedy=f"Ask for {smallest + 100} or more, or use kind='characters'.",
        )
    normal = _Watched(escape(n) for n in map(normalizer, texts) if n)
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(normal),
            model_writer=written,
            model_type=settings.__struct_config__.tag,
            vocab_size=size,
            hard_vocab_limit=False,
            character_coverage=settings.coverage,
            input_sentence_size=settings.training_texts,
            shuffle_input_sentence=True,
            max_sentence_length=1 << 20,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            byte_fallback=True,
            user_defined_symbols=list(symbols),
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
            unk_surface="<unk>",
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as error:
        if normal.error is not None:  # the library makes a text of it
            raise normal.error from None
        raise TextError(
            f"no subword vocabulary of {size} can be learned from these texts ({error})",
            place="text.vocabulary_size",
            remedy="Check that there are texts, and ask for another size, or use kind='characters'.",
        ) from None
    return Subword(written.getvalue(), settings=settings, symbols=symbols, normalizer=normalizer)


def load_subword(folder: Path, *, settings: SubwordSettings, symbols: Sequence[str], normalizer: Normalizer) -> Subword:
    """The tokenizer that `save` wrote."""
    path = folder / MODEL_FILE
    with disk_errors(path, "read"):
        model = path.read_bytes()
    merges = read(folder / MERGES_FILE) if (folder / MERGES_FILE).exists() else ()
    try:
        return Subword(model, settings=settings, symbols=symbols, normalizer=normalizer, merges=merges)
    except (RuntimeError, AssertionError) as error:
        raise TextError(f"damaged: {error}", place=str(path), remedy="Use another copy of the model.") from None


def _rebuilt(model: bytes, settings: SubwordSettings, symbols: Sequence[str], normalizer: Normalizer) -> Subword:
    return Subword(model, settings=settings, symbols=symbols, normalizer=normalizer)
