"""A short-list: the target words that a source sentence may call for, so that a search need not look at all others."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import numpy as np

from dragoman.measures.lexicon import LexiconSettings, learn_lexicon
from dragoman.settings import Meta, Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["ShortList", "ShortListSettings", "learn_short_list"]


class ShortListSettings(Settings, frozen=True, kw_only=True):
    """How a short-list is learned."""

    most: Annotated[int, Meta(ge=1)] = 200
    """Translations kept for each source word; a search may ask for fewer."""
    least: Annotated[float, Meta(ge=0, lt=1)] = 0.001
    """How probable a translation has to be; what merely stood in the same sentences is less so."""
    frequent: Annotated[int, Meta(ge=0)] = 200
    """The most frequent target words, so many of them, are on every list."""
    lexicon: LexiconSettings = LexiconSettings()
    """How translations are learned."""


@dataclass(frozen=True, slots=True, eq=False)
class ShortList:
    """Translations of each source word, the most probable first: those of word s are at `offsets[s]:offsets[s + 1]`."""

    offsets: NDArray[np.int64]
    targets: NDArray[np.int32]
    always: NDArray[np.int32]
    """Words that are on every list."""

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """All that it is made of, by name."""
        return {"offsets": self.offsets, "targets": self.targets, "always": self.always}

    def fits(self, sources: int, targets: int) -> bool:
        """Whether it speaks of so many source words, and of no others than so many target words."""
        kinds = [values.dtype.str[1:] for values in (self.offsets, self.targets, self.always)]
        if kinds != ["i8", "i4", "i4"]:
            return False
        ends = self.offsets.shape == (sources + 1,) and self.offsets[0] == 0 and self.offsets[-1] == len(self.targets)
        words = np.concatenate([self.targets, self.always])
        known = not len(words) or bool(words.min() >= 0 and words.max() < targets)
        return bool(ends and known and (np.diff(self.offsets) >= 0).all() and len(self.always))

    def words(self, source: Iterable[int], *, count: int, also: Iterable[int] = ()) -> NDArray[np.int64]:
        """The list of a sentence in order of ids: `count` translations of each of its words, and some `also`."""
        starts = ((self.offsets[s], self.offsets[s + 1]) for s in set(source))
        parts = [self.targets[start : min(start + count, end)] for start, end in starts]
        return np.unique(np.concatenate([*parts, self.always, np.fromiter(also, dtype=np.int32)])).astype(np.int64)


def learn_short_list(
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    *,
    source_size: int,
    always: Iterable[int] = (),
    settings: ShortListSettings | None = None,
) -> ShortList:
    """The short-list that pairs of sentences lead to, with `always` and the frequent target words on every list."""
    settings = settings or ShortListSettings()
    lexicon = learn_lexicon(sources, targets, source_size=source_size, settings=settings.lexicon)
    best = [lexicon.best(word, count=settings.most, least=settings.least) for word in range(source_size)]
    counts = Counter(chain.from_iterable(targets))
    frequent = sorted(counts, key=lambda word: (-counts[word], word))[: settings.frequent]
    return ShortList(
        offsets=np.cumsum([0, *map(len, best)], dtype=np.int64),
        targets=np.fromiter(chain.from_iterable(best), dtype=np.int32),
        always=np.array(sorted({*always, *frequent}), dtype=np.int32),
    )
