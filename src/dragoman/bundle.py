"""A trained model on disk: a folder that holds all that is needed to use it, and nothing that can be executed.

model.json           format number, every setting, languages, how it was trained and how good it was
model.safetensors    the weights, each once
short_list.safetensors   which target words a source word may call for, where that was learned
tokenizer/           the tokenizer of both sides; or source_tokenizer/ and target_tokenizer/
manifest.json        size and SHA-256 of every file
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import msgspec
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file as load_arrays
from safetensors.numpy import save_file as save_arrays
from safetensors.torch import load_file, save_file

from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.build import DecodingSettings
from dragoman.errors import FileError, ModelError
from dragoman.files import MANIFEST, disk_errors, replacing_folder, sha256, verify, whole, write_atomically
from dragoman.measures.short_list import ShortList
from dragoman.models.adapters import plain_weights
from dragoman.models.build import ModelSettings, build
from dragoman.models.initialization import Blank
from dragoman.text import build as text
from dragoman.text.build import Tokenizers

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch import Tensor, nn

    from dragoman.models.seq2seq import Model

FORMAT = 1
BEST = "best"
"""Where a run keeps the best model so far."""
DESCRIPTION, WEIGHTS, SHORT_LIST = "model.json", "model.safetensors", "short_list.safetensors"
_BOTH, _SOURCE, _TARGET = "tokenizer", "source_tokenizer", "target_tokenizer"


class Facts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a model was trained, and how good it was."""

    steps: int = 0
    tokens: int = 0
    """Target tokens learned from."""
    metric: str = ""
    value: float | None = None
    """The metric on the validation data."""
    signature: str = ""
    data: str = ""
    """Fingerprint of the training data."""
    seed: int | None = None
    dragoman: str = ""
    """Version that trained it."""


class AlignedBy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The attention over the source that tells best which words belong together."""

    layer: int = -1
    """Layer of the decoder, counted from 0; -1 is the last."""
    head: int | None = None
    """Head of that layer; nothing: the mean of them all."""
    read: bool = False
    """Whether a word's place is where the decoder reads it, one step after it has said it."""
    error_rate: float | None = None
    """Alignment error rate by which it was chosen, where it was."""


class Calibration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Temperatures that make probabilities say how often an output is right, and where they were fitted."""

    words: float
    """Divides the logits, for the probability that a word is right."""
    sentences: float
    """The same for a whole output."""
    words_error: tuple[float, float]
    """Expected calibration error of words on the lines it was fitted on, before and after, in percent."""
    sentences_error: tuple[float, float]
    lines: int
    files: tuple[str, ...]
    """The files of sources and references that it was fitted on."""
    contents: str
    """SHA-256 of these lines, so that nobody tests on them unawares."""


SOURCE_TAG, TARGET_TAG = "<source language>", "<target language>"
"""In a frame: the piece of the language that a text is in, and of the one that is asked for."""


class Frame(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What stands around texts in models of other libraries, piece by piece."""

    before: tuple[str, ...] = ()
    """Read before a source."""
    after: tuple[str, ...] = ()
    """Read after a source and its end."""
    first: tuple[str, ...] = ()
    """What the decoder is given, after its begin, before it says anything."""
    languages: dict[str, str] = {}
    """The piece of each language."""


