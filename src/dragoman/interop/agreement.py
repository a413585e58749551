"""Proof that an exported model says what the original says: the same sentences through both."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import msgspec
import torch

from dragoman.data import phrasebook
from dragoman.decoding.filters import FilterSettings, LengthLimits
from dragoman.decoding.greedy import GreedySettings
from dragoman.errors import DataError, ModelError
from dragoman.text.markup import language_of
from dragoman.translator import Translator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.bundle import Bundle

__all__ = ["Agreement", "Exported", "Spoken", "agreement", "check_sentences", "spoken"]

_SENTENCES = 48
_MOST = 60
_TOLERANCE = 1e-4


class Exported(Protocol):
    """A model of another library, asked as its own users ask it."""

    def read(self, source: str) -> list[int]:
        """What the encoder reads of a text, its end included."""
        ...

    def greedy(self, sources: Sequence[Sequence[int]], *, most: Sequence[int]) -> list[list[int]]:
        """The greedy output for each source, its end included where it came within `most` tokens."""
        ...

    def log_probs(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[list[float]]:
        """The log-probability of each token of each target after those before it."""
        ...

    def text(self, ids: Sequence[int]) -> str:
        """The text of an output."""
        ...


@dataclass(frozen=True, slots=True)
class Spoken:
    """What the original reads of a sentence, and its greedy output."""

    source: str
    reads: tuple[int, ...]
    ids: tuple[int, ...]
    log_probs: tuple[float, ...]
    text: str


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """How closely an exported model follows the original, on sentences that both translated."""

    sentences: int
    tokens: int
    """Tokens of the original's outputs."""
    same_outputs: int
    """Greedy outputs that are the same token by token."""
    difference: float
    """The largest difference of a token's log-probability."""
    exact: bool = True
    """Whether the same was demanded; weights in fewer bits give other outputs now and then."""

    def __str__(self) -> str:
        return (
            f"{self.same_outputs} of {self.sentences} greedy outputs are the same token by token; log-probabilities of "
            f"{self.tokens:,} tokens differ by {self.difference:.1e} at most"
        )


def check_sentences(bundle: Bundle, given: Sequence[str] = ()) -> list[str]:
    """Sentences to compare by: the first of those given, else of the phrasebook, each with a language it may need."""
    texts = [text for text in given if text.strip()][:_SENTENCES]
    if given and not texts:
        raise DataError("no sentences to compare by", place="sentences", remedy="Name a file of source sentences.")
    if not texts:
        french = bundle.description.source_language == "fr"
        phrases = itertools.islice(phrasebook.generate(11, _SENTENCES), _SENTENCES)
        texts = [phrase.french if french else phrase.english for phrase in phrases]
    tags = [symbol for symbol in bundle.tokenizers.source.vocabulary.symbols if language_of(symbol)]
    if not tags or all(text.startswith(tuple(tags)) for text in texts):
        return texts
    return [f"{tag}{text}" for tag, text in zip(itertools.cycle(tags), texts, strict=False)]


def spoken(bundle: Bundle, sentences: Sequence[str]) -> list[Spoken]:
    """What the original makes of the sentences."""
    translator = Translator(bundle, device=torch.device("cpu"))
    limits = LengthLimits(most=_MOST)
    greedy = GreedySettings(filters=FilterSettings(lengths=limits))
    vocabulary = bundle.tokenizers.target.vocabulary
    found = []
    for source, result in zip(sentences, translator.translate(list(sentences), decoding=greedy), strict=True):
        reads = translator.reader.read(source)
        if not isinstance(reads, list) or not reads or "split" in result.notes:
            continue  # nothing to read, or more than is read at once
        ids = tuple(vocabulary.pieces.index(token.text) for token in result.tokens)
        log_probs = tuple(token.log_prob for token in result.tokens)
        found.append(Spoken(source, tuple(reads), ids, log_probs, result.text))
    return found


def agreement(exported: Exported, originals: Sequence[Spoken], *, exact: bool = True) -> Agreement:
    """How closely the exported model follows; ModelError where it does not, or where `exact` and not closely enough."""
    for each in originals:
        reads = exported.read(each.source)
        if tuple(reads) != each.reads:
            raise _apart(f"{each.source!r} is read as {reads}, not as {list(each.reads)}")
        if exact and exported.text(each.ids) != each.text:
            raise _apart(f"the ids of {each.text!r} are written as {exported.text(each.ids)!r}")
    sources = [each.reads for each in originals]
    scored = exported.log_probs(sources, [each.ids for each in originals])
    difference = 0.0
    for each, theirs in zip(originals, scored, strict=True):
        for ours, other in zip(each.log_probs, theirs, strict=True):
            difference = max(difference, abs(ours - other))
            if exact and not _close(ours, other):
                raise _apart(f"a token of {each.text!r} has the log-probability {other:.6f}, not {ours:.6f}")
    outputs = exported.greedy(sources, most=[len(each.ids) for each in originals])
    same = 0
    for each, output in zip(originals, outputs, strict=True):
        same += tuple(output) == each.ids
        if exact and tuple(output) != each.ids and not _is_tie(exported, each, output):
            raise _apart(f"{each.source!r} becomes {exported.text(output)!r}, not {each.text!r}")
    tokens = sum(len(each.ids) for each in originals)
    return Agreement(sentences=len(originals), tokens=tokens, same_outputs=same, difference=difference, exact=exact)


def _close(ours: float, other: float) -> bool:
    return abs(ours - other) <= _TOLERANCE * (1 + abs(ours))


def _is_tie(exported: Exported, original: Spoken, output: Sequence[int]) -> bool:
    """Whether the two part at a place where both tokens are equally good."""
    pairs = itertools.zip_longest(original.ids, output)
    place = next(n for n, (ours, theirs) in enumerate(pairs) if ours != theirs)
    if place >= min(len(output), len(original.ids)):
        return False
    (theirs,) = exported.log_probs([original.reads], [output])
    return _close(original.log_probs[place], theirs[place])


def _apart(problem: str) -> ModelError:
    return ModelError(
        f"the exported model does not say what the original says: {problem}",
        place="export",
        remedy="Nothing was written. This is a fault of the exporter: please report it with the model's settings.",
    )
