"""Quality by the length of the source, for several models: where a fixed-size state becomes a bottleneck."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dragoman.errors import DataError
from dragoman.measures.metrics import measure
from dragoman.translator import Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.measures.metrics import MetricName
    from dragoman.translator import Translator

__all__ = ["ByLength", "Lengths", "by_length"]

EDGES = (1, 4, 6, 8, 10, 12, 15, 20, 30, 50)
"""Fewest source words of each group."""


@dataclass(frozen=True, slots=True)
class ByLength:
    """A model's quality on each group of lines."""

    name: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Lengths:
    """Groups of lines by the words of their source, and what each model reaches on them."""

    metric: MetricName
    signature: str
    groups: tuple[str, ...]
    means: tuple[float, ...]
    """The mean length of each group's sources."""
    counts: tuple[int, ...]
    models: tuple[ByLength, ...]


def by_length(
    models: Sequence[tuple[str, Translator]],
    sources: Sequence[str],
    references: Sequence[str],
    *,
    metric: MetricName = "chrf",
    edges: Sequence[int] = EDGES,
    target_language: str = "",
) -> Lengths:
    """The metric on each group of lines that holds any, for each model with its name."""
    if len(sources) != len(references) or not sources:
        raise DataError(
            f"{len(sources)} sources and {len(references)} references",
            place="length",
            remedy="Give one for each other.",
        )
    lengths = [len(source.split()) for source in sources]
    groups: dict[int, list[int]] = {}
    for place, count in enumerate(lengths):
        groups.setdefault(max(0, bisect_right(edges, count) - 1), []).append(place)
    order = sorted(groups)
    request = Request(target_language=target_language)
    found = []
    signature = ""
    for name, translator in models:
        outputs = [each.text for each in translator.translate(list(sources), request=request)]
        measured = [measure(metric, [outputs[i] for i in groups[g]], [references[i] for i in groups[g]]) for g in order]
        signature = measured[0].signature
        found.append(ByLength(name, tuple(each.value for each in measured)))
    return Lengths(
        metric,
        signature,
        tuple(_name(edges, g) for g in order),
        tuple(sum(lengths[i] for i in groups[g]) / len(groups[g]) for g in order),
        tuple(len(groups[g]) for g in order),
        tuple(found),
    )


def _name(edges: Sequence[int], group: int) -> str:
    if group + 1 == len(edges):
        return f"{edges[group]} or more"
    last = edges[group + 1] - 1
    return str(last) if last == edges[group] else f"{edges[group]}-{last}"
