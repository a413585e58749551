"""The one place where the settings of an objective become one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from dragoman.errors import ModelError
from dragoman.files import MANIFEST, whole
from dragoman.models.recurrent_lm import RecurrentLMSettings
from dragoman.models.transformer_lm import TransformerLMSettings
from dragoman.text.word_numbers import WordNumbers
from dragoman.training.objectives.coverage import Coverage, Covering
from dragoman.training.objectives.cross_entropy import CrossEntropy, TeacherForcing
from dragoman.training.objectives.distillation import Distillation, Taught, load_teacher
from dragoman.training.objectives.guided_alignment import Guided, GuidedAlignment
from dragoman.training.objectives.looking import refuse_unseen
from dragoman.training.objectives.minimum_risk import ExpectedRisk, MinimumRisk
from dragoman.training.objectives.r_drop import RDrop, TwoPasses
from dragoman.training.objectives.scheduled_sampling import OwnTokens, ScheduledSampling
from dragoman.training.objectives.truncation import Truncated, refuse_unresumable

if TYPE_CHECKING:
    import torch

    from dragoman.bundle import Bundle
    from dragoman.data.alignments import Alignments
    from dragoman.training.objectives.objective import Objective

ObjectiveSettings = CrossEntropy | RDrop | ScheduledSampling | Distillation | MinimumRisk | Coverage | GuidedAlignment


def build_objective(
    settings: ObjectiveSettings,
    *,
    bundle: Bundle,
    device: torch.device,
    seed: int,
    alignments: Alignments | None = None,
) -> Objective:
    """The objective of the settings, for the bundle's model on the device; `seed` starts what it draws.

    `alignments` are those of the training examples, for the objective that is guided by them.
    """
    model = bundle.description.model
    match settings:
        case CrossEntropy(smoothing=smoothing, truncate=truncate):
            if truncate is None:
                return TeacherForcing(smoothing)
            refuse_unresumable(model, place="training.objective.truncate")
            return Truncated(smoothing, steps=truncate)
        case RDrop(smoothing=smoothing, weight=weight):
            return TwoPasses(smoothing, weight)
        case ScheduledSampling():
            return OwnTokens(settings, seed=seed)
        case Distillation(weight=weight, temperature=temperature, smoothing=smoothing):
            teacher = load_teacher(settings.teacher, bundle, device)
            return Taught(teacher, weight=weight, temperature=temperature, smoothing=smoothing)
        case MinimumRisk():
            _refuse_without_source(settings, bundle)
            return ExpectedRisk(settings, tokenizer=bundle.tokenizers.target, seed=seed)
        case Coverage(layer=layer, head=head):
            refuse_unseen(model, layer=layer, head=head)
            return Covering(settings)
        case GuidedAlignment(layer=layer, head=head):
            refuse_unseen(model, layer=layer, head=head)
            assert alignments is not None, "made where the data are"
            words = (WordNumbers(bundle.tokenizers.source), WordNumbers(bundle.tokenizers.target))
            return Guided(settings, alignments, source_words=words[0], target_words=words[1])
        case _:
            assert_never(settings)


def outside_files(settings: ObjectiveSettings) -> tuple[Path, ...]:
    """The files beside the corpora that an objective learns from: a run is the same only while they are."""
    match settings:
        case Distillation(teacher=teacher):
            return (whole(Path(teacher)) / MANIFEST,)
        case GuidedAlignment(alignments=files):
            return tuple(map(Path, files))
        case _:
            return ()


def _refuse_without_source(settings: ObjectiveSettings, bundle: Bundle) -> None:
    if isinstance(bundle.description.model, TransformerLMSettings | RecurrentLMSettings):
        raise ModelError(
            f"the objective {settings.__struct_config__.tag!r} needs a model that reads a source",
            place="training.objective",
            remedy="Choose another objective, or model.kind = 'prefix_lm'.",
        )
