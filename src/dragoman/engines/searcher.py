"""The seam for engines that run whole searches by themselves, and show no single step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dragoman.decoding.build import DecodingSettings
    from dragoman.decoding.hypothesis import Found
    from dragoman.decoding.live import Phrase, Sentence

__all__ = ["Asked", "Engine", "Searcher"]

Engine = Literal["torch", "ctranslate2"]
"""Who searches: this program step by step, with every search; or CTranslate2, with some."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A sentence to be translated."""

    ids: tuple[int, ...]
    """What the encoder reads, its end included."""
    sentence: Sentence


class Searcher(Protocol):
    """An engine that searches by itself."""

    def check(self, settings: DecodingSettings) -> None:
        """Raise SettingError where it has no such search."""
        ...

    def search(
        self, asked: Sequence[Asked], settings: DecodingSettings, *, banned: Sequence[Phrase] = ()
    ) -> Iterator[Found]:
        """The outputs of each sentence, in any order, as soon as they are there."""
        ...
