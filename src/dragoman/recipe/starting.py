"""Training that goes on from a trained model: with other data, frozen parts, adapters, or further languages.

The model that a run starts from is kept in its folder as it was, with its vocabulary extended, so that the run can go
on whatever becomes of the original.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman import bundle as bundles
from dragoman.bundle import Frame
from dragoman.data.corpus import Features, Mono
from dragoman.errors import ModelError, SettingError
from dragoman.files import whole
from dragoman.models.recurrent_lm import RecurrentLMSettings
from dragoman.models.transformer_lm import TransformerLMSettings
from dragoman.recipe.folder import START
from dragoman.recipe.growth import grown
from dragoman.text.build import Tokenizers
from dragoman.text.extension import extend
from dragoman.text.markup import language_tag
from dragoman.training import checkpoint
from dragoman.training.loop import CHECKPOINTS
from dragoman.translator.loading import bundle_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dragoman.bundle import Bundle
    from dragoman.recipe.schema import Recipe
    from dragoman.text.tokenizer import Tokenizer

_FREE = ("dropout", "initial")
"""Settings of a model that may differ from those it was trained with."""


def starting_bundle(recipe: Recipe, folder: Path, *, sources: Iterable[str], targets: Iterable[str]) -> Bundle | None:
    """The model that the run goes on from, as it was when the run began; nothing for a run from scratch."""
    if recipe.start is None:
        return None
    kept = folder / START
    if checkpoint.latest_state(folder / CHECKPOINTS) is not None and (whole(kept) / bundles.DESCRIPTION).exists():
        return bundles.load(kept)
    base = bundles.load(bundle_folder(Path(recipe.start.model)))
    _check_data(recipe, base)
    _check_model(recipe, base)
    _check_text(recipe, base)
    bundles.save(_extended(recipe, base, sources, targets), kept)
    return bundles.load(kept)


def tagged_languages(recipe: Recipe, symbols: Sequence[str], base: Bundle | None = None) -> list[str]:
    """The target languages that are asked for by a tag: where there are several, or tags for others already.

    An imported model has tags of its own.
    """
    if base is not None and isinstance(base.description.frame, Frame):
        return []
    languages = sorted({c.target_language for c in recipe.data.train} - {""})
    return languages if len(languages) > 1 or any(s.startswith("<2") for s in symbols) else []


# ---- what must agree -----------------------------------------------------------------------------------------------


def _check_data(recipe: Recipe, base: Bundle) -> None:
    if isinstance(base.description.frame, Frame) and base.description.frame.after:
        raise ModelError(
            "it reads the source language behind the end of a source, and training here knows nothing behind the end",
            place="start.model",
            remedy="Start from mBART-50, M2M-100 or NLLB, which read it before the source.",
        )
    reads = _reads(base)
    for number, each in enumerate(recipe.data.train):
        given = "texts" if isinstance(each, Mono) else "features" if isinstance(each, Features) else "pairs"
        restored = (reads, given) == ("pairs", "texts") and recipe.data.noise is not None
        answered = (reads, given) == ("texts", "pairs")  # after their prompts
        if given != reads and not restored and not answered:
            raise ModelError(
                f"the model to start from is trained on {reads}, and these data are {given}",
                place=f"data.train.{number}",
                remedy="Start from a model for such data, or leave out [start].",
            )


def _reads(base: Bundle) -> str:
    if isinstance(base.description.model, TransformerLMSettings | RecurrentLMSettings):
        return "texts"
    return "features" if base.description.features else "pairs"


def _check_model(recipe: Recipe, base: Bundle) -> None:
    if recipe.model is None:
        return
    given, own = (_document(each) for each in (recipe.model, base.description.model))
    for key in given.keys() | own.keys():
        if given.get(key) != own.get(key):
            raise SettingError(
                f"{given.get(key)!r} here, but {own.get(key)!r} in the model to start from",
                place=f"model.{key}",
                remedy="Leave out [model]: it comes with the model. Only its dropout may be changed.",
            )


def _document(settings: Any) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(settings)
    return {key: value for key, value in document.items() if key not in _FREE}


def _check_text(recipe: Recipe, base: Bundle) -> None:
    if recipe.text is None:
        return
    own, given = base.tokenizers, recipe.text
    kinds = (type(own.source.settings), type(own.target.settings))
    differing = {
        "joint": given.joint != own.joint and not isinstance(recipe.data.train[0], Mono),
        "source": type(given.source) is not kinds[0],
        "target": type(given.target or given.source) is not kinds[1],
        "normalization": given.normalization != own.target.normalizer.settings,
    }
    for key, differs in differing.items():
        if differs:
            raise SettingError(
                "differs from that of the model to start from",
                place=f"text.{key}",
                remedy="Leave out [text]: the tokenizers come with the model. start.new_pieces extends them.",
            )


# ---- new symbols and pieces ----------------------------------------------------------------------------------------


def _extended(recipe: Recipe, base: Bundle, sources: Iterable[str], targets: Iterable[str]) -> Bundle:
    assert recipe.start is not None
    old, pieces = base.tokenizers, recipe.start.new_pieces
    asked = () if recipe.text is None else recipe.text.symbols
    tags = [language_tag(each) for each in tagged_languages(recipe, old.source.vocabulary.symbols, base)]
    symbols = tuple(dict.fromkeys([*asked, *tags]))
    if not pieces and all(symbol in old.source.vocabulary for symbol in symbols):
        return base
    if old.joint:
        both: Tokenizer = extend(old.source, symbols=symbols, texts=_Joined((sources, targets)), pieces=pieces)
        return grown(base, Tokenizers(both, both))
    return grown(
        base,
        Tokenizers(
            extend(old.source, symbols=symbols, texts=sources, pieces=pieces),
            extend(old.target, symbols=asked, texts=targets, pieces=pieces),
        ),
    )


class _Joined:
    """Several texts one after the other, as often as they are asked for."""

    def __init__(self, parts: Sequence[Iterable[str]]) -> None:
        self._parts = parts

    def __iter__(self) -> Any:
        return (text for part in self._parts for text in part)
