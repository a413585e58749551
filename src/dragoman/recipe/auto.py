"""A recipe from the size of the data, the lengths of its texts and the machine, with a reason for each choice.

The rules stand as functions in the order of the run file; `docs/guides/auto.md` has them as a table. They aim at a
good first model in hours rather than days, and every one of them can be overruled in the run file that they write.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from dragoman.data.corpus import build
from dragoman.data.preparation import StoreSettings
from dragoman.data.stats import Sentences, measure
from dragoman.devices import accelerators, cores, memory, processor
from dragoman.models.dropout import DropoutSettings
from dragoman.models.presets import base, big, gru_tiny, small, tiny
from dragoman.models.recurrence import RecurrentDropoutSettings
from dragoman.models.recurrent_lm import RecurrentLMSettings
from dragoman.models.rnn import RecurrentSettings
from dragoman.models.transformer import TransformerSettings
from dragoman.models.transformer_lm import TransformerLMSettings
from dragoman.recipe.cutting import cutting_of, texts_of
from dragoman.recipe.held_out import hold_out
from dragoman.recipe.schema import Recipe, StartSettings
from dragoman.text.build import TextSettings
from dragoman.training.average import Recent
from dragoman.training.build import TrainingSettings
from dragoman.training.objectives.cross_entropy import CrossEntropy
from dragoman.training.optimizer import AdamW, Muon, has_muon
from dragoman.training.schedule import InverseSquareRoot, Linear
from dragoman.training.validation import EvaluationSettings

if TYPE_CHECKING:
    from pathlib import Path

    from dragoman.bundle import Description
    from dragoman.data.corpus import DataSettings
    from dragoman.data.stats import PartStats
    from dragoman.devices import Precision
    from dragoman.models.build import ModelSettings
    from dragoman.recipe.cutting import Cutting

_SHORT, _LONG = 64, 512
"""Least and most that the longest allowed example is set to."""
_SNAPSHOTS, _VALIDATIONS, _PATIENCE = 5, 30, 8
_FILLED = 0.8
"""Share of a batch's places that hold target tokens, or nearly so."""
_FEW_TO_JUDGE = 500
"""With fewer validation pairs BLEU is too rough a measure."""
_MOST_DECODED = 1_000
_MOST_PASSES_MORE = 20.0
"""Passes over the data where training goes on from a model."""
_MUON_SIZE, _MUON_RATE = 128, 1e-2
_COPIES_OF_WEIGHTS = 4
"""The weights, their gradients and the optimizer's two means."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What there is to compute with."""

    device: Literal["cpu", "cuda", "mps"]
    cores: int
    memory: int
    """Bytes that a model may live in: the GPU's, or those of the machine."""
    bfloat16: bool = False
    """Whether it multiplies quicker in bfloat16 than in float32."""

    @property
    def has_gpu(self) -> bool:
        """Whether there is a GPU."""
        return self.device != "cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What is settled already, which the rest has to fit."""

    steps: int | None = None
    batch_tokens: int | None = None
    start: StartSettings | None = None
    """The model to go on from."""
    base: Description | None = None
    """What that model is."""
    adapters: bool = False
    """Whether adapters alone learn."""
    like: str = ""
    """A trained model whose tokenizers are used."""
    joint: bool | None = None
    """Whether these share a vocabulary; nothing where there are none."""


_NO_WISHES = Wishes()


@dataclass(frozen=True, slots=True)
class Chosen:
    """A recipe, and the reasons for it by dotted key."""

    recipe: Recipe
    reasons: dict[str, str]


@dataclass(slots=True)
class _Reasons:
    """Reasons as they are found."""

    by_key: dict[str, str] = field(default_factory=dict)

    def __call__(self, key: str, reason: str) -> None:
        self.by_key[key] = reason


def automatic(data: DataSettings, folder: Path, *, machine: Machine, wishes: Wishes = _NO_WISHES) -> Chosen:
    """The recipe for the corpora; validation pairs, where there are none, are held out in the folder."""
    held_out = hold_out(data, folder) if data.valid is None else None
    if held_out is not None:
        data = held_out.data
    assert data.valid is not None
    read = partial(build, on_bad=data.on_bad, longest_line=data.longest_line)
    pairs = chain.from_iterable(read(each) for each in data.train)
    chosen = choose(
        data,
        measure(pairs, Sentences("train")),
        valid_pairs=sum(1 for _ in read(data.valid)),
        machine=machine,
        wishes=wishes,
    )
    if held_out is not None:
        chosen.reasons["data.valid"] = held_out.reason
    return chosen


