"""Greedy and beam search run by CTranslate2.

It has a beam search of its own: where a hypothesis ends, another takes its place at once, while ours goes on with the
others. Greedy search is the same token by token. It does not tell the probability of each token, so outputs are read
once more with teacher forcing, which is quick beside the search; scores are ours, made of these.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import torch

from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.greedy import GreedySettings
from dragoman.decoding.hypothesis import Found, Hypothesis
from dragoman.decoding.scores import LengthNormalization
from dragoman.engines.ctranslate2.layout import LONGEST
from dragoman.engines.ctranslate2.package import ctranslate2
from dragoman.errors import SettingError
from dragoman.text.vocabulary import EOS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from dragoman.bundle import Bundle
    from dragoman.decoding.build import DecodingSettings
    from dragoman.decoding.live import Phrase
    from dragoman.devices import NumberFormat
    from dragoman.engines.searcher import Asked

__all__ = ["CTranslate2Search", "options"]

_PLACES = 64
"""Sentences that are searched at once."""


class CTranslate2Search:
    """A converted model, ready to search."""

    def __init__(self, folder: Path, bundle: Bundle, *, device: torch.device, precision: NumberFormat) -> None:
        kind = "cuda" if device.type == "cuda" else "cpu"
        known = ctranslate2().get_supported_compute_types(kind)
        if precision not in known:
            raise SettingError(
                f"CTranslate2 does not compute in {precision} on this machine's {kind}",
                place="precision",
                remedy=f"Choose one of {', '.join(sorted(known & {'float32', 'bfloat16', 'int8'}))}.",
            )
        threads = torch.get_num_threads()
        self._model: Any = ctranslate2().Translator(
            str(folder), device=kind, compute_type=precision, intra_threads=threads
        )
        self._sources = bundle.tokenizers.source.vocabulary.pieces
        self._targets = bundle.tokenizers.target.vocabulary
        self._adds_end = bundle.description.source_end

    def check(self, settings: DecodingSettings) -> None:
        """Raise SettingError where CTranslate2 has no such search."""
        options(settings)

    def search(
        self, asked: Sequence[Asked], settings: DecodingSettings, *, banned: Sequence[Phrase] = ()
    ) -> Iterator[Found]:
        """The outputs of each sentence, those with the longest limits first."""
        chosen = options(settings)
        if banned:
            chosen["suppress_sequences"] = [self._pieces(phrase) for phrase in banned]
        for each in asked:
            _check(each)
        for (most, least), group in groupby(sorted(asked, key=_limits, reverse=True), key=_limits):
            together = list(group)
            results = self._model.translate_batch(
                [self._source(each.ids) for each in together],
                target_prefix=[self._pieces(each.sentence.prefix) for each in together],
                max_decoding_length=most,
                min_decoding_length=least,
                max_batch_size=_PLACES,
                return_end_token=True,
                **chosen,
            )
            yield from self._found(together, results, settings)

    def _found(self, asked: Sequence[Asked], results: Sequence[Any], settings: DecodingSettings) -> Iterator[Found]:
        """The outputs with the model's log-probabilities, best first."""
        normalization = LengthNormalization(settings.alpha if isinstance(settings, BeamSettings) else 0.0)
        pairs = [
            (each, tuple(self._targets[piece] for piece in output))
            for each, result in zip(asked, results, strict=True)
            for output in result.hypotheses
        ]
        read = self._model.score_batch(
            [self._source(each.ids) for each, _ in pairs],
            [self._pieces(ids[:-1] if ids[-1:] == (EOS,) else ids) for _, ids in pairs],
            max_batch_size=_PLACES,
        )
        hypotheses: dict[int, list[Hypothesis]] = {each.sentence.key: [] for each in asked}
        for (each, ids), scored in zip(pairs, read, strict=True):
            log_probs = tuple(scored.log_probs[: len(ids)])
            score = normalization.score(sum(log_probs), len(ids))
            hypotheses[each.sentence.key].append(Hypothesis(ids, log_probs, score, ids[-1:] == (EOS,)))
        for each in asked:
            best = sorted(hypotheses[each.sentence.key], key=lambda one: (not one.finished, -one.score))
            yield Found(each.sentence.key, tuple(best))

    def _source(self, ids: Sequence[int]) -> list[str]:
        return [self._sources[i] for i in (ids[:-1] if self._adds_end else ids)]

    def _pieces(self, ids: Sequence[int]) -> list[str]:
        return [self._targets.pieces[i] for i in ids]


def options(settings: DecodingSettings) -> dict[str, Any]:
    """What `translate_batch` is told for a search; SettingError where it has no such search."""
    match settings:
        case GreedySettings():
            chosen: dict[str, Any] = {"beam_size": 1}
        case BeamSettings():
            chosen = _beam(settings)
        case _:
            kind = settings.__struct_config__.tag
            raise _refusal("kind", f"it has greedy and beam search, and none of kind {kind!r} as it is done here")
    if settings.filters.repetition_penalty > 1:
        raise _refusal("filters.repetition_penalty", "its penalty multiplies logits, not log-probabilities")
    if settings.filters.no_repeat:
        chosen["no_repeat_ngram_size"] = settings.filters.no_repeat
    return chosen


def _beam(settings: BeamSettings) -> dict[str, Any]:
    if settings.normalization != "mean":
        raise _refusal("normalization", "it divides scores by length^alpha alone")
    if settings.coverage > 0:
        raise _refusal("coverage", "its coverage penalty is another one")
    if settings.stop != "count":
        raise _refusal("stop", "it stops with a number of finished hypotheses")
    return {
        "beam_size": settings.beam,
        "length_penalty": settings.alpha,
        "patience": (settings.finish or settings.beam) / settings.beam,
        "num_hypotheses": settings.nbest,
    }


def _limits(asked: Asked) -> tuple[int, int]:
    return asked.sentence.max_length, asked.sentence.min_length


def _check(asked: Asked) -> None:
    if asked.sentence.required:
        raise _refusal("glossary", "it cannot be made to say given words")
    if max(asked.sentence.max_length, len(asked.ids)) > LONGEST:
        raise _refusal("filters.lengths.most", f"models are converted with {LONGEST} positions")


def _refusal(place: str, reason: str) -> SettingError:
    return SettingError(
        f"the engine ctranslate2 cannot do this: {reason}",
        place=place if place == "glossary" else f"decoding.{place}",
        remedy="Use the engine torch, or leave the setting out.",
    )
