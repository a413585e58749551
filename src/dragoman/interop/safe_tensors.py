"""Foreign weights in safetensors: names and shapes are known before anything is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError, safe_open

from dragoman.errors import FileError
from dragoman.files import disk_errors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from torch import Tensor

__all__ = ["SafeTensors"]


class SafeTensors:
    """The tensors of one file, or of several among which a model was divided."""

    def __init__(self, files: Sequence[Path], *, place: str) -> None:
        self.place = place
        self._files = tuple(files)
        self._file_of: dict[str, Path] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}
        for file in files:
            for name, shape in _declared(file):
                self._file_of[name], self._shapes[name] = file, shape

    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The shape of each, by name."""
        return self._shapes

    def read(self, name: str) -> Tensor:
        """One of them."""
        file = self._file_of[name]
        with disk_errors(file, "read"), safe_open(file, framework="pt") as stored:
            found: Tensor = stored.get_tensor(name)
        return found

    def metadata(self) -> dict[str, str]:
        """What the files say beside their tensors."""
        found: dict[str, str] = {}
        for file in self._files:
            with disk_errors(file, "read"), safe_open(file, framework="pt") as stored:
                found |= stored.metadata() or {}
        return found


def _declared(file: Path) -> list[tuple[str, tuple[int, ...]]]:
    with disk_errors(file, "read"):
        try:
            with safe_open(file, framework="pt") as stored:
                return [(name, tuple(_slice(stored, name).get_shape())) for name in stored.keys()]  # noqa: SIM118 - not a dict
        except SafetensorError as error:
            raise FileError(f"damaged: {error}", place=str(file), remedy="Fetch the model again.") from None


def _slice(stored: Any, name: str) -> Any:
    return stored.get_slice(name)
