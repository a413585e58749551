"""Sets of settings that are worth varying, by name: those of Britz et al. (2017), and their like for Transformers.

Sizes are halves and doubles of what the run file says, so that a set fits a small run as it fits a large one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, assert_never

from dragoman.errors import SettingError
from dragoman.models.rnn import RecurrentSettings
from dragoman.models.transformer import TransformerSettings
from dragoman.recipe.planned import assigned, changed
from dragoman.settings import NOTHING
from dragoman.training.objectives.cross_entropy import CrossEntropy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.recipe.schema import Recipe

__all__ = ["SETS", "SetName", "exploration"]

SetName = Literal["architecture", "training", "text", "search"]
SETS: tuple[SetName, ...] = ("architecture", "training", "text", "search")

Values = dict[str, "Sequence[Any]"]

_SCORES = ("dot", "general", "additive")


def exploration(name: SetName, recipe: Recipe) -> Values:
    """What the set varies about a recipe, without values that do not go with the rest of it."""
    found: Values = {}
    for key, values in _unchecked(name, recipe).items():
        fitting = [value for value in values if _fits(recipe, key, value)]
        if fitting:
            found[key] = fitting
    return found


def _fits(recipe: Recipe, name: str, value: Any) -> bool:
    try:
        changed(recipe, assigned(dict.fromkeys(name.split("+"), value)))
    except SettingError:
        return False
    return True


def _unchecked(name: SetName, recipe: Recipe) -> Values:
    match name:
        case "architecture":
            return _architecture(recipe)
        case "training":
            return _training(recipe)
        case "text":
            return _text(recipe)
        case "search":
            return {"decoding.beam": (1, 3, 5, 10, 25), "decoding.alpha": (0.0, 0.5, 1.0)}
        case _:
            assert_never(name)


def _architecture(recipe: Recipe) -> Values:
    if recipe.start is not None:
        raise SettingError(
            "the architecture is that of the model that training goes on from",
            place="start.model",
            remedy="Explore training or search, or start from scratch.",
        )
    match recipe.architecture:
        case RecurrentSettings() as model:
            layers = "model.layers" if model.encoder_layers is None else "model.layers+model.encoder_layers"
            found: Values = {
                "model.cell": ("vanilla", "gru", "lstm"),
                "model.size": _around(model.size),
                "model.embedding_size": _around(model.embedding_size or model.size),
                layers: (1, 2, 4),
                "model.direction": ("forward", "backward", "both"),
                "model.dropout.hidden": (0.0, 0.2, 0.4),
            }
            if model.attention is not None:
                found["model.attention.score"] = _SCORES
                found["model.attention"] = (NOTHING,)
            return found
        case TransformerSettings() as model:
            return {
                "model.size": _around(model.size),
                "model.encoder_layers": _around(model.encoder_layers),
                "model.decoder_layers": _around(model.decoder_layers),
                "model.attention.heads": _around(model.attention.heads),
                "model.feedforward.size": _around(model.feedforward.size),
                "model.norm.place": ("pre", "post"),
                "model.dropout.hidden": (0.0, 0.1, 0.3),
            }
        case model:
            raise SettingError(
                f"there is no set of settings for models of kind {model.__struct_config__.tag!r}",
                place="model.kind",
                remedy="Name settings and values with --vary.",
            )


def _training(recipe: Recipe) -> Values:
    training = recipe.training
    rate = training.optimizer.rate
    found: Values = {
        "training.optimizer.rate": (rate / 4, rate / 2, rate, 2 * rate),
        "training.batch_tokens": _around(training.batch_tokens),
    }
    if isinstance(training.objective, CrossEntropy):
        found["training.objective.smoothing"] = (0.0, 0.1, 0.2)
    return found


def _text(recipe: Recipe) -> Values:
    size = recipe.cutting.vocabulary_size
    if size is None:
        raise SettingError(
            "it is not said how large the vocabulary is",
            place="text.vocabulary_size",
            remedy="Name sizes with --vary text.vocabulary_size=4000,8000,16000.",
        )
    return {"text.vocabulary_size": _around(size)}


def _around(size: int) -> tuple[int, ...]:
    return tuple(dict.fromkeys((max(1, size // 2), size, 2 * size)))
