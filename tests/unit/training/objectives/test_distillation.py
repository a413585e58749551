"""Distillation against its formula, position by position in numpy, and against the plain gradient."""

from __future__ import annotations

from dataclasses import replace as changed

import numpy as np
import pytest
import torch
from msgspec.structs import replace
from torch.nn import functional

from dragoman import bundle as bundles
from dragoman.bundle import Bundle, Description
from dragoman.errors import FileError, ModelError
from dragoman.models.build import build
from dragoman.text.build import TextSettings, Tokenizers, train_tokenizer
from dragoman.text.characters import CharacterSettings
from dragoman.training.objectives import pieces
from dragoman.training.objectives.build import build_objective
from dragoman.training.objectives.cross_entropy import TeacherForcing
from dragoman.training.objectives.distillation import Distillation, Taught
from dragoman.training.objectives.objective import labels_of, taught
from reference.objectives import MODELS, WORDS, assert_same, model_and_batch, run

FAMILIES = pytest.mark.parametrize("name", MODELS)


def teacher_for(name):
    torch.manual_seed(9)
    return build(MODELS[name], target_vocabulary=WORDS)


def by_hand(student, teacher, labels, *, weight, heat):
    """Position by position, from log-probabilities of the plain model and of each model at the temperature."""
    total = 0.0
    for ours, its, label in zip(student, teacher, labels, strict=True):
        right = -ours[label] + np.log(np.exp(ours).sum())
        p, q = (np.exp(row / heat) / np.exp(row / heat).sum() for row in (its, ours))
        total += (1 - weight) * right + weight * heat**2 * float((p * (np.log(p) - np.log(q))).sum())
    return total


@FAMILIES
@pytest.mark.parametrize(("weight", "heat"), [(0.5, 1.0), (0.7, 2.0), (1.0, 3.0)])
def test_value_and_gradient(monkeypatch, name, weight, heat):
    monkeypatch.setattr(pieces, "ROWS_AT_ONCE", 6)
    model, batch = model_and_batch(name)
    teacher = teacher_for(name)
    objective = Taught(teacher, weight=weight, temperature=heat, smoothing=0.0)

    def plain():
        logits = model.logits(taught(model, batch))
        with torch.no_grad():
            known = teacher.logits(taught(teacher, batch))
        entropy = functional.cross_entropy(logits, labels_of(batch), reduction="sum")
        p, q = (known / heat).softmax(-1), (logits / heat).log_softmax(-1)
        apart = (p * (p.log() - q)).sum()
        (((1 - weight) * entropy + weight * heat**2 * apart) * 0.25).backward()
        value = by_hand(
            logits.detach().double().numpy(), known.double().numpy(), labels_of(batch), weight=weight, heat=heat
        )
        return value, entropy.item()

    sums, found = run(model, lambda: objective(model, batch, scale=0.25))
    (value, nll), expected = run(model, plain)
    assert sums.objective == pytest.approx(value, rel=1e-4)
    assert sums.nll == pytest.approx(nll, rel=1e-5)
    assert_same(found, expected)
    assert all(p.grad is None for p in teacher.parameters())


def test_without_a_share_of_the_teacher_it_is_cross_entropy():
    model, batch = model_and_batch("transformer")
    objective = Taught(teacher_for("transformer"), weight=0.0, temperature=2.0, smoothing=0.1)
    sums, found = run(model, lambda: objective(model, batch, scale=1.0))
    other, expected = run(model, lambda: TeacherForcing(0.1)(model, batch, scale=1.0))
    assert sums.objective == pytest.approx(other.objective)
    assert_same(found, expected)


def test_a_student_becomes_its_teacher():
    model, batch = model_and_batch("recurrent")
    teacher = teacher_for("recurrent")
    objective = Taught(teacher, weight=1.0, temperature=1.0, smoothing=0.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    values = []
    for _ in range(80):
        optimizer.zero_grad()
        values.append(objective(model.eval(), batch, scale=1 / 20).objective)
        optimizer.step()
    assert values[-1] < values[0] / 10


# ---- teachers from folders -----------------------------------------------------------------------------------------


def bundle_of(texts, model=MODELS["transformer"], *, seed=1):
    tokenizer = train_tokenizer(CharacterSettings(), TextSettings(), texts=texts, size=None)
    description = Description(
        model=model, source_vocabulary=None, target_vocabulary=len(tokenizer.vocabulary), features=False
    )
    torch.manual_seed(seed)
    return Bundle(description, bundles.build_model(description), Tokenizers(tokenizer, tokenizer))


def built(folder, student):
    return build_objective(Distillation(teacher=str(folder)), bundle=student, device=torch.device("cpu"), seed=1)


def test_a_teacher_is_read_from_its_folder(tmp_path):
    teacher = bundle_of(["0123456789"], seed=2)
    bundles.save(teacher, tmp_path / "teacher")
    student = bundle_of(["9876543210"])  # the same characters
    objective = built(tmp_path / "teacher", student)
    _, batch = model_and_batch("transformer")
    batch = changed(batch, labels_BT=batch.labels_BT.clamp(max=13), inputs_BT=batch.inputs_BT.clamp(max=13),
                    source_ids_BS=batch.source_ids_BS.clamp(max=13))  # fmt: skip
    plain = Taught(teacher.model, weight=0.5, temperature=1.0, smoothing=0.0)
    student.model.eval()
    assert objective(student.model, batch, scale=1.0) == plain(student.model, batch, scale=1.0)


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (["012345678x"], "the teacher's target vocabulary is another one: piece 13 is 'x', not '9'"),
        (["01234567"], "12 pieces where the student has 14"),
    ],
)
def test_another_vocabulary_is_refused(tmp_path, texts, told):
    bundles.save(bundle_of(texts), tmp_path / "teacher")
    with pytest.raises(ModelError, match=told):
        built(tmp_path / "teacher", bundle_of(["0123456789"]))


def test_another_task_is_refused(tmp_path):
    bundles.save(bundle_of(["0123456789"], MODELS["language model"]), tmp_path / "teacher")
    with pytest.raises(ModelError, match="the teacher reads no source and the student reads a source of text"):
        built(tmp_path / "teacher", bundle_of(["0123456789"]))


def test_no_teacher_is_a_clear_error(tmp_path):
    with pytest.raises(FileError, match="is not a model"):
        built(tmp_path / "nobody", bundle_of(["0123456789"]))


def test_the_settings_know_their_ranges():
    with pytest.raises(ValueError, match="weight"):
        Distillation(teacher="t", weight=1.5)
    assert replace(Distillation(teacher="t"), temperature=4.0).temperature == 4.0
