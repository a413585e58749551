"""A recipe: everything that a run file can say."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_args

import msgspec

from dragoman.data.corpus import DataSettings
from dragoman.data.preparation import StoreSettings
from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.build import DecodingSettings
from dragoman.errors import SettingError
from dragoman.files import disk_errors
from dragoman.models.build import ModelSettings
from dragoman.models.presets import Preset, named, tiny
from dragoman.recipe.toml import to_toml
from dragoman.settings import Meta, Settings, assign, decode, parse_toml
from dragoman.text.build import TextSettings
from dragoman.training.build import TrainingSettings
from dragoman.training.validation import EvaluationSettings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


_PATHS = ("data", "start")
"""The tables with names of files, which may hold environment variables."""


class StartSettings(Settings, frozen=True, kw_only=True):
    """The table [start] of a run file: the trained model that training goes on from."""

    model: str
    """Folder of a model, or of the run that trained it. Settings and tokenizers come with it."""
    new_pieces: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    """How many pieces the vocabulary of a side may grow by, learned from the new texts. Symbols come in any case."""


class Recipe(Settings, frozen=True, kw_only=True):
    """A run file, table by table."""

    data: DataSettings
    """Corpora to train and to validate on."""
    start: StartSettings | None = None
    """The trained model that training goes on from; nothing: from scratch."""
    text: TextSettings | None = None
    """How texts are cut into pieces; nothing: as in the model that training goes on from, or by the defaults."""
    store: StoreSettings = StoreSettings()
    """How corpora are prepared."""
    preset: Preset | None = None
    """An architecture by its name. The table [model] then says only what differs, and needs no kind."""
    model: ModelSettings | None = None
    """What is trained; nothing: the model that training goes on from, or a small Transformer (the preset tiny)."""
    training: TrainingSettings = TrainingSettings()
    """How it is trained."""
    decoding: DecodingSettings = BeamSettings()
    """How the trained model searches where nothing else is asked for."""
    evaluation: EvaluationSettings = EvaluationSettings()
    """How the best model is chosen."""

    def check(self) -> None:
        if self.preset is not None and self.model is None:
            msgspec.structs.force_setattr(self, "model", named(self.preset))
        if self.training.adapters is not None and self.start is None:
            raise SettingError(
                "adapters are added to a trained model, and there is none",
                place="training.adapters",
                remedy="Name one with --from or start.model, or leave out the adapters.",
            )

    @property
    def architecture(self) -> ModelSettings:
        """What is trained, where nothing is gone on from."""
        return self.model or tiny()

    @property
    def cutting(self) -> TextSettings:
        """How texts are cut, where nothing is gone on from."""
        return self.text or TextSettings()


@dataclass(frozen=True, slots=True)
class RunFile:
    """A run file as it was read, with what it means."""

    recipe: Recipe
    text: str
    """What a file must hold to say the same, assignments included."""


def read_run_file(path: Path, assignments: Sequence[str] = ()) -> RunFile:
    """The run file with `a.b=value` assignments put in. Names of corpora may hold environment variables."""
    with disk_errors(path, "read"):
        written = path.read_bytes()
    try:
        text = written.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingError(f"not UTF-8: {error}", place=str(path), remedy="Save it as UTF-8.") from None
    document = assign(parse_toml(text, place=str(path)), assignments)
    expanded = {key: _expanded(value) if key in _PATHS else value for key, value in document.items()}
    return RunFile(recipe_of(expanded, place=str(path)), to_toml(document) if assignments else text)


def recipe_of(document: Mapping[str, Any], *, place: str) -> Recipe:
    """The recipe that a document holds, its table [model] laid over the preset that it names."""
    preset: Any = document.get("preset")
    changes = document.get("model")
    if preset not in get_args(Preset) or not isinstance(changes, dict):
        return decode(document, Recipe, place=place)  # which complains, if there is no such preset
    whole = msgspec.to_builtins(named(preset))
    if changes.get("kind", whole["kind"]) != whole["kind"]:
        raise SettingError(
            f"{changes['kind']!r} is not the kind of the preset {preset!r}, which is {whole['kind']!r}",
            place=f"{place}: model.kind",
            remedy="Leave out the kind, or the preset.",
        )
    return decode({**document, "model": _laid_over(whole, changes)}, Recipe, place=place)


def _laid_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """The table with the values of another, key by key; a table of another kind takes the place of the whole."""
    result = dict(below)
    for key, value in above.items():
        old = below.get(key)
        if isinstance(old, dict) and isinstance(value, dict) and value.get("kind", old.get("kind")) == old.get("kind"):
            result[key] = _laid_over(old, value)
        else:
            result[key] = value
    return result


def _expanded(value: Any) -> Any:
    match value:
        case str():
            return os.path.expandvars(value)
        case dict():
            return {key: _expanded(inner) for key, inner in value.items()}
        case list():
            return [_expanded(inner) for inner in value]
        case _:
            return value
