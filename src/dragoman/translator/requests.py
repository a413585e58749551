"""What may be asked of a translation beyond the search: words to use or avoid, alignments, safety."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from dragoman.bundle import AlignedBy
from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.build import DecodingSettings
from dragoman.errors import DataError, SettingError
from dragoman.settings import Settings, assign, decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from dragoman.measures.alignment import Symmetrization

__all__ = ["Alignments", "Blocklist", "Glossary", "Guard", "Request", "SearchFile", "search_settings"]


class SearchFile(Settings, frozen=True, kw_only=True):
    """Where the settings of a search stand in a document."""

    decoding: DecodingSettings = BeamSettings()
    """How to search."""


def search_settings(chosen: Mapping[str, Any], assignments: Sequence[str] = ()) -> DecodingSettings:
    """The search that the chosen values describe after `decoding.x=…` assignments; a beam if no kind is named."""
    document = assign({"decoding": chosen}, assignments)
    return decode(document, SearchFile).decoding


class Guard(Protocol):
    """A filter for safety; any callable will do."""

    def __call__(self, text: str, /) -> str | None:
        """Why the text must not pass; nothing if it may."""
        ...


class Blocklist:
    """A guard that refuses texts with certain words or phrases, whatever their case."""

    def __init__(self, phrases: Iterable[str]) -> None:
        kept = sorted({" ".join(phrase.casefold().split()) for phrase in phrases} - {""}, key=lambda p: (-len(p), p))
        self._pattern = _whole("|".join(re.escape(p).replace(r"\ ", r"\s+") for p in kept)) if kept else None

    def __call__(self, text: str) -> str | None:
        """The phrase that the text holds, if any."""
        match = self._pattern.search(text.casefold()) if self._pattern else None
        return match.group() if match else None


@dataclass(frozen=True, slots=True)
class Glossary:
    """Terms of the source, and what an output must then hold: one of the alternatives of each."""

    entries: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @classmethod
    def of(cls, entries: Mapping[str, str | Sequence[str]]) -> Glossary:
        """The glossary of a table; a term may have one translation or several."""
        tidy = ((term, (words,) if isinstance(words, str) else tuple(words)) for term, words in entries.items())
        return cls(tuple(tidy))

    @classmethod
    def read(cls, lines: Iterable[str], *, place: str = "") -> Glossary:
        """The glossary in lines of tab-separated fields: a term, then its alternatives. # begins a comment line."""
        entries = []
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            term, *alternatives = (cell.strip() for cell in line.rstrip("\r\n").split("\t"))
            if not term or not alternatives or not all(alternatives):
                raise DataError(
                    f"{line.strip()!r} is not a term and its translations",
                    place=f"{place}:{number}",
                    remedy="Write the source term, a tab, and one translation or several, with tabs between them.",
                )
            entries.append((term, tuple(alternatives)))
        return cls(tuple(entries))

    def found(self, text: str) -> list[tuple[str, ...]]:
        """The alternatives of each term that stands in the text as whole words, in its own case."""
        return [words for term, words in self.entries if _whole(re.escape(term)).search(text)]


def _whole(pattern: str) -> re.Pattern[str]:
    """The pattern where no word goes on before or after it; scripts without spaces have no such edges."""
    return re.compile(rf"(?<![^\W\u0e00-\u0eff\u3040-\u9fff])(?:{pattern})(?![^\W\u0e00-\u0eff\u3040-\u9fff])")


@dataclass(frozen=True, slots=True)
class Alignments:
    """How words are linked: by attention, the one that was found to align best when the model was trained."""

    layer: int | None = None
    """Another layer of the decoder, -1 for the last; the mean of its heads."""
    symmetrization: Symmetrization | None = None
    """How both directions are made one; nothing links each output word to the source word it attends to most."""

    def chosen(self, best: AlignedBy) -> AlignedBy:
        """The attention to read, given the best."""
        return best if self.layer is None else AlignedBy(layer=self.layer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of every translation of a call."""

    glossary: Glossary = field(default_factory=Glossary)
    banned: tuple[str, ...] = ()
    """Words and phrases that are never said, as they are written here."""
    alignments: Alignments | None = None
    copy_unknown: bool = False
    """Unknown words of an output become the source word that is attended to most."""
    input_guard: Guard | None = None
    """A source that it refuses is not translated: the output is empty, with the note `blocked_input`."""
    output_guard: Guard | None = None
    """Outputs that it refuses are left out: if none remains, the output is empty, with the note `blocked_output`."""
    likeness: Callable[[str, str], float] | None = None
    """For minimum Bayes risk: how good the first text is if the second is right, in place of the search's metric."""
    source_language: str = ""
    """The language of the texts, where it shall be made sure that the model reads it."""
    target_language: str = ""
    """The one to translate into, which a model of several languages has to know."""
    confidence: bool = True
    """A calibrated model also says how sure it is, for which it reads each output once more."""
    short_list: int = 0
    """Only so many translations of each source word may be said, and frequent words; 0 allows all. What was learned
    with `dragoman shortlist` tells which."""

    def __post_init__(self) -> None:
        if self.short_list < 0:
            raise SettingError(
                f"{self.short_list} translations of a word",
                place="short_list",
                remedy="Give a number above 0, or 0 to allow all words.",
            )
