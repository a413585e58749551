"""Training computes what it has always computed: loss curves of short runs, against those in tests/golden.

How they are renewed, and when, stands in tests/golden/README.md.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import torch

from dragoman.data import phrasebook
from dragoman.recipe.planned import assigned, changed
from dragoman.recipe.run import run
from dragoman.recipe.schema import Recipe, recipe_of
from dragoman.training.events import Progress, Validated

GOLDEN = Path(__file__).parents[1] / "golden"
RENEW = "DRAGOMAN_RENEW_GOLDEN"
TOLERANCE = 3e-3

TRANSFORMER = {
    "kind": "transformer",
    "size": 16,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "attention": {"heads": 2},
    "feedforward": {"size": 32},
    "dropout": {"hidden": 0.1},
}
RUNS = {
    "transformer": {"model": TRANSFORMER},
    "transformer-bfloat16": {"model": TRANSFORMER, "training.precision": "bfloat16"},
    "transformer-muon-cosine": {
        "model": TRANSFORMER,
        "training.optimizer": {"kind": "muon"},
        "training.schedule": {"kind": "cosine", "warmup": 4},
        "training.accumulate": 2,
    },
    "transformer-r-drop": {"model": TRANSFORMER, "training.objective": {"kind": "r_drop"}},
    "lstm-attention": {"model": {"kind": "recurrent", "cell": "lstm", "size": 16}},
    "gru-bahdanau-sampled": {
        "model": {"kind": "recurrent", "size": 16, "attention": {"form": "bahdanau", "score": "additive"}},
        "training.objective": {"kind": "scheduled_sampling"},
    },
    "gru-without-attention": {"model": {"kind": "recurrent", "size": 16, "attention": "nothing"}},
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """The files of a small corpus."""
    folder = tmp_path_factory.mktemp("corpus")
    parts = phrasebook.splits(train=120, dev=12, test=1)
    for name, phrases in (("train", parts.train), ("valid", parts.dev)):
        (folder / f"{name}.en").write_text("".join(f"{each.english}\n" for each in phrases))
        (folder / f"{name}.fr").write_text("".join(f"{each.french}\n" for each in phrases))
    return folder


def _recipe(corpus, settings) -> Recipe:
    train, valid = (
        {"kind": "text", "source": str(corpus / f"{name}.en"), "target": str(corpus / f"{name}.fr")}
        for name in ("train", "valid")
    )
    base = recipe_of(
        {
            "data": {"train": [train], "valid": valid},
            "text": {"vocabulary_size": 420},
            "store": {"workers": 0},
            "evaluation": {"metric": "loss"},
            "training": {
                "steps": 12,
                "threads": 1,
                "batch_tokens": 300,
                "optimizer": {"kind": "adamw", "rate": 0.01},
                "schedule": {"kind": "inverse_square_root", "warmup": 4},
                "log_every": 1,
                "validate_every": 6,
                "checkpoint_every": 12,
            },
        },
        place="golden",
    )
    return changed(base, assigned(settings))


def _curve(recipe, folder):
    """What a run tells about each update, and its validations."""
    events = list(run(recipe, folder))
    return {
        "updates": [[e.loss, e.norm, e.rate] for e in events if isinstance(e, Progress)],
        "validations": [e.value for e in events if isinstance(e, Validated)],
    }


@pytest.mark.parametrize("name", RUNS)
def test_a_run_repeats_its_golden_curve(name, corpus, tmp_path):
    threads = torch.get_num_threads()
    found = _curve(_recipe(corpus, RUNS[name]), tmp_path / "run")
    torch.set_num_threads(threads)
    path = GOLDEN / f"{name}.json"
    if os.environ.get(RENEW):
        path.write_text(json.dumps(found, indent=0) + "\n")
    golden = json.loads(path.read_text())
    assert len(found["updates"]) == len(golden["updates"]) == 12
    for number, (now, before) in enumerate(zip(found["updates"], golden["updates"], strict=True), start=1):
        assert now == pytest.approx(before, rel=TOLERANCE), f"update {number}: loss, norm, rate"
    assert found["validations"] == pytest.approx(golden["validations"], rel=TOLERANCE)


def test_another_rate_is_told_from_the_golden_curve(corpus, tmp_path):
    threads = torch.get_num_threads()
    found = _curve(_recipe(corpus, {**RUNS["lstm-attention"], "training.optimizer.rate": 0.0105}), tmp_path / "run")
    torch.set_num_threads(threads)
    golden = json.loads((GOLDEN / "lstm-attention.json").read_text())
    assert found["validations"] != pytest.approx(golden["validations"], rel=TOLERANCE)


def test_no_curve_is_left_over():
    assert {path.stem for path in GOLDEN.glob("*.json")} == set(RUNS)
