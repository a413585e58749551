"""Word-level distillation: a student is drawn, at every position, to the distribution of its teacher.

    (1 - w) · cross-entropy with the right tokens  +  w · τ² · KL(teacher^(1/τ) ‖ student^(1/τ))

τ is the temperature; its square keeps the gradients' size (Hinton et al. 2015). The teacher reads the same batch.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import torch
from torch.nn import functional

from dragoman import bundle as bundles
from dragoman.errors import ModelError
from dragoman.models.recurrent_lm import RecurrentLMSettings
from dragoman.models.transformer_lm import TransformerLMSettings
from dragoman.settings import Meta, Settings
from dragoman.training.objectives import pieces
from dragoman.training.objectives.cross_entropy import Smoothed
from dragoman.training.objectives.objective import Smoothing, Sums, labels_of, taught

if TYPE_CHECKING:
    from torch import Tensor

    from dragoman.bundle import Bundle
    from dragoman.data.batch import Batch
    from dragoman.models.seq2seq import Hidden, Model


class Distillation(Settings, frozen=True, kw_only=True, tag_field="kind", tag="distillation"):
    """A teacher's distribution at every position, mixed with the right tokens."""

    teacher: str
    """Folder of the teacher: a model with the same vocabulary."""
    weight: Annotated[float, Meta(ge=0, le=1)] = 0.5
    """Share of the teacher; the rest is the cross-entropy with the right tokens."""
    temperature: Annotated[float, Meta(gt=0)] = 1.0
    """Logits of both are divided by it: above 1, what the teacher finds improbable counts more."""
    smoothing: Smoothing = 0.0
    """Share of the probability that is spread over the whole vocabulary, in the cross-entropy."""


class Taught:
    """Word-level distillation from a teacher that stays as it is."""

    def __init__(self, teacher: Model, *, weight: float, temperature: float, smoothing: float) -> None:
        self._teacher = teacher.eval().requires_grad_(False)
        self._weight, self._temperature, self._smoothing = weight, temperature, smoothing

    def __call__(self, model: Model, batch: Batch, *, scale: float, step: int = 0) -> Sums:  # noqa: ARG002 - the same at every step
        labels_N = labels_of(batch)
        with torch.no_grad():
            known = taught(self._teacher, batch)
        hidden = taught(model, batch)
        heat = self._temperature

        def loss(rows: slice, piece: Hidden) -> tuple[Tensor, Tensor]:
            logits_NV = model.logits(piece).float()
            with torch.no_grad():
                teacher_NV = (self._teacher.logits(known.rows(rows)).float() / heat).log_softmax(-1)
            entropy, nll = Smoothed.apply(logits_NV, labels_N[rows], self._smoothing)  # type: ignore[no-untyped-call] # torch leaves it untyped
            student_NV = (logits_NV / heat).log_softmax(-1)
            apart = functional.kl_div(student_NV, teacher_NV, log_target=True, reduction="sum")
            return (1 - self._weight) * entropy + self._weight * heat**2 * apart, nll

        objective, nll = pieces.in_pieces(hidden, loss, rows=pieces.ROWS_AT_ONCE, scale=scale)
        return Sums(objective, nll, labels_N.shape[0])


def load_teacher(folder: str, student: Bundle, device: torch.device) -> Model:
    """The teacher's model on the device; ModelError unless it reads and writes the student's very ids."""
    teacher = bundles.load(Path(folder))
    sides = [("target", teacher.tokenizers.target, student.tokenizers.target)]
    if _reads_text(student):
        sides.append(("source", teacher.tokenizers.source, student.tokenizers.source))
    for side, its, ours in sides:
        difference = _difference(its.vocabulary.pieces, ours.vocabulary.pieces)
        if difference:
            raise ModelError(
                f"the teacher's {side} vocabulary is another one: {difference}",
                place="training.objective.teacher",
                remedy="Give the student the teacher's tokenizers with text.like, "
                "or learn from the teacher's translations, which need no common vocabulary.",
            )
    if (_family(teacher), teacher.description.features) != (_family(student), student.description.features):
        raise ModelError(
            f"the teacher {_family(teacher)} and the student {_family(student)}",
            place="training.objective.teacher",
            remedy="Choose a teacher for the same task.",
        )
    return teacher.model.to(device)


def _family(bundle: Bundle) -> str:
    is_lm = isinstance(bundle.description.model, TransformerLMSettings | RecurrentLMSettings)
    reads = "reads feature vectors" if bundle.description.features else "reads a source of text"
    return "reads no source" if is_lm else reads


def _reads_text(bundle: Bundle) -> bool:
    return _family(bundle) == "reads a source of text"


def _difference(its: tuple[str, ...], ours: tuple[str, ...]) -> str:
    if len(its) != len(ours):
        return f"{len(its):,} pieces where the student has {len(ours):,}"
    places = (i for i, (one, other) in enumerate(zip(its, ours, strict=True)) if one != other)
    first = next(places, None)
    return "" if first is None else f"piece {first} is {its[first]!r}, not {ours[first]!r}"
