"""Training as a process: signals, a second trainer, a folder that cannot be written."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys

import pytest

from dragoman.training import checkpoint

RUN_FILE = """
[data]
train = [{ kind = "text", source = "source", target = "target" }]

[text]
source = { kind = "characters" }

[store]
workers = 0

[model]
kind = "transformer"
size = 16
encoder_layers = 1
decoder_layers = 1
attention = { heads = 2 }
feedforward = { size = 32 }

[training]
steps = 1000000
threads = 1
batch_tokens = 200
schedule = { kind = "constant" }
checkpoint_every = 1000000
log_every = 1
"""


@pytest.fixture
def folder(tmp_path):
    draw = random.Random(0)
    lines = ["".join(draw.choices("0123456789", k=draw.randint(3, 8))) + "\n" for _ in range(100)]
    for name in ("source", "target"):
        (tmp_path / name).write_text("".join(lines))
    (tmp_path / "run.toml").write_text(RUN_FILE)
    return tmp_path


@pytest.fixture
def start(folder):
    """A function that starts the program in the folder; what still runs at the end is ended."""
    started = []

    def begin(*arguments):
        command = [sys.executable, "-m", "dragoman", "train", "run.toml", "--out", "out", *arguments]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def wait_for(process, text):
    for line in process.stderr:
        if text in line:
            return
    pytest.fail(f"never said {text!r}")


def test_a_signal_saves_and_ends_with_its_code_and_the_run_goes_on_from_there(start, folder):
    done = 0
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        process = start()
        wait_for(process, f"step {done + 1} ")
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
        assert process.returncode == code, err
        assert out == ""
        done = int(re.search(r"error: stopped after update (\d+); run it again to go on", err)[1])
        assert checkpoint.newest(folder / "out" / "checkpoints").checkpoint.state.step == done


def test_a_second_trainer_is_refused(start):
    first = start()
    wait_for(first, "step 1 ")
    second = start("--fresh")
    out, err = second.communicate(timeout=60)
    assert second.returncode == 2
    assert out == ""
    assert "another process holds this lock: it is training in this folder" in err
    assert first.poll() is None


def test_a_folder_that_cannot_be_written_is_refused(start, folder):
    (folder / "out").write_text("a file stands where the folder should be")
    process = start()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "out" in err
    assert "Traceback" not in err


def test_a_read_only_folder_is_refused(start, folder):
    (folder / "out").mkdir()
    if os.geteuid():
        (folder / "out").chmod(0o555)
    else:
        bind = ["mount", "--bind", str(folder / "out"), str(folder / "out")]
        if subprocess.run(bind, capture_output=True, check=False).returncode:
            pytest.skip("needs a read-only folder, and mounting is not allowed here")
        subprocess.run(["mount", "-o", "remount,ro,bind", str(folder / "out")], check=True)
    try:
        process = start()
        _, err = process.communicate(timeout=60)
    finally:
        if not os.geteuid():
            subprocess.run(["umount", str(folder / "out")], check=True)
    assert process.returncode == 2
    assert "Check the permissions, or choose another place." in err
    assert "Traceback" not in err
