"""Training from Python: a run as an object, from a run file, a recipe or the names of corpora."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

from dragoman.bundle import BEST
from dragoman.data.corpus import DataSettings
from dragoman.errors import SettingError
from dragoman.recipe.corpora import Corpora
from dragoman.recipe.planned import assigned, changed, planned, starting_from, written
from dragoman.recipe.report import write_report
from dragoman.recipe.run import run
from dragoman.recipe.schema import Recipe, RunFile
from dragoman.recipe.toml import settings_to_toml
from dragoman.training.events import Finished
from dragoman.translator import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from dragoman.training.events import Event
    from dragoman.translator import Translator

__all__ = ["Run", "train"]

_NO_SETTINGS: dict[str, Any] = {}


class Run:
    """A run in a folder. Iterate for its events as they happen, or let it `finish`; made again, it goes on."""

    def __init__(self, recipe: Recipe, folder: Path | str, *, text: str = "", fresh: bool = False) -> None:
        self.recipe, self.folder = recipe, Path(folder)
        self._text, self._fresh = text, fresh

    def __iter__(self) -> Iterator[Event]:
        return self.events()

    def events(self, stop: Callable[[], int | None] = lambda: None) -> Iterator[Event]:
        """What happens, while it happens; `stop` is asked after each update, and a signal's number ends the run."""
        fresh, self._fresh = self._fresh, False  # iterated again, it goes on
        return run(self.recipe, self.folder, text=self._text, fresh=fresh, stop=stop)

    def finish(self) -> Finished:
        """How the run has ended, after all of it was done."""
        *_, last = self.events()
        assert isinstance(last, Finished)
        return last

    @property
    def model(self) -> Path:
        """The folder of the best model so far."""
        return self.folder / BEST

    @property
    def translator(self) -> Translator:
        """The best model so far, ready for use."""
        return load(self.model)

    def report(self) -> Path:
        """The page about the run, as it stands now."""
        return write_report(self.folder)


def train(
    what: str | Path | Recipe | Corpora | DataSettings,
    *,
    out: str | Path = "",
    start: str | Path = "",
    settings: Mapping[str, Any] = _NO_SETTINGS,
    fresh: bool = False,
) -> Run:
    """The run of a run file, of a recipe, or of one that is chosen for corpora. Nothing is trained before it is asked.

    `out` is the folder of the run, `start` a model to go on from, and `settings` are set by their dotted keys.
    """
    assignments = ([starting_from(start)] if start else []) + assigned(settings)
    folder = folder_of(what, out)
    given = run_file_of(what, folder, assignments, fresh=fresh)
    return Run(given.recipe, folder, text=given.text, fresh=fresh)


def run_file_of(
    what: str | Path | Recipe | Corpora | DataSettings, folder: Path, assignments: Sequence[str], *, fresh: bool = False
) -> RunFile:
    """What a run in the folder goes by: a run file, a recipe, or one that is chosen for corpora."""
    match what:
        case str() | Path():
            return written(Path(what), folder, assignments)
        case Recipe():
            recipe = changed(what, assignments) if assignments else what
            return RunFile(recipe, settings_to_toml(recipe))
        case Corpora():
            return planned(what.settings(), folder, assignments=assignments, fresh=fresh)
        case DataSettings():
            return planned(what, folder, assignments=assignments, fresh=fresh)
        case _:
            assert_never(what)


def folder_of(what: object, out: str | Path) -> Path:
    """The folder that is named, or one of the run file's name."""
    if out:
        return Path(out)
    if isinstance(what, str | Path):
        return Path(Path(what).stem)
    raise SettingError("the run has no folder", place="out", remedy="Name one.")
