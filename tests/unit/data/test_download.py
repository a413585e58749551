"""Fetching one file from a server on this machine that can cut, stall, lie and refuse."""

from __future__ import annotations

import contextlib
import hashlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from dragoman import files
from dragoman.data import download
from dragoman.data.download import Patience, Wanted
from dragoman.errors import DownloadError, FileError

CONTENTS = random.Random(5).randbytes(1_000_000)
SHA256 = hashlib.sha256(CONTENTS).hexdigest()
QUICK = Patience(attempts=3, wait=0.001, silence=0.3)


class Stall(int):
    """So many bytes, and then silence."""


@dataclass
class Behaviour:
    """What the server does; each item of `plan` is for one request, and then it behaves."""

    contents: bytes = CONTENTS
    tag: str = '"v1"'
    ranges: bool = True
    lengths: bool = True
    plan: list[object] = field(default_factory=list)
    requests: list[dict[str, str]] = field(default_factory=list)


class Handler(BaseHTTPRequestHandler):
    """Answers GET as the server's `behaviour` says."""

    def do_GET(self):
        behaviour = self.server.behaviour
        behaviour.requests.append({k.lower(): v for k, v in self.headers.items()})
        step = behaviour.plan.pop(0) if behaviour.plan else None
        if isinstance(step, tuple):  # a refusal: code and headers
            self.refuse(*step)
            return
        if callable(step):
            step()
        body, code = self.part(behaviour)
        self.send_response(code)
        if behaviour.tag:
            self.send_header("ETag", behaviour.tag)
        if code == 206:
            start = len(behaviour.contents) - len(body)
            last, total = len(behaviour.contents) - 1, len(behaviour.contents)
            self.send_header("Content-Range", f"bytes {start}-{last}/{total}")
        if behaviour.lengths:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if isinstance(step, int):  # so many bytes, then the cable is pulled
            body = body[:step]
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body)
            self.wfile.flush()
            if isinstance(step, Stall):
                self.server.released.wait(5)

    def part(self, behaviour):
        """The bytes that this request is due, and the code of the answer."""
        wanted = self.headers.get("Range")
        fits = self.headers.get("If-Range") in (None, behaviour.tag)
        if not (wanted and behaviour.ranges and fits):
            return behaviour.contents, 200
        return behaviour.contents[int(wanted.removeprefix("bytes=").rstrip("-")) :], 206

    def refuse(self, code, headers):
        self.send_response(code)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_arguments: object):
        """Say nothing."""


