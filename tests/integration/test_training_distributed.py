"""Several ranks: the same training as in one process, and as hard to lose.

A child process imports everything once and forks the ranks of each run, so that a start costs no import; as torchrun
does, it ends all when one is lost, and starts them again. The program itself under `torchrun` is tried at the end.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = '''
import hashlib, json, os, signal, socket, sys, threading
from pathlib import Path
import torch
import torch._dynamo  # optimizers import it
import torch.distributed.fsdp, torch.distributed.tensor
from dragoman.data.batch import Batch
from dragoman.recipe.run import run
from dragoman.recipe.schema import read_run_file
from dragoman.training import checkpoint
from dragoman.training.events import read_events


def train(plan):
    """Train to the end; a process that the plan says so kills itself at its n-th batch or after some seconds."""
    rank, attempt = int(os.environ.get("RANK", 0)), int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))
    for kill in plan["kills"]:
        if (kill["attempt"], kill["rank"]) == (attempt, rank):
            if "seconds" in kill:
                timer = threading.Timer(kill["seconds"], os.kill, (os.getpid(), signal.SIGKILL))
                timer.daemon = True
                timer.start()
            else:
                kill_at_batch(kill["batch"])
    folder = Path(plan["folder"])
    given = read_run_file(folder.parent / "run.toml", plan["changes"])
    for _ in run(given.recipe, folder, text=given.text, fresh=plan["fresh"]):
        pass
    if plan["kills"]:
        (folder / f"attempts-{rank}").write_text(str(attempt))


def kill_at_batch(number):
    count = 0
    whole = Batch.to

    def counted(self, device, **rest):
        nonlocal count
        count += torch.is_grad_enabled()
        if count == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return whole(self, device, **rest)

    Batch.to = counted


def started(plan, **environment):
    pid = os.fork()
    if pid == 0:
        os.environ.update({name: str(value) for name, value in environment.items()})
        try:
            train(plan)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return pid


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def attempted(plan, number):
    """Whether all ranks came to the end of the run."""
    ranks = plan["ranks"]
    shared = {"WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    shared["TORCHELASTIC_RESTART_COUNT"] = number
    left = {started(plan, RANK=rank, LOCAL_RANK=rank, **shared) for rank in range(ranks)}
    well = True
    while left:
        pid, status = os.wait()
        left.remove(pid)
        if status and well:
            well = False
            for other in left:
                os.kill(other, signal.SIGTERM)
    return well


def outcome(folder):
    found = checkpoint.newest(folder / "checkpoints")
    assert found.problems == ()
    hashed = hashlib.sha256()
    for name, array in sorted(found.checkpoint.tensors.items()):
        hashed.update(name.encode() + array.tobytes())
    told = [e for e in read_events(folder / "events.jsonl") if type(e).__name__ in ("Progress", "Validated")]
    return {
        "tensors": hashed.hexdigest(),
        "largest": {n: float(abs(a).max()) for n, a in found.checkpoint.tensors.items() if a.size},
        "step": found.checkpoint.state.step,
        "losses": [e.loss if type(e).__name__ == "Progress" else e.others["loss"] for e in told],
        "tokens": [e.tokens for e in told],
        "norms": [e.norm for e in told if type(e).__name__ == "Progress"],
        "best": hashlib.sha256((folder / "best" / "model.safetensors").read_bytes()).hexdigest(),
        "attempts": [int(p.read_text()) for p in sorted(folder.glob("attempts-*"))],
    }


if __name__ == "__main__":
    for line in sys.stdin:
        plan = json.loads(line)
        try:
            well = any(attempted(plan, number) for number in range(len(plan["kills"]) + 1))
            answer = outcome(Path(plan["folder"])) if well else {"error": "no attempt came to the end"}
        except Exception as error:
            answer = {"error": repr(error)}
        print("ANSWER", json.dumps(answer), flush=True)
'''

RUN_FILE = """
[data]
train = [{ kind = "text", source = "FOLDER/source", target = "FOLDER/target" }]
valid = { kind = "text", source = "FOLDER/valid.source", target = "FOLDER/valid.target" }

[text]
source = { kind = "bpe", dropout = 0.2 }
vocabulary_size = 290

[store]
workers = 0

[model]
kind = "transformer"
size = 16
encoder_layers = 1
decoder_layers = 1
attention = { heads = 2 }
feedforward = { size = 32 }
dropout = { hidden = 0.0 }
bias = false

[training]
steps = 12
threads = 1
batch_tokens = 300
accumulate = 2
average = { kind = "exponential" }
schedule = { kind = "constant", warmup = 3 }
validate_every = 6
checkpoint_every = 4
log_every = 3

[evaluation]
metric = "loss"
"""

DROPOUT = "model.dropout.hidden=0.2"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A folder with 60 pairs, ten more, and a run file."""
    folder = tmp_path_factory.mktemp("corpus")
    draw = random.Random(4)
    words = ["".join(draw.choices("abcdef", k=draw.randint(2, 5))) for _ in range(30)]
    for name, count in (("", 60), ("valid.", 10)):
        lines = [draw.choices(words, k=draw.randint(1, 6)) for _ in range(count)]
        (folder / f"{name}source").write_text("".join(" ".join(line) + "\n" for line in lines))
        (folder / f"{name}target").write_text("".join(" ".join(line[::-1]) + "\n" for line in lines))
    (folder / "run.toml").write_text(RUN_FILE.replace("FOLDER", str(folder)))
    (folder / "child.py").write_text(CHILD)
    return folder


