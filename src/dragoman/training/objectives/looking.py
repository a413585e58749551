"""What objectives over attention share: one pass of the model, cross-entropy, and a number made of its attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from dragoman.errors import ModelError, SettingError
from dragoman.models.rnn import RecurrentSettings
from dragoman.models.transformer import TransformerSettings
from dragoman.training.objectives import pieces
from dragoman.training.objectives.cross_entropy import smoothed
from dragoman.training.objectives.objective import Sums, labels_of, source_of, without_prompts

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from dragoman.data.batch import Batch
    from dragoman.models.build import ModelSettings
    from dragoman.models.seq2seq import Attentive, Model


@dataclass(frozen=True, slots=True)
class Looking:
    """Whose attention it is, and the smoothing of the cross-entropy beside it."""

    layer: int
    head: int | None
    """Nothing: the mean of the heads."""
    smoothing: float


def looked(model: Model, batch: Batch, looking: Looking, price: Callable[[Tensor], Tensor], *, scale: float) -> Sums:
    """The sums of cross-entropy and the price of the attention [B, T, S]; a dropped layer is not priced."""
    labels_N = labels_of(batch)
    attended = cast("Attentive", model).attended(
        source_of(batch), batch.inputs_BT, batch.target_lengths_B, layer=looking.layer
    )
    beside = None
    if attended.weights_BHTS is not None:
        weights_BHTS = attended.weights_BHTS.float()
        beside = price(weights_BHTS.mean(1) if looking.head is None else weights_BHTS[:, looking.head])
    hidden = without_prompts(attended.hidden, batch)
    loss = smoothed(model, labels_N, looking.smoothing)
    objective, nll = pieces.in_pieces(hidden, loss, rows=pieces.ROWS_AT_ONCE, scale=scale, beside=beside)
    return Sums(objective, nll, labels_N.shape[0])


def refuse_unseen(model: ModelSettings, *, layer: int, head: int | None) -> None:
    """Raise an error unless models of these settings have this head of attention to a source."""
    match model:
        case TransformerSettings(decoder_layers=layers):
            heads = model.attention.heads
        case RecurrentSettings(attention=attention) if attention is not None:
            layers = heads = 1
        case _:
            raise ModelError(
                f"a model of kind {model.__struct_config__.tag!r} has no attention to the source alone"
                if not isinstance(model, RecurrentSettings)
                else "this recurrent model has no attention",
                place="training.objective",
                remedy="Use a transformer, or a recurrent model with attention, or another objective.",
            )
    for name, number, count in (("layer", layer, layers), ("head", 0 if head is None else head, heads)):
        if not -count <= number < count:
            raise SettingError(
                f"there is no {name} {number} among {count}",
                place=f"training.objective.{name}",
                remedy=f"Give one of 0 to {count - 1}, or -1 for the last.",
            )
