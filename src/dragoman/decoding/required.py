"""Words that an output must hold: glossary entries, each with its alternatives.

A hypothesis may not end before it has said one alternative of each. Where it would end, it is made to begin a phrase
that is missing; a phrase once begun may be broken off once, and is carried through the second time; and when the room
that is left is only just enough, the missing phrases are forced. So they are said whenever they fit at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from dragoman.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.decoding.live import Live, Phrase, Sentence
    from dragoman.decoding.search import Filter
    from dragoman.decoding.step import Scores

__all__ = ["Required", "begun", "missing", "next_tokens", "progress"]

_NONE: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Required:
    """Makes outputs hold their sentence's required phrases; other filters, kept within, do not touch what is forced."""

    end: int
    within: tuple[Filter, ...] = ()
    reads_history: bool = True

    @property
    def only_forbids(self) -> bool:
        """Whether all filters within do."""
        return all(each.only_forbids for each in self.within)

    def __call__(self, scores: Scores, live: Live) -> None:
        """Forbid the end while phrases are missing, and all but their next tokens where they must be said now."""
        if not any(sentence.required for sentence in live.sentences):
            for each in self.within:
                each(scores, live)
            return
        due = self._due(scores, live)
        kept = {row: scores.logits_RV[row].clone() for row, tokens in due.items() if tokens}
        for each in self.within:
            each(scores, live)
        end_column = scores.columns(torch.tensor(self.end, device=scores.logits_RV.device))
        for row, tokens in due.items():
            if end_column >= 0:
                scores.logits_RV[row, end_column] = -torch.inf
            if tokens:
                columns = scores.columns(torch.tensor(sorted(tokens), device=scores.logits_RV.device))
                columns = columns[columns >= 0]
                scores.logits_RV[row] = -torch.inf
                scores.logits_RV[row, columns] = kept[row][columns]

    def _due(self, scores: Scores, live: Live) -> dict[int, frozenset[int]]:
        """For each row where phrases are missing, the tokens that it must choose from; none if it is free."""
        assert live.history_RT is not None
        owners, lengths = live.sentence_R.tolist(), live.lengths_B.tolist()
        rows = [row for row, owner in enumerate(owners) if live.sentences[owner].required]
        best = scores.best(1).tokens_RK[:, 0].tolist()
        due = {}
        for row, history in zip(rows, live.history_RT[rows].tolist(), strict=True):
            sentence, length = live.sentences[owners[row]], lengths[owners[row]]
            said = tuple(history[len(history) - length :])
            absent = missing(said, sentence)
            if absent and length >= len(sentence.prefix):
                room = sentence.max_length - length - 1  # the end needs a place too
                _check_room(sentence)
                due[row] = _forced(said, absent, room=room, wants_to_end=best[row] == self.end)
        return due


def missing(said: Phrase, sentence: Sentence) -> tuple[tuple[Phrase, ...], ...]:
    """The requirements that are not met: their alternatives."""
    return tuple(
        alternatives for alternatives in sentence.required if not any(_holds(said, phrase) for phrase in alternatives)
    )


def begun(said: Phrase, phrase: Phrase) -> int:
    """How many tokens of a phrase stand at the end of what was said."""
    return next((n for n in range(len(phrase) - 1, 0, -1) if said[-n:] == phrase[:n]), 0)


def progress(said: Phrase, sentence: Sentence) -> int:
    """How many tokens of the required phrases have been said, a phrase just begun included."""
    absent = missing(said, sentence)
    met = sum(min(map(len, alternatives)) for alternatives in sentence.required if alternatives not in absent)
    return met + max((begun(said, phrase) for alternatives in absent for phrase in alternatives), default=0)


def next_tokens(said: Phrase, absent: Sequence[tuple[Phrase, ...]]) -> frozenset[int]:
    """The tokens that begin a missing phrase or carry one on."""
    phrases = [phrase for alternatives in absent for phrase in alternatives]
    return frozenset(phrase[begun(said, phrase)] for phrase in phrases) | frozenset(phrase[0] for phrase in phrases)


def _holds(said: Phrase, phrase: Phrase) -> bool:
    return any(said[i : i + len(phrase)] == phrase for i in range(len(said) - len(phrase) + 1))


def _forced(said: Phrase, absent: Sequence[tuple[Phrase, ...]], *, room: int, wants_to_end: bool) -> frozenset[int]:
    """The tokens that one must be chosen from; none if there is time yet."""
    shortest = [min(map(len, alternatives)) for alternatives in absent]
    if sum(shortest) >= room:  # with one more free token a phrase that is broken off would not fit again
        return frozenset(
            phrase[begun(said, phrase)]
            for alternatives, least in zip(absent, shortest, strict=True)
            for phrase in alternatives
            if sum(shortest) - least + len(phrase) - begun(said, phrase) <= room
        )
    again = frozenset(
        phrase[begun(said, phrase)]
        for alternatives in absent
        for phrase in alternatives
        if begun(said, phrase) and phrase[0] in said[: -begun(said, phrase)]
    )
    return again or (next_tokens(said, absent) if wants_to_end else _NONE)


def _check_room(sentence: Sentence) -> None:
    absent = missing(sentence.prefix, sentence)
    needed = len(sentence.prefix) + sum(min(map(len, alternatives)) for alternatives in absent) + 1
    if needed > sentence.max_length:
        raise SettingError(
            f"the required words need {needed} tokens, but an output may have {sentence.max_length}",
            place="required",
            remedy="Allow longer outputs, or require less.",
        )
