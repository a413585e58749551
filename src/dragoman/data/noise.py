"""Noise: what a model has to restore, so that it can learn from text alone before it sees a pair.

    bart     source: the text, spoiled                       target: the text          (Lewis et al. 2020)
    spans    source: the text, with marks in place of spans  target: marks and spans   (Raffel et al. 2020)
    prefix   source: the begin of the text                   target: the rest          (Dong et al. 2019, UniLM)

What is drawn for a text is a function of its seed, which the order of training gives it anew in every epoch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Protocol, assert_never

from dragoman.settings import Meta, Settings

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from dragoman.text.vocabulary import Vocabulary

__all__ = ["BartNoise", "Noise", "NoiseSettings", "Noised", "PrefixNoise", "SpanNoise", "build_noise", "symbols_of"]

Share = Annotated[float, Meta(ge=0, le=1)]

MASK = "<mask>"
_SENTENCE_ENDS = tuple(".!?…。！？")  # noqa: RUF001 - full stops of other scripts are meant


class BartNoise(Settings, frozen=True, kw_only=True, tag_field="kind", tag="bart"):
    """The text spoiled, to be restored: sentences shuffled, text rotated, tokens deleted or masked, spans masked."""

    mask: Share = 0.3
    """Share of the tokens that are taken away in spans, each span for one mask."""
    span: Annotated[float, Meta(ge=0)] = 3.0
    """Mean length of a span, drawn from a Poisson distribution; a span without length is a mask put in."""
    mask_tokens: Share = 0.0
    """Share of the tokens that are masked one by one."""
    delete: Share = 0.0
    """Share of the tokens that are taken away without a trace."""
    permute: bool = True
    """Sentences come in random order."""
    rotate: Share = 0.0
    """Share of the texts that begin at a random token, what was before it put at the end."""


class SpanNoise(Settings, frozen=True, kw_only=True, tag_field="kind", tag="spans"):
    """Spans taken out of the text, to be told: a numbered mark in place of each, and the target lists what they hid."""

    density: Annotated[float, Meta(gt=0, lt=1)] = 0.15
    """Share of the tokens that are taken out."""
    span: Annotated[float, Meta(ge=1)] = 3.0
    """Mean length of a span."""
    marks: Annotated[int, Meta(ge=2, le=1000)] = 100
    """How many different marks the vocabulary has; a text loses one span fewer at most."""


class PrefixNoise(Settings, frozen=True, kw_only=True, tag_field="kind", tag="prefix"):
    """The text cut in two, the first part to be continued."""

    least: Annotated[float, Meta(ge=0, lt=0.5)] = 0.1
    """Least share of the tokens on either side."""


NoiseSettings = BartNoise | SpanNoise | PrefixNoise


@dataclass(frozen=True, slots=True)
class Noised:
    """What a model reads, and what it has to write."""

    source: list[int]
    target: list[int]


class Noise(Protocol):
    """A way to make a task of a text."""

    def __call__(self, ids: Sequence[int], generator: random.Random) -> Noised:
        """The task made of the ids of a text; the same generator state gives the same."""
        ...


def symbols_of(settings: NoiseSettings) -> tuple[str, ...]:
    """The symbols that the vocabulary must have."""
    match settings:
        case BartNoise():
            return (MASK,)
        case SpanNoise(marks=marks):
            return tuple(f"<extra_id_{number}>" for number in range(marks))
        case PrefixNoise():
            return ()
        case _:
            assert_never(settings)


def build_noise(settings: NoiseSettings, vocabulary: Vocabulary) -> Noise:
    """The noise of the settings on ids of the vocabulary, which must have its symbols."""
    ids = [vocabulary.symbol(name) for name in symbols_of(settings)]
    match settings:
        case BartNoise():
            ends = frozenset(i for i, piece in enumerate(vocabulary.pieces) if piece.endswith(_SENTENCE_ENDS))
            return Spoiled(settings, mask=ids[0], sentence_ends=ends)
        case SpanNoise():
            return Gapped(settings, marks=tuple(ids))
        case PrefixNoise(least=least):
            return Halved(least)
        case _:
            assert_never(settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    start: int
    length: int


class Spoiled:
    """BART's noise, each kind after the other."""

    def __init__(self, settings: BartNoise, *, mask: int, sentence_ends: frozenset[int]) -> None:
        self._settings, self._mask, self._ends = settings, mask, sentence_ends

    def __call__(self, ids: Sequence[int], generator: random.Random) -> Noised:
        settings, source = self._settings, list(ids)
        if settings.permute:
            source = _joined(_shuffled(self._sentences(source), generator))
        if settings.rotate and generator.random() < settings.rotate:
            first = generator.randrange(len(source))
            source = source[first:] + source[:first]
        if settings.delete:
            source = [i for i in source if generator.random() >= settings.delete]
        if settings.mask:
            source = self._infilled(source, generator)
        if settings.mask_tokens:
            source = [self._mask if generator.random() < settings.mask_tokens else i for i in source]
        return Noised(source or [self._mask], list(ids))

    def _sentences(self, ids: list[int]) -> list[list[int]]:
        found: list[list[int]] = [[]]
        for i, after in zip(ids, [*ids[1:], None], strict=True):
            found[-1].append(i)
            if i in self._ends and after is not None and after not in self._ends:  # three dots end one sentence
                found.append([])
        return found

    def _infilled(self, ids: list[int], generator: random.Random) -> list[int]:
        """The ids with spans of random length, a share of all in sum, each replaced by one mask."""
        wanted = self._rounded(self._settings.mask * len(ids), generator)
        lengths: list[int] = []
        while sum(lengths) < wanted and len(lengths) < 2 * wanted:  # spans without length alone would never do
            lengths.append(min(_poisson(self._settings.span, generator), wanted - sum(lengths)))
        result, end = [], 0
        for span in _placed(lengths, len(ids), generator):
            result += [*ids[end : span.start], self._mask]
            end = span.start + span.length
        return result + ids[end:]

    def _rounded(self, number: float, generator: random.Random) -> int:
        """The number up or down, so that the mean over many texts is right."""
        whole = math.floor(number)
        return whole + (generator.random() < number - whole)


