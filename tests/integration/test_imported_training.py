"""An imported model learns from one's own pairs, whole or by adapters, and goes on being one that can go back."""

from __future__ import annotations

import warnings

import pytest

import dragoman
from dragoman import bundle as bundles
from dragoman.data import phrasebook
from dragoman.errors import ModelError
from dragoman.recipe.schema import Recipe
from dragoman.settings import decode
from reference import huggingface as made

pytest.importorskip("transformers", reason="needs transformers to make a model to start from")

LANGUAGES = {"m2m": ("en", "fr"), "mbart": ("en_XX", "fr_XX")}


def imported(kind, root):
    source, target = LANGUAGES.get(kind, ("", ""))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # transformers', about its own files
        made.save(kind, root / "theirs")
        dragoman.import_model(
            root / "theirs",
            out=root / "model",
            sentences=["He sleeps."],
            source_language=source,
            target_language=target,
        )
    return root / "model"


def trained(model, root, **training):
    parts = phrasebook.splits(train=120, dev=12, test=12)
    for name, phrases in (("train", parts.train), ("valid", parts.dev)):
        (root / f"{name}.tsv").write_text("".join(f"{p.english}\t{p.french}\n" for p in phrases))
    document = {
        "start": {"model": str(model)},
        "data": {
            "train": [{"kind": "tsv", "file": str(root / "train.tsv")}],
            "valid": {"kind": "tsv", "file": str(root / "valid.tsv")},
        },
        "training": {
            "steps": 40,
            "batch_tokens": 400,
            "validate_every": 40,
            "schedule": {"kind": "linear", "warmup": 4},
            **training,
        },
        "evaluation": {"metric": "loss"},
        "store": {"workers": 0},
    }
    run = dragoman.train(decode(document, Recipe), out=root / "run")
    for _ in run:
        pass
    return root / "run" / "best", parts.dev


def log_prob_per_token(model, phrases):
    scores = dragoman.load(model, device="cpu").score([p.english for p in phrases], [p.french for p in phrases])
    return sum(s.log_prob for s in scores) / sum(len(s.tokens) for s in scores)


@pytest.mark.parametrize(
    ("kind", "training"),
    [
        pytest.param("marian", {"optimizer": {"rate": 0.01}}, marks=pytest.mark.slow),
        ("marian", {"adapters": {"rank": 4}, "optimizer": {"rate": 0.02}}),
        ("m2m", {"optimizer": {"rate": 0.01}}),
        pytest.param("t5", {"optimizer": {"rate": 0.01}}, marks=pytest.mark.slow),
        pytest.param("bart", {"adapters": {"rank": 4}, "optimizer": {"rate": 0.02}}, marks=pytest.mark.slow),
    ],
    ids=["marian", "marian by adapters", "m2m", "t5", "bart by adapters"],
)
def test_it_becomes_better(tmp_path, kind, training):
    model = imported(kind, tmp_path)
    best, held_out = trained(model, tmp_path, **training)
    before, after = log_prob_per_token(model, held_out), log_prob_per_token(best, held_out)
    assert after > before + 0.3
    was, now = bundles.describe(model), bundles.describe(best)
    assert (now.frame, now.origin) == (was.frame, was.origin)


def test_what_reads_a_language_behind_the_end_is_refused(tmp_path):
    with pytest.raises(ModelError, match="behind the end"):
        trained(imported("mbart", tmp_path), tmp_path)
