"""Models by their names on the Hugging Face hub."""

from __future__ import annotations

import errno
import re
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.errors import DownloadError, FileError, MissingExtra
from dragoman.interop.huggingface.folder import WANTED

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["downloaded"]

_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_WEIGHTS = ("model.safetensors", "model-*.safetensors", "model.safetensors.index.json")
_PICKLES = ("pytorch_model.bin", "pytorch_model-*.bin", "pytorch_model.bin.index.json")
_FULL = {errno.ENOSPC, errno.EDQUOT}
_CLOSED = {errno.EACCES, errno.EPERM, errno.EROFS}
_UNAUTHORISED = {401, 403}
_TRANSPORTS = {"httpx", "httpx2", "requests", "urllib3"}
"""Packages that the hub's own, in one version or another, asks with."""


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
    except Exception as error:  # noqa: BLE001 - the hub has dozens; each is told apart below
        kept = None if _disk_error(error) else _cached(source)  # a disk that fails leaves half a model
        if kept is not None:
            return kept
        raise _failure(source, error) from None


def _cached(source: str) -> Path | None:
    """What an earlier download has left."""
    import huggingface_hub as hub

    try:
        return Path(hub.snapshot_download(source, local_files_only=True))
    except Exception:  # noqa: BLE001 - whatever it is called: there is nothing
        return None


# ---- errors ------------------------------------------------------------------------------------------------------


def _failure(source: str, error: Exception) -> DownloadError:
    """What went wrong, and what to do about it."""
    if (full := _disk_error(error)) is not None:
        problem = "the disk is full" if full.errno in _FULL else f"the hub's cache cannot be written ({full.strerror})"
        return _error(source, problem, "Make room, or set HF_HOME to a folder of another disk.")
    return _answer(source, error) or _silence(source, error)


def _answer(source: str, error: Exception) -> DownloadError | None:
    """The error for what the hub has answered, if it has."""
    from huggingface_hub import errors

    page = f"https://huggingface.co/{source}"
    answer = next((each for each in _chain(error) if isinstance(each, errors.HfHubHTTPError)), None)
    status = getattr(getattr(answer, "response", None), "status_code", None)
    match answer:
        case None:
            return None
        case errors.GatedRepoError():
            remedy = f"Ask for it on {page}, then log in with `hf auth login`."
            return _error(source, "this model is behind a form, and you may not read it yet", remedy)
        case errors.RepositoryNotFoundError():
            remedy = "Check the name; where the model is private, log in with `hf auth login`."
            return _error(source, "the hub has no model of this name that you may see", remedy)
        case errors.DisabledRepoError():
            return _error(source, "this model was disabled on the hub", "Choose another model.")
        case errors.EntryNotFoundError() | errors.RevisionNotFoundError():
            remedy = f"See what is there on {page}/tree/main; the model may just be changing: try again."
            return _error(source, "a file of this model is missing on the hub", remedy)
    if status in _UNAUTHORISED:
        remedy = "Log in with `hf auth login`, with a token that may read this model."
        return _error(source, f"the hub does not let you read this model (error {status})", remedy)
    return _error(source, f"the hub answers with error {status}", "Try again later.")


def _silence(source: str, error: Exception) -> DownloadError:
    """The error where the hub has not answered, or nobody knows why it failed."""
    from huggingface_hub import errors

    elsewhere = f"fetch the model elsewhere (`hf download {source} --local-dir DIR`) and import the folder."
    chain = list(_chain(error))
    if any(isinstance(each, errors.OfflineModeIsEnabled) for each in chain):
        return _error(source, "the hub is not asked while HF_HUB_OFFLINE is set", f"Unset it, or {elsewhere}")
    unanswered = (ConnectionError, TimeoutError, errors.LocalEntryNotFoundError)
    if any(isinstance(each, unanswered) or _package(each) in _TRANSPORTS for each in chain):
        problem = f"the hub cannot be reached ({type(error).__name__}), and there is no folder of this name"
        return _error(source, problem, f"Connect, or {elsewhere}")
    return _error(source, f"the download failed ({type(error).__name__}: {error})", f"Try again, or {elsewhere}")


def _error(source: str, problem: str, remedy: str) -> DownloadError:
    return DownloadError(problem, place=source, remedy=remedy)


def _disk_error(error: Exception) -> OSError | None:
    """The error of the disk among the causes, if there is one."""
    found = (each for each in _chain(error) if isinstance(each, OSError) and each.errno in _FULL | _CLOSED)
    return next(found, None)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, and what has caused it."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _package(error: BaseException) -> str:
    return type(error).__module__.partition(".")[0]
