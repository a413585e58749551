"""From settings to a search, and the one way to run any of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, assert_never

import torch

from dragoman.decoding.beam import BeamSearch, BeamSettings
from dragoman.decoding.contrastive import ContrastiveSearch, ContrastiveSettings
from dragoman.decoding.diverse import DiverseSearch, DiverseSettings
from dragoman.decoding.exact import ExactSearch, ExactSettings
from dragoman.decoding.exhaustive import Exhaustive, ExhaustiveSettings
from dragoman.decoding.filters import Banned, FilterSettings, ForcedPrefix, MinLength, NoRepeat, RepetitionPenalty
from dragoman.decoding.greedy import Greedy, GreedySettings
from dragoman.decoding.hypothesis import Found, found
from dragoman.decoding.mbr import MbrSettings
from dragoman.decoding.required import Required
from dragoman.decoding.sample import Cut, Sample, SampleSettings
from dragoman.decoding.scores import LengthNormalization
from dragoman.decoding.search import Arrival, search, search_batch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dragoman.decoding.live import Phrase
    from dragoman.decoding.search import Arrivals, Filter, Strategy
    from dragoman.decoding.step import DecoderStep

__all__ = ["DecodingSettings", "Plan", "build", "decode"]

State = TypeVar("State")

DecodingSettings = (
    BeamSettings
    | GreedySettings
    | SampleSettings
    | DiverseSettings
    | ContrastiveSettings
    | MbrSettings
    | ExactSettings
    | ExhaustiveSettings
)


@dataclass(frozen=True, slots=True)
class Plan:
    """A search with everything that it needs beside a model."""

    strategy: Strategy
    """What chooses at each step; before an exact search, what finds its first bound."""
    filters: tuple[Filter, ...]
    begin: int
    nbest: int
    exact: ExactSearch | None = None


def build(settings: DecodingSettings, *, begin: int, end: int, banned: Sequence[Phrase] = ()) -> Plan:
    """The search that settings describe, for a vocabulary with this begin and end; `banned` is never said.

    After `mbr`, all samples come back, for `mbr.rank` to choose from: likeness is a matter of text.
    """
    filters = _filters(settings.filters, end=end, banned=banned)
    match settings:
        case GreedySettings():
            return Plan(Greedy(end=end), filters, begin, 1)
        case BeamSettings():
            return Plan(_beam(settings, end=end), filters, begin, settings.nbest)
        case DiverseSettings():
            strategy = DiverseSearch(
                beam=settings.beam,
                groups=settings.groups,
                diversity=settings.diversity,
                end=end,
                normalization=LengthNormalization(settings.alpha, settings.normalization),
            )
            return Plan(strategy, filters, begin, settings.nbest)
        case SampleSettings():
            return Plan(_sample(settings, end=end), filters, begin, settings.nbest)
        case MbrSettings():
            cut = Cut(temperature=settings.temperature, top_p=settings.top_p)
            draw = Sample(end=end, cut=cut, seed=settings.seed, width=settings.samples)
            return Plan(draw, filters, begin, settings.samples)
        case ContrastiveSettings():
            contrastive = ContrastiveSearch(candidates=settings.candidates, penalty=settings.penalty, end=end)
            return Plan(contrastive, filters, begin, 1)
        case ExhaustiveSettings():
            normalization = LengthNormalization(settings.alpha, settings.normalization)
            everything = Exhaustive(end=end, normalization=normalization, most=settings.most)
            return Plan(everything, filters, begin, settings.nbest)
        case ExactSettings():
            return _exact(settings, filters, begin=begin, end=end)
        case _:
            assert_never(settings)


def decode(
    plan: Plan,
    step: DecoderStep[State],
    *,
    arrivals: Arrivals[State],
    places: int = 64,
    device: torch.device | None = None,
) -> Iterator[Found]:
    """The outputs of each arriving sentence, as soon as its search is over."""
    if plan.exact is None:
        beams = search(
            step,
            plan.strategy,
            arrivals=arrivals,
            begin=plan.begin,
            filters=plan.filters,
            places=places,
            device=device,
        )
        yield from found(beams, nbest=plan.nbest)
        return
    while (arrival := arrivals(places)) is not None:
        for place, sentence in enumerate(arrival.sentences):
            state = step.select(arrival.state, torch.tensor([place], device=device))
            yield _proven(plan, plan.exact, step, batch=Arrival([sentence], state), device=device)


def _proven(
    plan: Plan, exact: ExactSearch, step: DecoderStep[State], *, batch: Arrival[State], device: torch.device | None
) -> Found:
    """The outputs of an exact search, with those of the first search as a bound."""
    (first,) = search_batch(
        step, plan.strategy, batch=batch, begin=plan.begin, filters=plan.filters, nbest=plan.nbest, device=device
    )
    (sentence,) = batch.sentences
    proof = exact.search(
        step, batch.state, sentence=sentence, filters=plan.filters, known=first.hypotheses, device=device
    )
    return Found(sentence.key, proof.hypotheses or first.hypotheses, proof.proven, proof.expansions)


def _beam(settings: BeamSettings, *, end: int) -> BeamSearch:
    return BeamSearch(
        beam=settings.beam,
        end=end,
        normalization=LengthNormalization(settings.alpha, settings.normalization),
        coverage=settings.coverage,
        stop=settings.stop,
        finish=settings.finish,
        nbest=settings.nbest,
        refill=settings.refill,
    )


def _sample(settings: SampleSettings, *, end: int) -> Sample:
    cut = Cut(
        temperature=settings.temperature,
        top_k=settings.top_k,
        top_p=settings.top_p,
        min_p=settings.min_p,
        typical=settings.typical,
    )
    return Sample(end=end, cut=cut, seed=settings.seed, width=settings.nbest)


def _exact(settings: ExactSettings, filters: tuple[Filter, ...], *, begin: int, end: int) -> Plan:
    normalization = LengthNormalization(settings.alpha, settings.normalization)
    first = BeamSearch(
        beam=settings.beam, end=end, normalization=normalization, nbest=min(settings.nbest, settings.beam)
    )
    exact = ExactSearch(
        begin=begin, end=end, normalization=normalization, expansions=settings.expansions, nbest=settings.nbest
    )
    return Plan(first, filters, begin, settings.nbest, exact)


def _filters(settings: FilterSettings, *, end: int, banned: Sequence[Phrase]) -> tuple[Filter, ...]:
    """The filters of every search; what is forced lies around what is forbidden, and so has the last word."""
    within: list[Filter] = [MinLength(end)]
    if settings.repetition_penalty > 1:
        within.insert(0, RepetitionPenalty(settings.repetition_penalty))
    if banned:
        within.append(Banned.of(banned))
    if settings.no_repeat:
        within.append(NoRepeat(settings.no_repeat))
    return (ForcedPrefix((Required(end, tuple(within)),)),)
