"""What shows that an imported model is the original: both read, score and search the same sentences."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import torch

from dragoman.data import phrasebook
from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.filters import FilterSettings, LengthLimits
from dragoman.decoding.greedy import GreedySettings
from dragoman.errors import ModelError
from dragoman.text.vocabulary import BOS, EOS
from dragoman.translator import Request, Translator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from dragoman.bundle import Bundle
    from dragoman.interop.numbering import Numbering

__all__ = ["BEAM", "Original", "Probe", "probe", "probe_sentences"]

BEAM, ALPHA = 4, 1.0
_SENTENCES, _LONGEST = 16, 40
_TOLERANCE = 1e-4
_NEVER = -100.0
"""What the import forbids has logits far below this, and is not compared."""


class Original(Protocol):
    """The model in the library that it comes from. All ids are its own."""

    def source_ids(self, text: str) -> list[int]:
        """What its encoder reads of a text."""
        ...

    def target_ids(self, text: str) -> list[int]:
        """What it should say for a text, its end included, what it is given first left out."""
        ...

    def logits(self, source: Sequence[int], target: Sequence[int]) -> Tensor:
        """Logits before each token of the target, [T, V]."""
        ...

    def search(self, source: Sequence[int], *, beam: int, most: int) -> tuple[list[int], float]:
        """The best output of at most so many tokens, without what is given first, and its score."""
        ...

    def text(self, ids: Sequence[int]) -> str:
        """The text of an output."""
        ...


@dataclass(frozen=True, slots=True)
class Probe:
    """How closely an imported model follows the original, on sentences that both read."""

    sentences: int
    pieces: int
    """Pieces of sources and targets; all of them have the same numbers."""
    logits: float
    """The largest difference of a logit."""
    greedy: int
    """Greedy outputs that are the same token by token."""
    beam: int
    """The same of a beam search."""

    def __str__(self) -> str:
        return (
            f"{self.pieces:,} pieces of {self.sentences} sentences have the same ids; logits differ by "
            f"{self.logits:.1e} at most; the same outputs: {self.greedy} of {self.sentences} greedy, "
            f"{self.beam} of {self.sentences} with a beam of {BEAM}"
        )

    def facts(self) -> dict[str, float | str]:
        """The figures, to be kept."""
        return {name: getattr(self, name) for name in self.__slots__}


def probe_sentences(given: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Pairs to compare by: sources as given, else of the phrasebook; with targets that need not fit."""
    phrases = list(itertools.islice(phrasebook.generate(13, _SENTENCES), _SENTENCES))
    odd = ["Çà et là: 3,5 % — naïve?", "one  two\tthree 🙂 ½"]
    texts = [text for text in given if text.strip()][:_SENTENCES] or [*odd, *(p.english for p in phrases[len(odd) :])]
    return [(text, phrase.french) for text, phrase in zip(texts, phrases, strict=False)]


def probe(bundle: Bundle, original: Original, *, numbering: Numbering, pairs: Sequence[tuple[str, str]]) -> Probe:
    """How closely the bundle follows; ModelError where it does not."""
    translator = Translator(bundle, device=torch.device("cpu"))
    theirs = numbering.theirs()
    pieces, difference, greedy, beam = 0, 0.0, 0, 0
    for source, target in pairs:
        read = translator.reader.read(source)
        assert isinstance(read, list)
        source_ids, target_ids = original.source_ids(source), original.target_ids(target)
        mine = [*bundle.tokenizers.target.encode(target), EOS]
        for text, found, wanted in ((source, read, source_ids), (target, mine, target_ids)):
            if (given := [theirs[i] for i in found]) != wanted:
                raise _apart(f"{text!r} becomes the pieces {given}, not {wanted}")
        pieces += len(read) + len(mine)
        difference = max(difference, _difference(translator, (read, mine), original=original, numbering=numbering))
        most = min(_LONGEST, 2 * len(read) + 5)
        greedy += _same(translator, original, theirs, (source, source_ids), beam=1, most=most)
        beam += _same(translator, original, theirs, (source, source_ids), beam=BEAM, most=most)
    return Probe(len(pairs), pieces, difference, greedy, beam)


def _difference(
    translator: Translator, pair: tuple[list[int], list[int]], *, original: Original, numbering: Numbering
) -> float:
    """The largest difference of a logit before each token of the target."""
    reader, theirs, (read, target) = translator.reader, numbering.theirs(), pair
    begin = reader.begin()
    given = len(begin) - 1
    inputs_1T = torch.tensor([[*begin, *target[:-1]]])
    with torch.inference_mode():
        model = reader.bundle.model
        hidden = model.hidden(reader.source([read]), inputs_1T, torch.tensor([inputs_1T.shape[1]]))
        ours_TV = model.logits(hidden)[given:].float()
    expected_TV = original.logits([theirs[i] for i in read], [theirs[i] for i in target])[:, theirs]
    said_V = (ours_TV > _NEVER).all(0)
    said_V[BOS] = False
    ours_TV, expected_TV = ours_TV[:, said_V], expected_TV[:, said_V]
    difference_TV = (ours_TV - expected_TV).abs()
    # a sum of float32 is as exact as the largest of what it adds up
    if bool((difference_TV > _TOLERANCE * (1 + expected_TV.abs().amax(1, keepdim=True))).any()):
        raise _apart(f"logits differ by {float(difference_TV.max()):.2e}")
    return float(difference_TV.max())


def _same(
    translator: Translator,
    original: Original,
    theirs: list[int],
    source: tuple[str, list[int]],
    *,
    beam: int,
    most: int,
) -> bool:
    """Whether both find the same output; ModelError where theirs is another one and not merely as good, or cut."""
    text, source_ids = source
    filters = FilterSettings(lengths=LengthLimits(most=most, most_per_source=1e3))
    # with ends counted alike, and a language or begin that is given counted by neither, nothing else may differ
    alpha = 0.0 if len(translator.reader.begin()) > 1 else ALPHA
    settings = (
        GreedySettings(filters=filters)
        if beam == 1
        else BeamSettings(beam=beam, alpha=alpha, refill=True, filters=filters)
    )
    found = translator.translate(text, decoding=settings, request=Request(confidence=False))
    vocabulary = translator.bundle.tokenizers.target.vocabulary
    ids = [theirs[vocabulary[token.text]] for token in found.tokens]
    expected, score = original.search(source_ids, beam=beam, most=most)
    if ids == expected:
        return True
    # at the longest length transformers ranks what is cut there with what has ended; here what has ended is better
    was_cut = expected[-1:] != [theirs[EOS]] and ids[-1:] == [theirs[EOS]]
    if not was_cut and abs(score - found.score) > _TOLERANCE * (1 + abs(score)):
        raise _apart(f"{text!r} becomes {found.text!r}, not {original.text(expected)!r}")
    return False


def _apart(problem: str) -> ModelError:
    return ModelError(
        f"the imported model does not do what the original does: {problem}",
        place="import",
        remedy="Nothing was written. This is a fault of the importer: please report it with the model's name.",
    )
