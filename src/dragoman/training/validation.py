"""Trying a model while it is trained: the loss on held-out pairs, and what it makes of their sources."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Literal, cast

import msgspec

from dragoman import bundle as bundles
from dragoman.decoding.greedy import GreedySettings
from dragoman.measures.metrics import MetricName, measure
from dragoman.models.adapters import merged
from dragoman.settings import Meta, Settings
from dragoman.training.events import Sample
from dragoman.training.loop import Validation
from dragoman.training.objectives.cross_entropy import TeacherForcing
from dragoman.translator import Request, Translator

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import torch
    from torch import nn

    from dragoman.bundle import Bundle
    from dragoman.data.loader import Loader
    from dragoman.models.seq2seq import Model
    from dragoman.training.events import Validated

_LOSS = "loss"


class EvaluationSettings(Settings, frozen=True, kw_only=True):
    """The table [evaluation] of a run file: how the best model is chosen while training goes on."""

    metric: MetricName | Literal["loss"] = "bleu"
    """What decides which model is the best, on greedy outputs for the validation data; loss needs no outputs."""
    sentences: Annotated[int, Meta(ge=1)] | None = None
    """How many validation pairs are translated, from the first on; nothing: all of them."""
    samples: Annotated[int, Meta(ge=0, le=100)] = 3
    """How many outputs are shown at each validation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """Validation data, and the folder where the best model is kept."""

    settings: EvaluationSettings
    bundle: Bundle
    """The bundle of the model in training."""
    loader: Loader
    sources: Sequence[str]
    """Texts to translate; none for language models and feature sources."""
    references: Sequence[str]
    target_language: str = ""
    """What the sources are translated into, where the model knows several languages."""
    device: torch.device
    folder: Path

    def __call__(self, model: Model) -> Validation:
        with merged(cast("nn.Module", model)):  # searching asks for the weights at each step
            return self._found(model)

    def _found(self, model: Model) -> Validation:
        loss = self._loss(model)
        others = {_LOSS: loss, "perplexity": math.exp(min(loss, 700))}
        unit = "unit:token|base:e"
        metric = self.settings.metric
        if metric == "loss" or not self.sources:
            return Validation(_LOSS, loss, unit, higher_is_better=False, loss=loss, samples=(), others=others)
        count = min(self.settings.sentences or len(self.sources), len(self.sources))
        sources, references = list(self.sources[:count]), list(self.references[:count])
        translator = Translator(self.bundle, device=self.device)
        outputs = _outputs(translator, sources, Request(target_language=self.target_language))
        found = measure(metric, outputs, references)
        shown = zip(sources, outputs, references, strict=True)
        return Validation(
            found.name,
            found.value,
            found.signature,
            higher_is_better=found.higher_is_better,
            loss=loss,
            samples=tuple(Sample(source=s, output=o, reference=r) for s, o, r in list(shown)[: self.settings.samples]),
            others=others,
        )

    def keep(self, model: Model, event: Validated) -> None:
        """Save the model as the best so far."""
        assert model is self.bundle.model
        keep(self.bundle, self.folder, steps=event.step, tokens=event.tokens, found=event)

    def _loss(self, model: Model) -> float:
        """The loss per token; one that is no number counts as the worst, for a log can hold nothing else."""
        plain = TeacherForcing(0.0)
        sums = [plain(model, batch.to(self.device), scale=1.0) for batch in self.loader.epoch()]
        loss = sum(s.nll for s in sums) / sum(s.tokens for s in sums)
        return loss if math.isfinite(loss) else sys.float_info.max


def _outputs(translator: Translator, sources: list[str], request: Request) -> list[str]:
    """What the model makes of the sources, or says after them where they are prompts."""
    if translator.has_source:
        return [t.text for t in translator.translate(sources, decoding=GreedySettings(), request=request)]
    target = translator.bundle.tokenizers.target
    begins = [len(target.decode(target.encode(prompt))) for prompt in sources]
    said = translator.generate(sources, decoding=GreedySettings())
    return [t.text[begin:].strip() for t, begin in zip(said, begins, strict=True)]


def keep(bundle: Bundle, folder: Path, *, steps: int, tokens: int, found: Validated | None = None) -> None:
    """Save a model after so many updates and target tokens, with what its validation found."""
    facts = msgspec.structs.replace(
        bundle.description.training, steps=steps, tokens=tokens, dragoman=version("dragoman")
    )
    if found is not None:
        facts = msgspec.structs.replace(facts, metric=found.metric, value=found.value, signature=found.signature)
    description = msgspec.structs.replace(bundle.description, training=facts)
    bundles.save(replace(bundle, description=description), folder)
