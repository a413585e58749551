"""What a search yields at each step, and the outputs read back from it.

The beams of a search are its tree: every entry names its parent in the beam before.

    beam 0        beam 1          beam 2
    0 he   ←──────0 hit   ←────── 0 me
    1 I    ←──┐   1 was   ←──┐
              └───────────── └─── 1 got       parents 0, 1
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch import Tensor

__all__ = ["Beam", "Found", "Hypothesis", "found"]


@dataclass(frozen=True)
class Beam:
    """What one step of a search chose, sentence after sentence; best first within a sentence."""

    sentences_N: Tensor
    """The key of the sentence that each entry belongs to."""
    parents_N: Tensor
    """The entry of the beam before that each entry continues; -1 at the start of a sentence."""
    tokens_N: Tensor
    log_probs_N: Tensor
    """The model's log-probability of each token, whatever the search made of it."""
    scores_N: Tensor
    """What the search thinks of each hypothesis up to here."""
    finished_N: Tensor
    """Whether a hypothesis ended here: it is set aside."""
    ended: tuple[int, ...] = ()
    """Keys of the sentences whose search is over with this step."""

    @cached_property
    def rows(self) -> list[tuple[int, int, int, float, float, bool]]:
        """The entries as plain values: sentence, parent, token, log-probability, score, finished."""
        columns = (self.sentences_N, self.parents_N, self.tokens_N, self.log_probs_N, self.scores_N, self.finished_N)
        return list(zip(*(column.tolist() for column in columns), strict=True))


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One output of a search."""

    tokens: tuple[int, ...]
    """Without the begin token; the end token is the last one if the hypothesis is finished."""
    log_probs: tuple[float, ...]
    """The model's log-probability of each token, the end included."""
    score: float
    """What the search ranks by."""
    finished: bool
    """Whether it came to its end; if not, it was cut at the length limit."""

    @property
    def log_prob(self) -> float:
        """The model's log-probability of the whole."""
        return sum(self.log_probs)


@dataclass(frozen=True, slots=True)
class Found:
    """The outputs for one sentence: finished ones first, then by score. None if the filters left nothing."""

    key: int
    hypotheses: tuple[Hypothesis, ...]
    proven: bool | None = None
    """After an exact search: whether nothing better exists."""
    expansions: int = 0
    """After an exact search: the hypotheses that it has looked at."""


def found(beams: Iterable[Beam], *, nbest: int = 1) -> Iterator[Found]:
    """The `nbest` outputs of each sentence, as soon as its search is over."""
    reader = _Reader(nbest)
    for beam in beams:
        yield from reader.read(beam)


class _Reader:
    """Remembers the beams back to the start of the oldest sentence that is still in search."""

    def __init__(self, nbest: int) -> None:
        self.nbest = nbest
        self.beams: deque[Beam] = deque()
        self.first = 0  # number of the oldest beam in memory
        self.began: dict[int, int] = {}
        self.leaves: dict[int, list[tuple[float, int, int]]] = {}  # score, beam, entry

    def read(self, beam: Beam) -> Iterator[Found]:
        self.beams.append(beam)
        number = self.first + len(self.beams) - 1
        roots_N = beam.parents_N < 0
        if roots_N.any():
            for key in beam.sentences_N[roots_N].tolist():
                self.began.setdefault(key, number)
        for entry in beam.finished_N.nonzero().flatten().tolist():
            leaf = (beam.rows[entry][4], number, entry)
            self.leaves.setdefault(beam.rows[entry][0], []).append(leaf)
        if beam.ended:
            unfinished: dict[int, list[tuple[float, int, int]]] = {key: [] for key in beam.ended}
            for entry, (key, _, _, _, score, finished) in enumerate(beam.rows):
                if not finished and key in unfinished:
                    unfinished[key].append((score, number, entry))
            for key in beam.ended:
                yield self._found(key, unfinished[key])
            self._forget()

    def _found(self, key: int, unfinished: list[tuple[float, int, int]]) -> Found:
        self.began.pop(key, None)
        finished = sorted(self.leaves.pop(key, []), key=_best_first)
        best = [*finished, *sorted(unfinished, key=_best_first)][: self.nbest]
        return Found(key, tuple(self._backtracked(number, entry) for _, number, entry in best))

    def _backtracked(self, number: int, entry: int) -> Hypothesis:
        _, parent, token, log_prob, score, finished = self.beams[number - self.first].rows[entry]
        tokens, log_probs = [token], [log_prob]
        while parent >= 0:
            number -= 1
            _, parent, token, log_prob, _, _ = self.beams[number - self.first].rows[parent]
            tokens.append(token)
            log_probs.append(log_prob)
        return Hypothesis(tuple(reversed(tokens)), tuple(reversed(log_probs)), score, finished)

    def _forget(self) -> None:
        newest = self.first + len(self.beams)
        oldest = min(self.began.values(), default=newest)
        while self.first < oldest:
            self.beams.popleft()
            self.first += 1


def _best_first(leaf: tuple[float, int, int]) -> tuple[float, int, int]:
    score, number, entry = leaf
    return -score, number, entry  # of equals the one found first