class Gapped:
    """T5's span corruption."""

    def __init__(self, settings: SpanNoise, *, marks: tuple[int, ...]) -> None:
        self._settings, self._marks = settings, marks

    def __call__(self, ids: Sequence[int], generator: random.Random) -> Noised:
        taken = min(max(1, round(self._settings.density * len(ids))), max(1, len(ids) - 1))
        left = len(ids) - taken
        if not left:
            return Noised([self._marks[0]], [self._marks[0], *ids, self._marks[1]])
        spans = min(max(1, round(taken / self._settings.span)), taken, left, len(self._marks) - 1)
        source: list[int] = []
        target: list[int] = []
        place = 0
        lengths = zip(_parts(left, spans, generator), _parts(taken, spans, generator), strict=True)
        for mark, (kept, hidden) in zip(self._marks, lengths, strict=False):
            source += [*ids[place : place + kept], mark]
            target += [mark, *ids[place + kept : place + kept + hidden]]
            place += kept + hidden
        return Noised(source, [*target, self._marks[spans]])


class Halved:
    """A text cut in two at a random place."""

    def __init__(self, least: float) -> None:
        self._least = least

    def __call__(self, ids: Sequence[int], generator: random.Random) -> Noised:
        if len(ids) < 2:
            return Noised(list(ids), list(ids))  # nothing to cut: copied
        least = min(max(1, math.ceil(self._least * len(ids))), len(ids) // 2)
        place = generator.randint(least, len(ids) - least)
        return Noised(list(ids[:place]), list(ids[place:]))


def _placed(lengths: Sequence[int], size: int, generator: random.Random) -> list[_Span]:
    """Spans of these lengths in a text of this size, at random places that do not overlap, in order.

    Spans and the tokens between them are shuffled like cards, so every arrangement is equally probable.
    """
    cards = [*lengths, *[-1] * (size - sum(lengths))]
    generator.shuffle(cards)
    spans, place = [], 0
    for card in cards:
        if card >= 0:
            spans.append(_Span(start=place, length=card))
        place += abs(card)
    return spans


def _parts(total: int, count: int, generator: random.Random) -> list[int]:
    """So many numbers above 0 with this sum, each way equally probable."""
    cuts = [0, *sorted(generator.sample(range(1, total), count - 1)), total]
    return [b - a for a, b in pairwise(cuts)]


def _poisson(mean: float, generator: random.Random) -> int:
    limit, product, count = math.exp(-mean), generator.random(), 0
    while product > limit:
        product *= generator.random()
        count += 1
    return count


def _shuffled(parts: list[list[int]], generator: random.Random) -> list[list[int]]:
    generator.shuffle(parts)
    return parts


def _joined(parts: list[list[int]]) -> list[int]:
    return [i for part in parts for i in part]
