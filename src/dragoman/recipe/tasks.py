"""What a model is given to do: pairs, prompts with answers, or texts to restore; and alignments to follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.data.alignments import learned_alignments, read_alignments
from dragoman.data.corpus import Features, Mono
from dragoman.data.noise import build_noise
from dragoman.errors import SettingError
from dragoman.models.recurrent_lm import RecurrentLMSettings
from dragoman.models.transformer_lm import TransformerLMSettings
from dragoman.training.objectives.guided_alignment import GuidedAlignment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dragoman.bundle import Bundle
    from dragoman.data.alignments import Alignments
    from dragoman.data.batch import Prompts
    from dragoman.data.corpus import Corpus
    from dragoman.data.noise import Noise
    from dragoman.data.order import MadeOf
    from dragoman.data.store import Store
    from dragoman.models.build import ModelSettings
    from dragoman.recipe.schema import Recipe
    from dragoman.text.build import Tokenizers


def made_of(recipe: Recipe, base: Bundle | None) -> MadeOf:
    """Of what the rows of a batch are made."""
    if recipe.data.noise is not None:
        return "text"
    return "sides" if prompts_of(recipe, base) == "none" else "joined"


def prompts_of(recipe: Recipe, base: Bundle | None) -> Prompts:
    """Whether sources are prompts: those of a language model are."""
    has_sources = not isinstance(recipe.data.train[0], Mono)
    return recipe.data.prompts if has_sources and not reads_source(recipe, base) else "none"


def noise_of(recipe: Recipe, tokenizers: Tokenizers) -> Noise | None:
    """What is done to text alone."""
    settings = recipe.data.noise
    return None if settings is None else build_noise(settings, tokenizers.target.vocabulary)


def reads_source(recipe: Recipe, base: Bundle | None) -> bool:
    """Whether the model reads a source; a language model does not."""
    return not isinstance(_model(recipe, base), TransformerLMSettings | RecurrentLMSettings)


def _model(recipe: Recipe, base: Bundle | None) -> ModelSettings:
    return recipe.architecture if base is None else base.description.model


def refuse_misfits(recipe: Recipe, base: Bundle | None) -> None:
    """Raise SettingError where data and model do not go together."""
    first, reads = recipe.data.train[0], reads_source(recipe, base)
    kind = _model(recipe, base).__struct_config__.tag
    joint = recipe.cutting.joint if base is None else base.tokenizers.joint
    if isinstance(first, Mono) and reads and recipe.data.noise is None:
        raise SettingError(
            f"a model of kind {kind!r} reads a source, and text alone has none",
            place="data.train",
            remedy="Give pairs, or set data.noise to learn to restore text, or use a language model.",
        )
    if recipe.data.noise is not None and not (isinstance(first, Mono) and reads):
        raise SettingError(
            "noise makes sources and targets of text alone, for a model that reads sources",
            place="data.noise",
            remedy='Give corpora of kind = "mono" and such a model, or leave it out.',
        )
    if not reads and isinstance(first, Features):
        raise SettingError(
            f"a model of kind {kind!r} reads no feature vectors", place="data.train", remedy="Use another model."
        )
    if not reads and not isinstance(first, Mono) and not joint:
        raise SettingError(
            "a prompt and its answer are one sequence, and need one vocabulary",
            place="text.joint",
            remedy="Set it to true.",
        )


def alignments_of(recipe: Recipe, corpora: Sequence[Corpus], store: Store, folder: Path) -> Alignments | None:
    """Those of the training pairs: as given, or learned once and kept in the folder."""
    objective = recipe.training.objective
    if not isinstance(objective, GuidedAlignment):
        return None
    if isinstance(recipe.data.train[0], Mono | Features):
        raise SettingError(
            "only pairs of texts can be aligned",
            place="training.objective",
            remedy="Use another objective, or pairs of texts.",
        )
    if objective.alignments:
        return read_alignments(objective.alignments, corpora, store)
    return learned_alignments(folder, corpora, store)
