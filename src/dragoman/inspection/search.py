"""The tree of a beam search: every continuation that was weighed, which survived, and what other searches would say.

A search yields only what it keeps. To see what it drops, its strategy is watched while it chooses:

    offer ─► the best k of each live hypothesis: candidates ─► strategy.choose ─► the survivors
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch

from dragoman.decoding.beam import BeamSearch, BeamSettings
from dragoman.decoding.build import build
from dragoman.decoding.exact import ExactSearch, Verdict, classify
from dragoman.decoding.greedy import Greedy
from dragoman.decoding.hypothesis import found as outputs_of
from dragoman.decoding.search import Arrival, batches, search_batch
from dragoman.decoding.search import search as run
from dragoman.errors import ModelError, SettingError
from dragoman.text.vocabulary import EOS
from dragoman.translator.jobs import Jobs
from dragoman.translator.requests import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from dragoman.decoding.build import Plan
    from dragoman.decoding.exact import Proof
    from dragoman.decoding.hypothesis import Beam, Hypothesis
    from dragoman.decoding.live import Live, Sentence
    from dragoman.decoding.search import Choice, Offer
    from dragoman.decoding.step import DecoderStep
    from dragoman.translator import Translator

__all__ = ["Node", "Said", "SearchTree", "Start", "search_tree", "tree"]


@dataclass(frozen=True, slots=True)
class Node:
    """A continuation that the search has weighed."""

    step: int
    """From 1."""
    parent: int
    """The place among all nodes of what it continues; -1 at the start."""
    token: int
    text: str
    log_prob: float
    """Of the token alone."""
    total: float
    """The running score: the sum of the log-probabilities so far."""
    score: float
    """What the search would rank it by, if it ended here."""
    survives: bool
    """Whether the search kept it."""
    finished: bool
    """Whether it was set aside as finished."""
    on_path: bool = False
    """Whether it lies on the path that was read back from the best output."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a search says."""

    text: str
    log_prob: float
    score: float
    """By the length normalisation of the beam search, whatever search it was."""
    finished: bool


@dataclass(frozen=True, slots=True)
class SearchTree:
    """A beam search as a tree, and beside it greedy and exact search."""

    source: str
    beam: int
    alpha: float
    nodes: tuple[Node, ...]
    """Step after step; within a step, under each parent in turn, the best first."""
    outputs: tuple[Said, ...]
    """The finished outputs, best first; where there are none, what was cut at the longest length."""
    greedy: Said
    exact: Said | None
    """The best output known; nothing if exact search found none."""
    proven: bool
    """Whether nothing better exists than the exact search's output."""
    expansions: int
    """Hypotheses that exact search looked at."""
    verdict: Verdict

    @property
    def steps(self) -> int:
        """How many steps the search took."""
        return max(node.step for node in self.nodes)


@dataclass(frozen=True, slots=True)
class Start:
    """Where a search begins: a sentence, and the state of a decoder with its one row."""

    step: DecoderStep[Any]
    state: Any
    sentence: Sentence
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))


def search_tree(
    translator: Translator,
    source: str,
    *,
    settings: BeamSettings | None = None,
    expansions: int = 2_000,
    target_language: str = "",
) -> SearchTree:
    """The tree of a beam search of the (first) model, by its own settings unless others are given.

    The exact search that proves the best output gives up after `expansions` hypotheses.
    """
    if settings is None:
        own = translator.decoding
        settings = own if isinstance(own, BeamSettings) else BeamSettings()
    if settings.coverage:
        raise SettingError("a coverage penalty has no running sum", place="coverage", remedy="Set it to 0.")
    reader = translator.reader
    request = Request(target_language=target_language)
    jobs = Jobs((reader,), settings=settings, request=request, longest=translator.batching.longest)
    item = jobs.item(source, "" if reader.has_source else source)
    if len(item.jobs) != 1:
        raise ModelError(
            f"it is split into {len(item.jobs)} parts" if item.jobs else "it holds nothing",
            place="source",
            remedy="Give one sentence that the model reads in one piece.",
        )
    job = item.jobs[0]
    tokenizer = reader.bundle.tokenizers.target
    with torch.inference_mode():
        state = reader.start([job.reads[0]], traced=True, target_language=target_language)
        return tree(
            Start(reader.eager_step, state, job.sentence, translator.device),
            build(settings, begin=reader.begin(target_language)[-1], end=EOS),
            source=source,
            names=tokenizer.vocabulary.pieces.__getitem__,
            text=lambda ids: tokenizer.decode(list(ids)),
            expansions=expansions,
        )


