"""Text in, translations out: models with their tokenizers and a search, as one object.

Sentences are searched in the order of their length, many at a time, and come back in the order in which they were
given. What a sentence becomes does not depend on the others.

    texts ─► parts ─► jobs, longest first ─► search ─► outcomes ─► finished parts ─► translations, in order
"""

from __future__ import annotations

import copy
import itertools
import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast, overload

import msgspec
import torch

from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.build import build, decode
from dragoman.decoding.sample import SampleSettings
from dragoman.decoding.search import Arrival
from dragoman.engines.searcher import Asked
from dragoman.engines.together import together
from dragoman.errors import DataError, ModelError, SettingError
from dragoman.text.vocabulary import EOS, UNK
from dragoman.translator.finishing import Finishing
from dragoman.translator.forced import attention, batches, cross_attention, token_log_probs
from dragoman.translator.jobs import Jobs
from dragoman.translator.outputs import Explanation, Score, Token
from dragoman.translator.reader import Reader, check_language_model, check_same_target
from dragoman.translator.requests import Alignments, Request
from dragoman.translator.words import target_words, word_alignment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dragoman.bundle import Bundle
    from dragoman.decoding.build import DecodingSettings
    from dragoman.decoding.hypothesis import Found
    from dragoman.devices import NumberFormat
    from dragoman.engines.searcher import Searcher
    from dragoman.translator.jobs import Job
    from dragoman.translator.outputs import Translation

__all__ = ["Batching", "LanguageModel", "Translator", "paired"]

T = TypeVar("T")

_REQUEST = Request()
_TOGETHER = 16
"""Finished sentences that are read once more at a time, where attention is wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batching:
    """How many texts are worked on at once; it changes speed and memory, and nothing else."""

    places: int = 64
    """Sentences in search at the same time."""
    tokens: int = 16_384
    """Source tokens in search at the same time, padding included."""
    window: int = 2048
    """Texts that are read ahead to be sorted by length; 1 answers each before the next is read."""
    longest: int = 256
    """Tokens of the longest text that is translated in one piece."""


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A model of the target language that has a say in each token: log p(token | source) + weight · log q(token)."""

    bundle: Bundle
    weight: float = 0.2

    def __post_init__(self) -> None:
        if not (math.isfinite(self.weight) and self.weight > 0):
            raise SettingError(
                f"{self.weight} is no weight of a language model",
                place="language_weight",
                remedy="Give a number above 0, or leave the language model out.",
            )