@pytest.fixture
def server(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.daemon_threads = True
        running.behaviour = Behaviour()
        running.released = threading.Event()
        running.url = f"http://127.0.0.1:{running.server_port}/file.bin"
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.released.set()
        running.shutdown()
        thread.join()


def fetch(wanted, path, patience=QUICK):
    return list(download.fetch(wanted, path, patience=patience))


def whole(server, *, known=True):
    return Wanted(server.url, len(CONTENTS), SHA256) if known else Wanted(server.url)


def names(folder):
    return sorted(p.name for p in folder.iterdir())


# ---- when all goes well ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("lengths", [True, False])
def test_a_file_is_fetched_and_progress_grows(server, tmp_path, known, lengths):
    server.behaviour.lengths = lengths
    events = fetch(whole(server, known=known), tmp_path / "deep" / "a")
    assert (tmp_path / "deep" / "a").read_bytes() == CONTENTS
    assert names(tmp_path / "deep") == ["a"]
    done = [event.done for event in events]
    assert len(done) > 5
    assert done == sorted(done)
    assert done[-1] == len(CONTENTS)
    assert {event.total for event in events} == {len(CONTENTS) if known or lengths else None}


def test_a_file_that_is_here_is_not_fetched_again(server, tmp_path):
    fetch(whole(server), tmp_path / "a")
    events = fetch(whole(server), tmp_path / "a")
    assert [event.done for event in events] == [len(CONTENTS)]
    assert len(server.behaviour.requests) == 1


# ---- cuts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False])
def test_a_cut_in_the_middle_is_gone_on_from(server, tmp_path, known):
    server.behaviour.plan = [400_000, 300_000]
    events = fetch(whole(server, known=known), tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == CONTENTS
    ranges = [request.get("range") for request in server.behaviour.requests]
    assert ranges == [None, "bytes=400000-", "bytes=700000-"]
    assert server.behaviour.requests[1]["if-range"] == '"v1"'
    said = [event.note for event in events if event.note]
    assert said[0] == "the connection ended after 400,000 of 1,000,000 bytes; trying again in 0.001 s"
    assert events[-1].done == len(CONTENTS)


def test_many_cuts_are_borne_as_long_as_each_attempt_brings_something(server, tmp_path):
    server.behaviour.plan = [50_000] * 12
    fetch(whole(server), tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == CONTENTS
    assert len(server.behaviour.requests) == 13


def test_a_later_run_goes_on_where_an_earlier_one_gave_up(server, tmp_path):
    server.behaviour.plan = [600_000, 0, 0, 0]
    with pytest.raises(DownloadError, match="goes on where it stopped") as caught:
        fetch(whole(server), tmp_path / "a")
    assert "600,000 of 1,000,000" in str(caught.value)
    assert (tmp_path / "a").read_bytes() == CONTENTS[:600_000]
    fetch(whole(server), tmp_path / "a")
    assert server.behaviour.requests[-1]["range"] == "bytes=600000-"
    assert (tmp_path / "a").read_bytes() == CONTENTS


def test_a_reader_who_stops_keeps_what_is_here(server, tmp_path):
    for event in download.fetch(whole(server), tmp_path / "a", patience=QUICK):
        if event.done > 300_000:
            break
    kept = (tmp_path / "a").stat().st_size
    assert kept > 300_000
    fetch(whole(server), tmp_path / "a")
    assert server.behaviour.requests[-1]["range"] == f"bytes={kept}-"
    assert (tmp_path / "a").read_bytes() == CONTENTS


@pytest.mark.parametrize("known", [True, False])
def test_a_server_that_knows_no_ranges_is_asked_for_all_of_it(server, tmp_path, known):
    server.behaviour.ranges = False
    server.behaviour.plan = [400_000, 100_000]
    fetch(whole(server, known=known), tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == CONTENTS


@pytest.mark.parametrize("known", [True, False])
def test_two_versions_are_never_joined(server, tmp_path, known):
    server.behaviour.contents = bytes(len(CONTENTS))

    def change():
        server.behaviour.contents, server.behaviour.tag = CONTENTS, '"v2"'

    server.behaviour.plan = [500_000, change]
    fetch(whole(server, known=known), tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == CONTENTS


def test_two_versions_are_not_joined_either_when_it_ends_between_them(server, tmp_path, monkeypatch):
    server.behaviour.contents = bytes(len(CONTENTS))
    server.behaviour.plan = [500_000, 0, 0]
    with pytest.raises(DownloadError):
        fetch(whole(server, known=False), tmp_path / "a")
    server.behaviour.contents, server.behaviour.tag = CONTENTS, '"v2"'
    with monkeypatch.context() as patch:
        patch.setattr(download, "_receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fetch(whole(server, known=False), tmp_path / "a")
    fetch(whole(server, known=False), tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == CONTENTS


def interrupted(*_arguments: object, **_named: object):
    raise KeyboardInterrupt


def test_a_program_that_is_killed_goes_on_where_it_was(server, tmp_path):
    server.behaviour.plan = [Stall(400_000)]
    program = (
        "import sys; from pathlib import Path; from dragoman.data import download as d\n"
        "for _ in d.fetch(d.Wanted(sys.argv[1], 1_000_000, sys.argv[2]), Path(sys.argv[3])): pass"
    )
    path = tmp_path / "a"
    with subprocess.Popen([sys.executable, "-c", program, server.url, SHA256, str(path)]) as running:
        deadline = time.monotonic() + 20
        while not (path.exists() and path.stat().st_size >= 300_000):
            assert time.monotonic() < deadline
            time.sleep(0.005)
        running.kill()
    assert running.returncode == -signal.SIGKILL
    kept = path.stat().st_size
    assert 300_000 <= kept <= 400_000
    fetch(whole(server), path)
    assert server.behaviour.requests[-1]["range"] == f"bytes={kept}-"
    assert path.read_bytes() == CONTENTS


def test_without_a_version_only_a_checksum_makes_going_on_safe(server, tmp_path):
    server.behaviour.tag = ""
    server.behaviour.plan = [500_000]
    fetch(whole(server, known=False), tmp_path / "a")
    assert [r.get("range") for r in server.behaviour.requests] == [None, None]
    server.behaviour.plan = [500_000]
    fetch(whole(server), tmp_path / "b")
    assert [r.get("range") for r in server.behaviour.requests[2:]] == [None, "bytes=500000-"]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == CONTENTS


def test_a_damaged_part_is_found_and_fetched_afresh(server, tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 300_000)
    fetch(whole(server), tmp_path / "a")
    assert [r.get("range") for r in server.behaviour.requests] == ["bytes=300000-", None]
    assert (tmp_path / "a").read_bytes() == CONTENTS


@pytest.mark.parametrize("excess", [0, 5])
def test_a_part_as_long_as_the_file_or_longer_is_fetched_afresh(server, tmp_path, excess):
    (tmp_path / "a").write_bytes(b"x" * (len(CONTENTS) + excess))
    server.behaviour.plan = [(416, {"Content-Range": f"bytes */{len(CONTENTS)}"})]
    fetch(whole(server), tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == CONTENTS


def test_a_silent_server_is_left_and_asked_again(server, tmp_path):
    server.behaviour.contents = CONTENTS * 2
    wanted = Wanted(server.url, None, hashlib.sha256(CONTENTS * 2).hexdigest())

    def pause():
        server.released.wait(1)

    server.behaviour.plan = [pause]
    fetch(wanted, tmp_path / "a")
    assert len(server.behaviour.requests) == 2
    assert (tmp_path / "a").read_bytes() == CONTENTS * 2


def test_a_server_that_falls_silent_in_the_middle(server, tmp_path):
    server.behaviour.lengths = False
    server.behaviour.plan = [Stall(1000), Stall(0), Stall(0)]
    with pytest.raises(DownloadError, match="fell silent"):
        fetch(Wanted(server.url), tmp_path / "a")


# ---- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_busy_server_is_asked_again(server, tmp_path, code):
    server.behaviour.plan = [(code, {"Retry-After": "0"}), (code, {})]
    fetch(whole(server), tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == CONTENTS


def test_the_wait_doubles_and_heeds_the_server(server, tmp_path, monkeypatch):
    waits = []
    monkeypatch.setattr(download.time, "sleep", waits.append)
    server.behaviour.plan = [(503, {}), (503, {}), (503, {"Retry-After": "7"}), (503, {"Retry-After": "9999"})]
    fetch(whole(server), tmp_path / "a", Patience(attempts=9, wait=1.0, silence=5.0))
    assert waits == [1, 2, 7, 60]


def test_a_server_that_stays_busy_is_given_up(server, tmp_path):
    server.behaviour.plan = [(503, {})] * 3
    with pytest.raises(DownloadError, match=r"503 .*3 attempts"):
        fetch(whole(server), tmp_path / "a")


@pytest.mark.parametrize(("code", "said"), [(404, "not there any more"), (410, "not there"), (403, "refuses")])
def test_a_refusal_is_final_and_names_the_ways_out(server, tmp_path, code, said):
    server.behaviour.plan = [(code, {})]
    with pytest.raises(DownloadError, match=said) as caught:
        fetch(whole(server), tmp_path / "a")
    assert caught.value.place == server.url
    assert "DRAGOMAN_MIRROR" in caught.value.remedy
    assert "DRAGOMAN_DATA" in caught.value.remedy
    assert len(server.behaviour.requests) == 1


def test_offline(server, tmp_path):
    wanted = whole(server)
    server.server_close()
    with pytest.raises(DownloadError, match="cannot be reached") as caught:
        fetch(Wanted(wanted.url.replace(str(server.server_port), "1"), None, None), tmp_path / "a")
    assert "Check the connection" in caught.value.remedy


def test_wrong_bytes_are_refused_and_not_kept(server, tmp_path):
    server.behaviour.contents = b"!" + CONTENTS[1:]
    with pytest.raises(DownloadError, match="and should have") as caught:
        fetch(whole(server), tmp_path / "a")
    assert SHA256 in str(caught.value)
    assert names(tmp_path) == []


def test_another_size_is_refused_before_the_file_is_fetched(server, tmp_path):
    server.behaviour.contents = CONTENTS + b"more"
    with pytest.raises(DownloadError, match=r"1,000,004 bytes, and it should be 1,000,000"):
        fetch(whole(server), tmp_path / "a")


def test_a_server_without_end_is_stopped(server, tmp_path):
    server.behaviour.lengths = False
    server.behaviour.contents = CONTENTS * 3
    with pytest.raises(DownloadError, match=r"sends more than the 1,000,000 bytes"):
        fetch(whole(server), tmp_path / "a")


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/x", "nothing"])
def test_only_the_web_is_asked(tmp_path, url):
    with pytest.raises(DownloadError, match="not an address of the web"):
        fetch(Wanted(url), tmp_path / "a")


# ---- disks -------------------------------------------------------------------------------------------------------


def test_a_disk_with_too_little_room_is_found_before_the_first_byte(server, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "free_bytes", lambda _: 999_999)
    with pytest.raises(FileError, match="1,000,000 bytes needed, 999,999 free"):
        fetch(whole(server), tmp_path / "a")


def test_a_disk_that_fills_up_on_the_way(server, tmp_path, monkeypatch):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs a small tmpfs, and mounting is not allowed here")
    try:
        monkeypatch.setattr(files, "free_bytes", lambda _: 10**9)  # as if somebody else filled it
        with pytest.raises(FileError, match="The disk is full") as caught:
            fetch(whole(server), disk / "a")
        assert caught.value.place == str(disk / "a")
    finally:
        subprocess.run(["umount", str(disk)], check=True)
