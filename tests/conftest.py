"""Fixtures that every room's tests share."""

from __future__ import annotations

import functools
import os
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import hypothesis
import pytest

# a busy machine is no fault of the code: what has to be quick has tests that say so
hypothesis.settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any machine")


@pytest.fixture(scope="session")
def data_folder():
    """A function from a data set's name to its folder; skips the test, by name, where it is missing."""

    def find(name: str) -> Path:
        root = os.environ.get("DRAGOMAN_DATA")
        if not root:
            pytest.skip(f"needs the data set {name}: DRAGOMAN_DATA is not set")
        folder = Path(root) / name
        if not folder.is_dir():
            pytest.skip(f"needs the data set {name}: not in {root}")
        return folder

    return find


class _Quiet(SimpleHTTPRequestHandler):
    """Serves a folder and says nothing."""

    def log_message(self, *_arguments: object):
        """Say nothing."""


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """A folder that a server on this machine serves, and that stands for the web; the cache is empty."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "DRAGOMAN_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder))) as server:
        monkeypatch.setenv("DRAGOMAN_MIRROR", f"http://127.0.0.1:{server.server_port}/")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield folder
        server.shutdown()
        thread.join()
