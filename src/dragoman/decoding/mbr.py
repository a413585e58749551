"""Minimum Bayes risk: of several candidates, the one that is most like all the others.

A model spreads its probability over many outputs that say the same. The single most probable one may be odd; the one
with the highest expected likeness to samples from the model seldom is. Any measure of likeness will do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeVar

from dragoman.decoding.filters import SearchSettings
from dragoman.measures.sentence import SentenceMetricName
from dragoman.settings import Meta

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

__all__ = ["MbrSettings", "Ranking", "rank"]

Candidate = TypeVar("Candidate", bound="Hashable")


class MbrSettings(SearchSettings, frozen=True, kw_only=True, tag_field="kind", tag="mbr"):
    """Minimum Bayes risk over samples."""

    samples: Annotated[int, Meta(ge=2)] = 32
    """Outputs drawn for each sentence: the candidates, and what they are compared with."""
    metric: SentenceMetricName = "chrf"
    """The likeness of two outputs; from Python, a request may bring any other."""
    temperature: Annotated[float, Meta(gt=0)] = 1.0
    """Temperature of the samples."""
    top_p: Annotated[float, Meta(gt=0, le=1)] = 1.0
    """Samples are drawn from the smallest set of tokens that reaches this probability."""
    seed: int = 0
    """The same seed draws the same samples."""
    nbest: Annotated[int, Meta(ge=1)] = 1
    """Outputs wanted for each sentence."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates by their expected likeness to the samples."""

    order: tuple[int, ...]
    """Numbers of the candidates, best first; of equals, and of equal candidates, the earlier one first."""
    expected: tuple[float, ...]
    """The expected likeness of each candidate, in the candidates' own order."""

    @property
    def best(self) -> int:
        """The number of the best candidate."""
        return self.order[0]


def rank(
    candidates: Sequence[Candidate],
    likeness: Callable[[Candidate, Candidate], float],
    *,
    samples: Sequence[Candidate] | None = None,
    weights: Sequence[float] | None = None,
) -> Ranking:
    """The candidates ranked by their expected likeness(candidate, sample).

    The samples are the candidates themselves when not given, and weigh the same: right for samples from the model.
    Candidates of a beam are no such samples: weigh them by their probabilities.
    """
    pool = candidates if samples is None else samples
    assert candidates, "nothing to choose from"
    assert pool, "nothing to compare with"
    shares = [1.0] * len(pool) if weights is None else list(weights)
    assert len(shares) == len(pool), "a weight for each sample"
    mass: dict[Candidate, float] = {}
    for sample, share in zip(pool, shares, strict=True):
        mass[sample] = mass.get(sample, 0.0) + share
    total = sum(mass.values())
    assert total > 0, "some sample has weight"
    expected = {
        candidate: sum(share * likeness(candidate, sample) for sample, share in mass.items()) / total
        for candidate in dict.fromkeys(candidates)
    }
    values = tuple(expected[candidate] for candidate in candidates)
    return Ranking(tuple(sorted(range(len(values)), key=lambda i: (-values[i], i))), values)
