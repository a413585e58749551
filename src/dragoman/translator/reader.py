"""A model with the way from a text, or an array of features, to what its encoder reads."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import torch

from dragoman.bundle import SOURCE_TAG, TARGET_TAG, Frame
from dragoman.data.batch import padded
from dragoman.data.store import joined
from dragoman.decoding.short_list import short_listed
from dragoman.engines.build import quick_step
from dragoman.engines.eager import eager_step
from dragoman.errors import DataError, ModelError, SettingError
from dragoman.models.positions import LearnedSettings
from dragoman.models.recurrent_lm import RecurrentLMSettings
from dragoman.models.seq2seq import Source
from dragoman.models.transformer_lm import PrefixLMSettings, TransformerLMSettings
from dragoman.text.markup import language_of
from dragoman.text.vocabulary import BOS, EOS
from dragoman.translator.words import source_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from dragoman.bundle import Bundle, Description
    from dragoman.decoding.short_list import ShortListed
    from dragoman.devices import NumberFormat
    from dragoman.engines.build import Step
    from dragoman.engines.eager import EagerStep
    from dragoman.text.vocabulary import Vocabulary

__all__ = ["EXTRA", "Read", "Reader", "check_language_model", "check_same_target", "framing"]

EXTRA = 2
"""Tokens that are read beside those of a text: its end, and a language tag."""

Read = list[int] | np.ndarray[Any, Any]
"""A source as ids, or as features with a row for each frame; a language model reads no ids."""


class Reader:
    """One model of a translator, on its device."""

    def __init__(self, bundle: Bundle, device: torch.device, *, precision: NumberFormat = "float32") -> None:
        self.bundle = bundle
        self.device = device
        self.precision: NumberFormat = precision
        bundle.model.to(device)
        vocabulary = bundle.tokenizers.source.vocabulary
        tagged = ((language_of(symbol), symbol) for symbol in vocabulary.symbols)
        self._tags = {language: vocabulary[symbol] for language, symbol in tagged if language}
        frame = bundle.description.frame
        self.frame = Frame() if isinstance(frame, msgspec.UnsetType) else frame
        self.target_language = ""

    def into(self, language: str) -> Reader:
        """The same, for outputs in this language where no other is named."""
        self.check_languages("", language)
        found = copy.copy(self)
        found.target_language = language
        return found

    @cached_property
    def eager_step(self) -> EagerStep:
        """The model's own step, which can be traced where the model allows it."""
        return eager_step(self.bundle.model)

    @cached_property
    def quick_step(self) -> Step:
        """The quickest step; it is prepared when it is first asked for, with the weights of that moment."""
        return quick_step(self.bundle.model, precision=self.precision)

    def step(self, *, traced: bool, listed: bool = False) -> Step | ShortListed[Any]:
        """The step for a search that reads traces, or for one that does not; with short-lists, where they are used."""
        step = self.eager_step if traced else self.quick_step
        return short_listed(step) if listed else step

    @property
    def has_source(self) -> bool:
        """Whether it translates; a language model only goes on."""
        return not isinstance(self.bundle.description.model, TransformerLMSettings | RecurrentLMSettings)

    @property
    def reads_features(self) -> bool:
        """Whether its sources are arrays."""
        return self.bundle.description.features

    @property
    def positions(self) -> int | None:
        """Positions that it has learned, where it has learned them one by one."""
        settings = getattr(self.bundle.description.model, "positions", None)
        return settings.longest if isinstance(settings, LearnedSettings) else None

    def longest_source(self, most: int) -> int:
        """Most tokens that it reads at once, if nobody should read more than `most`."""
        if self.positions is None:
            return most
        is_prefix = isinstance(self.bundle.description.model, PrefixLMSettings)
        return max(1, min(most, self.positions // 3 if is_prefix else self.positions) - EXTRA)

    def longest_output(self, source_length: int) -> int | None:
        """Most tokens that it can say after such a source; nothing if there is no limit."""
        if self.positions is None:
            return None
        is_prefix = isinstance(self.bundle.description.model, PrefixLMSettings)
        return max(1, self.positions - (source_length if is_prefix else 0) - len(self.frame.first))

    def read(self, source: str, *, source_language: str = "", target_language: str = "") -> Read:
        """What the encoder will see of a source; nothing for an empty text."""
        if self.reads_features:
            return _array(source)
        if not self.has_source:
            return []
        tokenizer = self.bundle.tokenizers.source
        ids = tokenizer.encode(source)
        if not ids:
            return []
        tag = self._before(ids, source_language, target_language)
        if self._tags and not tag and set(self._tags.values()).isdisjoint(ids[:2]):  # the text may begin with one
            raise SettingError(
                f"this model translates into {', '.join(self._tags)}",
                place="target language",
                remedy="Say which: --target-lang, or Request(target_language=...).",
            )
        end = [EOS] if self.bundle.description.source_end else []
        return [*tag, *ids, *end, *self._framing(self.frame.after, source_language, target_language)]

    def begin(self, target_language: str = "") -> list[int]:
        """What the decoder reads before an output: the begin, and what the frame puts first."""
        return [BOS, *self._framing(self.frame.first, "", target_language)]

    def check_languages(self, source: str, target: str) -> None:
        """Raise SettingError if it is known that the model does not read or write such a language."""
        known = self.bundle.description
        tagged = list(self.frame.languages)
        around = {*self.frame.before, *self.frame.after, *self.frame.first}
        sources = tagged if SOURCE_TAG in around else [known.source_language]
        targets = tagged if TARGET_TAG in around else list(self._tags) or [known.target_language]
        pairs = (("source language", source, sources), ("target language", target, targets))
        for place, wanted, languages in pairs:
            if wanted and any(languages) and wanted not in languages:
                raise SettingError(
                    f"this model does not know {wanted!r}", place=place, remedy=f"It knows {', '.join(languages)}."
                )

    def words(self, source: str, *, source_language: str = "", target_language: str = "") -> list[int | None]:
        """The word of the source that each token read of it belongs to, a tag to none; ends are left out."""
        words = source_words(self.bundle.tokenizers.source, source)
        ids = self.bundle.tokenizers.source.encode(source)
        return [*(None for _ in self._before(ids, source_language, target_language)), *words]

    def _tag(self, language: str) -> list[int]:
        """The symbol that asks for a language, where the model knows several."""
        wanted = language or self.target_language
        return [self._tags[wanted]] if wanted in self._tags else []

    def _before(self, ids: Sequence[int], source_language: str, target_language: str) -> list[int]:
        """What is read before the ids of a text; one that begins with a language's tag itself needs none."""
        vocabulary = self.bundle.tokenizers.source.vocabulary
        tags = {vocabulary[piece] for piece in self.frame.languages.values()}
        if self.frame.before == (TARGET_TAG,) and not tags.isdisjoint(ids[:1]):
            return []
        return [*self._framing(self.frame.before, source_language, target_language), *self._tag(target_language)]

    def _framing(self, pieces: Sequence[str], source: str, target: str) -> list[int]:
        """The ids of a part of the frame, for these languages."""
        vocabulary = self.bundle.tokenizers.source.vocabulary
        into = target or self.target_language
        return framing(pieces, self.bundle.description, vocabulary, source_language=source, target_language=into)

    def source(self, batch: Sequence[Read]) -> Source | None:
        """The batch as the model takes it."""
        if not self.has_source:
            return None
        if self.reads_features:
            return _features([np.asarray(each) for each in batch]).to(self.device)
        rows = joined([list(each) or [EOS] for each in batch], dtype="int64")
        ids_BS = torch.from_numpy(padded(rows, width=int(rows.lengths.max()), dtype="int64"))
        return Source(torch.from_numpy(rows.lengths), ids_BS).to(self.device)

    def start(
        self,
        batch: Sequence[Read],
        *,
        traced: bool = False,
        target_language: str = "",
        lists: Sequence[Tensor] | None = None,
    ) -> Any:
        """The decoder's state before the last token of `begin`, which the search lets it read.

        With `lists` it is the state of a step with short-lists: the words that each output may hold.
        """
        step = self.eager_step if traced else self.quick_step
        state = step.start(self.source(batch), rows=len(batch))
        for token in self.begin(target_language)[:-1]:
            _, state = step(torch.full((len(batch),), token, device=self.device), state)
        return state if lists is None else short_listed(step).start(state, lists)


def framing(
    pieces: Sequence[str],
    description: Description,
    vocabulary: Vocabulary,
    *,
    source_language: str,
    target_language: str,
) -> list[int]:
    """The ids of a part of a frame; tags are those of the languages, or of the description's where none is said."""
    frame = description.frame
    spoken = {
        SOURCE_TAG: ("source", source_language or description.source_language),
        TARGET_TAG: ("target", target_language or description.target_language),
    }
    found = []
    for piece in pieces:
        if piece not in spoken or isinstance(frame, msgspec.UnsetType):
            found.append(vocabulary[piece])
            continue
        side, language = spoken[piece]
        if language not in frame.languages:
            problem = f"this model does not know {language!r}" if language else f"the {side} language is not said"
            raise SettingError(
                problem,
                place=f"{side} language",
                remedy=f"Say which with --{side}-lang: {', '.join(sorted(frame.languages))}.",
            )
        found.append(vocabulary[frame.languages[language]])
    return found


def check_same_target(readers: Sequence[Reader]) -> None:
    """Raise ModelError unless all models speak the same pieces, and read the same sort of source."""
    first = readers[0]
    pieces = [reader.bundle.tokenizers.target.vocabulary.pieces for reader in readers]
    for each, its_pieces in zip(readers[1:], pieces[1:], strict=True):
        same_pieces = its_pieces == pieces[0]
        if not same_pieces or (each.has_source, each.reads_features) != (first.has_source, first.reads_features):
            what = "kinds of source" if same_pieces else "target vocabularies"
            raise ModelError(
                f"the models of an ensemble have different {what}",
                place="models",
                remedy="Combine models that were trained with the same tokenizer on the same sort of data.",
            )


def check_language_model(reader: Reader, models: Reader) -> None:
    """Raise ModelError unless the reader is a language model that speaks the same pieces as the models."""
    same_pieces = reader.bundle.tokenizers.target.vocabulary.pieces == models.bundle.tokenizers.target.vocabulary.pieces
    if reader.has_source or not models.has_source or not same_pieces:
        raise ModelError(
            "this is no language model"
            if reader.has_source
            else "only a model with a source can be helped by a language model"
            if same_pieces
            else "the language model has another vocabulary than the model's targets",
            place="language model",
            remedy="Train one with `dragoman train --text`, with text.like set to the folder of the model.",
        )


def _array(name: str) -> NDArray[np.float32]:
    """The features in a .npy file; a single vector is one frame."""
    try:
        array = np.load(name, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"cannot be read as an array: {error}", place=name, remedy="Name a .npy file.") from None
    if not isinstance(array, np.ndarray) or array.ndim not in (1, 2) or not array.size or array.dtype.kind not in "fiu":
        raise DataError("is not an array of numbers with one row for each frame", place=name, remedy="Convert it.")
    return np.atleast_2d(array).astype(np.float32)


def _features(arrays: Sequence[NDArray[np.float32]]) -> Source:
    lengths = [len(array) for array in arrays]
    widths = sorted({array.shape[1] for array in arrays})
    if len(widths) > 1:
        raise DataError(
            f"feature vectors of {widths[0]} and of {widths[-1]} numbers do not go together",
            place="source",
            remedy="Extract all features in the same way.",
        )
    features_BSF = torch.zeros(len(arrays), max(lengths), widths[0])
    for row, array in enumerate(arrays):
        features_BSF[row, : len(array)] = torch.from_numpy(array)
    return Source(torch.tensor(lengths), features_BSF=features_BSF)