@pytest.fixture(scope="module")
def outcome(corpus):
    """A function from settings, ranks and kills to what the run comes to."""
    numbers = itertools.count()
    command = [sys.executable, str(corpus / "child.py")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with (
        (corpus / "errors").open("w") as errors,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=environment, text=True
        ) as child,
    ):

        def of(*changes, ranks=2, kills=(), folder=None, fresh=False):
            name = folder or f"run{next(numbers)}"
            plan = {"folder": str(corpus / name), "changes": changes, "ranks": ranks, "fresh": fresh, "kills": kills}
            child.stdin.write(json.dumps(plan) + "\n")
            child.stdin.flush()
            for line in child.stdout:
                if line.startswith("ANSWER "):
                    answer = json.loads(line.removeprefix("ANSWER "))
                    if "error" in answer:
                        pytest.fail(f"{answer['error']}\n{(corpus / 'errors').read_text()[-2000:]}")
                    return answer
            pytest.fail((corpus / "errors").read_text()[-2000:])

        yield of
        child.stdin.close()


@pytest.fixture(scope="module")
def undisturbed(outcome):
    """What two ranks come to with dropout that are never killed."""
    return outcome(DROPOUT)


def assert_as_one(found, one):
    assert found["step"] == one["step"]
    assert found["tokens"] == one["tokens"]
    assert found["losses"] == pytest.approx(one["losses"], abs=1e-5)
    assert found["norms"] == pytest.approx(one["norms"], abs=1e-4)
    assert found["largest"] == pytest.approx(one["largest"], abs=1e-3)


def test_two_ranks_train_as_one_process_does(outcome):
    one = outcome(ranks=1)
    assert_as_one(outcome(), one)
    assert_as_one(outcome("training.parallel=fsdp"), one)


def test_ranks_without_rows_wait_for_nobody(outcome):
    batches_of_one = ("training.batch_tokens=40", "training.average={kind='recent', count=2}")
    one = outcome(*batches_of_one, ranks=1)
    assert_as_one(outcome(*batches_of_one, ranks=3), one)
    assert_as_one(outcome(*batches_of_one, "training.parallel=fsdp"), one)


def test_a_run_goes_on_with_other_ranks(outcome):
    one = outcome(ranks=1)
    outcome("training.steps=4", ranks=2, folder="moving")
    outcome("training.steps=9", "training.parallel=fsdp", ranks=2, folder="moving")
    found = outcome(ranks=1, folder="moving")
    assert found["tokens"][-1] == one["tokens"][-1]
    assert found["losses"][-1] == pytest.approx(one["losses"][-1], abs=1e-5)


def test_ranks_killed_at_a_batch(outcome, undisturbed):
    kills = [{"attempt": n, "rank": n % 2, "batch": batch} for n, batch in enumerate([1, 13, 4])]
    found = outcome(DROPOUT, kills=kills)
    assert found["attempts"] == [3, 3]
    for part in ("tensors", "losses", "best"):
        assert found[part] == undisturbed[part], part


def test_ranks_killed_at_random_moments(outcome, undisturbed):
    assert_same_after_kills(outcome, undisturbed, random.Random(1), count=3)


@pytest.mark.slow
def test_ranks_killed_a_hundred_times_at_random_moments(outcome, undisturbed):
    draw = random.Random(2)
    kills = 0
    while kills < 100:
        kills += assert_same_after_kills(outcome, undisturbed, draw, count=5)


def assert_same_after_kills(outcome, undisturbed, draw, *, count):
    """How many of the kills came before the run was over."""
    kills = [{"attempt": n, "rank": draw.randrange(2), "seconds": draw.uniform(0.05, 0.6)} for n in range(count)]
    found = outcome(DROPOUT, kills=kills)
    for part in ("tensors", "losses", "best"):
        assert found[part] == undisturbed[part], part
    return max(found["attempts"])


def test_another_rank_count_would_show(outcome, undisturbed):
    assert outcome(DROPOUT, ranks=1)["tensors"] != undisturbed["tensors"]


# ---- the program under torchrun ------------------------------------------------------------------------------------


@pytest.fixture
def torchrun(corpus):
    """A function that starts the program on two ranks; what still runs at the end is ended."""
    started = []

    def begin(*arguments, restarts=0):
        command = [
            sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
            f"--max-restarts={restarts}", "-m", "dragoman", "train", "run.toml", *arguments,
        ]  # fmt: skip
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(
            command, cwd=corpus, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.terminate()  # it ends its own
        process.communicate()


def process_of(rank, parent):
    for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        if f"\0RANK={rank}\0" in Path(f"/proc/{child}/environ").read_text():
            return int(child)
    pytest.fail(f"no rank {rank}")


def test_killed_and_stopped_under_torchrun(torchrun, outcome, undisturbed):
    process = torchrun("--out", "under-torchrun", "--set", DROPOUT, "--set", "training.validate_every=1", restarts=4)
    troubles = {2: (1, signal.SIGKILL), 5: (1, signal.SIGTERM), 7: (0, signal.SIGKILL), 10: (1, signal.SIGKILL)}
    err = ""
    for line in process.stderr:
        err += line
        step = re.match(r"step (\d+) ", line)
        if step and (trouble := troubles.pop(int(step[1]), None)):
            os.kill(process_of(trouble[0], process.pid), trouble[1])
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert not troubles, err
    assert out == "under-torchrun/best\n"  # said once
    stopped = {int(number) for number in re.findall(r"stopped after update (\d+); run it again to go on", err)}
    assert len(stopped) == 1  # the signal to one rank stopped both, after the same update
    assert f"going on after update {stopped.pop()} of 12" in err
    found = outcome(DROPOUT, "training.validate_every=1", folder="under-torchrun")  # nothing is left to do
    assert found["tensors"] == undisturbed["tensors"]
