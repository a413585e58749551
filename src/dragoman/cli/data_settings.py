"""What `--set` can reach on the command line of `data clean`, `data stats` and `data split`."""

from __future__ import annotations

from typing import Annotated, Literal

from dragoman.data.clean import CleanSettings
from dragoman.data.corpus import LONGEST_LINE, CorpusSettings
from dragoman.data.split import SplitSettings
from dragoman.settings import Meta, Settings


class ReadRun(Settings, frozen=True, kw_only=True):
    """How a corpus is read."""

    corpus: CorpusSettings
    """The corpus; its files and kind come from the command line."""
    on_bad: Literal["refuse", "skip"] = "refuse"
    """What happens to a line that cannot be used: refuse the corpus, or skip the line and report it."""
    longest_line: Annotated[int, Meta(ge=1, le=1 << 30)] = LONGEST_LINE
    """Most bytes that a line may have."""


class CleanRun(ReadRun, frozen=True, kw_only=True):
    """How a corpus is cleaned."""

    clean: CleanSettings = CleanSettings()
    """What makes a pair worth keeping."""


class SplitRun(ReadRun, frozen=True, kw_only=True):
    """How a corpus is split."""

    split: SplitSettings
    """The sizes of the parts."""
