"""Exact search: the best output there is, with a proof, or an honest word that there is none.

Depth first, best continuation first. A branch is cut when no continuation of it can beat the best finished output:
log-probabilities only fall, so what a hypothesis has now, over the divisor of the longest allowed length, is a bound.
A good output that is known already, a beam search's say, makes the search much shorter.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Generic, Literal, TypeVar

import torch

from dragoman.decoding.filters import SearchSettings
from dragoman.decoding.hypothesis import Hypothesis
from dragoman.decoding.live import Live
from dragoman.decoding.scores import Kind, LengthNormalization
from dragoman.settings import Meta

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch import Tensor

    from dragoman.decoding.live import Sentence
    from dragoman.decoding.search import Filter
    from dragoman.decoding.step import DecoderStep, Scores

__all__ = ["Counts", "ExactSearch", "ExactSettings", "Proof", "Verdict", "classify", "count"]

State = TypeVar("State")

Verdict = Literal["optimal", "search error", "model error", "undecided"]


class ExactSettings(SearchSettings, frozen=True, kw_only=True, tag_field="kind", tag="exact"):
    """Exact search."""

    alpha: Annotated[float, Meta(ge=0)] = 0.0
    """Exponent of the length in the score; the larger it is, the weaker the bounds."""
    normalization: Kind = "mean"
    """`mean` divides by length^alpha, `gnmt` by ((5 + length) / 6)^alpha."""
    expansions: Annotated[int, Meta(ge=1)] = 100_000
    """Hypotheses looked at for one sentence before the proof is given up."""
    beam: Annotated[int, Meta(ge=1)] = 5
    """Width of the beam search that finds the first bound."""
    nbest: Annotated[int, Meta(ge=1)] = 1
    """Outputs wanted for each sentence; all of them are proven."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What an exact search found."""

    hypotheses: tuple[Hypothesis, ...]
    """The best finished outputs, best first."""
    proven: bool
    """Whether nothing better exists; if not, the search was given up after `expansions`."""
    expansions: int

    def __str__(self) -> str:
        return "proven" if self.proven else f"not proven within {self.expansions:,} expansions"


@dataclass(frozen=True, slots=True)
class _Path:
    """A hypothesis that has not ended."""

    tokens: tuple[int, ...] = ()
    log_probs: tuple[float, ...] = ()
    total: float = 0.0
    """What the search has added up."""


@dataclass(frozen=True, slots=True)
class _Branch(Generic[State]):
    """The continuations of a hypothesis that have not been followed yet, best first."""

    path: _Path
    state: State
    row: int
    tokens: list[int]
    log_probs: list[float]
    totals: list[float]

    def split(self, count: int) -> tuple[list[_Path], _Branch[State]]:
        """The first `count` continuations, and the branch without them."""
        parts = zip(self.tokens[:count], self.log_probs[:count], self.totals[:count], strict=True)
        paths = [_Path((*self.path.tokens, t), (*self.path.log_probs, p), total) for t, p, total in parts]
        rest = (self.tokens[count:], self.log_probs[count:], self.totals[count:])
        return paths, _Branch(self.path, self.state, self.row, *rest)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactSearch:
    """Searches one sentence at a time; `together` continuations of a hypothesis go through the model at once."""

    begin: int
    end: int
    normalization: LengthNormalization
    expansions: int = 100_000
    nbest: int = 1
    together: int = 8

    def search(
        self,
        step: DecoderStep[State],
        state: State,
        *,
        sentence: Sentence,
        filters: Sequence[Filter] = (),
        known: Iterable[Hypothesis] = (),
        device: torch.device | None = None,
    ) -> Proof:
        """The best outputs of the sentence that `state` is about; `known` outputs are a first bound."""
        run = _Run(self, step, sentence, filters=tuple(filters), device=device or torch.device("cpu"))
        for each in known:
            if each.finished and all(f.only_forbids for f in filters):  # what filters lowered scores otherwise
                run.keep(replace(each, score=self.normalization.score(each.log_prob, len(each.tokens))))
        proven = run.follow(state)
        return Proof(tuple(run.best), proven, run.expanded)


