"""After training: which attention of the best model tells what belongs together, found on the validation pairs."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING

import msgspec

from dragoman import bundle as bundles
from dragoman.evaluation.aligning import best_attention
from dragoman.measures.aligner import align_corpus
from dragoman.models.rnn import RecurrentSettings
from dragoman.models.transformer import TransformerSettings
from dragoman.models.transformer_lm import PrefixLMSettings
from dragoman.recipe.prepared import training_pairs
from dragoman.translator import Translator

if TYPE_CHECKING:
    from pathlib import Path

    import torch

    from dragoman.models.build import ModelSettings
    from dragoman.recipe.prepared import Data
    from dragoman.recipe.schema import Recipe

_TRIED = 200
"""Validation pairs on which attentions are tried."""
_LEARNED = 5_000
"""Training pairs that the reference alignment is learned from, together with these."""


def settle_alignment(recipe: Recipe, prepared: Data, folder: Path, device: torch.device) -> None:
    """Write into the bundle which attention aligns best, where it has one and its sources are texts."""
    bundle = bundles.load(folder)
    sources, targets = prepared.sources[:_TRIED], prepared.references[:_TRIED]
    if not sources or not _looks_at_a_source(bundle.description.model):
        return
    pairs = list(islice(training_pairs(recipe), _LEARNED))
    tokenizers = bundle.tokenizers
    source_words, target_words = (
        [side.normalizer(text).split() for text in texts]
        for side, texts in (
            (tokenizers.source, chain(sources, (p.source for p in pairs))),
            (tokenizers.target, chain(targets, (p.target for p in pairs))),
        )
    )
    gold = align_corpus(source_words, target_words, first=len(sources))
    language = "" if recipe.data.valid is None else recipe.data.valid.target_language
    translator = Translator(bundle, device=device)
    best = best_attention(translator, sources, targets, gold, target_language=language)
    if best != bundle.description.alignment:
        description = msgspec.structs.replace(bundle.description, alignment=best)
        bundles.save(replace(bundle, description=description), folder)


def _looks_at_a_source(model: ModelSettings) -> bool:
    match model:
        case RecurrentSettings():
            return model.attention is not None
        case TransformerSettings() | PrefixLMSettings():
            return True
        case _:
            return False
