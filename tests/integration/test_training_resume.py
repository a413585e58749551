"""A run that is killed, again and again, ends with the same bits as one that never was.

A child process imports everything once and forks for each attempt, so that a kill costs no start. It kills a fork
either when it comes to its n-th batch, or after a random time; in the end it prints what the run has come to.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys

import pytest

CHILD = '''
import hashlib, json, os, random, signal, sys, time
from pathlib import Path
import msgspec
import torch
import torch._dynamo  # optimizers import it, which takes a second in each fork
from dragoman.data.batch import Batch
from dragoman.recipe.run import run
from dragoman.recipe.schema import read_run_file
from dragoman.training import checkpoint
from dragoman.training.events import Started, read_events


def train(folder, changes, kill_at):
    """Train to the end, or to the start of a batch, counted from 1 in this process."""
    count = 0
    whole = Batch.to

    def counted(self, device):
        nonlocal count
        if torch.is_grad_enabled():  # not in validation
            count += 1
            if count == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
        return whole(self, device)

    Batch.to = counted
    given = read_run_file(folder.parent / "run.toml", changes)
    for _ in run(given.recipe, folder, text=given.text):
        pass


def attempt(folder, changes, *, kill_at=0, delay=None):
    """Whether the run came to its end in a fork."""
    pid = os.fork()
    if pid == 0:
        try:
            train(folder, changes, kill_at)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if delay is not None:
        time.sleep(delay)
        os.kill(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status in (0, -signal.SIGKILL), status
    return status == 0


def outcome(folder):
    found = checkpoint.newest(folder / "checkpoints")
    assert found.problems == ()
    hashed = hashlib.sha256()
    for name, array in sorted(found.checkpoint.tensors.items()):
        hashed.update(name.encode() + array.tobytes())
    state = msgspec.structs.replace(found.checkpoint.state, seconds=0.0, events=0)
    events = [
        {k: v for k, v in msgspec.to_builtins(event).items() if k not in ("seconds", "tokens_per_second")}
        for event in read_events(folder / "events.jsonl")
        if not isinstance(event, Started)
    ]
    return {
        "tensors": hashed.hexdigest(),
        "state": hashlib.sha256(msgspec.json.encode(state)).hexdigest(),
        "events": events,
        "best": hashlib.sha256((folder / "best" / "model.safetensors").read_bytes()).hexdigest(),
    }


def main():
    plan = json.loads(sys.argv[1])
    folder, changes = Path(plan["folder"]), plan["changes"]
    kills = 0
    for number in plan["kill_at"]:
        kills += not attempt(folder, changes, kill_at=number)
    draw = random.Random(plan["seed"])
    for _ in range(plan["random_kills"]):
        kills += not attempt(folder, changes, delay=draw.uniform(0, plan["longest"]))
    assert attempt(folder, changes)
    print(json.dumps({"kills": kills, **outcome(folder)}))


if __name__ == "__main__":
    main()
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
dropout = { hidden = 0.2 }

[training]
steps = 24
threads = 1
batch_tokens = 300
accumulate = 2
average = { kind = "exponential" }
schedule = { kind = "constant", warmup = 5 }
validate_every = 8
checkpoint_every = 5
log_every = 3

[evaluation]
metric = "chrf"
sentences = 2
"""

