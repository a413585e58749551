"""Many texts translated by several processes of one thread each, where that is worth their start.

The products of a step are small, and two threads that share each of them wait for each other most of the time. Two
processes with a thread each share nothing but the texts. But a process has to start, to load the model, and to hold it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, assert_never

from dragoman.data.workers import WorkerLost, in_order
from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.contrastive import ContrastiveSettings
from dragoman.decoding.diverse import DiverseSettings
from dragoman.decoding.exact import ExactSettings
from dragoman.decoding.exhaustive import ExhaustiveSettings
from dragoman.decoding.greedy import GreedySettings
from dragoman.decoding.mbr import MbrSettings
from dragoman.decoding.sample import SampleSettings
from dragoman.devices import memory, set_threads
from dragoman.errors import ModelError
from dragoman.translator.loading import load
from dragoman.translator.requests import Request
from dragoman.translator.translator import Batching, paired

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dragoman.decoding.build import DecodingSettings
    from dragoman.devices import NumberFormat
    from dragoman.engines.searcher import Engine
    from dragoman.translator.outputs import Translation
    from dragoman.translator.translator import Translator

__all__ = ["Loading", "Share", "shared"]

_WORTH = 40_000_000_000
"""Texts, times hypotheses of each, times weights of the models, from which on processes are started; below, all would
be done about as soon as they had begun."""
_LEAST, _MOST = 32, 512
"""Texts that a process gets at once."""
_BYTES = 500_000_000
"""Memory of a process without its model."""
_BYTES_OF_A_WEIGHT = 12
"""Memory of a weight: as it was read, as it is prepared for products, and what is computed with it."""


@dataclass(frozen=True)
class Loading:
    """Which models, and how they are loaded: here, or in other processes."""

    models: tuple[str, ...]
    batching: Batching = field(default_factory=Batching)
    language_model: str | None = None
    language_weight: float = 0.2
    precision: NumberFormat = "float32"
    engine: Engine = "torch"

    def translator(self) -> Translator:
        """The translator, loaded anew."""
        return load(
            *self.models,
            batching=self.batching,
            language_model=self.language_model,
            language_weight=self.language_weight,
            precision=self.precision,
            engine=self.engine,
        )


@dataclass(frozen=True)
class Share:
    """What a worker process does: it translates pairs of a text and a prefix."""

    loading: Loading
    settings: DecodingSettings
    request: Request

    def __call__(self, pairs: list[tuple[str, str]]) -> list[Translation]:
        texts, prefixes = zip(*pairs, strict=True)
        return self._translator.translate(texts, decoding=self.settings, prefixes=prefixes, request=self.request)

    @cached_property
    def _translator(self) -> Translator:
        set_threads(1)
        return self.loading.translator()


def shared(
    translator: Translator,
    loading: Loading,
    texts: Iterable[str],
    *,
    settings: DecodingSettings,
    prefixes: Iterable[str] | None = None,
    request: Request | None = None,
    threads: int,
) -> Iterator[Translation]:
    """The translation of each text in its order, by up to `threads` processes if they are worth it, else in this one.

    They are when the texts that a window holds are work enough, or fill it; on a processor, by the engine torch, and
    with memory for a model in each.
    """
    request = request or Request()
    most = _fitting(translator.weights, threads)
    window = translator.batching.window
    if most < 2 or window < _LEAST or loading.engine != "torch" or translator.device.type != "cpu":
        yield from translator.stream(texts, decoding=settings, prefixes=prefixes, request=request)
        return
    pairs = zip(texts, itertools.repeat("")) if prefixes is None else paired(texts, prefixes)
    ahead = list(itertools.islice(pairs, window))
    if len(ahead) < window and not _worth(len(ahead), settings, weights=translator.weights):
        sources, starts = map(list, zip(*ahead, strict=True)) if ahead else ([], [])
        yield from translator.stream(sources, decoding=settings, prefixes=starts, request=request)
        return
    del translator  # the workers have models of their own
    size = max(_LEAST, min(_MOST, -(-len(ahead) // most)))
    work = Share(loading, settings, request)
    try:
        for translations in in_order(work, _parts(itertools.chain(ahead, pairs), size), workers=most):
            yield from translations
    except WorkerLost as lost:
        raise ModelError(
            "a process that translated a share of the texts ended without an answer",
            place="threads",
            remedy="It was killed, perhaps because memory is short: translate in one process, with --threads 1.",
        ) from lost


def _worth(texts: int, settings: DecodingSettings, *, weights: int) -> bool:
    """Whether so many texts are work enough for several processes, with models of so many weights in all."""
    return texts >= 2 * _LEAST and texts * _hypotheses(settings) * weights >= _WORTH


def _hypotheses(settings: DecodingSettings) -> int:
    """How many hypotheses of a text are worked on side by side."""
    match settings:
        case BeamSettings() | DiverseSettings() | ExactSettings():
            return settings.beam
        case MbrSettings():
            return settings.samples
        case SampleSettings():
            return settings.nbest
        case ContrastiveSettings():
            return settings.candidates
        case GreedySettings() | ExhaustiveSettings():
            return 1
        case _:
            assert_never(settings)


def _fitting(weights: int, threads: int) -> int:
    """As many processes as are wanted, or as have room in half of the memory that is free."""
    return min(threads, memory().available // 2 // (_BYTES + weights * _BYTES_OF_A_WEIGHT))


def _parts(pairs: Iterator[tuple[str, str]], size: int) -> Iterator[list[tuple[str, str]]]:
    while part := list(itertools.islice(pairs, size)):
        yield part
