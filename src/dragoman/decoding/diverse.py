"""Diverse beam search: groups of hypotheses that are searched one after the other and avoid each other's words.

At each step the first group chooses as a beam search would. The next one is charged for every token that earlier
groups of its sentence have just chosen, and so on. The charge steers what is kept; scores stay the model's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import torch

from dragoman.decoding.filters import SearchSettings
from dragoman.decoding.grid import Grid
from dragoman.decoding.scores import Kind, LengthNormalization
from dragoman.decoding.search import Choice
from dragoman.errors import SettingError
from dragoman.settings import Meta

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from dragoman.decoding.live import Live, Sentence
    from dragoman.decoding.search import Offer

__all__ = ["DiverseMemory", "DiverseSearch", "DiverseSettings"]


class DiverseSettings(SearchSettings, frozen=True, kw_only=True, tag_field="kind", tag="diverse"):
    """Diverse beam search."""

    beam: Annotated[int, Meta(ge=1)] = 6
    """Hypotheses kept at each step, in all groups together."""
    groups: Annotated[int, Meta(ge=1)] = 3
    """Groups that avoid each other; the beam is divided among them."""
    diversity: Annotated[float, Meta(ge=0)] = 0.5
    """Log-probability charged for each earlier group's choice of the same token at the same step."""
    alpha: Annotated[float, Meta(ge=0)] = 1.0
    """Exponent of the length in the score."""
    normalization: Kind = "mean"
    """`mean` divides by length^alpha, `gnmt` by ((5 + length) / 6)^alpha."""
    nbest: Annotated[int, Meta(ge=1)] = 1
    """Outputs wanted for each sentence."""

    def check(self) -> None:
        """Refuse groups of unequal size, and more outputs than there are hypotheses."""
        if self.beam % self.groups:
            raise SettingError(
                f"a beam of {self.beam} cannot be divided into {self.groups} groups",
                place="groups",
                remedy="Make the beam a multiple of them.",
            )
        if self.nbest > self.beam:
            raise SettingError(
                f"{self.nbest} outputs from a beam of {self.beam}", place="nbest", remedy="Make the beam as wide."
            )


@dataclass(frozen=True, slots=True)
class DiverseMemory:
    """The group of each row, and the finished hypotheses of each sentence's groups."""

    group_R: Tensor
    counts_BG: Tensor

    def select(self, rows_R: Tensor, sentences_B: Tensor) -> DiverseMemory:
        """The memory of these rows and of these sentences."""
        return DiverseMemory(self.group_R[rows_R], self.counts_BG[sentences_B])

    def join(self, other: DiverseMemory) -> DiverseMemory:
        """The memory with that of new sentences after it."""
        return DiverseMemory(torch.cat([self.group_R, other.group_R]), torch.cat([self.counts_BG, other.counts_BG]))


@dataclass(frozen=True, slots=True, kw_only=True)
class DiverseSearch:
    """Keeps the best continuations of each group; `beam` is that of all groups together."""

    beam: int
    groups: int
    diversity: float
    end: int
    normalization: LengthNormalization
    traced: bool = False

    @property
    def width(self) -> int:
        """Each group starts with a row of its own."""
        return self.groups

    def start(self, sentences: Sequence[Sentence], device: torch.device) -> DiverseMemory:
        """Groups in order, with nothing finished."""
        groups = torch.arange(self.groups, device=device).repeat(len(sentences))
        return DiverseMemory(groups, torch.zeros(len(sentences), self.groups, dtype=torch.long, device=device))

    def choose(self, offer: Offer, live: Live, memory: DiverseMemory) -> tuple[Choice, DiverseMemory]:
        """The best continuations of each group, groups of a sentence side by side."""
        # Earlier groups can charge fewer tokens than the beam is wide, so the best of each row are among these.
        best = offer.adjusted.best(self.beam)
        totals_RK = live.totals_R[:, None] + best.log_probs_RK
        said_BC = torch.empty(len(live.sentences), 0, dtype=torch.long, device=totals_RK.device)
        rows, tokens = [], []
        for group in range(self.groups):
            mine = (memory.group_R == group).nonzero().flatten()
            if not mine.numel():
                continue
            said_RC = said_BC[live.sentence_R[mine]]
            charge_RK = self.diversity * (best.tokens_RK[mine][:, :, None] == said_RC[:, None]).sum(2)
            part = replace(live, sentence_R=live.sentence_R[mine], last_R=live.last_R[mine])
            grid = Grid.of(part, totals_RK[mine] - charge_RK, best.tokens_RK[mine])
            picked = grid.best(self.beam // self.groups)
            rows.append(mine[picked.rows_N])
            tokens.append(picked.tokens_N)
            said_BC = torch.cat([said_BC, _said(live.sentence_R[rows[-1]], tokens[-1], like_BC=said_BC)], dim=1)
        return self._choice(offer, live, memory, rows_N=torch.cat(rows), tokens_N=torch.cat(tokens))

    def _choice(
        self, offer: Offer, live: Live, memory: DiverseMemory, *, rows_N: Tensor, tokens_N: Tensor
    ) -> tuple[Choice, DiverseMemory]:
        """The picked continuations in the order of their sentences, without those of groups that are done."""
        order = live.sentence_R[rows_N].argsort(stable=True)
        rows_N, tokens_N = rows_N[order], tokens_N[order]
        sentence_N, group_N = live.sentence_R[rows_N], memory.group_R[rows_N]
        finished_N = tokens_N == self.end
        counts_BG = memory.counts_BG.index_put(
            (sentence_N[finished_N], group_N[finished_N]), torch.ones_like(group_N[finished_N]), accumulate=True
        )
        goes_on_N = counts_BG[sentence_N, group_N] < self.beam // self.groups
        kept = (finished_N | goes_on_N).nonzero().flatten()
        rows_N, tokens_N, finished_N = rows_N[kept], tokens_N[kept], finished_N[kept]
        totals_N = live.totals_R[rows_N] + offer.adjusted.at(rows_N, tokens_N)
        divisors_B = self.normalization.divisors(live.lengths_B + 1)
        choice = Choice(
            rows_N=rows_N,
            tokens_N=tokens_N,
            log_probs_N=offer.scores.at(rows_N, tokens_N),
            totals_N=totals_N,
            scores_N=totals_N / divisors_B[live.sentence_R[rows_N]],
            finished_N=finished_N,
        )
        return choice, replace(memory, counts_BG=counts_BG)


def _said(sentence_N: Tensor, tokens_N: Tensor, *, like_BC: Tensor) -> Tensor:
    """The tokens that each sentence's group has chosen, one line each, -1 where there are fewer."""
    counts_B = torch.bincount(sentence_N, minlength=like_BC.shape[0])
    firsts_B = counts_B.cumsum(0) - counts_B
    places_N = torch.arange(sentence_N.shape[0], device=sentence_N.device) - firsts_B[sentence_N]
    most = int(counts_B.max()) if sentence_N.numel() else 0
    said_BC = like_BC.new_full((like_BC.shape[0], most), -1)
    said_BC[sentence_N, places_N] = tokens_N
    return said_BC
