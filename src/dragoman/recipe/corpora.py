"""Corpora named by their files alone; their endings say what they hold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.data.corpus import DataSettings, Jsonl, Mono, Parquet, TextFiles, Tsv
from dragoman.data.output import ending
from dragoman.errors import SettingError
from dragoman.files import STANDARD, lines

if TYPE_CHECKING:
    from dragoman.data.corpus import CorpusSettings

_PAIRS = (".tsv", ".jsonl", ".ndjson", ".parquet")
_LONGEST_FIRST_LINE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpora:
    """What to train and to validate on: files of lines that belong together, files of pairs, or texts alone."""

    source: str | Path = ""
    """One source a line, or, as .tsv, .jsonl or .parquet, both sides."""
    target: str | Path = ""
    """One target a line; nothing where the other file holds both sides."""
    valid_source: str | Path = ""
    valid_target: str | Path = ""
    text: str | Path = ""
    """One text a line, for a language model."""
    valid_text: str | Path = ""
    source_language: str = ""
    target_language: str = ""

    def settings(self, *, sources_alone: bool = False) -> DataSettings:
        """The table [data] of a run file that names them, by their whole paths.

        With `sources_alone` a file of lines may come without targets: it is then one of texts.
        """
        if bool(self.text) == bool(self.source):
            problem = "both pairs and text alone are given" if self.text else "nothing to train on is given"
            raise SettingError(
                problem,
                place="--src, --text",
                remedy="Name --src and --tgt (or one file of pairs) to translate, or --text for a language model.",
            )
        if self.text:
            _refuse({"--tgt": self.target, "--valid-src": self.valid_source, "--valid-tgt": self.valid_target})
            valid = self._text(self.valid_text) if self.valid_text else None
            return DataSettings(train=(self._text(self.text),), valid=valid)
        _refuse({"--valid-text": self.valid_text})
        if self.valid_target and not self.valid_source:
            raise SettingError("sources are missing", place="--valid-tgt", remedy="Name them with --valid-src.")
        read = self._sources if sources_alone else self._pairs
        held_out = read(self.valid_source, self.valid_target, "--valid-tgt") if self.valid_source else None
        return DataSettings(train=(read(self.source, self.target, "--tgt"),), valid=held_out)

    def _text(self, file: str | Path) -> CorpusSettings:
        return Mono(file=_whole(file), target_language=self.target_language)

    def _sources(self, source: str | Path, target: str | Path, option: str) -> CorpusSettings:
        if target or ending(str(source)) in _PAIRS:
            return self._pairs(source, target, option)
        languages: Any = {"source_language": self.source_language, "target_language": self.target_language}
        return Mono(file=_whole(source), **languages)

    def _pairs(self, source: str | Path, target: str | Path, option: str) -> CorpusSettings:
        languages: Any = {"source_language": self.source_language, "target_language": self.target_language}
        kind = ending(str(source))
        if target:
            return TextFiles(source=_whole(source), target=_whole(target), **languages)
        match kind:
            case ".tsv":
                return Tsv(file=_whole(source), columns=_columns(source), **languages)
            case ".jsonl" | ".ndjson":
                return Jsonl(file=_whole(source), **languages)
            case ".parquet":
                return Parquet(file=_whole(source), **languages)
            case _:
                raise SettingError(
                    f"the targets of {source} are missing",
                    place=option,
                    remedy=f"Name their file, or give one that holds both sides: {', '.join(_PAIRS)}.",
                )


def _refuse(options: dict[str, str | Path]) -> None:
    for option, value in options.items():
        if value:
            raise SettingError(
                "does not go with the other files", place=f"{option} {value}", remedy="Give pairs, or text alone."
            )


def _columns(file: str | Path) -> int:
    """How many columns the first line has, two at the least; further ones are passed over."""
    first = next(lines(file, longest=_LONGEST_FIRST_LINE), b"")
    return max(2, first.count(b"\t") + 1)


def _whole(file: str | Path) -> str:
    return str(file) if str(file) == STANDARD else str(Path(file).expanduser().absolute())