class Origin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where an imported model comes from, and what it needs to go back."""

    library: str
    architecture: str
    name: str
    """What was imported: a folder, or a name on a hub."""
    special: dict[str, int] = {}
    """Numbers there of the pieces that are special here."""
    size: int = 0
    """Rows of the vocabulary there."""
    pieces: tuple[str, str, str, str] = ("", "", "", "")
    """What padding, the unknown, the begin and the end are called there."""
    probe: dict[str, float | str] = {}
    """How closely the imported model followed the original."""


class _Format(msgspec.Struct, frozen=True, kw_only=True):
    format: int


class Description(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `model.json` holds."""

    format: int = FORMAT
    model: ModelSettings
    source_vocabulary: int | None
    """Nothing for a joint vocabulary, and for language models."""
    target_vocabulary: int
    source_end: bool = True
    """Whether sources are read with an end token."""
    features: bool = False
    """Whether sources are feature vectors."""
    source_language: str = ""
    target_language: str = ""
    length_ratio: float = 3.0
    """How many times as long as its source an output may become: half as much again as in nearly all training data."""
    decoding: DecodingSettings = BeamSettings()
    """How it searches where nothing else is asked for."""
    alignment: AlignedBy = AlignedBy()
    """Where word alignments are read off."""
    training: Facts = Facts()
    frame: Frame | msgspec.UnsetType = msgspec.UNSET
    """What stands around texts, in imported models."""
    origin: Origin | msgspec.UnsetType = msgspec.UNSET
    """Where the model, or the one that its training went on from, was imported from."""
    calibration: Calibration | msgspec.UnsetType = msgspec.UNSET
    """How probabilities become confidence, once that was fitted; a model without is written as it always was."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """A model with its tokenizers and its description."""

    description: Description
    model: Model
    tokenizers: Tokenizers
    short_list: ShortList | None = None
    """Which target words a source may call for, where that was learned."""


def save(bundle: Bundle, folder: Path) -> None:
    """Write the bundle into the folder, in place of what was there. What adapters add becomes part of the weights."""
    with replacing_folder(folder) as fresh:
        written = msgspec.json.format(msgspec.json.encode(bundle.description), indent=1)
        write_atomically(fresh / DESCRIPTION, written)
        with disk_errors(folder, "write"):
            plain = plain_weights(cast("nn.Module", bundle.model))
            tensors = {name: value.cpu().contiguous() for name, value in plain.items()}
            save_file(tensors, fresh / WEIGHTS)
            (fresh / WEIGHTS).chmod((fresh / DESCRIPTION).stat().st_mode)
            if (listed := bundle.short_list) is not None:
                save_arrays(listed.arrays(), fresh / SHORT_LIST)
                (fresh / SHORT_LIST).chmod((fresh / DESCRIPTION).stat().st_mode)
        tokenizers = bundle.tokenizers
        sides = {_SOURCE: tokenizers.source, _TARGET: tokenizers.target}
        for name, tokenizer in ({_BOTH: tokenizers.source} if tokenizers.joint else sides).items():
            (fresh / name).mkdir()
            text.save(tokenizer, fresh / name)


def load(folder: Path) -> Bundle:
    """The bundle in a folder, verified, with its model ready for use on the processor."""
    place = whole(folder)
    if not (place / DESCRIPTION).exists():
        raise FileError(
            f"is not a model: there is no {DESCRIPTION}",
            place=str(folder),
            remedy="Name a folder that `dragoman train` or `dragoman import` wrote, such as OUT/best.",
        )
    verify(place)
    description = describe(folder)
    _check_shapes(place / WEIGHTS, description)
    with Blank():
        model = build_model(description)
    load_weights(model, load_file(place / WEIGHTS))
    model.eval()
    return Bundle(description, model, load_tokenizers(folder), _short_list(place, description))


def load_tokenizers(folder: Path) -> Tokenizers:
    """The tokenizers in a folder, without the model."""
    place = whole(folder)
    if (place / _BOTH).exists():
        both = text.load(place / _BOTH)
        return Tokenizers(both, both)
    return Tokenizers(text.load(place / _SOURCE), text.load(place / _TARGET))


def describe(folder: Path) -> Description:
    """The description in a folder, without the weights."""
    path = whole(folder) / DESCRIPTION
    with disk_errors(path, "read"):
        written = path.read_bytes()
    try:
        known = msgspec.json.decode(written, type=_Format).format
        if known != FORMAT:
            raise FileError(f"format {known} is not known here", place=str(path), remedy="Use a newer dragoman.")
        return msgspec.json.decode(written, type=Description)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise FileError(f"unreadable: {error}", place=str(path), remedy="Use another copy of the model.") from None


def identity(folder: Path) -> str:
    """The SHA-256 of the manifest, by which a bundle is known from all others."""
    return sha256(whole(folder) / MANIFEST)


def build_model(description: Description) -> Model:
    """The model of the description, with fresh weights."""
    return build(
        description.model,
        target_vocabulary=description.target_vocabulary,
        source_vocabulary=description.source_vocabulary,
    )


def weights(model: Model) -> dict[str, Tensor]:
    """The weights and stored buffers of a model, each once however many names it has."""
    found: dict[str, Tensor] = {}
    seen: set[int] = set()
    for name, value in cast("nn.Module", model).state_dict(keep_vars=True).items():
        if id(value) not in seen:
            seen.add(id(value))
            found[name] = value.detach()
    return found


@torch.no_grad()
def load_weights(model: Model, tensors: Mapping[str, Tensor]) -> None:
    """Take over weights that `weights` gave."""
    own = weights(model)
    if own.keys() != tensors.keys():
        names = ", ".join(sorted(own.keys() ^ tensors.keys())[:5])
        raise ModelError(
            f"these are the weights of another model: {names} …",
            remedy="Use the weights with the settings that they were saved with.",
        )
    for name, value in own.items():
        value.copy_(tensors[name])


def _check_shapes(path: Path, description: Description) -> None:
    """Raise FileError unless the file declares just the weights that the description leads to."""
    try:
        with safe_open(path, framework="pt") as stored:
            declared = {name: tuple(_slice(stored, name).get_shape()) for name in stored.keys()}  # noqa: SIM118 - not a dict
    except SafetensorError as error:
        raise FileError(f"damaged: {error}", place=str(path), remedy="Use another copy of the model.") from None
    layers = sum(getattr(description.model, name, None) or 0 for name in ("layers", "encoder_layers", "decoder_layers"))
    if layers > len(declared):  # each has a weight of its own; nobody shall wait for more of them to be made
        raise FileError(
            f"does not fit {DESCRIPTION}: {layers} layers cannot be made of {len(declared)} weights",
            place=str(path),
            remedy="Use another copy of the model.",
        )
    try:
        with torch.device("meta"), Blank():
            expected = {name: tuple(value.shape) for name, value in weights(build_model(description)).items()}
    except (RuntimeError, OverflowError, MemoryError) as error:
        raise FileError(
            f"no model can be built as {DESCRIPTION} describes it: {str(error).partition(chr(10))[0]}",
            place=str(path),
            remedy="Use another copy of the model.",
        ) from None
    if declared != expected:
        name = min(k for k in declared.keys() | expected.keys() if declared.get(k) != expected.get(k))
        raise FileError(
            f"does not fit {DESCRIPTION}: {name} has the shape {declared.get(name)}, not {expected.get(name)}",
            place=str(path),
            remedy="Use another copy of the model.",
        )


def _short_list(place: Path, description: Description) -> ShortList | None:
    """The short-list in a folder, if there is one; FileError unless it speaks of the model's words."""
    path = place / SHORT_LIST
    if not path.exists():
        return None
    try:
        found = ShortList(**load_arrays(path))
    except (SafetensorError, TypeError) as error:
        raise FileError(f"damaged: {error}", place=str(path), remedy="Use another copy of the model.") from None
    sources = description.source_vocabulary or description.target_vocabulary
    if not found.fits(sources, description.target_vocabulary):
        raise FileError(
            "does not fit the vocabularies", place=str(path), remedy="Learn it again: `dragoman shortlist`."
        )
    return found


def _slice(stored: Any, name: str) -> Any:
    return stored.get_slice(name)
