"""The run file of a run that is described by its corpora: the one in its folder, or one chosen for them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman import bundle as bundles
from dragoman.data.corpus import DataSettings
from dragoman.errors import FileError, SettingError
from dragoman.recipe.auto import Wishes, automatic, machine
from dragoman.recipe.folder import HELD_OUT, RUN_FILE
from dragoman.recipe.held_out import is_part_of
from dragoman.recipe.schema import RunFile, StartSettings, read_run_file, recipe_of
from dragoman.recipe.toml import inline, settings_to_toml
from dragoman.settings import assign, decode
from dragoman.translator.loading import bundle_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dragoman.recipe.schema import Recipe

_TITLE = (
    "Chosen by dragoman train from the data and this machine, each choice with its reason. Whatever is not said here "
    "is a default: dragoman train --explain KEY. Change what you like, and start over with --fresh."
)


def planned(data: DataSettings, folder: Path, *, assignments: Sequence[str] = (), fresh: bool = False) -> RunFile:
    """What to run for these corpora: what the folder's run file says, or, the first time, what is chosen for them."""
    if not fresh and (folder / RUN_FILE).exists():
        kept = written(None, folder, assignments)
        if not is_part_of(kept.recipe.data, data, folder / HELD_OUT):
            raise SettingError(
                "the run in this folder is about other data",
                place=str(folder / RUN_FILE),
                remedy="Choose another folder, or start over with --fresh.",
            )
        return kept
    return _chosen(data, folder, assignments)


def written(run_file: Path | None, folder: Path, assignments: Sequence[str] = ()) -> RunFile:
    """The run file, or the one that is kept in the folder: assignments do not change what the user may have noted."""
    path = folder / RUN_FILE
    if run_file is not None and run_file.resolve() != path.resolve():
        return read_run_file(run_file, assignments)
    if not path.exists():
        raise FileError(
            "there is no run here yet",
            place=str(path),
            remedy="Name a run file, or corpora with --src and --tgt, or --text.",
        )
    return RunFile(read_run_file(path, assignments).recipe, read_run_file(path).text)


def starting_from(model: str | Path) -> str:
    """The assignment that has training go on from a model."""
    return f"start.model={inline(str(Path(model).expanduser().absolute()))}"


def assigned(settings: Mapping[str, Any]) -> list[str]:
    """Assignments that set dotted keys to these values."""
    return [f"{key}={inline(value)}" for key, value in settings.items()]


def changed(recipe: Recipe, assignments: Sequence[str]) -> Recipe:
    """The recipe with assignments put in."""
    document: dict[str, Any] = _given(msgspec.to_builtins(recipe))
    for each in assignments:
        key = each.partition("=")[0].strip()
        table, _, last = key.rpartition(".")
        if last == "kind":  # of another kind nothing that was there holds
            _empty(document, table.split("."))
        elif key == "preset":
            document.pop("model", None)
    return recipe_of(assign(document, assignments), place="--set")


def _chosen(data: DataSettings, folder: Path, assignments: Sequence[str]) -> RunFile:
    wanted = assign({"data": msgspec.to_builtins(data)}, assignments)
    chosen = automatic(
        decode(wanted["data"], DataSettings, place="data"), folder / HELD_OUT, machine=machine(), wishes=_wishes(wanted)
    )
    theirs = [each for each in assignments if not each.strip().startswith("data.")]
    keys = [each.partition("=")[0].strip() for each in theirs]
    recipe = changed(chosen.recipe, theirs)
    kept = {key: reason for key, reason in chosen.reasons.items() if not any(_covers(each, key) for each in keys)}
    reasons = kept | dict.fromkeys(keys, "as you have set it")
    if reasons.pop("preset", None):  # the file says all of it, so that it stands when a preset changes
        reasons["model"] = f"the preset {recipe.preset}, as you have set it"
        recipe = msgspec.structs.replace(recipe, preset=None)
    return RunFile(recipe, settings_to_toml(recipe, reasons, title=_TITLE))


def _wishes(document: Mapping[str, Any]) -> Wishes:
    training = document.get("training", {})
    start = decode(document["start"], StartSettings, place="start") if "start" in document else None
    like = document.get("text", {}).get("like", "")
    vocabularies = bundles.describe(bundle_folder(Path(like))) if isinstance(like, str) and like else None
    return Wishes(
        steps=_whole_number(training.get("steps")),
        batch_tokens=_whole_number(training.get("batch_tokens")),
        start=start,
        adapters="adapters" in training,
        base=None if start is None else bundles.describe(bundle_folder(Path(start.model))),
        like="" if vocabularies is None else like,
        joint=None if vocabularies is None else vocabularies.source_vocabulary is None,
    )


def _whole_number(value: Any) -> int | None:
    """The value if it can be one of these settings; what it is otherwise is complained of where it is decoded."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _given(document: Any) -> Any:
    """The document without what is nothing."""
    if not isinstance(document, dict):
        return document
    return {key: _given(value) for key, value in document.items() if value is not None}


def _empty(document: dict[str, Any], path: Sequence[str]) -> None:
    *above, last = path
    for name in above:
        document = document.get(name) or {}
    document[last] = {}


def _covers(key: str, other: str) -> bool:
    if key == "preset":
        return other.startswith("model")
    return other == key or other.startswith(f"{key}.") or (key.endswith(".kind") and other.startswith(key[:-5]))
