"""A model learns which target words its source words may call for, from pairs like those that it was trained on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dragoman.errors import ModelError
from dragoman.measures.short_list import ShortListSettings, learn_short_list
from dragoman.models.recurrent_lm import RecurrentLMSettings
from dragoman.models.transformer_lm import TransformerLMSettings
from dragoman.text.vocabulary import EOS, UNK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.bundle import Bundle

__all__ = ["with_short_list"]


def with_short_list(
    bundle: Bundle, sources: Sequence[str], targets: Sequence[str], *, settings: ShortListSettings | None = None
) -> Bundle:
    """The model with a short-list learned from these pairs."""
    told = bundle.description
    if told.features or isinstance(told.model, TransformerLMSettings | RecurrentLMSettings):
        raise ModelError(
            "this model reads no source words", place="model", remedy="A short-list is for models that read text."
        )
    tokenizers = bundle.tokenizers
    found = learn_short_list(
        [tokenizers.source.encode(text) for text in sources],
        [tokenizers.target.encode(text) for text in targets],
        source_size=told.source_vocabulary or told.target_vocabulary,
        always=(UNK, EOS),
        settings=settings,
    )
    return replace(bundle, short_list=found)
