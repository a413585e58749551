"""Checkpoints: what is read equals what was written, damage is found, and a kill at any point leaves a whole one."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import msgspec
import numpy as np
import pytest

from dragoman import files
from dragoman.errors import FileError
from dragoman.training import checkpoint
from dragoman.training.checkpoint import Interval, RunState

MARK = "/dragoman-starts-here"
CHILD = """
import os, sys
from pathlib import Path
import numpy as np
from dragoman.training import checkpoint
from dragoman.training.checkpoint import RunState

parent = Path(sys.argv[1])
state = RunState(step=3, randomness=b"r", recipe="{}", data="d")
try:
    os.unlink("/dragoman-starts-here")
except FileNotFoundError:
    pass
checkpoint.save(parent, state, {"w": np.full(500, 3.0, np.float32)})
checkpoint.prune(parent, keep=2)
assert "torch" not in sys.modules
os._exit(0)
"""
needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace, which is not installed")


def state(step, **more):
    return RunState(step=step, randomness=bytes(range(256)), recipe="{}", data="d", **more)


def tensors(step):
    return {"w": np.full(500, float(step), np.float32), "n": np.array(step)}


def saved(parent, *steps):
    for step in steps:
        checkpoint.save(parent, state(step), tensors(step))
    return parent


def names(parent):
    return sorted(path.name for path in parent.iterdir())


def test_what_is_read_is_what_was_written(tmp_path):
    whole = state(7, best=-0.1, seconds=1 / 3, interval=Interval(objective=0.1 + 0.2, nll=1e-300, tokens=5, norm=2.5))
    folder = checkpoint.save(tmp_path, whole, tensors(7))
    found = checkpoint.load(folder)
    assert found.state == whole
    assert found.tensors.keys() == {"w", "n"}
    for name, array in tensors(7).items():
        np.testing.assert_array_equal(found.tensors[name], array)
        assert found.tensors[name].dtype == array.dtype
        assert found.tensors[name].shape == array.shape
    modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert len(modes) == 1  # whoever may read one may read all


def test_the_newest_counts_and_steps_are_numbers(tmp_path):
    saved(tmp_path, 2, 9, 10)
    assert checkpoint.newest(tmp_path).checkpoint.state.step == 10
    assert checkpoint.newest(tmp_path, until=9).checkpoint.state.step == 9
    assert checkpoint.newest(tmp_path, until=1).checkpoint is None
    assert checkpoint.latest_state(tmp_path).step == 10


def test_nothing_there(tmp_path):
    assert checkpoint.newest(tmp_path / "checkpoints") == checkpoint.Found(None, ())
    assert checkpoint.latest_state(tmp_path / "checkpoints") is None


def test_pruning_keeps_the_newest_and_clears_what_was_left_unfinished(tmp_path):
    saved(tmp_path, 2, 9, 10, 11)
    (tmp_path / "step-5.tmp").mkdir()
    (tmp_path / "notes").write_text("the user's own")
    checkpoint.prune(tmp_path, keep=3)
    assert names(tmp_path) == ["notes", "step-10", "step-11", "step-9"]


def test_removing_all_leaves_other_things(tmp_path):
    saved(tmp_path, 2, 9)
    (tmp_path / "step-5.tmp").mkdir()
    (tmp_path / "step-6.aside").mkdir()
    (tmp_path / "notes").write_text("the user's own")
    checkpoint.remove_all(tmp_path)
    assert names(tmp_path) == ["notes"]


def test_setting_aside(tmp_path):
    saved(tmp_path, 2, 9, 10)
    (tmp_path / "step-10.aside").mkdir()
    checkpoint.set_aside(tmp_path, after=2)
    assert names(tmp_path) == ["step-10.aside", "step-2", "step-9.aside"]
    assert checkpoint.newest(tmp_path).checkpoint.state.step == 2


def damages():
    """Ways to damage a file, by name."""

    def flip(path):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 4
        path.write_bytes(data)

    return {
        "flipped bit": flip,
        "zeroed": lambda path: path.write_bytes(bytes(path.stat().st_size)),
        "cut": lambda path: path.write_bytes(path.read_bytes()[:-1]),
        "deleted": lambda path: path.unlink(),
    }


@pytest.mark.parametrize("how", damages())
@pytest.mark.parametrize("file", ["tensors.safetensors", "state.json", "manifest.json"])
def test_a_damaged_one_is_passed_over_with_a_word(tmp_path, file, how):
    saved(tmp_path, 2, 9, 10)
    damages()[how](tmp_path / "step-10" / file)
    found = checkpoint.newest(tmp_path)
    assert found.checkpoint.state.step == 9
    assert len(found.problems) == 1
    assert "step-10" in found.problems[0]


def test_a_state_of_a_newer_format_is_refused_by_its_number(tmp_path):
    folder = checkpoint.save(tmp_path, state(1), tensors(1))
    document = {**msgspec.json.decode((folder / "state.json").read_bytes()), "format": 2, "novelty": 1}
    (folder / "state.json").write_bytes(msgspec.json.encode(document))
    with pytest.raises(FileError, match="format 2 is not known here"):
        checkpoint.read_state(folder)


def strace(arguments, folder):
    command = ["strace", "-f", "-qq", *arguments, sys.executable, "-B", "-c", CHILD, str(folder)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)


def points(tmp_path):
    """(system call, its number) for each call of the save itself that can change the disk."""
    called = "openat,write,fsync,ftruncate,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,chmod,fchmodat"
    trace = ",".join(f"?{name}" for name in called.split(","))
    log = tmp_path / "log"
    done = strace(["-o", str(log), "-e", f"trace={trace}"], saved(tmp_path / "rehearsal", 1, 2))
    if done.returncode and "PTRACE" in done.stderr:
        pytest.skip("strace may not trace here")
    assert done.returncode == 0, done.stderr
    seen: dict[str, int] = {}
    found = []
    started = False
    for line in log.read_text().splitlines():
        call = line.split("(")[0].split()[-1]
        seen[call] = seen.get(call, 0) + 1
        if started and "(" in line:
            found.append((call, seen[call]))
        started = started or MARK in line
    return found


@needs_strace
def test_killed_at_every_point_of_a_save(tmp_path):
    def attempt(point):
        call, number = point
        folder = saved(tmp_path / f"{call}-{number}", 1, 2)
        done = strace(["-o", os.devnull, "-e", f"inject={call}:signal=SIGKILL:when={number}"], folder)
        assert done.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL), (point, done)
        found = checkpoint.newest(folder)
        assert found.problems == ()
        step = found.checkpoint.state.step
        assert step in (2, 3)
        assert found.checkpoint.tensors["w"].tolist() == [float(step)] * 500
        if step == 2:
            checkpoint.save(folder, state(3), tensors(3))
        checkpoint.prune(folder, keep=2)
        assert names(folder) == ["step-2", "step-3"]
        files.verify(folder / "step-2")
        return step

    found = points(tmp_path)
    assert len(found) > 10
    with ThreadPoolExecutor(2) as pool:
        assert set(pool.map(attempt, found)) == {2, 3}
