"""From a folder to a translator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dragoman import bundle as bundles
from dragoman.devices import choose
from dragoman.engines.build import searcher
from dragoman.errors import SettingError
from dragoman.files import whole
from dragoman.translator.translator import LanguageModel, Translator

if TYPE_CHECKING:
    from dragoman.devices import Device, NumberFormat
    from dragoman.engines.searcher import Engine
    from dragoman.translator.translator import Batching

__all__ = ["bundle_folder", "load"]


def load(
    folder: Path | str,
    *others: Path | str,
    device: Device = "auto",
    batching: Batching | None = None,
    language_model: Path | str | None = None,
    language_weight: float = 0.2,
    precision: NumberFormat = "float32",
    engine: Engine = "torch",
) -> Translator:
    """The translator in a bundle, or in a training folder, where it is the best so far; of several, an ensemble.

    A language model adds its log-probability of each token, times its weight. The engine ctranslate2 runs greedy and
    beam search of one Transformer; what is asked for beside the search is still done by torch.
    """
    folders = [bundle_folder(Path(each)) for each in (folder, *others)]
    if engine != "torch" and (len(folders) > 1 or language_model is not None):
        raise SettingError(
            f"the engine {engine} runs one model, not several together",
            place="engine",
            remedy="Use the engine torch for ensembles and for help by a language model.",
        )
    loaded = [bundles.load(each) for each in folders]
    helper = None
    if language_model is not None:
        helper = LanguageModel(bundles.load(bundle_folder(Path(language_model))), language_weight)
    chosen = choose(device)
    return Translator(
        *loaded,
        device=chosen,
        batching=batching,
        language_model=helper,
        precision="float32" if engine == "ctranslate2" else precision,
        searcher=searcher(engine, loaded[0], origin=folders[0], device=chosen, precision=precision),
    )


def bundle_folder(path: Path) -> Path:
    """The folder of the bundle: this one, or in a training folder that of the best model so far."""
    best = path / "best"
    is_training_folder = not (whole(path) / bundles.DESCRIPTION).exists() and whole(best).exists()
    return best if is_training_folder else path
