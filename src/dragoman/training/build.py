"""The table [training] of a run file, and the one place where it becomes the parts of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

from dragoman.devices import Device, Precision
from dragoman.errors import SettingError
from dragoman.models.adapters import AdapterSettings, adapt
from dragoman.models.freezing import freeze
from dragoman.settings import Meta, Settings
from dragoman.training.average import Average, AverageSettings, Best, Recent
from dragoman.training.compiling import Compiling
from dragoman.training.distributed import Parallel, Ranks, laid_out
from dragoman.training.loop import Limits, Parts
from dragoman.training.objectives.build import ObjectiveSettings, build_objective
from dragoman.training.objectives.cross_entropy import CrossEntropy
from dragoman.training.optimizer import AdamW, OptimizerSettings, build_optimizer
from dragoman.training.schedule import InverseSquareRoot, Schedule, ScheduleSettings, looks_ahead

if TYPE_CHECKING:
    import torch
    from torch import nn

    from dragoman.bundle import Bundle
    from dragoman.data.loader import Loader
    from dragoman.training.loop import Validate

Count = Annotated[int, Meta(ge=1)]

_ALONE = Ranks()


class TrainingSettings(Settings, frozen=True, kw_only=True):
    """The table [training] of a run file."""

    steps: Count = 20_000
    """Updates until the end."""
    seed: Annotated[int, Meta(ge=0, lt=1 << 62)] = 1
    """Start of all chance: order, dropout, first weights, random cuts."""
    batch_tokens: Count = 4096
    """Most tokens of a batch, padding included, on either side."""
    accumulate: Count = 1
    """Batches whose gradients are summed for one update."""
    objective: ObjectiveSettings = CrossEntropy()
    """What is made small."""
    optimizer: OptimizerSettings = AdamW()
    """How the weights follow the gradients."""
    schedule: ScheduleSettings = InverseSquareRoot()
    """How the learning rate changes."""
    clip: Annotated[float, Meta(gt=0)] | None = 1.0
    """Longest gradient; a longer one is shortened to this. Nothing: never."""
    freeze: tuple[str, ...] = ()
    """Weights that stay as they are: parts (encoder, decoder, embeddings), or patterns of names with *."""
    adapters: AdapterSettings | None = None
    """Low-rank adapters (LoRA) that alone learn, on top of the model that training starts from; nothing: all learns."""
    average: AverageSettings = Recent()
    """Which average of the weights is validated and saved."""
    validate_every: Count = 500
    """Updates between two validations."""
    patience: Count | None = 20
    """Validations without a new best before the run ends; nothing: all steps are made."""
    checkpoint_every: Count = 500
    """Updates between two checkpoints."""
    keep: Annotated[int, Meta(ge=2)] = 2
    """Checkpoints that are kept."""
    log_every: Count = 50
    """Updates between two lines of progress."""
    skips_before_brake: Count = 10
    """Updates in a row that are not finite before the run goes back to a checkpoint, at half the rate."""
    device: Device = "auto"
    """What to compute on; auto takes a GPU where one works."""
    precision: Precision = "float32"
    """Number format of the products; weights and sums stay in float32."""
    threads: Count | None = None
    """Threads to compute with; nothing: one per core."""
    workers: Annotated[int, Meta(ge=0)] = 0
    """Processes that prepare batches ahead of time; with several ranks, for each of them."""
    parallel: Parallel = "ddp"
    """With several ranks, under torchrun: whether each has the whole model (ddp) or a part of every parameter and of
    the optimizer's state (fsdp), for models too large for one."""

    compile: bool = False
    """Whether torch compiles the model first (torch.compile), which takes minutes and may pay on a GPU. Where it does
    not work, one line says why, and the model runs as it is. A run that goes on after a stop then agrees with one that
    never stopped to rounding, not bit for bit."""

    tensorboard: bool = False
    """Whether curves and samples are also written for TensorBoard, into OUT/tensorboard (needs the extra board)."""

    def check(self) -> None:
        warmup = self.schedule.warmup
        if warmup > self.steps:
            raise SettingError(
                f"the warm-up of {warmup} is longer than the run of {self.steps} steps",
                place="schedule.warmup",
                remedy=f"Give {self.steps // 10} or so, or more steps.",
            )
        if self.adapters is not None and self.parallel == "fsdp":
            raise SettingError(
                "adapters are added to whole parameters, and fsdp cuts these up",
                place="parallel",
                remedy="Use ddp: what adapters need on top of the model is little.",
            )

    def lasting(self) -> dict[str, Any]:
        """The settings, by name, that must not change while a run goes on."""
        may_change = {
            "patience",
            "keep",
            "threads",
            "workers",
            "checkpoint_every",
            "log_every",
            "parallel",
            "tensorboard",
        }
        if not looks_ahead(self.schedule):
            may_change.add("steps")
        return {f: getattr(self, f) for f in self.__struct_fields__ if f not in may_change}

    def limits(self) -> Limits:
        """When things happen in the run."""
        return Limits(
            steps=self.steps,
            precision=self.precision,
            accumulate=self.accumulate,
            clip=self.clip,
            log_every=self.log_every,
            validate_every=self.validate_every,
            checkpoint_every=self.checkpoint_every,
            keep=self.keep,
            patience=self.patience,
            skips_before_brake=self.skips_before_brake,
        )


def build_parts(
    settings: TrainingSettings,
    *,
    bundle: Bundle,
    loader: Loader,
    validate: Validate | None,
    device: torch.device,
    ranks: Ranks = _ALONE,
    recipe: str,
) -> Parts:
    """The parts of a run that trains the bundle's model, which is moved to the device."""
    if validate is None and isinstance(settings.average, Best):
        raise SettingError(
            "which snapshots are the best is not known without validation data",
            place="training.average.kind",
            remedy="Name validation data, or take the mean of recent snapshots.",
        )
    model = bundle.model
    model.to(device)
    model.train()
    learner = cast("nn.Module", model)
    if settings.adapters is not None:
        adapt(learner, settings.adapters)
    if settings.freeze:
        freeze(learner, settings.freeze)
    model, layout = laid_out(settings.parallel, model, ranks, device=device)
    return Parts(
        model=model,
        objective=build_objective(
            settings.objective, bundle=bundle, device=device, seed=settings.seed, alignments=loader.alignments
        ),
        optimizer=build_optimizer(settings.optimizer, cast("nn.Module", model)),
        schedule=Schedule(settings.schedule, settings.steps),
        average=Average(settings.average, cast("nn.Module", model)),
        loader=loader,
        validate=validate,
        device=device,
        layout=layout,
        compiling=Compiling(model) if settings.compile else None,
        recipe=recipe,
    )
