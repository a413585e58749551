"""Which engine runs a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from dragoman.engines.eager import EagerStep, eager_step
from dragoman.engines.packed import PackedStep, can_be_packed
from dragoman.errors import SettingError

if TYPE_CHECKING:
    from pathlib import Path

    import torch

    from dragoman.bundle import Bundle
    from dragoman.devices import NumberFormat
    from dragoman.engines.searcher import Engine, Searcher
    from dragoman.models.seq2seq import Model

__all__ = ["Step", "quick_step", "searcher"]

Step = EagerStep | PackedStep


def quick_step(model: Model, *, precision: NumberFormat = "float32") -> Step:
    """The quickest step of a model in a number format; its weights are taken as they are now."""
    if can_be_packed(model):
        return PackedStep(model, precision=precision)
    if precision != "float32":
        raise SettingError(
            f"this model cannot be computed in {precision}",
            place="precision",
            remedy="Only Transformers can, on a processor, without copying, rotary or relative positions. Drop it.",
        )
    return eager_step(model)


def searcher(
    engine: Engine, bundle: Bundle, *, origin: Path, device: torch.device, precision: NumberFormat
) -> Searcher | None:
    """Who runs whole searches of the model in the folder `origin`; nothing where they are run step by step."""
    match engine:
        case "torch":
            return None
        case "ctranslate2":
            from dragoman.engines.ctranslate2.conversion import converted
            from dragoman.engines.ctranslate2.search import CTranslate2Search

            return CTranslate2Search(converted(bundle, origin), bundle, device=device, precision=precision)
        case _:
            assert_never(engine)