def machine() -> Machine:
    """The machine that this runs on."""
    for each in accelerators():
        kind: Literal["cuda", "mps"] = "cuda" if each.kind == "cuda" else "mps"
        return Machine(kind, cores(), each.memory or memory().total)
    return Machine("cpu", cores(), memory().total, bfloat16="bf16" in processor().features)


def choose(
    data: DataSettings, train: PartStats, *, valid_pairs: int, machine: Machine, wishes: Wishes = _NO_WISHES
) -> Chosen:
    """The recipe for corpora of which the training part has these statistics."""
    because = _Reasons()
    cutting = cutting_of(train)
    if wishes.base is not None:
        because("start", "the model to go on from, which brings its settings and its tokenizers")
    text = _texts(cutting, wishes, because) if wishes.base is None else None
    shared = cutting.joint if wishes.joint is None else wishes.joint
    model = _model(cutting, machine, joint=shared, because=because) if wishes.base is None else None
    training = _training(cutting, model, machine, wishes=wishes, because=because)
    recipe = Recipe(
        data=data,
        start=wishes.start,
        text=text,
        store=_store(cutting, training.batch_tokens, because),
        model=model,
        training=training,
        evaluation=_evaluation(cutting, valid_pairs, because),
    )
    return Chosen(recipe, because.by_key)


# ---- [text] --------------------------------------------------------------------------------------------------------


def _texts(cutting: Cutting, wishes: Wishes, because: _Reasons) -> TextSettings:
    if not wishes.like:
        return texts_of(cutting, because)
    because("text.like", "the tokenizers of that model, and so its vocabulary")
    return TextSettings(like=wishes.like)


# ---- [store] -------------------------------------------------------------------------------------------------------


