"""From a checkpoint of another library to a bundle: what is the same whatever family it is of.

A family's file says what was found (settings, names of weights, a vocabulary on each side); here it becomes a model,
tokenizers and a description.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec
import torch

from dragoman import bundle as bundles
from dragoman.bundle import TARGET_TAG, Bundle, Description, Frame, Origin
from dragoman.errors import FileError, ModelError, SettingError
from dragoman.files import disk_errors
from dragoman.interop.numbering import NEVER
from dragoman.interop.weights import take
from dragoman.text.build import Tokenizers, cutting_of
from dragoman.text.characters import CharacterSettings
from dragoman.text.lookup import Lookup
from dragoman.text.normalize import Normalization, Normalizer
from dragoman.text.sentencepieces import SentencePieces, SentencePieceSettings
from dragoman.text.symbols import SymbolSettings
from dragoman.text.vocabulary import BOS, EOS, PAD, SPECIAL, UNK, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from torch import Tensor

    from dragoman.decoding.build import DecodingSettings
    from dragoman.interop.numbering import Numbering
    from dragoman.interop.weights import Tensors, WeightNames
    from dragoman.models.transformer import TransformerSettings
    from dragoman.text.tokenizer import Tokenizer

__all__ = ["Checkpoint", "Cut", "Options", "Side", "brought", "small_text", "tables"]

Cut = bytes | Literal["spaces", "characters"]
"""What cuts a text: a sentencepiece model, the spaces of a text that was cut before, or nothing but characters."""

_SOURCE, _TARGET = "encoder.embedding.embedding.weight", "embedding.weight"
_OUTPUT, _BIAS = "output.weight", "output.bias"
_LANGUAGE = re.compile(r">>(.+)<<")
_AS_IT_IS: Any = {"unicode": "none", "control": "keep", "zero_width": "keep", "bidi": "keep"}
_REMEDY = "Check that the files belong together, and fetch them again."
_UNKNOWN = "This variant is not known here; what is known is in the guide to imports."
_LARGEST_TEXT = 64 << 20


@dataclass(frozen=True, slots=True)
class Side:
    """A vocabulary there."""

    pieces: tuple[str, ...]
    """What each row of the table is called; nothing where a row has no piece."""
    numbering: Numbering
    """Numbers beyond the rows stand for rows of zeros."""
    cut: Cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What was found, as it is built here."""

    library: str
    architecture: str
    settings: TransformerSettings
    names: WeightNames
    source: Side
    target: Side
    decoding: DecodingSettings
    source_end: bool = True


class Options:
    """Values of a foreign configuration, each of its type."""

    def __init__(self, values: Mapping[str, Any], place: str) -> None:
        self.values, self.place = values, place

    def __call__(self, key: str, kind: Any, default: Any = None) -> Any:
        """The value of an option, or the default where it is not given."""
        value = self.values.get(key)
        value = default if value is None else value
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise ModelError(f"{key} is {value!r}", place=self.place, remedy=_REMEDY)
        return value

    def within(self, key: str) -> Options:
        """The options in a table of its own; none where it is not given."""
        return Options(self(key, dict, {}), f"{self.place}, {key}")

    def demand(self, key: str, *known: Any, why: str = "is not known here") -> None:
        """Refuse whatever is none of these values; what is not given is taken for the first of them."""
        value = self.values.get(key)
        if value is not None and value not in known:
            raise ModelError(f"{key} is {value!r}, which {why}", place=self.place, remedy=_UNKNOWN)

    def rate(self, key: str, default: float = 0.0) -> float:
        """A share of what is dropped in training."""
        return float(self(key, int | float, default))


def small_text(path: Path) -> str:
    """What a file of text holds; FileError where it is far too large to be one, or none."""
    with disk_errors(path, "read"):
        if path.stat().st_size > _LARGEST_TEXT:
            raise FileError("is larger than such a file ever is", place=str(path), remedy=_REMEDY)
        data = path.read_bytes()
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise FileError(f"is not UTF-8: {error}", place=str(path), remedy=_REMEDY) from None


