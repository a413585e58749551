"""Models brought in: read without running anything of theirs, and compared with the original where it is installed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, assert_never

from dragoman import bundle as bundles
from dragoman.errors import FileError, ModelError, SettingError
from dragoman.interop.hub import downloaded
from dragoman.interop.huggingface.folder import opened
from dragoman.interop.huggingface.reading import read_huggingface
from dragoman.interop.joeynmt import CONFIG, read_joeynmt
from dragoman.interop.marian import read_marian
from dragoman.interop.opennmt import read_opennmt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.bundle import Bundle
    from dragoman.interop.probe import Probe

__all__ = ["Import", "import_model"]


@dataclass(frozen=True, slots=True)
class Import:
    """What was brought in."""

    folder: Path
    architecture: str
    probe: Probe | None
    """How closely it follows the original; nothing where the original's library is not installed."""
    remark: str = ""
    """Why it was not compared, if it was not."""


def import_model(
    source: Path | str,
    *,
    out: Path | str,
    source_language: str = "",
    target_language: str = "",
    prompt: str = "",
    sentences: Sequence[str] = (),
) -> Import:
    """The model in a folder or checkpoint, or of a name on the Hugging Face hub, as a bundle in the new folder `out`.

    Languages are those that a model of several reads and writes where nothing else is asked for; `prompt` stands before
    each source, as T5 wants it. The sentences are what it is compared with the original by.
    """
    place = Path(out)
    if place.exists():
        raise FileError("already exists", place=str(place), remedy="Remove it, or choose another folder.")
    path = downloaded(str(source))
    languages = (source_language, target_language)
    if (family := _family(path)) is not None:
        if prompt:
            raise SettingError("this model knows no prompts", place="prompt", remedy="Leave it out.")
        bundle, remark = _read_checkpoint(family, path, name=str(source), languages=languages)
        found = None
    else:
        with opened(path) as folder:
            bundle, found, remark = read_huggingface(
                folder, name=str(source), languages=languages, prompt=prompt, sentences=sentences
            )
    bundles.save(bundle, place)
    origin = bundle.description.origin
    assert isinstance(origin, bundles.Origin)
    return Import(place, origin.architecture, found, remark)


_Family = Literal["Marian", "JoeyNMT", "OpenNMT-py"]


def _family(path: Path) -> _Family | None:
    """Whose checkpoint it is; nothing for a folder of transformers."""
    folder = path.parent if path.is_file() else path
    if path.is_dir() and (path / "config.json").is_file():
        return None
    if path.suffix == ".npz" if path.is_file() else any(path.glob("*.npz")):
        return "Marian"
    if (folder / CONFIG).is_file() and (path.suffix == ".ckpt" or path.is_dir()):
        return "JoeyNMT"
    if path.suffix == ".pt" if path.is_file() else any(path.glob("*.pt")):
        return "OpenNMT-py"
    if path.is_file():
        raise ModelError(
            "is a file of a kind that is not known here",
            place=str(path),
            remedy="Name a folder, or a checkpoint of Marian (.npz), JoeyNMT (.ckpt) or OpenNMT-py (.pt).",
        )
    return None


def _read_checkpoint(family: _Family, path: Path, *, name: str, languages: tuple[str, str]) -> tuple[Bundle, str]:
    match family:
        case "Marian":
            bundle, said = read_marian(path, name=name, languages=languages)
        case "JoeyNMT":
            bundle, said = read_joeynmt(path, name=name, languages=languages)
        case "OpenNMT-py":
            bundle, said = read_opennmt(path, name=name, languages=languages)
        case _:
            assert_never(family)
    return bundle, "; ".join([f"{family} itself is not asked, so nothing was compared", *([said] if said else [])])
