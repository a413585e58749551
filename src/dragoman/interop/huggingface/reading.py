"""From a folder of transformers to a bundle, and the proof that it is the same model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import msgspec
import torch

from dragoman import bundle as bundles
from dragoman.bundle import SOURCE_TAG, TARGET_TAG, Bundle, Description, Frame, Origin
from dragoman.errors import ModelError, SettingError
from dragoman.interop.huggingface.configuration import architecture, search
from dragoman.interop.huggingface.original import Ids, TransformersModel, available, tidy_folder
from dragoman.interop.huggingface.tokenizers import bring_tokenizers, look
from dragoman.interop.numbering import NEVER, Numbering
from dragoman.interop.probe import Probe, probe, probe_sentences
from dragoman.interop.weights import take
from dragoman.text.vocabulary import BOS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor

    from dragoman.interop.huggingface.configuration import Architecture
    from dragoman.interop.huggingface.folder import Folder
    from dragoman.interop.huggingface.tokenizers import Found
    from dragoman.interop.safe_tensors import SafeTensors
    from dragoman.text.build import Tokenizers

__all__ = ["read_huggingface"]

_HEAD, _TABLE = "lm_head.weight", "shared.weight"
_OUTPUT_BIAS = "output.bias"


def read_huggingface(
    folder: Folder, *, name: str, languages: tuple[str, str], prompt: str, sentences: Sequence[str]
) -> tuple[Bundle, Probe | None, str]:
    """The bundle, what the comparison with the original found, and why there was none if there was none."""
    config, generation = folder.document("config.json"), folder.document("generation_config.json")
    tensors = folder.tensors()
    foreign = architecture(config, place=str(folder.path / "config.json"), has_head=_has_head(tensors))
    _check_sizes(foreign, tensors)
    found = look(folder, foreign)
    numbering = _numbering(folder, foreign, found, target_language=languages[1])
    tokenizers, frame = bring_tokenizers(folder, found, architecture=foreign, numbering=numbering)
    frame = _with_prompt(frame, tokenizers, prompt or _task(config, languages))
    source_language, target_language = _languages(folder, frame, foreign, languages)
    origin = Origin(
        library="transformers",
        architecture=foreign.family.name,
        name=name,
        special=msgspec.structs.asdict(numbering),
        size=numbering.size,
        pieces=_named(found, numbering),
    )
    description = Description(
        model=foreign.settings,
        source_vocabulary=None,
        target_vocabulary=numbering.size + 1,
        source_language=source_language,
        target_language=target_language,
        decoding=search(config, generation),
        frame=msgspec.UNSET if frame == Frame() else frame,
        origin=origin,
    )
    never = _never(config | generation, numbering)
    bundle = Bundle(description, _model(description, foreign, tensors, numbering=numbering, never=never), tokenizers)
    if not available():
        return bundle, None, "transformers is not installed, so nothing was compared"
    figures = _compared(folder, bundle, numbering=numbering, never=never, sentences=sentences)
    proven = msgspec.structs.replace(description, origin=msgspec.structs.replace(origin, probe=figures.facts()))
    return Bundle(proven, bundle.model, tokenizers), figures, ""


# ---- numbers of pieces ---------------------------------------------------------------------------------------------


def _numbering(folder: Folder, foreign: Architecture, found: Found, *, target_language: str) -> Numbering:
    """Which numbers there become the special ones here."""
    place = str(folder.path)
    begin = foreign.begin
    if target_language and foreign.kind == "mbart" and begin != foreign.end:  # it begins with the language
        begin = found.ids.get(target_language, begin)
    numbering = Numbering(
        pad=foreign.pad, unknown=found.unknown(place), begin=begin, end=foreign.end, size=foreign.vocabulary
    )
    special = {numbering.pad, numbering.unknown, numbering.end}
    if len(special) < 3 or not all(0 <= n < numbering.size for n in (*special, begin)):
        raise ModelError(
            f"padding {numbering.pad}, unknown {numbering.unknown}, begin {begin} and end {numbering.end} of "
            f"{numbering.size} pieces do not go together",
            place=place,
            remedy="Fetch the model again.",
        )
    return numbering


def _named(found: Found, numbering: Numbering) -> tuple[str, str, str, str]:
    names = {number: piece for piece, number in found.ids.items()}
    special = (numbering.pad, numbering.unknown, numbering.begin, numbering.end)
    pad, unknown, begin, end = (names.get(number, "") for number in special)
    return pad, unknown, begin, end


def _never(told: Mapping[str, Any], numbering: Numbering) -> tuple[int, ...]:
    """Numbers there of what must never be said."""
    words = told.get("bad_words_ids") or []
    single = [each[0] for each in words if isinstance(each, list) and len(each) == 1]
    return tuple(n for n in single if isinstance(n, int) and 0 <= n < numbering.size and n != numbering.end)


# ---- languages and prompts -----------------------------------------------------------------------------------------


def _languages(folder: Folder, frame: Frame, foreign: Architecture, asked: tuple[str, str]) -> tuple[str, str]:
    told = folder.document("tokenizer_config.json")
    around = {*frame.before, *frame.after, *frame.first}
    for wanted, tag, side in zip(asked, (SOURCE_TAG, TARGET_TAG), ("source", "target"), strict=True):
        if wanted and tag in around and wanted not in frame.languages:
            raise SettingError(
                f"this model does not know {wanted!r}",
                place=f"{side} language",
                remedy=f"It knows {', '.join(sorted(frame.languages))}.",
            )
    source, target = (str(told.get(key) or "") for key in ("source_lang", "target_lang"))
    if foreign.kind == "marian" and not frame.languages:
        return asked[0] or source, asked[1] or target
    return asked


def _task(config: Mapping[str, Any], languages: tuple[str, str]) -> str:
    """The prompt of the translation between these languages, where the model was trained with prompts."""
    tasks = config.get("task_specific_params") or {}
    task = tasks.get(f"translation_{languages[0]}_to_{languages[1]}") if isinstance(tasks, dict) else None
    return str(task.get("prefix", "")) if isinstance(task, dict) else ""


def _with_prompt(frame: Frame, tokenizers: Tokenizers, prompt: str) -> Frame:
    pieces = tokenizers.source.vocabulary.pieces
    asked = tuple(pieces[number] for number in tokenizers.source.encode(prompt)) if prompt.strip() else ()
    return msgspec.structs.replace(frame, before=(*frame.before, *asked))


# ---- weights -------------------------------------------------------------------------------------------------------


def _has_head(tensors: SafeTensors) -> bool:
    """Whether a T5 has an output layer of its own; older files hold the shared table twice."""
    shapes = tensors.shapes()
    if _HEAD not in shapes or _TABLE not in shapes:
        return False
    return shapes[_HEAD] != shapes[_TABLE] or not torch.equal(tensors.read(_HEAD), tensors.read(_TABLE))


def _check_sizes(foreign: Architecture, tensors: SafeTensors) -> None:
    """Raise ModelError where the configuration speaks of another vocabulary, or of more layers, than there are weights.

    Nothing may be made of such a size before: not even a list of names.
    """
    declared, settings = tensors.shapes(), foreign.settings
    problems = [
        f"{name} has the shape {declared[name]}, and should have {(foreign.vocabulary, settings.size)}"
        for name in {name for names in foreign.names.tables.values() for name in names} & declared.keys()
        if declared[name] not in ((foreign.vocabulary, settings.size), (1, foreign.vocabulary))
    ]
    if not any(name in declared for name in next(iter(foreign.names.tables.values()))):
        problems.append("there is no table of embeddings")
    if settings.encoder_layers + settings.decoder_layers > len(declared):
        problems.append(
            f"{settings.encoder_layers} and {settings.decoder_layers} layers cannot be made of {len(declared)} weights"
        )
    if problems:
        raise ModelError(
            problems[0],
            place=tensors.place,
            remedy="Check that the configuration and the weights belong together, and fetch both again.",
        )


def _model(
    description: Description,
    foreign: Architecture,
    tensors: SafeTensors,
    *,
    numbering: Numbering,
    never: tuple[int, ...],
) -> Any:
    """The model with the foreign weights; nothing is read before all shapes are known to fit."""
    with torch.device("meta"):
        shapes = {n: tuple(v.shape) for n, v in bundles.weights(bundles.build_model(description)).items()}

    def rows(ours: str, table_VX: Tensor) -> Tensor:
        return numbering.bias(table_VX) if ours == _OUTPUT_BIAS else numbering.rows(table_VX)

    found = take(foreign.names, tensors, shapes=shapes, rows=rows)
    bias_V = found.setdefault(_OUTPUT_BIAS, numbering.bias(None))
    bias_V[[numbering.ours()[number] for number in never]] = NEVER
    assert bias_V[BOS] == NEVER
    model = bundles.build_model(description)
    bundles.load_weights(model, found)
    return cast("torch.nn.Module", model).eval()


# ---- the proof -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Spoken:
    """The languages that a probe reads and writes."""

    source: str
    target: str


def _compared(
    folder: Folder, bundle: Bundle, *, numbering: Numbering, never: tuple[int, ...], sentences: Sequence[str]
) -> Probe:
    description = bundle.description
    frame = description.frame if isinstance(description.frame, Frame) else Frame()
    codes = sorted(frame.languages)
    spoken = _Spoken(
        description.source_language or (codes or [""])[0], description.target_language or (codes or [""])[-1]
    )
    asked = msgspec.structs.replace(description, source_language=spoken.source, target_language=spoken.target)
    vocabulary, theirs = bundle.tokenizers.target.vocabulary, numbering.theirs()

    def numbers(pieces: Sequence[str]) -> tuple[int, ...]:
        tags = {SOURCE_TAG: spoken.source, TARGET_TAG: spoken.target}
        resolved = (frame.languages[tags[piece]] if piece in tags else piece for piece in pieces)
        return tuple(theirs[vocabulary[piece]] for piece in resolved)

    is_tagged = SOURCE_TAG in (*frame.before, *frame.after)
    puts_begin = description.origin.architecture.startswith("Bart")  # type: ignore[union-attr]  # every import has one
    ids = Ids(
        before=() if is_tagged or puts_begin else numbers(frame.before),
        begin=numbering.begin,
        first=numbers(frame.first),
        pad=numbering.pad,
        end=numbering.end,
        never=never,
    )
    with tidy_folder(folder) as place:
        original = TransformersModel(
            place,
            ids=ids,
            source_language=spoken.source if is_tagged else "",
            target_language=spoken.target if is_tagged else "",
        )
        return probe(
            Bundle(asked, bundle.model, bundle.tokenizers),
            original,
            numbering=numbering,
            pairs=probe_sentences(sentences),
        )