def _store(cutting: Cutting, batch_tokens: int, because: _Reasons) -> StoreSettings:
    """Twice as long as 99 of 100 examples, within bounds: one giant must not make all batches small."""
    found: dict[str, int] = {}
    for side, name in ((cutting.source, "longest_source"), (cutting.target, "longest_target")):
        if side is None:
            continue
        wanted = 16 * -(-2 * side.usual_longest // 16)
        found[name] = min(max(wanted, _SHORT), _LONG, batch_tokens - 1)
        because(
            f"store.{name}",
            f"99 of 100 texts have at most about {side.usual_longest} tokens; twice that, within {_SHORT} to {_LONG}",
        )
    return StoreSettings(**found)


# ---- [model] -------------------------------------------------------------------------------------------------------


def _model(cutting: Cutting, machine: Machine, *, joint: bool, because: _Reasons) -> ModelSettings:
    if cutting.source is None:
        return _language_model(cutting, machine, because)
    if cutting.is_transduction:
        because(
            "model",
            "short strings of characters or symbols: a GRU of 256 with attention learns them from little data, quickly",
        )
        because("model.dropout.hidden", "short strings are soon known by heart")
        recurrent = RecurrentSettings(cell="gru", size=256, embedding_size=128)
        return msgspec.structs.replace(recurrent, dropout=RecurrentDropoutSettings(hidden=0.3))
    tokens = cutting.target.tokens
    if tokens < 200_000:
        because("model", f"about {tokens:,} target tokens: too few for a Transformer, enough for a small GRU")
        because("model.dropout.hidden", "little data is soon known by heart")
        return msgspec.structs.replace(gru_tiny(), dropout=RecurrentDropoutSettings(hidden=0.3))
    chosen = _transformer(cutting, machine, because)
    if not joint:
        embedding = msgspec.structs.replace(chosen.embedding, shared=False)
        chosen = msgspec.structs.replace(chosen, embedding=embedding)
        because("model.embedding.shared", "the two sides have vocabularies of their own")
    return chosen


def _transformer(cutting: Cutting, machine: Machine, because: _Reasons) -> TransformerSettings:
    tokens = cutting.target.tokens
    sizes = [("tiny", tiny(), 0), ("small", small(), 3_000_000), ("base", base(), 30_000_000)]
    sizes.append(("big", big(), 300_000_000))
    fitting = [each for each in sizes if tokens >= each[2]]
    limits = ""
    if not machine.has_gpu and len(fitting) > 2:
        fitting, limits = fitting[:2], "; without a GPU no more than small"
    while len(fitting) > 1 and _bytes(fitting[-1][1], cutting) > machine.memory / 2:
        fitting.pop()
        limits = f"; a larger one would not fit into half of {machine.memory / 2**30:.0f} GiB"
    name, settings, _ = fitting[-1]
    dropout = 0.3 if tokens < 3_000_000 else 0.2 if tokens < 30_000_000 else 0.1
    because("model", f"about {tokens:,} target tokens: the preset {name}{limits}")
    because(
        "model.dropout.hidden", "the less data, the more: 0.3 below 3 million target tokens, 0.2 below 30, then 0.1"
    )
    dropped = msgspec.structs.replace(settings.dropout, hidden=dropout)
    return msgspec.structs.replace(settings, dropout=dropped)


def _language_model(cutting: Cutting, machine: Machine, because: _Reasons) -> ModelSettings:
    tokens = cutting.target.tokens
    if tokens < 2_000_000:
        because("model", f"about {tokens:,} tokens: an LSTM learns more from so few than a Transformer")
        because("model.dropout.hidden", "little data is soon known by heart")
        dropped = RecurrentDropoutSettings(hidden=0.3)
        return RecurrentLMSettings(size=256, readout="tanh", tied_output=True, dropout=dropped)
    name, like = ("base", base()) if machine.has_gpu and tokens >= 30_000_000 else ("small", small())
    because("model", f"about {tokens:,} tokens: a Transformer with layers like those of the preset {name}")
    because("model.dropout.hidden", "0.2 below 30 million tokens, then 0.1")
    return TransformerLMSettings(
        size=like.size,
        attention=like.attention,
        feedforward=like.feedforward,
        layers=like.decoder_layers,
        dropout=DropoutSettings(hidden=0.2 if tokens < 30_000_000 else 0.1),
    )


def _bytes(model: TransformerSettings, cutting: Cutting) -> int:
    """What weights, gradients, the optimizer's state and the snapshots of a model take."""
    per_layer = 4 * model.size**2 + 2 * model.size * model.feedforward.size
    layers = model.encoder_layers * per_layer + model.decoder_layers * (per_layer + 4 * model.size**2)
    weights: int = layers + model.size * cutting.pieces
    return 4 * (_COPIES_OF_WEIGHTS + _SNAPSHOTS) * weights


# ---- [training] ----------------------------------------------------------------------------------------------------


def _training(
    cutting: Cutting, model: ModelSettings | None, machine: Machine, *, wishes: Wishes, because: _Reasons
) -> TrainingSettings:
    tokens = cutting.target.tokens
    batch_tokens = wishes.batch_tokens or _batch_tokens(tokens, machine, because)
    steps = wishes.steps or _steps(tokens, batch_tokens, _passes(tokens, machine, wishes), because)
    warmup = min(4_000, max(10, steps // 10), steps)
    because("training.schedule.warmup", "a tenth of the run, 4,000 at the most")
    every = max(10, steps // _VALIDATIONS)
    because("training.validate_every", f"about {_VALIDATIONS} times in the run")
    because("training.checkpoint_every", "with each validation; a stop loses no more than that")
    because("training.log_every", "a few lines of progress between two validations")
    because("training.patience", f"{_PATIENCE} validations without a new best end the run")
    because("training.average.count", "the mean of the last few snapshots is smoother than the last")
    return TrainingSettings(
        steps=steps,
        batch_tokens=batch_tokens,
        objective=CrossEntropy(smoothing=_smoothing(cutting, because)),
        average=Recent(count=_SNAPSHOTS),
        validate_every=every,
        checkpoint_every=every,
        patience=_PATIENCE,
        log_every=max(5, min(50, every // 5)),
        precision=_precision(model, machine, because),
        **(_lower_rate(warmup, wishes, because) if model is None else _rate(model, warmup, because)),
    )


def _batch_tokens(tokens: int, machine: Machine, because: _Reasons) -> int:
    if tokens < 200_000:
        batch, reason = 2_048, "little data: smaller batches leave more updates"
    elif not machine.has_gpu:
        batch, reason = 4_096, "the usual size for a processor"
    elif tokens < 30_000_000:
        batch, reason = 8_192, "a GPU works on more at a time"
    else:
        batch, reason = 16_384, "a GPU works on more at a time, and large corpora bear large batches"
    because("training.batch_tokens", reason)
    return batch


def _steps(tokens: int, batch_tokens: int, passes: float, because: _Reasons) -> int:
    steps = max(100, round(passes * tokens / min(tokens, _FILLED * batch_tokens)))
    because("training.steps", f"about {passes:.0f} passes over {tokens:,} target tokens: the more, the fewer")
    return steps if steps < 1_000 else 100 * round(steps / 100)


def _passes(tokens: int, machine: Machine, wishes: Wishes) -> float:
    """As many as see the tokens often enough: 20 million for a corpus of 300,000, growing with the root."""
    least, most = 10.0 if machine.has_gpu else 3.0, 300.0 if wishes.base is None else _MOST_PASSES_MORE
    return min(most, max(least, 20e6 * math.sqrt(tokens / 300_000) / tokens))


def _smoothing(cutting: Cutting, because: _Reasons) -> float:
    if cutting.source is None:
        because("training.objective.smoothing", "none: a language model is judged by its probabilities")
        return 0.0
    because("training.objective.smoothing", "the usual share")
    return 0.1


def _rate(model: ModelSettings, warmup: int, because: _Reasons) -> dict[str, Any]:
    """Optimizer and schedule."""
    key = "training.optimizer.rate"
    match model:
        case RecurrentSettings() | RecurrentLMSettings():
            because(key, "recurrent layers bear this rate, which falls to nothing at the end of the run")
            return {"optimizer": AdamW(rate=2e-3), "schedule": Linear(warmup=warmup)}
        case TransformerSettings(size=size) if size <= _MUON_SIZE and has_muon():
            because("training.optimizer", "Muon learns more from each update than AdamW; tried for models of this size")
            because("training.optimizer.rate", "for matrices; tables and vectors follow AdamW at half of it")
            optimizer = Muon(rate=_MUON_RATE, others=AdamW(rate=_MUON_RATE / 2))
            return {"optimizer": optimizer, "schedule": Linear(warmup=warmup)}
        case _:
            rate = min(3e-3, float(f"{(model.size * warmup) ** -0.5:.2g}"))
            because(key, "1 / √(size · warm-up), as for the first Transformer, 0.003 at the most")
            return {"optimizer": AdamW(rate=rate), "schedule": InverseSquareRoot(warmup=warmup)}


def _precision(model: ModelSettings | None, machine: Machine, because: _Reasons) -> Precision:
    """The number format of products. Recurrent layers are quick in float32 as they are."""
    if not machine.bfloat16 or not isinstance(model, TransformerSettings):
        return "float32"
    because("training.precision", "this processor has instructions for bfloat16, with which training is quicker")
    return "bfloat16"


def _lower_rate(warmup: int, wishes: Wishes, because: _Reasons) -> dict[str, Any]:
    """Optimizer and schedule for a model that has learned already."""
    key = "training.optimizer.rate"
    if wishes.adapters:
        because(key, "adapters start from nothing and bear more than the weights that they are added to")
        return {"optimizer": AdamW(rate=2e-3), "schedule": Linear(warmup=warmup)}
    because(key, "a model that has learned already bears a small rate only")
    return {"optimizer": AdamW(rate=3e-4), "schedule": Linear(warmup=warmup)}


# ---- [evaluation] --------------------------------------------------------------------------------------------------


def _evaluation(cutting: Cutting, valid_pairs: int, because: _Reasons) -> EvaluationSettings:
    sentences = _MOST_DECODED if valid_pairs > _MOST_DECODED else None
    if sentences is not None:
        because("evaluation.sentences", f"enough to choose by, of {valid_pairs:,}")
    if cutting.source is None:
        because("evaluation.metric", "a language model has no outputs to compare")
        return EvaluationSettings(metric="loss", sentences=sentences)
    if cutting.target.kind != "subwords":
        because("evaluation.metric", "an output is right as a whole or wrong: the share of wrong ones")
        return EvaluationSettings(metric="error_rate", sentences=sentences)
    if cutting.target.spaced and valid_pairs >= _FEW_TO_JUDGE:
        because("evaluation.metric", "sentences of words with spaces between them, and enough of them")
        return EvaluationSettings(metric="bleu", sentences=sentences)
    few = "few validation pairs" if cutting.target.spaced else "a script that puts no spaces between words"
    because("evaluation.metric", f"{few}: characters tell more than words")
    return EvaluationSettings(metric="chrf", sentences=sentences)
