"""A folder as `save_pretrained` writes it: which files are looked at, and how."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.errors import FileError, ModelError
from dragoman.files import disk_errors
from dragoman.interop.safe_tensors import SafeTensors
from dragoman.interop.unpickling import unpickled

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["WANTED", "Folder", "opened"]

_LARGEST_JSON = 256 << 20
_WEIGHTS, _INDEX, _PICKLE = "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"
_PICKLES = "pytorch_model.bin.index.json"
WANTED = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "source.spm",
    "target.spm",
    "spiece.model",
    "sentencepiece.bpe.model",
)
"""Files that are read beside the weights. No code is among them, and none is ever run."""


@dataclass(frozen=True, slots=True)
class Folder:
    """The files of a model, its weights in safetensors."""

    path: Path
    weights: tuple[Path, ...]

    def document(self, name: str) -> dict[str, Any]:
        """A JSON file; nothing in it where there is none."""
        found = self._parsed(name)
        if not isinstance(found, dict):
            raise FileError("holds no JSON object", place=str(self.path / name), remedy="Fetch the model again.")
        return found

    def _parsed(self, name: str) -> Any:
        data = self.data(name)
        if data is None:
            return {}
        try:
            return msgspec.json.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise FileError(
                f"is not JSON: {error}", place=str(self.path / name), remedy="Fetch the model again."
            ) from None

    def data(self, name: str) -> bytes | None:
        """What a file holds, if it is there."""
        path = self.path / name
        if not path.is_file():
            return None
        with disk_errors(path, "read"):
            if path.stat().st_size > _LARGEST_JSON:
                raise FileError("is larger than such a file ever is", place=str(path), remedy="Fetch the model again.")
            return path.read_bytes()

    def tensors(self) -> SafeTensors:
        """The weights."""
        return SafeTensors(self.weights, place=str(self.path))


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Folder]:
    """The model in a folder. Pickled weights become safetensors for as long as it is open."""
    if not (path / "config.json").is_file():
        raise ModelError(
            "is no model that is known here: there is no config.json",
            place=str(path),
            remedy="Name a folder that transformers wrote, or a name on the Hugging Face hub.",
        )
    safe = _files(path, _WEIGHTS, _INDEX)
    if safe:
        yield Folder(path, safe)
        return
    pickles = _files(path, _PICKLE, _PICKLES)
    if not pickles:
        raise FileError(
            f"there are no weights: neither {_WEIGHTS} nor {_PICKLE}", place=str(path), remedy="Fetch the model again."
        )
    with tempfile.TemporaryDirectory(prefix="dragoman-") as place:
        written = [Path(place) / f"{number}.safetensors" for number in range(len(pickles))]
        for pickle, into in zip(pickles, written, strict=True):
            unpickled(pickle, into)
        yield Folder(path, tuple(written))


def _files(path: Path, single: str, index: str) -> tuple[Path, ...]:
    """The file of that name, or all those that an index names, which must lie in the folder itself."""
    if (path / single).is_file():
        return (path / single,)
    named = Folder(path, ()).document(index).get("weight_map", {})
    if not isinstance(named, dict):
        raise FileError("has no weight_map", place=str(path / index), remedy="Fetch the model again.")
    names = sorted({str(name) for name in named.values()})
    for name in names:
        if Path(name).name != name or not (path / name).is_file():
            raise FileError(
                f"names a file that is not in the folder: {name!r}",
                place=str(path / index),
                remedy="Fetch the model again.",
            )
    return tuple(path / name for name in names)
