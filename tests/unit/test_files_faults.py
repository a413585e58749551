"""Kills and faults of the disk at every point of a write, by strace; and disks that are really full or read-only.

A child process does one write. A first run lists its system calls; then it runs once for each of them, and strace
kills it there, or lets that call fail.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from dragoman import files
from dragoman.errors import FileError

MARK = "/dragoman-starts-here"
HARMLESS = ("flock", "mkdir", "mkdirat")
"""Calls that may fail without harm: no locks on this disk, or the parent folder is there already."""
OLD, NEW = b"old " * 1000, b"new " * 3000
REFUSED = 7

CHILD = """
import os, sys
from pathlib import Path
from dragoman import files
from dragoman.errors import FileError

what, path, error = sys.argv[1], Path(sys.argv[2]), None
try:
    os.unlink("/dragoman-starts-here")
except FileNotFoundError:
    pass
try:
    if what == "file":
        with files.replacing(path / "file") as stream:
            stream.write(b"new " * 3000)
    else:
        make = files.new_folder if what == "new" else files.replacing_folder
        with make(path / ("step-2" if what == "new" else "step-1")) as fresh:
            (fresh / "weights").write_bytes(b"new " * 3000)
            (fresh / "state").write_bytes(b"{}")
except FileError as refused:
    error = refused
if error is not None:
    print(error, file=sys.stderr, flush=True)
    os._exit(7)
os._exit(0)
"""

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace, which is not installed")


def prepare(folder):
    """A folder with the last good state: a file, and a folder of an earlier step."""
    folder.mkdir()
    files.write_atomically(folder / "file", OLD)
    with files.new_folder(folder / "step-1") as fresh:
        (fresh / "weights").write_bytes(OLD)
    return folder


def strace(arguments, what, folder):
    command = ["strace", "-f", "-qq", *arguments, sys.executable, "-I", "-B", "-c", CHILD, what, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def points(what, tmp_path):
    """(system call, its number) for each call of the write itself."""
    names = "openat,write,fsync,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,flock"
    trace = ",".join(f"?{name}" for name in names.split(","))
    log = tmp_path / "log"
    done = strace(["-o", str(log), "-e", f"trace={trace}"], what, prepare(tmp_path / "rehearsal"))
    if done.returncode and "PTRACE" in done.stderr:
        pytest.skip("strace may not trace here")
    assert done.returncode == 0, done.stderr
    seen: dict[str, int] = {}
    found = []
    started = False
    for line in log.read_text().splitlines():
        call = line.split("(")[0].split()[-1]
        seen[call] = seen.get(call, 0) + 1
        if started:
            found.append((call, seen[call]))
        started = started or MARK in line
    return found


def check_state(folder, what):
    """Which state is there, whole: old or new."""
    earlier = files.whole(folder / "step-1")
    files.verify(earlier)
    contents = [(folder / "file").read_bytes(), (earlier / "weights").read_bytes(), b""]
    if (folder / "step-2").exists():
        files.verify(folder / "step-2")
        contents[2] = (folder / "step-2" / "weights").read_bytes()
    old = [OLD, OLD, b""]
    new = list(old)
    new[["file", "replaced", "new"].index(what)] = NEW
    assert contents in (old, new)
    return "new" if contents == new else "old"


def check_next_write(folder, what):
    """The next write succeeds and leaves nothing of the failed one behind."""
    expected = ["file", "step-1"]
    match what:
        case "file":
            files.write_atomically(folder / "file", NEW)
        case "new":
            expected.append("step-2")
            shutil.rmtree(folder / "step-2", ignore_errors=True)
            fill(files.new_folder(folder / "step-2"))
        case _:
            fill(files.replacing_folder(folder / "step-1"))
    assert check_state(folder, what) == "new"
    assert sorted(p.name for p in folder.iterdir()) == expected


def fill(folder):
    with folder as fresh:
        (fresh / "weights").write_bytes(NEW)


def at_every_point(what, tmp_path, inject):
    """What the child said at each point and which state it left, after checking that state."""

    def attempt(point):
        call, number = point
        folder = prepare(tmp_path / f"{call}-{number}")
        done = strace(["-o", os.devnull, "-e", f"inject={call}:{inject}:when={number}"], what, folder)
        state = check_state(folder, what)
        check_next_write(folder, what)
        return call, done, state

    found = points(what, tmp_path)
    kinds = {call for call, _ in found}
    assert {"openat", "write", "fsync"} < kinds
    assert kinds & {"rename", "renameat", "renameat2"}
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(attempt, found))


@needs_strace
@pytest.mark.parametrize("what", ["file", "new", "replaced"])
def test_killed_at_every_point(tmp_path, what):
    outcomes = at_every_point(what, tmp_path, "signal=SIGKILL")
    assert len(outcomes) > 8
    assert {state for _, _, state in outcomes} == {"old", "new"}
    for call, done, _ in outcomes:
        assert done.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL), (call, done)


@needs_strace
@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
@pytest.mark.parametrize("what", ["file", "new", "replaced"])
def test_a_fault_at_every_point(tmp_path, what, error):
    outcomes = at_every_point(what, tmp_path, f"error={error}")
    remedy = "The disk is full" if error == "ENOSPC" else "The disk reports a fault"
    for call, done, state in outcomes:
        if call in HARMLESS and done.returncode == 0:
            assert state == "new"
            continue
        assert done.returncode == REFUSED, (call, done)
        assert str(tmp_path) in done.stderr
        assert remedy in done.stderr
        assert "free there" in done.stderr or error == "EIO"


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 256 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs a small tmpfs, and mounting is not allowed here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_really_full(small_disk):
    prepare(small_disk / "runs")
    path = small_disk / "runs" / "file"
    with pytest.raises(FileError, match="The disk is full") as caught:
        files.write_atomically(path, b"x" * 1_000_000)
    assert caught.value.place == str(path)
    assert "bytes needed" in caught.value.remedy
    assert "bytes free there" in caught.value.remedy
    with (
        pytest.raises(FileError, match="The disk is full"),
        files.new_folder(small_disk / "runs" / "step-2") as fresh,
    ):
        (fresh / "weights").write_bytes(b"x" * 1_000_000)
    check_state(small_disk / "runs", "file")
    assert path.read_bytes() == OLD
    check_next_write(small_disk / "runs", "new")


def test_a_read_only_folder(tmp_path, request):
    if os.geteuid():
        folder = prepare(tmp_path / "disk")
        folder.chmod(0o555)
    else:
        disk = request.getfixturevalue("small_disk")
        folder = prepare(disk / "runs")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    for write in (
        lambda: files.write_atomically(folder / "file", NEW),
        lambda: fill(files.new_folder(folder / "step-2")),
    ):
        with pytest.raises(FileError, match="Check the permissions") as caught:
            write()
        assert caught.value.place.startswith(str(folder))
    assert (folder / "file").read_bytes() == OLD
    files.verify(folder / "step-1")