def tables(
    settings: TransformerSettings,
    *,
    source: Sequence[str],
    target: Sequence[str],
    output: Sequence[str],
    bias: Sequence[str] = (),
) -> dict[str, tuple[str, ...]]:
    """The names that each table may have there, by which of them are one and the same."""
    how = settings.embedding
    tied = tuple(output) if how.tied_output else ()
    found = {_SOURCE: (*source, *target, *tied)} if how.shared else {_SOURCE: tuple(source), _TARGET: (*target, *tied)}
    return found | ({} if tied else {_OUTPUT: tuple(output)}) | {_BIAS: tuple(bias)}


def brought(checkpoint: Checkpoint, tensors: Tensors, *, name: str, languages: tuple[str, str]) -> Bundle:
    """The bundle of a checkpoint. All shapes are compared before a weight is read."""
    _check_sizes(checkpoint, tensors)
    tokenizers, frame = _tokenizers(checkpoint, tensors.place)
    if frame.languages and languages[1] and languages[1] not in frame.languages:
        raise SettingError(
            f"this model does not know {languages[1]!r}",
            place="target language",
            remedy=f"It knows {', '.join(sorted(frame.languages))}.",
        )
    numbering = checkpoint.target.numbering
    named = (*checkpoint.target.pieces, *[""] * len(SPECIAL))  # there may be no row of theirs
    description = Description(
        model=checkpoint.settings,
        source_vocabulary=None if checkpoint.settings.embedding.shared else len(tokenizers.source.vocabulary),
        target_vocabulary=len(tokenizers.target.vocabulary),
        source_end=checkpoint.source_end,
        source_language=languages[0],
        target_language=languages[1],
        decoding=checkpoint.decoding,
        frame=frame if frame.languages else msgspec.UNSET,
        origin=Origin(
            library=checkpoint.library,
            architecture=checkpoint.architecture,
            name=name,
            special=msgspec.structs.asdict(numbering),
            size=numbering.size,
            pieces=(named[numbering.pad], named[numbering.unknown], named[numbering.begin], named[numbering.end]),
        ),
    )
    return Bundle(description, _model(description, checkpoint, tensors), tokenizers)


# ---- weights -------------------------------------------------------------------------------------------------------


def _side(checkpoint: Checkpoint, ours: str) -> Side:
    """The vocabulary that a table of ours has a row for each piece of."""
    return checkpoint.source if ours == _SOURCE and not checkpoint.settings.embedding.shared else checkpoint.target


def _check_sizes(checkpoint: Checkpoint, tensors: Tensors) -> None:
    """Raise ModelError where tables and vocabularies do not fit, or where there cannot be so many layers.

    Nothing may be made of such a size before: not even a list of names.
    """
    declared, settings = tensors.shapes(), checkpoint.settings
    problems = []
    if settings.encoder_layers + settings.decoder_layers > len(declared):
        problems.append(
            f"{settings.encoder_layers} and {settings.decoder_layers} layers cannot be made of {len(declared)} weights"
        )
    if settings.embedding.shared and checkpoint.source.pieces != checkpoint.target.pieces:
        problems.append("one table of embeddings serves two vocabularies that are not the same")
    for ours, theirs in checkpoint.names.tables.items():
        rows = len(_side(checkpoint, ours).pieces)
        expected = (rows,) if ours == _BIAS else (rows, settings.size)
        given = [name for name in theirs if name in declared]
        problems += [
            f"{each} has the shape {declared[each]}, and should have {expected}"
            for each in given
            if declared[each] != expected
        ]
        if not given and ours != _BIAS:
            problems.append(f"there is no table {theirs[0]}")
    if problems:
        raise ModelError(problems[0], place=tensors.place, remedy=_REMEDY)