FAMILIES = {
    "exponential": [],
    "recent": ['training.average={kind="recent", count=2}', "evaluation.metric=loss"],
    "best": ['training.average={kind="best", count=2}', "evaluation.metric=loss"],
    "muon, r-drop": ['training.optimizer={kind="muon"}', 'training.objective={kind="r_drop"}'],
    "adafactor, a worker": ['training.optimizer={kind="adafactor"}', "training.workers=1", "evaluation.metric=loss"],
    "scheduled sampling": [
        'training.objective={kind="scheduled_sampling", decay={kind="linear", steps=20}}',
        "evaluation.metric=loss",
    ],
    "minimum risk": [
        'training.objective={kind="minimum_risk", samples=2, metric="token_similarity"}',
        "training.steps=12",
        "evaluation.metric=loss",
    ],
    "denoising, a worker": [
        'data.train=[{kind="mono", file="FOLDER/source"}]',
        'data.valid={kind="mono", file="FOLDER/valid.source"}',
        'data.noise={kind="bart"}',
        "training.workers=1",
        "evaluation.metric=loss",
    ],
    "bfloat16": ["training.precision=bfloat16", "evaluation.metric=loss"],
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A folder with 100 pairs, ten more, and a run file; the plain runs that never stopped go there too."""
    folder = tmp_path_factory.mktemp("corpus")
    draw = random.Random(4)
    words = ["".join(draw.choices("abcdef", k=draw.randint(2, 5))) for _ in range(30)]
    for name, count in (("", 100), ("valid.", 10)):
        lines = [draw.choices(words, k=draw.randint(1, 6)) for _ in range(count)]
        (folder / f"{name}source").write_text("".join(" ".join(line) + "\n" for line in lines))
        (folder / f"{name}target").write_text("".join(" ".join(line[::-1]) + "\n" for line in lines))
    (folder / "run.toml").write_text(RUN_FILE.replace("FOLDER", str(folder)))
    (folder / "child.py").write_text(CHILD)
    return folder


@pytest.fixture(scope="module")
def outcome(corpus):
    """A function from changed settings and kills to what the run came to."""
    numbers = iter(range(1000))

    def of(changes, *, kill_at=(), random_kills=0, longest=0.0, seed=0):
        plan = {
            "folder": str(corpus / f"run{next(numbers)}"),
            "changes": [change.replace("FOLDER", str(corpus)) for change in changes],
            "kill_at": list(kill_at),
            "random_kills": random_kills,
            "longest": longest,
            "seed": seed,
        }
        command = [sys.executable, str(corpus / "child.py"), json.dumps(plan)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=3000)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return of


@pytest.fixture(scope="module")
def undisturbed(outcome):
    """A function from changed settings to what the run comes to that is never killed."""
    known = {}

    def of(name):
        if name not in known:
            known[name] = outcome(FAMILIES[name])
        return known[name]

    return of


def assert_same(found, expected, *, kills):
    assert found["kills"] >= kills
    for part in ("events", "tensors", "state", "best"):
        assert found[part] == expected[part], part


@pytest.mark.parametrize(
    ("name", "kill_at"),
    [
        # The first batch, and inside the second update; inside an update after a checkpoint, a validation, the end of
        # an epoch (every fifth batch or so); and the last batch of all.
        ("exponential", [1, 4, 11, 7, 6, 8]),
        ("recent", [18, 14]),
        ("best", [18, 14]),
        ("muon, r-drop", [28]),
        ("adafactor, a worker", [28]),
        ("scheduled sampling", [28]),
        ("minimum risk", [16]),
        ("denoising, a worker", [28]),
        ("bfloat16", [28]),
    ],
)
def test_killed_at_a_batch(outcome, undisturbed, name, kill_at):
    assert_same(outcome(FAMILIES[name], kill_at=kill_at), undisturbed(name), kills=len(kill_at) - 1)


def test_killed_at_random_moments(outcome, undisturbed):
    found = outcome(FAMILIES["exponential"], random_kills=20, longest=0.15)
    assert_same(found, undisturbed("exponential"), kills=15)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["exponential", "recent"])
def test_killed_at_a_thousand_random_moments(outcome, undisturbed, name):
    kills = 0
    seed = 0
    while kills < 1000:
        seed += 1
        found = outcome(FAMILIES[name], random_kills=50, longest=0.4, seed=seed)
        assert_same(found, undisturbed(name), kills=1)
        kills += found["kills"]


def test_another_seed_would_show(outcome, undisturbed):
    assert outcome(["training.seed=2"])["tensors"] != undisturbed("exponential")["tensors"]