def tree(
    start: Start,
    plan: Plan,
    *,
    source: str,
    names: Callable[[int], str],
    text: Callable[[Sequence[int]], str],
    expansions: int = 2_000,
) -> SearchTree:
    """The tree of the planned beam search from the start, whatever gives the scores."""
    beam = plan.strategy
    assert isinstance(beam, BeamSearch)
    watched = _Watched(beam)
    together = Arrival([start.sentence], start.state)
    beams = list(
        run(
            start.step,
            watched,
            arrivals=batches([together]),
            begin=plan.begin,
            filters=plan.filters,
            places=1,
            device=start.device,
        )
    )
    (kept,) = outputs_of(beams, nbest=max(beam.beam, plan.nbest) + 1)
    nodes = _nodes(beams, watched, names=names)

    def said(hypothesis: Hypothesis) -> Said:
        score = beam.normalization.score(hypothesis.log_prob, len(hypothesis.tokens))
        return Said(text(hypothesis.tokens), hypothesis.log_prob, score, hypothesis.finished)

    (greedy,) = search_batch(
        start.step, Greedy(end=beam.end), batch=together, begin=plan.begin, filters=plan.filters, device=start.device
    )
    proof = _proof(start, plan, beam, known=kept.hypotheses, expansions=expansions)
    best = kept.hypotheses[0]
    return SearchTree(
        source,
        beam.beam,
        beam.normalization.alpha,
        _with_path(nodes, best),
        tuple(said(each) for each in kept.hypotheses if each.finished or not best.finished),
        said(greedy.hypotheses[0]),
        said(proof.hypotheses[0]) if proof.hypotheses else None,
        proof.proven,
        proof.expansions,
        classify(best, proof),
    )


def _proof(start: Start, plan: Plan, beam: BeamSearch, *, known: Sequence[Hypothesis], expansions: int) -> Proof:
    exact = ExactSearch(begin=plan.begin, end=beam.end, normalization=beam.normalization, expansions=expansions)
    return exact.search(
        start.step,
        start.state,
        sentence=start.sentence,
        filters=plan.filters,
        known=known,
        device=start.device,
    )


@dataclass(frozen=True, slots=True)
class _Watched:
    """A beam search that remembers what it chose from, step by step."""

    search: BeamSearch
    seen: list[list[tuple[int, int, float, float, float]]] = field(default_factory=list)
    """Of each step: entry continued, token, its log-probability, sum, score."""

    @property
    def width(self) -> int:
        return self.search.width

    @property
    def traced(self) -> bool:
        return self.search.traced

    def start(self, sentences: Sequence[Sentence], device: torch.device) -> Any:
        return self.search.start(sentences, device)

    def choose(self, offer: Offer, live: Live, memory: Any) -> tuple[Choice, Any]:
        best = offer.adjusted.best(self.search.beam)
        totals_RK = live.totals_R[:, None] + best.log_probs_RK
        scores_RK = totals_RK / self.search.normalization.divisors(live.lengths_B + 1)[live.sentence_R][:, None]
        rows_RK = torch.arange(live.rows, device=totals_RK.device)[:, None].expand_as(best.tokens_RK)
        log_probs = offer.scores.at(rows_RK.flatten(), best.tokens_RK.flatten())
        columns = (live.entry_R[rows_RK], best.tokens_RK, log_probs, totals_RK, scores_RK)
        choice, memory = self.search.choose(offer, live, memory)
        seen = dict.fromkeys(_rows(columns))
        chosen = (live.entry_R[choice.rows_N], choice.tokens_N, choice.log_probs_N, choice.totals_N, choice.scores_N)
        known = {each[:2] for each in seen}
        self.seen.append([*seen, *(each for each in _rows(chosen) if each[:2] not in known)])
        return choice, memory


def _rows(columns: Sequence[Tensor]) -> list[tuple[int, int, float, float, float]]:
    rows = zip(*(column.flatten().tolist() for column in columns), strict=True)
    return [row for row in rows if row[3] > -torch.inf]


def _nodes(beams: Sequence[Beam], watched: _Watched, *, names: Callable[[int], str]) -> list[Node]:
    nodes: list[Node] = []
    places: dict[int, int] = {-1: -1}  # of the entries of the beam before
    for number, (beam, seen) in enumerate(zip(beams, watched.seen, strict=True), 1):
        kept = {(parent, token): (entry, ended) for entry, (_, parent, token, _, _, ended) in enumerate(beam.rows)}
        here: dict[int, int] = {}
        ordered = sorted(seen, key=lambda row: (places[row[0]], -row[3]))
        for parent, token, log_prob, total, score in ordered:
            entry, finished = kept.get((parent, token), (None, False))
            if entry is not None:
                here[entry] = len(nodes)
            nodes.append(
                Node(
                    number,
                    places[parent],
                    token,
                    names(token),
                    log_prob,
                    total,
                    score,
                    survives=entry is not None,
                    finished=finished,
                )
            )
        places = here
    return nodes


def _with_path(nodes: Sequence[Node], best: Hypothesis) -> tuple[Node, ...]:
    """The nodes, those of the best output marked: followed from the start, token by token."""
    on_path: set[int] = set()
    parent = -1
    for token in best.tokens:
        parent = next(i for i, n in enumerate(nodes) if n.parent == parent and n.token == token and n.survives)
        on_path.add(parent)
    return tuple(replace(node, on_path=i in on_path) for i, node in enumerate(nodes))