class _Run(Generic[State]):
    """One sentence's search: the best outputs so far, and what has been looked at."""

    def __init__(
        self,
        plan: ExactSearch,
        step: DecoderStep[State],
        sentence: Sentence,
        *,
        filters: tuple[Filter, ...],
        device: torch.device,
    ) -> None:
        self.plan, self.step, self.sentence = plan, step, sentence
        self.filters, self.device = filters, device
        self.best: list[Hypothesis] = []
        self.expanded = 0

    @property
    def least_total(self) -> float:
        """A hypothesis that has no more than this cannot win."""
        if len(self.best) < self.plan.nbest:
            return -torch.inf
        return self.best[-1].score * self.plan.normalization.divisor(self.sentence.max_length)

    def keep(self, hypothesis: Hypothesis) -> None:
        """Remember a finished output if it is among the best."""
        if all(hypothesis.tokens != each.tokens for each in self.best):
            self.best = sorted([*self.best, hypothesis], key=lambda each: -each.score)[: self.plan.nbest]

    def follow(self, state: State) -> bool:
        """Whether everything that can follow has been seen or cut."""
        branches = self._expand(state, [_Path()])
        while branches:
            branch = branches.pop()
            least = self.least_total
            alive = sum(total > least for total in branch.totals[: self.plan.together])
            if not alive:
                continue
            if self.expanded + alive > self.plan.expansions:
                return False
            paths, rest = branch.split(alive)
            if rest.tokens:
                branches.append(rest)
            rows_R = torch.full((alive,), branch.row, device=self.device)
            branches.extend(reversed(self._expand(self.step.select(branch.state, rows_R), paths)))
        return True

    def _expand(self, state: State, paths: list[_Path]) -> list[_Branch[State]]:
        """The branches that begin with each path, one row of the state each."""
        self.expanded += len(paths)
        newest = [path.tokens[-1] if path.tokens else self.plan.begin for path in paths]
        last_R = torch.tensor(newest, device=self.device)
        scores, after = self.step(last_R, state)
        adjusted = self._adjusted(scores, paths)
        found = []
        for row, path in enumerate(paths):
            totals_V = path.total + (adjusted.logits_RV[row] - adjusted.normalizer_R[row]).double()
            log_probs_V = (scores.logits_RV[row] - scores.normalizer_R[row]).double()
            tokens = self._alive(path, totals_V, log_probs_V, adjusted)
            columns = adjusted.columns(tokens)
            rest = (tokens.tolist(), log_probs_V[columns].tolist(), totals_V[columns].tolist())
            found.append(_Branch(path, after, row, *rest))
        return [branch for branch in found if branch.tokens]

    def _alive(self, path: _Path, totals_V: Tensor, log_probs_V: Tensor, scores: Scores) -> Tensor:
        """The tokens after which a path can still win, best first; its own end is kept if it is good."""
        length = len(path.tokens) + 1
        alive_V = totals_V > -torch.inf
        column = int(scores.columns(torch.tensor(self.plan.end, device=self.device)))
        if column >= 0 and alive_V[column]:
            score = self.plan.normalization.score(float(totals_V[column]), length)
            log_probs = (*path.log_probs, float(log_probs_V[column]))
            self.keep(Hypothesis((*path.tokens, self.plan.end), log_probs, score, finished=True))
            alive_V[column] = False
        alive_V &= totals_V > self.least_total
        if length >= self.sentence.max_length:
            alive_V[:] = False
        columns = alive_V.nonzero().flatten()
        return scores.tokens(columns[totals_V[columns].argsort(descending=True, stable=True)])

    def _adjusted(self, scores: Scores, paths: list[_Path]) -> Scores:
        """The scores after the filters, which see the paths as live rows of one sentence."""
        if not self.filters:
            return scores
        adjusted = scores.copied()
        live = Live.starting(
            [self.sentence],
            width=len(paths),
            begin=self.plan.begin,
            history=False,
            device=self.device,
        )
        history_RT = torch.tensor([path.tokens for path in paths], dtype=torch.long, device=self.device)
        live = replace(live, lengths_B=live.lengths_B + history_RT.shape[1], history_RT=history_RT.view(len(paths), -1))
        for each in self.filters:
            each(adjusted, live)
        return adjusted


# ---- whose fault ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Counts:
    """Over a corpus: whose fault the errors are."""

    optimal: int
    """The search found the model's best output (and it was the reference, where there was one)."""
    search_errors: int
    """The model prefers an output that the search did not find."""
    model_errors: int
    """The search found the model's best output, but it is not the reference."""
    undecided: int
    """Neither a better output nor a proof was found."""


def classify(
    output: Hypothesis, proof: Proof, *, reference: Sequence[int] | None = None, tolerance: float = 1e-4
) -> Verdict:
    """Whose fault it is if an output is not right; without a reference, whether it is the model's best."""
    if proof.hypotheses and proof.hypotheses[0].score > output.score + tolerance:
        return "search error"
    if not proof.proven:
        return "undecided"
    return "optimal" if reference is None or tuple(reference) == output.tokens else "model error"


def count(verdicts: Iterable[Verdict]) -> Counts:
    """How often each verdict was given."""
    given = Counter(verdicts)
    return Counts(given["optimal"], given["search error"], given["model error"], given["undecided"])
