"""What the hub answers is told apart, and each error says how to go on."""

from __future__ import annotations

import errno

import pytest

from dragoman.errors import DownloadError
from dragoman.interop import hub

huggingface_hub = pytest.importorskip("huggingface_hub", reason="asks with its errors")
errors = pytest.importorskip("huggingface_hub.errors", reason="as above")


class Response:
    """As much of an answer as the errors look at."""

    headers: dict[str, str] = {}  # noqa: RUF012 - nobody writes into it
    request = None

    def __init__(self, status):
        self.status_code = status


def answered(kind, status):
    return kind(f"{status} Client Error", response=Response(status))


def caused(error, cause):
    error.__cause__ = cause
    return error


ANSWERS = {
    "no such name": (
        answered(errors.RepositoryNotFoundError, 404),
        "no model of this name.*Check the name.*hf auth login",
    ),
    "gated": (answered(errors.GatedRepoError, 403), "behind a form.*huggingface.co/some/model"),
    "token refused": (answered(errors.HfHubHTTPError, 401), "does not let you.*hf auth login"),
    "forbidden": (answered(errors.HfHubHTTPError, 403), "does not let you.*hf auth login"),
    "disabled": (answered(errors.DisabledRepoError, 403), "disabled.*another model"),
    "file missing": (answered(errors.RemoteEntryNotFoundError, 404), "a file.*missing.*huggingface.co/some/model"),
    "revision missing": (answered(errors.RevisionNotFoundError, 404), "a file.*missing.*huggingface.co/some/model"),
    "disk full": (OSError(errno.ENOSPC, "No space left on device"), "disk is full.*HF_HOME"),
    "quota": (OSError(errno.EDQUOT, "Disk quota exceeded"), "disk is full.*HF_HOME"),
    "disk full below": (caused(RuntimeError("wrapped"), OSError(errno.ENOSPC, "No space")), "disk is full.*HF_HOME"),
    "too many questions": (answered(errors.HfHubHTTPError, 429), "error 429.*later"),
    "hub down": (answered(errors.HfHubHTTPError, 503), "error 503.*later"),
    "offline mode": (errors.OfflineModeIsEnabled("offline"), "HF_HUB_OFFLINE.*Unset"),
    "offline": (errors.LocalEntryNotFoundError("nothing kept"), "cannot be reached.*hf download some/model"),
    "offline below": (
        caused(errors.LocalEntryNotFoundError("nothing kept"), answered(errors.HfHubHTTPError, 503)),
        "error 503.*later",
    ),
    "no connection": (ConnectionError("refused"), "cannot be reached.*hf download some/model"),
    "too slow": (TimeoutError("slow"), "cannot be reached.*hf download some/model"),
    "read-only": (PermissionError(errno.EACCES, "Permission denied"), "cannot be written.*HF_HOME"),
    "anything": (ValueError("odd"), "ValueError: odd.*hf download some/model"),
}


class Hub:
    """A hub that gives one answer, and has kept or not kept an earlier download."""

    def __init__(self, error, kept=None):
        self.error, self.kept = error, kept

    def list_repo_files(self, name):
        return ["model.safetensors"]

    def snapshot_download(self, name, *, allow_patterns=(), local_files_only=False):
        if not local_files_only:
            raise self.error
        if self.kept is None:
            raise errors.LocalEntryNotFoundError("nothing kept")
        return self.kept


@pytest.fixture
def answering(monkeypatch):
    def put(*given):
        stand_in = Hub(*given)
        monkeypatch.setattr(huggingface_hub, "HfApi", lambda: stand_in)
        monkeypatch.setattr(huggingface_hub, "snapshot_download", stand_in.snapshot_download)

    return put


@pytest.mark.parametrize("case", ANSWERS)
def test_each_answer_has_its_remedy(case, answering):
    error, said = ANSWERS[case]
    answering(error)
    with pytest.raises(DownloadError, match=f"(?s){said}") as raised:
        hub.downloaded("some/model")
    assert raised.value.place == "some/model"


def test_errors_of_the_connection_itself_mean_that_nobody_is_there(answering):
    httpx = pytest.importorskip("httpx2", reason="the hub's package asks with it")
    answering(httpx.ConnectError("no route"))
    with pytest.raises(DownloadError, match="cannot be reached"):
        hub.downloaded("some/model")


def test_what_was_kept_serves_where_nobody_answers(answering, tmp_path):
    answering(ConnectionError("refused"), str(tmp_path))
    assert hub.downloaded("some/model") == tmp_path


def test_half_a_download_does_not_serve(answering, tmp_path):
    answering(OSError(errno.ENOSPC, "No space left on device"), str(tmp_path))
    with pytest.raises(DownloadError, match="disk is full"):
        hub.downloaded("some/model")
