"""Models by their names on the Hugging Face hub."""

from __future__ import annotations

import re
from pathlib import Path

from dragoman.errors import DownloadError, FileError, MissingExtra
from dragoman.interop.huggingface.folder import WANTED

__all__ = ["downloaded"]

_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_WEIGHTS = ("model.safetensors", "model-*.safetensors", "model.safetensors.index.json")
_PICKLES = ("pytorch_model.bin", "pytorch_model-*.bin", "pytorch_model.bin.index.json")


def downloaded(source: str) -> Path:
    """The folder or file of this name, else that of a model on the hub, fetched or from the hub's own cache."""
    path = Path(source)
    if path.exists():
        return path
    if not _NAME.fullmatch(source) or source.startswith("."):
        raise FileError("does not exist", place=source, remedy="Name a folder, or a model of the hub as OWNER/NAME.")
    try:
        import huggingface_hub as hub
    except ImportError:
        raise MissingExtra("huggingface_hub", extra="hub", purpose=f"fetching {source} from the hub") from None
    try:
        listed = hub.HfApi().list_repo_files(source)
        weights = _WEIGHTS if any(name.endswith(".safetensors") for name in listed) else _PICKLES
        return Path(hub.snapshot_download(source, allow_patterns=[*WANTED, *weights]))
    except Exception as error:  # noqa: BLE001 - the hub has dozens, and all mean that it gave nothing
        kept = _cached(source)
        if kept is not None:
            return kept
        raise _unreachable(source, error) from None


def _cached(source: str) -> Path | None:
    """What an earlier download has left."""
    import huggingface_hub as hub

    try:
        return Path(hub.snapshot_download(source, local_files_only=True))
    except Exception:  # noqa: BLE001 - whatever it is called: there is nothing
        return None


def _unreachable(source: str, error: Exception) -> DownloadError:
    kind = type(error).__name__
    if kind in ("RepositoryNotFoundError", "GatedRepoError", "RevisionNotFoundError"):
        return DownloadError(
            f"the hub gives nobody a model of this name ({kind})",
            place=source,
            remedy="Check the name; for models behind a form, log in with `hf auth login`.",
        )
    return DownloadError(
        f"the hub cannot be reached ({kind}), and there is no folder of this name",
        place=source,
        remedy=f"Connect, or fetch the model elsewhere (`hf download {source} --local-dir DIR`) and import the folder.",
    )
