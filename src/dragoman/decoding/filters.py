"""What may not be said: adjustments of scores that work with every search.

Most only forbid: they write minus infinity, and what remains keeps the model's log-probability. Impossible
combinations leave nothing, and a sentence then has no output.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import torch

from dragoman.errors import SettingError
from dragoman.settings import Meta, Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch import Tensor

    from dragoman.decoding.live import Live, Phrase, Sentence
    from dragoman.decoding.search import Filter
    from dragoman.decoding.step import Scores

__all__ = [
    "Banned",
    "FilterSettings",
    "ForcedPrefix",
    "LengthLimits",
    "MinLength",
    "NoRepeat",
    "RepetitionPenalty",
    "SearchSettings",
]


class LengthLimits(Settings, frozen=True, kw_only=True):
    """How long an output may be, in tokens, relative to its source."""

    most: Annotated[int, Meta(ge=1)] = 512
    """No output is longer, however long the source."""
    most_per_source: Annotated[float, Meta(ge=0)] | None = None
    """Tokens allowed for each source token; nothing: half as much again as nearly all of the training data had."""
    most_extra: Annotated[int, Meta(ge=0)] = 20
    """Tokens allowed on top, so that short sources have room."""
    least: Annotated[int, Meta(ge=0)] = 0
    """Every output has at least so many tokens before its end."""
    least_per_source: Annotated[float, Meta(ge=0)] = 0.0
    """Tokens demanded for each source token."""

    def check(self) -> None:
        """Refuse limits that leave nothing between them."""
        ratio = self.most_per_source
        if self.least >= self.most or (ratio is not None and self.least_per_source > ratio):
            raise SettingError("the least is more than the most", place="least", remedy="Lower it.")

    def of(self, source_length: int, *, usual: float) -> tuple[int, int]:
        """Fewest tokens before the end, and most tokens with it; `usual` is the ratio where none is set."""
        ratio = usual if self.most_per_source is None else self.most_per_source
        most = min(self.most, max(1, int(ratio * source_length) + self.most_extra))
        least = max(self.least, int(self.least_per_source * source_length))
        return min(least, most - 1), most


class FilterSettings(Settings, frozen=True, kw_only=True):
    """What outputs may not do."""

    lengths: LengthLimits = LengthLimits()
    """How long they may be."""
    no_repeat: Annotated[int, Meta(ge=0)] = 0
    """No run of so many tokens stands twice in an output; 0 allows all."""
    repetition_penalty: Annotated[float, Meta(ge=1)] = 1.0
    """Multiplies the log-probability of tokens that were said before; 1 leaves them as they are."""


class SearchSettings(Settings, frozen=True, kw_only=True):
    """What the settings of every search share."""

    filters: FilterSettings = FilterSettings()
    """What outputs may not do."""


@dataclass(frozen=True, slots=True)
class MinLength:
    """Forbids the end until a sentence's `min_length` is reached."""

    end: int
    reads_history: bool = False
    only_forbids: bool = True

    def __call__(self, scores: Scores, live: Live) -> None:
        """Forbid the end in the rows that are too short."""
        if not any(sentence.min_length for sentence in live.sentences):
            return
        least_B = torch.tensor([s.min_length for s in live.sentences], device=live.lengths_B.device)
        short_R = (live.lengths_B < least_B)[live.sentence_R]
        _forbid(scores, short_R.nonzero().flatten(), torch.tensor(self.end, device=short_R.device))


@dataclass(frozen=True, slots=True)
class Banned:
    """Forbids tokens, and the last token of longer phrases where the others stand before it."""

    tokens: Tensor
    phrases: tuple[Phrase, ...] = ()
    only_forbids: bool = True

    @classmethod
    def of(cls, phrases: Iterable[Phrase]) -> Banned:
        """The filter that bans all of these phrases."""
        ordered = sorted(set(phrases))
        single = [phrase[0] for phrase in ordered if len(phrase) == 1]
        return cls(torch.tensor(single, dtype=torch.long), tuple(p for p in ordered if len(p) > 1))

    @property
    def reads_history(self) -> bool:
        """Single tokens are banned everywhere."""
        return bool(self.phrases)

    def __call__(self, scores: Scores, live: Live) -> None:
        """Forbid the tokens, and what would complete a phrase."""
        device = scores.logits_RV.device
        columns = scores.columns(self.tokens.to(device))
        scores.logits_RV[:, columns[columns >= 0]] = -torch.inf
        for *begin, last in self.phrases:
            history_RT = live.history_RT
            assert history_RT is not None
            if history_RT.shape[1] >= len(begin):
                tail_RG = history_RT[:, -len(begin) :]
                rows = (tail_RG == torch.tensor(begin, device=device)).all(1).nonzero().flatten()
                _forbid(scores, rows, torch.tensor(last, device=device))


