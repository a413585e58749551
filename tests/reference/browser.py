"""Pages opened in headless Chromium: what the console says, what is asked of the network, and how they look."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

_CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_QUIET = ("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync")

needs_chromium = pytest.mark.skipif(_CHROMIUM is None, reason="needs Chromium (Debian: apt-get install chromium)")


@dataclass(frozen=True)
class Opened:
    """What happened when pages were opened."""

    console: tuple[str, ...]
    """Lines that the pages wrote, errors among them."""
    requests: tuple[str, ...]
    """Addresses that the pages asked for, other than files."""
    dom: str
    """The elements after all scripts ran."""


def opened(page, folder, *, dark=False):
    """The page, given as HTML, opened in a browser that reaches nothing outside."""
    path, log = Path(folder) / "page.html", Path(folder) / "net.json"
    path.write_text(page, encoding="utf-8")
    done = _run(folder, f"--log-net-log={log}", "--dump-dom", *(["--force-dark-mode"] if dark else []), path.as_uri())
    events = json.loads(log.read_text())
    begin = events["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"]
    asked = [each["params"] for each in events["events"] if each["type"] == begin and "url" in each.get("params", {})]
    return Opened(
        tuple(line for line in done.stderr.splitlines() if ":CONSOLE" in line),
        tuple(a["url"] for a in asked if a.get("initiator") != "not an origin" and not a["url"].startswith("file:")),
        done.stdout,
    )


def photographed(page, folder, *, size=(1000, 800), dark=False):
    """The path of a PNG of the page."""
    path, picture = Path(folder) / "page.html", Path(folder) / "page.png"
    path.write_text(page, encoding="utf-8")
    window = f"--window-size={size[0]},{size[1]}"
    _run(folder, window, "--hide-scrollbars", f"--screenshot={picture}", *["--force-dark-mode"] * dark, path.as_uri())
    return picture


def _run(folder, *arguments):
    assert _CHROMIUM is not None
    profile = Path(folder) / "profile"
    common = (f"--user-data-dir={profile}", "--headless=new", "--no-sandbox", "--disable-gpu", *_QUIET)
    return subprocess.run(
        [_CHROMIUM, *common, "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