def _model(description: Description, checkpoint: Checkpoint, tensors: Tensors) -> Any:
    """The model with the foreign weights."""
    try:
        with torch.device("meta"):
            shapes = {n: tuple(v.shape) for n, v in bundles.weights(bundles.build_model(description)).items()}
    except (RuntimeError, OverflowError, MemoryError) as error:
        problem = f"no model can be built of such sizes: {str(error).partition(chr(10))[0]}"
        raise ModelError(problem, place=tensors.place, remedy=_REMEDY) from None

    def rows(ours: str, table: Tensor) -> Tensor:
        numbering = _side(checkpoint, ours).numbering
        missing = table.new_zeros(numbering.size - table.shape[0], *table.shape[1:])
        return numbering.rows(torch.cat([table, missing]))

    found = take(checkpoint.names, tensors, shapes=shapes, rows=rows)
    numbering = checkpoint.target.numbering
    bias_V = found.setdefault(_BIAS, torch.zeros(numbering.size + 1))
    bias_V[sorted({PAD, BOS, numbering.ours()[numbering.begin]} - {UNK, EOS})] = NEVER
    model = bundles.build_model(description)
    bundles.load_weights(model, found)
    return cast("torch.nn.Module", model).eval()


# ---- texts ---------------------------------------------------------------------------------------------------------


def _tokenizers(checkpoint: Checkpoint, place: str) -> tuple[Tokenizers, Frame]:
    """The tokenizers of both sides, and the languages that a source may ask for."""
    forms = _forms(checkpoint.source, place)
    languages = {match[1]: form for form in forms if (match := _LANGUAGE.fullmatch(form))}
    source = _tokenizer(checkpoint.source, forms, place)
    same = checkpoint.source == checkpoint.target
    target = source if same else _tokenizer(checkpoint.target, _forms(checkpoint.target, place), place)
    return Tokenizers(source, target), Frame(before=(TARGET_TAG,) if languages else (), languages=languages)


def _forms(side: Side, place: str) -> list[str]:
    """What our numbers are called: the four special ones, then theirs, none of them twice."""
    names = [f"{piece}#{number}" if piece in SPECIAL else piece for number, piece in enumerate(side.pieces)]
    names += [""] * (side.numbering.size - len(names))
    named = [names[theirs] or f"<unused {theirs}>" for theirs in side.numbering.theirs()]
    forms = [*SPECIAL, *named[len(SPECIAL) :]]
    if len(set(forms)) < len(forms):
        raise ModelError("two pieces of the vocabulary are the same", place=place, remedy=_REMEDY)
    return forms


def _tokenizer(side: Side, forms: Sequence[str], place: str) -> Tokenizer:
    symbols = [form for form in forms if _LANGUAGE.fullmatch(form)]
    vocabulary = Vocabulary(forms, symbols)
    if isinstance(side.cut, bytes):
        again = forms[side.numbering.ours()[side.numbering.begin]]  # the begin has a row of its own beside this one
        silent = [form for form in (*symbols, again) if form not in SPECIAL]
        silent += [form for form in forms if form.startswith("<unused ")]
        try:
            return SentencePieces(
                side.cut,
                settings=SentencePieceSettings(silent=tuple(dict.fromkeys(silent))),
                vocabulary=vocabulary,
                normalizer=Normalizer(Normalization(spaces="keep", **_AS_IT_IS)),
            )
        except (RuntimeError, ValueError) as error:
            raise ModelError(f"no sentencepiece model: {error}", place=place, remedy=_REMEDY) from None
    settings: SymbolSettings | CharacterSettings = SymbolSettings() if side.cut == "spaces" else CharacterSettings()
    normalizer = Normalizer(Normalization(spaces="collapse", **_AS_IT_IS))
    return Lookup(cutting_of(settings, symbols), settings=settings, vocabulary=vocabulary, normalizer=normalizer)
