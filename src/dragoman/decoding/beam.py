"""Beam search: at each step the k best continuations of all live hypotheses of a sentence are kept.

A continuation that ends is set aside, and the search goes on with what lives. It is over with enough finished
hypotheses, or when no live one can still win:

    log-probabilities only fall, and the divisor of a score only grows with the length, so a live hypothesis with
    log-probability p ends with a score of p / divisor(longest length) at best
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

import torch
from torch.nn import functional

from dragoman.decoding.banks import best_of_banks, is_constrained, with_next_tokens
from dragoman.decoding.filters import SearchSettings
from dragoman.decoding.grid import Grid, Picked
from dragoman.decoding.scores import Kind, LengthNormalization, coverage_penalty
from dragoman.decoding.search import Choice
from dragoman.errors import SettingError
from dragoman.settings import Meta

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from dragoman.decoding.live import Live, Sentence
    from dragoman.decoding.search import Offer
    from dragoman.decoding.step import Trace

__all__ = ["BeamMemory", "BeamSearch", "BeamSettings", "Stop"]

Stop = Literal["count", "early", "exact"]


class BeamSettings(SearchSettings, frozen=True, kw_only=True, tag_field="kind", tag="beam"):
    """Beam search."""

    beam: Annotated[int, Meta(ge=1)] = 5
    """Hypotheses kept at each step."""
    alpha: Annotated[float, Meta(ge=0)] = 1.0
    """Exponent of the length in the score: 0 compares plain log-probabilities, 1 means per token."""
    normalization: Kind = "mean"
    """`mean` divides by length^alpha, `gnmt` by ((5 + length) / 6)^alpha."""
    coverage: Annotated[float, Meta(ge=0)] = 0.0
    """Weight of the penalty for source words that were overlooked; needs a model with attention."""
    stop: Stop = "count"
    """`count`: with `finish` finished hypotheses; `early`: also when the best live one would not win if it ended now;
    `exact`: only when no live one can win at any allowed length."""
    finish: Annotated[int, Meta(ge=1)] | None = None
    """Finished hypotheses that are enough; as many as the beam keeps when not given."""
    nbest: Annotated[int, Meta(ge=1)] = 1
    """Outputs wanted for each sentence."""
    refill: bool = False
    """Where a hypothesis ends the next best takes its place, as in transformers and CTranslate2; otherwise the beam
    grows narrower. Phrases that must be said leave no such room."""

    def check(self) -> None:
        """Refuse more outputs than a beam can promise."""
        if self.nbest > self.beam:
            raise SettingError(
                f"{self.nbest} outputs from a beam of {self.beam}", place="nbest", remedy="Make the beam as wide."
            )
        if self.finish is not None and self.finish < self.nbest:
            raise SettingError(
                f"{self.nbest} outputs from {self.finish} finished hypotheses",
                place="finish",
                remedy="Wait for as many as are wanted.",
            )


@dataclass(frozen=True, slots=True)
class BeamMemory:
    """The finished hypotheses of each sentence, and what each live one has looked at."""

    finished_BN: Tensor
    """The best scores of finished hypotheses, best first; minus infinity where there are fewer."""
    counts_B: Tensor
    coverage_RS: Tensor | None = None

    def select(self, rows_R: Tensor, sentences_B: Tensor) -> BeamMemory:
        """The memory of these rows and of these sentences."""
        coverage = None if self.coverage_RS is None else self.coverage_RS[rows_R]
        return BeamMemory(self.finished_BN[sentences_B], self.counts_B[sentences_B], coverage)

    def join(self, other: BeamMemory) -> BeamMemory:
        """The memory with that of new sentences after it."""
        coverage = None
        if self.coverage_RS is not None and other.coverage_RS is not None:
            width = max(self.coverage_RS.shape[1], other.coverage_RS.shape[1])
            coverage = torch.cat([_widened(self.coverage_RS, width), _widened(other.coverage_RS, width)])
        return BeamMemory(
            torch.cat([self.finished_BN, other.finished_BN]), torch.cat([self.counts_B, other.counts_B]), coverage
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BeamSearch:
    """Keeps the `beam` best continuations of each sentence."""

    beam: int
    end: int
    normalization: LengthNormalization
    coverage: float = 0.0
    stop: Stop = "count"
    finish: int | None = None
    nbest: int = 1
    refill: bool = False
    width: int = 1

    @property
    def traced(self) -> bool:
        """Only the coverage penalty looks at attention."""
        return self.coverage > 0

    def start(self, sentences: Sequence[Sentence], device: torch.device) -> BeamMemory:
        """Nothing finished, nothing looked at."""
        count = len(sentences)
        finished = torch.full((count, self.nbest), -torch.inf, device=device)
        coverage = torch.zeros(count, 0, device=device) if self.traced else None
        return BeamMemory(finished, torch.zeros(count, dtype=torch.long, device=device), coverage)

    def choose(self, offer: Offer, live: Live, memory: BeamMemory) -> tuple[Choice, BeamMemory]:
        """The best continuations of each sentence, and which sentences have enough."""
        picked = self._picked(offer, live)
        sentence_N = live.sentence_R[picked.rows_N]
        lengths_B = live.lengths_B + 1
        scores_N = picked.totals_N / self.normalization.divisors(lengths_B)[sentence_N]
        if self.traced:
            memory = replace(memory, coverage_RS=_covered(memory, offer.trace))
            scores_N = scores_N + self.coverage * self._overlooked(memory, offer.trace, picked)
        finished_N = picked.tokens_N == self.end
        memory = _with_finished(memory, scores_N[finished_N], sentence_N[finished_N])
        choice = Choice(
            rows_N=picked.rows_N,
            tokens_N=picked.tokens_N,
            log_probs_N=offer.scores.at(picked.rows_N, picked.tokens_N),
            totals_N=picked.totals_N,
            scores_N=scores_N,
            finished_N=finished_N,
        )
        return replace(choice, over_B=self._over(choice, sentence_N, live, memory)), memory

    def _picked(self, offer: Offer, live: Live) -> Picked:
        shared = self.beam > 1 and is_constrained(live)
        refill = self.refill and not shared
        best = offer.adjusted.best(2 * self.beam if refill else self.beam)
        if shared:
            best = with_next_tokens(best, offer.adjusted, live)
        grid = Grid.of(live, live.totals_R[:, None] + best.log_probs_RK, best.tokens_RK)
        if refill:
            return self._refilled(grid.best(2 * self.beam), live)
        return best_of_banks(grid, live, self.beam) if shared else grid.best(self.beam)

    def _refilled(self, picked: Picked, live: Live) -> Picked:
        """Of twice as many candidates as many living ones as there are places, and the ended ones of the first half."""
        sentence_N = live.sentence_R[picked.rows_N]
        counts_B = torch.bincount(sentence_N, minlength=len(live.sentences))
        firsts_N = (counts_B.cumsum(0) - counts_B)[sentence_N]
        lives_N = picked.tokens_N != self.end
        before_N = lives_N.cumsum(0) - lives_N.long()  # living ones ahead, of all sentences
        rank_N = torch.arange(len(sentence_N), device=sentence_N.device) - firsts_N
        kept_N = torch.where(lives_N, before_N - before_N[firsts_N] < self.beam, rank_N < self.beam)
        return Picked(picked.rows_N[kept_N], picked.tokens_N[kept_N], picked.totals_N[kept_N])

    def _over(self, choice: Choice, sentence_N: Tensor, live: Live, memory: BeamMemory) -> Tensor:
        """Sentences with enough finished hypotheses, or whose live ones cannot win any more."""
        totals_N = choice.totals_N.masked_fill(choice.finished_N, -torch.inf)
        best_B = totals_N.new_full((len(live.sentences),), -torch.inf)
        best_B = best_B.scatter_reduce(0, sentence_N, totals_N, "amax")
        worst_wanted_B = memory.finished_BN[:, -1]
        over_B = worst_wanted_B >= best_B / self.normalization.divisors(live.limits_B)
        if self.stop == "early":
            over_B |= worst_wanted_B >= best_B / self.normalization.divisors(live.lengths_B + 1)
        if self.stop != "exact":
            over_B |= memory.counts_B >= (self.finish or self.beam)
        return over_B

    def _overlooked(self, memory: BeamMemory, trace: Trace | None, picked: Picked) -> Tensor:
        assert trace is not None
        assert trace.source_lengths_R is not None
        assert memory.coverage_RS is not None
        return coverage_penalty(memory.coverage_RS[picked.rows_N], trace.source_lengths_R[picked.rows_N])


def _with_finished(memory: BeamMemory, scores_N: Tensor, sentence_N: Tensor) -> BeamMemory:
    """The memory with more finished hypotheses."""
    if not scores_N.numel():
        return memory
    sentences, kept = memory.finished_BN.shape
    counts_B = torch.bincount(sentence_N, minlength=sentences)
    firsts_B = counts_B.cumsum(0) - counts_B
    places_N = torch.arange(scores_N.shape[0], device=scores_N.device) - firsts_B[sentence_N]
    new_BC = scores_N.new_full((sentences, int(counts_B.max())), -torch.inf)
    new_BC[sentence_N, places_N] = scores_N
    finished_BN = torch.cat([memory.finished_BN, new_BC], dim=1).topk(kept, dim=1).values
    return replace(memory, finished_BN=finished_BN, counts_B=memory.counts_B + counts_B)


def _covered(memory: BeamMemory, trace: Trace | None) -> Tensor:
    """What each row has looked at, this step included."""
    if trace is None or trace.attention_RS is None:
        raise SettingError("this model has no attention over a source", place="coverage", remedy="Set it to 0.")
    assert memory.coverage_RS is not None
    width = trace.attention_RS.shape[1]
    return _widened(memory.coverage_RS[:, :width], width) + trace.attention_RS  # what is beyond belongs to padding


def _widened(coverage_RS: Tensor, width: int) -> Tensor:
    return functional.pad(coverage_RS, (0, width - coverage_RS.shape[1]))
