"""Word alignments: read off attention, made symmetric, carried from pieces to words, measured against gold.

An alignment is a set of links; a link joins the position of a source token and that of a target token, both from 0.

Legend of shapes: S source positions, T target positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, assert_never

import numpy as np

from dragoman.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from numpy.typing import ArrayLike, NDArray


class Link(NamedTuple):
    """A source position and the target position it is joined to."""

    source: int
    target: int


Alignment: TypeAlias = frozenset[Link]

Symmetrization: TypeAlias = Literal["intersection", "union", "grow-diag", "grow-diag-final-and"]


@dataclass(frozen=True, slots=True)
class GoldAlignment:
    """Links that annotators are sure of, and all that they allow, the sure ones among them."""

    sure: Alignment
    possible: Alignment


@dataclass(frozen=True, slots=True)
class AlignmentScores:
    """How well predicted links fit the gold ones, over a corpus; all between 0 and 1."""

    precision: float
    """Share of the predicted links that are possible."""
    recall: float
    """Share of the sure links that are predicted."""
    error_rate: float
    """1 - (sure ones found + possible ones found) / (predicted + sure)."""
    predicted: int
    sure: int


# ---- from attention --------------------------------------------------------------------------------------------


def links_by_target(weights_TS: ArrayLike, *, least: float = 0.0) -> Alignment:
    """Each target position with the source position it attends to most, if with at least that weight."""
    matrix_TS = _matrix(weights_TS)
    if not matrix_TS.size:
        return frozenset()
    best_T = matrix_TS.argmax(axis=1)
    return frozenset(Link(int(s), t) for t, s in enumerate(best_T) if matrix_TS[t, s] >= least)


def links_by_source(weights_TS: ArrayLike, *, least: float = 0.0) -> Alignment:
    """Each source position with the target position that attends to it most: the other direction of one matrix."""
    return frozenset(Link(t, s) for s, t in links_by_target(_matrix(weights_TS).T, least=least))


def _matrix(weights_TS: ArrayLike) -> NDArray[np.float64]:
    matrix_TS = np.asarray(weights_TS, dtype=np.float64)
    if matrix_TS.size == 0:
        return matrix_TS.reshape(0, 0)
    assert matrix_TS.ndim == 2, "a row for each target position, a column for each source position"
    assert not np.isnan(matrix_TS).any(), "attention weights are numbers"
    return matrix_TS


# ---- two directions made one -----------------------------------------------------------------------------------


def symmetrize(forward: AbstractSet[Link], backward: AbstractSet[Link], *, method: Symmetrization) -> Alignment:
    """One alignment from two, made from either side: from what both say up to what either says."""
    match method:
        case "intersection":
            return frozenset(forward & backward)
        case "union":
            return frozenset(forward | backward)
        case "grow-diag":
            return frozenset(_grown(forward, backward))
        case "grow-diag-final-and":
            grown = _grown(forward, backward)
            for direction in (forward, backward):
                _add_lonely(grown, direction)
            return frozenset(grown)
        case _:
            assert_never(method)


_NEIGHBOURS = [(ds, dt) for ds, dt in product((-1, 0, 1), repeat=2) if ds or dt]


def _grown(forward: AbstractSet[Link], backward: AbstractSet[Link]) -> set[Link]:
    """What both say, and the neighbours, diagonal ones too, that one says and that give a free word its first link."""
    grown, either = set(forward & backward), forward | backward
    sources, targets = {link.source for link in grown}, {link.target for link in grown}
    waiting = sorted(grown)
    while waiting:
        found = []
        for link in waiting:
            for ds, dt in _NEIGHBOURS:
                new = Link(link.source + ds, link.target + dt)
                if new in either and new not in grown and (new.source not in sources or new.target not in targets):
                    grown.add(new)
                    sources.add(new.source)
                    targets.add(new.target)
                    found.append(new)
        waiting = found  # older links have no new neighbours: free words only become fewer
    return grown


def _add_lonely(grown: set[Link], direction: AbstractSet[Link]) -> None:
    """Add the links of one direction whose words, both of them, have none yet."""
    sources, targets = {link.source for link in grown}, {link.target for link in grown}
    for link in sorted(direction):
        if link.source not in sources and link.target not in targets:
            grown.add(link)
            sources.add(link.source)
            targets.add(link.target)


# ---- from pieces to words --------------------------------------------------------------------------------------


def project(
    links: Iterable[Link], *, source_words: Sequence[int | None], target_words: Sequence[int | None]
) -> Alignment:
    """The links between words that have linked pieces; for each piece its word is given, or None for no word."""
    words = ((source_words[link.source], target_words[link.target]) for link in links)
    return frozenset(Link(s, t) for s, t in words if s is not None and t is not None)


def project_weights(
    weights_TS: ArrayLike, *, source_words: Sequence[int | None], target_words: Sequence[int | None]
) -> NDArray[np.float64]:
    """Attention between words: summed over a source word's pieces, averaged over a target word's."""
    matrix_TS = _matrix(weights_TS).reshape(len(target_words), len(source_words))
    source_count, target_count = _count(source_words), _count(target_words)
    by_source = np.zeros((len(target_words), source_count))
    for piece, word in enumerate(source_words):
        if word is not None:
            by_source[:, word] += matrix_TS[:, piece]
    by_word, pieces = np.zeros((target_count, source_count)), np.zeros((target_count, 1))
    for piece, word in enumerate(target_words):
        if word is not None:
            by_word[word] += by_source[piece]
            pieces[word] += 1
    return by_word / np.maximum(pieces, 1)


def _count(words: Sequence[int | None]) -> int:
    return max((word for word in words if word is not None), default=-1) + 1


# ---- Pharaoh's format: 0-0 1-2 2?1 -----------------------------------------------------------------------------


def write_pharaoh(links: Iterable[Link]) -> str:
    """The links as `source-target`, in order."""
    return " ".join(f"{link.source}-{link.target}" for link in sorted(links))


def write_gold(gold: GoldAlignment) -> str:
    """The links in order, sure ones as `source-target`, merely possible ones as `source?target`."""
    return " ".join(f"{link.source}{'-' if link in gold.sure else '?'}{link.target}" for link in sorted(gold.possible))


def read_pharaoh(line: str, *, place: str = "", first: Literal[0, 1] = 0) -> GoldAlignment:
    """The links of a line: `0-0` is sure, `0?0` and `0p0` are merely possible; `first` is the number of first words."""
    sure, possible = set(), set()
    for item in line.split():
        mark = next((c for c in item if c in "-?p"), "")
        source, found, target = item.partition(mark) if mark else (item, "", "")
        if not (found and _is_number(source) and _is_number(target) and min(int(source), int(target)) >= first):
            raise DataError(
                f"{item!r} is not a link",
                place=place,
                remedy=f"Write links as 0-0, possible ones as 0?0, with words counted from {first}.",
            )
        link = Link(int(source) - first, int(target) - first)
        possible.add(link)
        if mark == "-":
            sure.add(link)
    return GoldAlignment(frozenset(sure), frozenset(possible))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


# ---- against gold ----------------------------------------------------------------------------------------------


def alignment_scores(predicted: Sequence[AbstractSet[Link]], gold: Sequence[GoldAlignment]) -> AlignmentScores:
    """Precision, recall and error rate over all sentences together."""
    if len(predicted) != len(gold):
        raise DataError(
            f"{len(predicted)} alignments and {len(gold)} of gold", remedy="Give one gold alignment for each sentence."
        )
    links = sum(map(len, predicted))
    sure = sum(len(g.sure) for g in gold)
    sure_found = sum(len(p & g.sure) for p, g in zip(predicted, gold, strict=True))
    possible_found = sum(len(p & (g.possible | g.sure)) for p, g in zip(predicted, gold, strict=True))
    return AlignmentScores(
        precision=possible_found / links if links else 1.0,
        recall=sure_found / sure if sure else 1.0,
        error_rate=1 - (sure_found + possible_found) / (links + sure) if links + sure else 0.0,
        predicted=links,
        sure=sure,
    )