class Translator:
    """Models ready to translate, or to go on with a text. Safe to call from several threads: nothing in it changes."""

    def __init__(
        self,
        *bundles: Bundle,
        device: torch.device,
        batching: Batching | None = None,
        language_model: LanguageModel | None = None,
        precision: NumberFormat = "float32",
        searcher: Searcher | None = None,
    ) -> None:
        assert bundles, "at least one model"
        assert searcher is None or (len(bundles) == 1 and language_model is None), "a searcher knows one model"
        self.device = device
        self.batching = batching or Batching()
        self._readers = tuple(Reader(bundle, device, precision=precision) for bundle in bundles)
        check_same_target(self._readers)
        self._searcher = searcher
        self._helper: Reader | None = None
        self._weight = 0.0
        if language_model is not None:
            self._helper, self._weight = Reader(language_model.bundle, device), language_model.weight
            check_language_model(self._helper, self._readers[0])

    @property
    def bundle(self) -> Bundle:
        """The model, or the first of several."""
        return self._readers[0].bundle

    @property
    def reader(self) -> Reader:
        """What reads for the model, or for the first of several."""
        return self._readers[0]

    @property
    def weights(self) -> int:
        """How many numbers the models have learned, all together."""
        readers = (*self._readers, *(() if self._helper is None else (self._helper,)))
        modules = (cast("torch.nn.Module", reader.bundle.model) for reader in readers)
        return sum(weight.numel() for module in modules for weight in module.parameters())

    @property
    def is_ensemble(self) -> bool:
        """Whether more than one model, or a language model beside it, has a say."""
        return len(self._readers) > 1 or self._helper is not None

    @property
    def has_source(self) -> bool:
        """Whether there is something to translate; a language model only goes on."""
        return self._readers[0].has_source

    @property
    def reads_features(self) -> bool:
        """Whether its sources are names of .npy files."""
        return self._readers[0].reads_features

    @property
    def decoding(self) -> DecodingSettings:
        """How it searches where nothing else is asked for: as its run file said; else a language model samples."""
        own = self.bundle.description.decoding
        return SampleSettings() if not self.has_source and own == BeamSettings() else own

    def into(self, target_language: str) -> Self:
        """The same models, for outputs in this language where no other is named."""
        found = copy.copy(self)
        found._readers = tuple(reader.into(target_language) for reader in self._readers)  # noqa: SLF001 - its own class
        return found

    # ---- translating ---------------------------------------------------------------------------------------------

    @overload
    def translate(
        self,
        texts: str,
        *,
        decoding: DecodingSettings | None = ...,
        beam: int | None = ...,
        nbest: int | None = ...,
        prefixes: Sequence[str] | None = ...,
        request: Request = ...,
    ) -> Translation: ...
    @overload
    def translate(
        self,
        texts: list[str] | tuple[str, ...],
        *,
        decoding: DecodingSettings | None = ...,
        beam: int | None = ...,
        nbest: int | None = ...,
        prefixes: Sequence[str] | None = ...,
        request: Request = ...,
    ) -> list[Translation]: ...

    def translate(
        self,
        texts: str | list[str] | tuple[str, ...],
        *,
        decoding: DecodingSettings | None = None,
        beam: int | None = None,
        nbest: int | None = None,
        prefixes: Sequence[str] | None = None,
        request: Request = _REQUEST,
    ) -> Translation | list[Translation]:
        """The translation of a text, or of each text of a list, in its order; `prefixes` has a beginning for each."""
        single = isinstance(texts, str)
        given = [texts] if isinstance(texts, str) else texts
        if prefixes is not None and len(prefixes) != len(given):
            raise DataError(
                f"{len(prefixes)} prefixes for {len(given)} texts", place="prefixes", remedy="Give one for each text."
            )
        found = list(self.stream(given, decoding=decoding, beam=beam, nbest=nbest, prefixes=prefixes, request=request))
        return found[0] if single else found

    def stream(
        self,
        texts: Iterable[str],
        *,
        decoding: DecodingSettings | None = None,
        beam: int | None = None,
        nbest: int | None = None,
        prefixes: Iterable[str] | None = None,
        request: Request = _REQUEST,
    ) -> Iterator[Translation]:
        """The translation of each text in its order, as texts come in."""
        self._check_has_source(wanted=True)
        settings = _settings(self.decoding, decoding, beam=beam, nbest=nbest)
        pairs = zip(texts, itertools.repeat("")) if prefixes is None else paired(texts, prefixes)
        return self._stream(pairs, settings, request)

    def generate(
        self,
        prompts: Sequence[str] = ("",),
        *,
        decoding: DecodingSettings | None = None,
        beam: int | None = None,
        nbest: int | None = None,
        request: Request = _REQUEST,
    ) -> list[Translation]:
        """What a language model makes of each prompt; texts begin with the prompt itself."""
        self._check_has_source(wanted=False)
        settings = _settings(self.decoding, decoding, beam=beam, nbest=nbest)
        return list(self._stream((("", prompt) for prompt in prompts), settings, request))

    def _stream(
        self, texts: Iterator[tuple[str, str]], settings: DecodingSettings, request: Request
    ) -> Iterator[Translation]:
        if self._searcher is not None:
            self._searcher.check(settings)
            if request.short_list:
                raise SettingError(
                    "this engine cannot be told which words to look at",
                    place="short_list",
                    remedy="Use the engine torch, or leave the short-list out.",
                )
        jobs = Jobs(self._readers, settings=settings, request=request, longest=self.batching.longest)
        while window := list(itertools.islice(texts, self.batching.window)):
            items = [jobs.item(source, prefix) for source, prefix in window]
            finishing = Finishing(self._readers, settings=settings, request=request, items=items)
            yield from finishing.ready()
            for batch in _grouped(self._searched(finishing.jobs, settings, request), 1 if jobs.plain else _TOGETHER):
                finishing.take(batch)
                yield from finishing.ready()
            assert finishing.is_over, "every text has its translation"

    def _searched(
        self, jobs: Sequence[Job], settings: DecodingSettings, request: Request
    ) -> Iterator[tuple[Job, Found]]:
        """Each job and its outcome, in the order in which they are done; the longest begin."""
        phrases = [tuple(ids) for ids in map(self.bundle.tokenizers.target.encode, request.banned) if ids]
        banned = [ids for ids in phrases if UNK not in ids]  # a word that is not known is never said
        by_key = {job.key: job for job in jobs}
        if self._searcher is not None:
            asked = [Asked(tuple(job.reads[0]), job.sentence) for job in jobs]
            for outcome in self._searcher.search(asked, settings, banned=banned):
                yield by_key[outcome.key], outcome
            return
        begin = self.reader.begin(request.target_language)[-1]
        plan = build(settings, begin=begin, end=EOS, banned=banned)
        traced, listed = plan.strategy.traced, request.short_list > 0
        waiting = deque(sorted(jobs, key=lambda job: -job.length))
        live: dict[int, int] = {}

        def arrivals(room: int) -> Arrival[Any] | None:
            if not waiting or room < min(self.batching.places, len(waiting)) // 4:
                return None  # a few more free places make a better batch
            batch: list[Job] = []
            longest = max([*live.values(), waiting[0].length])
            while waiting and len(batch) < room:
                in_search = len(live) + len(batch)
                if in_search and (in_search + 1) * longest > self.batching.tokens:
                    break
                batch.append(waiting.popleft())
            if not batch:
                return None
            live.update((job.key, job.length) for job in batch)
            state = self._start(batch, traced=traced, target_language=request.target_language)
            return Arrival([job.sentence for job in batch], state)

        helping = None if self._helper is None else self._helper.step(traced=traced, listed=listed)
        steps = [reader.step(traced=traced, listed=listed) for reader in self._readers]
        step = together(steps, language_model=helping, weight=self._weight)
        outcomes = decode(plan, step, arrivals=arrivals, places=self.batching.places, device=self.device)
        for outcome in _without_gradients(outcomes):
            del live[outcome.key]
            yield by_key[outcome.key], outcome

    def _start(self, batch: Sequence[Job], *, traced: bool, target_language: str) -> tuple[Any, ...]:
        """The state of each model, with a row for each sentence."""
        words = [torch.from_numpy(job.words).to(self.device) for job in batch if job.words is not None]
        lists = words or None
        states = tuple(
            reader.start([job.reads[n] for job in batch], traced=traced, target_language=target_language, lists=lists)
            for n, reader in enumerate(self._readers)
        )
        if self._helper is None:
            return states
        return states, self._helper.start([[] for _ in batch], traced=traced, lists=lists)

    # ---- scoring and explaining ----------------------------------------------------------------------------------

    def score(self, sources: Sequence[str] | None, targets: Sequence[str], *, target_language: str = "") -> list[Score]:
        """How probable the model finds each target, given its source; a language model takes `None` for sources.

        Where a language model has a say, its share is in every value, as it is in those of translations.
        """
        self._check_has_source(wanted=sources is not None)
        if sources is not None and len(sources) != len(targets):
            raise DataError(
                f"{len(sources)} sources and {len(targets)} targets", place="score", remedy="Give one for each other."
            )
        encode = self.bundle.tokenizers.target.encode
        labels = [[*encode(target), EOS] for target in targets]
        for reader in self._readers:
            reader.check_languages("", target_language)
        reads = [
            [reader.read(source, target_language=target_language) for source in sources or [""] * len(labels)]
            for reader in self._readers
        ]
        lengths = [max(len(label), len(read)) for label, read in zip(labels, reads[0], strict=True)]
        scores: list[Score | None] = [None] * len(labels)
        for batch in batches(lengths, most=self.batching.tokens // 4):
            chosen = [labels[i] for i in batch]
            values = token_log_probs(
                self._readers,
                [[each[i] for i in batch] for each in reads],
                chosen,
                target_language=target_language,
            )
            if self._helper is not None:
                said = token_log_probs([self._helper], [[[] for _ in batch]], chosen)
                pairs = zip(values, said, strict=True)
                values = [[p + self._weight * q for p, q in zip(*pair, strict=True)] for pair in pairs]
            for place, label, log_probs in zip(batch, chosen, values, strict=True):
                scores[place] = Score(sum(log_probs), self._tokens(label, log_probs))
        return [score for score in scores if score is not None]

    def explain(self, source: str, target: str, *, layer: int | None = None, target_language: str = "") -> Explanation:
        """Attention of each layer and head when the (first) model reads a finished pair, and the words it links."""
        reader = self._readers[0]
        reader.check_languages("", target_language)
        read = reader.read(source, target_language=target_language)
        labels = [*self.bundle.tokenizers.target.encode(target), EOS]
        maps = attention(reader, [read], [labels], target_language=target_language)
        tokenizers = self.bundle.tokenizers
        names = (tokenizers.source.vocabulary.pieces, tokenizers.target.vocabulary.pieces)
        shown = tuple(names[0][i] for i in read) if isinstance(read, list) else tuple(map(str, range(len(read))))
        alignment = None
        if maps.cross_LBHTS is not None and isinstance(read, list):
            by = Alignments(layer).chosen(self.bundle.description.alignment)
            (looks,) = cross_attention(reader, [read], [labels], by=by, target_language=target_language)
            words = reader.words(source, target_language=target_language)
            alignment = word_alignment(looks, sources=words, targets=target_words(tokenizers.target, labels))
        return Explanation(shown, tuple(names[1][i] for i in labels), maps, alignment)

    def _tokens(self, ids: Sequence[int], log_probs: Sequence[float]) -> tuple[Token, ...]:
        pieces = self.bundle.tokenizers.target.vocabulary.pieces
        return tuple(Token(pieces[i], value) for i, value in zip(ids, log_probs, strict=True))

    def _check_has_source(self, *, wanted: bool) -> None:
        if wanted and not self.has_source:
            raise ModelError(
                "a language model has no source",
                place="model",
                remedy="Use generate() or `dragoman generate`, and score texts without sources.",
            )
        if self.has_source and not wanted:
            raise ModelError(
                "this model needs a source",
                place="model",
                remedy="Use translate() or `dragoman translate`, and score targets with their sources.",
            )


def _settings(
    own: DecodingSettings, decoding: DecodingSettings | None, *, beam: int | None, nbest: int | None
) -> DecodingSettings:
    """The search, the model's `own` if none is given, with a beam and a number of outputs put in where they are."""
    chosen = {name: value for name, value in (("beam", beam), ("nbest", nbest)) if value is not None}
    if decoding is None:
        decoding = own if chosen.keys() <= set(own.__struct_fields__) else BeamSettings(filters=own.filters)
        if isinstance(decoding, BeamSettings):
            chosen.setdefault("beam", max(decoding.beam, nbest or 1))
    if stray := [name for name in chosen if name not in decoding.__struct_fields__]:
        kind = decoding.__struct_config__.tag
        raise SettingError(f"{stray[0]} means nothing to a search of kind {kind!r}", place=stray[0], remedy="Drop it.")
    return msgspec.structs.replace(decoding, **chosen)


def paired(texts: Iterable[str], prefixes: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each text with its prefix; DataError when one side ends before the other."""
    for number, (text, prefix) in enumerate(itertools.zip_longest(texts, prefixes), 1):
        if text is None or prefix is None:
            raise DataError(
                f"there is no {'text' if text is None else 'prefix'} number {number}",
                place="prefixes",
                remedy="Give a prefix for each text; an empty one asks for nothing.",
            )
        yield text, prefix


def _grouped(items: Iterator[T], size: int) -> Iterator[list[T]]:
    while batch := list(itertools.islice(items, size)):
        yield batch


def _without_gradients(items: Iterator[T]) -> Iterator[T]:
    """The items, computed without gradients; what happens between them is not touched."""
    while True:
        with torch.inference_mode():
            try:
                item = next(items)
            except StopIteration:
                return
        yield item