@dataclass(frozen=True, slots=True)
class NoRepeat:
    """Forbids whatever would repeat a run of `size` tokens."""

    size: int
    reads_history: bool = True
    only_forbids: bool = True

    def __call__(self, scores: Scores, live: Live) -> None:
        """Forbid what followed the newest tokens wherever they stood before.

        size 3      a b c d a b _      the newest two stood before c: c is forbidden
                    └─┴─►c  └─┘
        """
        history_RT = live.history_RT
        assert history_RT is not None
        if history_RT.shape[1] < self.size:
            return
        tail_RG = history_RT[:, history_RT.shape[1] - self.size + 1 :]
        runs_RTG = history_RT.unfold(1, self.size, 1)
        same_RT = (runs_RTG[..., :-1] == tail_RG[:, None]).all(2)
        same_RT &= (runs_RTG >= 0).all(2)
        found = same_RT.nonzero()
        _forbid(scores, found[:, 0], runs_RTG[found[:, 0], found[:, 1], -1])


@dataclass(frozen=True, slots=True)
class RepetitionPenalty:
    """Multiplies the log-probability of whatever was said before."""

    factor: float
    reads_history: bool = True
    only_forbids: bool = False

    def __call__(self, scores: Scores, live: Live) -> None:
        """Lower the tokens of each row's history."""
        history_RT = live.history_RT
        assert history_RT is not None
        columns_RT = scores.columns(history_RT)
        rows, places = (columns_RT >= 0).nonzero(as_tuple=True)
        columns = columns_RT[rows, places]
        normalizers = scores.normalizer_R[rows]
        scores.logits_RV[rows, columns] = normalizers + self.factor * (
            scores.logits_RV[rows, columns] - normalizers
        )  # a token said twice is lowered once: the same value is written twice


@dataclass(frozen=True, slots=True)
class ForcedPrefix:
    """Makes outputs begin with their sentence's prefix; other filters, kept within, do not touch it."""

    within: tuple[Filter, ...] = ()

    @property
    def reads_history(self) -> bool:
        """Whether a filter within does."""
        return any(each.reads_history for each in self.within)

    @property
    def only_forbids(self) -> bool:
        """Whether all filters within do."""
        return all(each.only_forbids for each in self.within)

    def __call__(self, scores: Scores, live: Live) -> None:
        """Forbid everything but the prefix's next token where a prefix is not yet complete."""
        forced = _forced(scores, live) if any(sentence.prefix for sentence in live.sentences) else None
        kept = None if forced is None else scores.logits_RV[forced]
        for each in self.within:
            each(scores, live)
        if forced is not None and kept is not None:
            scores.logits_RV[forced[0]] = -torch.inf
            scores.logits_RV[forced] = kept


def _forced(scores: Scores, live: Live) -> tuple[Tensor, Tensor]:
    """The rows within a prefix, and the column of the token that each must take."""
    next_B = torch.tensor(_next_of_prefix(live.sentences, live.lengths_B.tolist()), device=live.lengths_B.device)
    next_R = next_B[live.sentence_R]
    rows = (next_R >= 0).nonzero().flatten()
    columns = scores.columns(next_R[rows])
    if bool((columns < 0).any()):
        raise SettingError(
            "the prefix holds a token that the model cannot say", place="prefix", remedy="Leave the short-list out."
        )
    return rows, columns


def _next_of_prefix(sentences: Sequence[Sentence], lengths: Sequence[int]) -> list[int]:
    return [s.prefix[length] if length < len(s.prefix) else -1 for s, length in zip(sentences, lengths, strict=True)]


def _forbid(scores: Scores, rows: Tensor, tokens: Tensor) -> None:
    """Make tokens impossible in rows."""
    columns = scores.columns(tokens).expand(rows.shape)
    known = columns >= 0
    scores.logits_RV[rows[known], columns[known]] = -torch.inf
