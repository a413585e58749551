"""The composition root: from a recipe to a run.

corpora ──► tokenizers ──► store ──► loader ─┐
│                           ├──► train(): events, checkpoints, the best bundle
└──► model ─► optimizer ────┘
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from dragoman import bundle as bundles
from dragoman.bundle import BEST, Bundle, Description, Facts
from dragoman.data.corpus import Features
from dragoman.data.preparation import identity as files_identity
from dragoman.decoding.beam import BeamSettings
from dragoman.devices import choose, cores, keep_few_kernels, keep_freed_memory, seed_everything, set_threads
from dragoman.files import disk_errors, locked, whole, write_atomically
from dragoman.recipe.aligning import settle_alignment
from dragoman.recipe.board import on_board
from dragoman.recipe.folder import BOARD, LOCK, PURPOSE, RUN_FILE
from dragoman.recipe.prepared import prepare_data, training_loader, valid_loader
from dragoman.recipe.report import write_report
from dragoman.recipe.toml import to_toml
from dragoman.training import checkpoint
from dragoman.training.build import build_parts
from dragoman.training.distributed import joined
from dragoman.training.events import Finished, Prepared, Validated
from dragoman.training.identity import identity, refuse_changes
from dragoman.training.loop import CHECKPOINTS, EVENTS, train
from dragoman.training.objectives.build import outside_files
from dragoman.training.validation import HeldOut, keep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    import torch

    from dragoman.data.store import Store
    from dragoman.recipe.prepared import Data
    from dragoman.recipe.schema import Recipe
    from dragoman.training.distributed import Ranks
    from dragoman.training.events import Event

_SLACK = 1.5
"""How much longer than nearly all training data an output may become."""

_RESTORED = 3.0
"""How many times as long as its source a text may become that is restored from what noise left."""


def run(
    recipe: Recipe,
    folder: Path,
    *,
    text: str = "",
    fresh: bool = False,
    stop: Callable[[], int | None] = lambda: None,
) -> Iterator[Event]:
    """The events of training by the recipe in a folder: from the start, or from where it was stopped.

    `text` is kept as OUT/run.toml; without one, the recipe is written out there. `fresh` forgets an earlier run.
    Under torchrun, the first process yields the events and the others none.
    """
    chosen = choose(recipe.training.device)
    with joined(chosen, seed=recipe.training.seed) as ranks:
        device = ranks.device(chosen)
        if not ranks.leads:
            for _ in _events(recipe, folder, stop, ranks=ranks, device=device):
                pass
            return
        with locked(folder / LOCK, purpose=PURPOSE):
            if fresh and not ranks.restarted:
                start_over(folder)
            earlier = checkpoint.latest_state(folder / CHECKPOINTS)
            if earlier is not None:
                refuse_changes(earlier.recipe, _lasting(recipe), place=str(folder))
            write_atomically(folder / RUN_FILE, (text or to_toml(msgspec.to_builtins(recipe))).encode())
            events = _events(recipe, folder, stop, ranks=ranks, device=device)
            yield from _reported(on_board(events, folder / BOARD) if recipe.training.tensorboard else events, folder)


def _reported(events: Iterator[Event], folder: Path) -> Iterator[Event]:
    """The events; the page about the run is written anew with each validation, so that it can be looked at."""
    for event in events:
        if isinstance(event, Validated | Finished):
            write_report(folder)
        yield event


def start_over(folder: Path) -> None:
    """Remove what an earlier run learned; prepared data stay, for they are made anew where they have changed."""
    best = folder / BEST
    if (whole(best) / bundles.DESCRIPTION).exists():
        with disk_errors(best, "remove"):
            shutil.rmtree(whole(best))
    checkpoint.remove_all(folder / CHECKPOINTS)
    with disk_errors(folder, "remove"):
        (folder / EVENTS).unlink(missing_ok=True)


def _events(
    recipe: Recipe, folder: Path, stop: Callable[[], int | None], *, ranks: Ranks, device: torch.device
) -> Iterator[Event]:
    set_threads(recipe.training.threads or max(1, cores() // ranks.local_count))
    keep_freed_memory()
    keep_few_kernels()
    with ranks.in_turn():
        prepared = prepare_data(recipe, folder)
    ranks.must_agree(prepared.train.facts.fingerprint, place=str(folder))
    yield _prepared(prepared.train)
    seed_everything(recipe.training.seed)
    bundle = fresh_bundle(recipe, prepared)
    held_out = _held_out(recipe, prepared, bundle=bundle, device=device, folder=folder / BEST)
    parts = build_parts(
        recipe.training,
        bundle=bundle,
        loader=replace(training_loader(recipe, prepared), rank=ranks.number, ranks=ranks.count),
        validate=held_out,
        device=device,
        ranks=ranks,
        recipe=_lasting(recipe),
    )
    for event in train(parts, recipe.training.limits(), folder, stop=stop):
        if isinstance(event, Finished):
            if held_out is None:  # nothing else says which model is the best
                with parts.average.swapped():
                    parts.layout.usable()
                    if ranks.leads:
                        keep(bundle, folder / BEST, steps=event.step, tokens=event.tokens)
            if ranks.leads:
                settle_alignment(recipe, prepared, folder / BEST, device)
        yield event


def _prepared(store: Store) -> Prepared:
    facts = store.facts
    return Prepared(
        step=0,
        examples=len(store),
        empty=facts.empty,
        too_long=facts.too_long,
        unusable=facts.unusable,
        places=facts.first_unusable,
    )


def _held_out(recipe: Recipe, prepared: Data, *, bundle: Bundle, device: torch.device, folder: Path) -> HeldOut | None:
    if prepared.valid is None:
        return None
    return HeldOut(
        settings=recipe.evaluation,
        bundle=bundle,
        loader=valid_loader(recipe, prepared, prepared.valid),
        sources=prepared.sources,
        references=prepared.references,
        target_language="" if recipe.data.valid is None else recipe.data.valid.target_language,
        device=device,
        folder=folder,
    )


def _lasting(recipe: Recipe) -> str:
    """The settings that must not change while a run goes on; what corpora hold is known by a fingerprint."""
    settings = {
        "data": {
            "weights": [each.weight for each in recipe.data.train],
            "noise": recipe.data.noise,
            "prompts": recipe.data.prompts,
        },
        "start": recipe.start,
        "text": recipe.cutting if recipe.start is None else recipe.text,
        "store": {"longest_source": recipe.store.longest_source, "longest_target": recipe.store.longest_target},
        "model": recipe.architecture if recipe.start is None else recipe.model,
        "training": recipe.training.lasting(),
        "outside": files_identity(outside_files(recipe.training.objective)),
        "evaluation": {"metric": recipe.evaluation.metric, "sentences": recipe.evaluation.sentences},
    }
    return identity(settings)


def _only(languages: Iterable[str]) -> str:
    """The language, if there is just one."""
    found = set(languages)
    return found.pop() if len(found) == 1 else ""


def fresh_bundle(recipe: Recipe, prepared: Data) -> Bundle:
    """A bundle with the weights that training begins with: untrained ones, or those of another model."""
    if prepared.base is not None:
        return _continued(recipe, prepared.base, prepared)
    tokenizers, store = prepared.tokenizers, prepared.train
    first = recipe.data.train[0]
    description = Description(
        model=recipe.architecture,
        source_vocabulary=None if tokenizers.joint or store.source is None else len(tokenizers.source.vocabulary),
        target_vocabulary=len(tokenizers.target.vocabulary),
        features=isinstance(first, Features),
        source_language=_only(c.source_language for c in recipe.data.train),
        target_language=_only(c.target_language for c in recipe.data.train),
        length_ratio=_length_ratio(store) if recipe.data.noise is None else _RESTORED,
        decoding=recipe.decoding,
        training=Facts(seed=recipe.training.seed, data=store.facts.fingerprint),
    )
    return Bundle(description, bundles.build_model(description), tokenizers)


def _continued(recipe: Recipe, base: Bundle, prepared: Data) -> Bundle:
    """The bundle of the model that training goes on from, for the languages of the new data."""
    first, old = recipe.data.train[0], base.description
    description = msgspec.structs.replace(
        old,
        model=recipe.model or old.model,
        source_language=first.source_language or old.source_language,
        target_language=first.target_language or old.target_language,
        length_ratio=max(old.length_ratio, _length_ratio(prepared.train)),
        decoding=old.decoding if recipe.decoding == BeamSettings() else recipe.decoding,
        training=Facts(seed=recipe.training.seed, data=prepared.train.facts.fingerprint),
    )
    model = base.model
    if description.model != old.model:
        model = bundles.build_model(description)
        bundles.load_weights(model, bundles.weights(base.model))
    return Bundle(description, model, prepared.tokenizers)


def _length_ratio(store: Store) -> float:
    """How many times as long as its source an output may become: half as much again as in 999 of 1,000 pairs."""
    if store.source is None:
        return 1.0
    sources, targets = store.source.sequences.lengths() + 1, store.target.sequences.lengths() + 1
    return round(_SLACK * float(np.quantile(targets / sources, 0.999)), 3)
