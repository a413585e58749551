"""From texts to sentences in search: parts of long texts, what is forced and required of each, how long it may be."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from dragoman.decoding.live import Sentence
from dragoman.errors import DataError, SettingError
from dragoman.text.sentences import parts
from dragoman.text.vocabulary import UNK
from dragoman.translator.confidence import calibration
from dragoman.translator.reader import EXTRA

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from dragoman.decoding.build import DecodingSettings
    from dragoman.decoding.live import Phrase
    from dragoman.measures.short_list import ShortList
    from dragoman.translator.reader import Read, Reader
    from dragoman.translator.requests import Request

__all__ = ["Item", "Job", "Jobs"]


@dataclass(frozen=True, slots=True)
class Job:
    """A part of a text on its way through the search."""

    key: int
    source: str
    reads: tuple[Read, ...]
    """What each model reads."""
    sentence: Sentence
    words: NDArray[np.int64] | None = None
    """What its output may say, where that is a short-list."""

    @property
    def length(self) -> int:
        """By what jobs are sorted: the length of the source, or of the prompt."""
        return max(len(self.reads[0]), len(self.sentence.prefix), 1)


@dataclass(frozen=True, slots=True)
class Item:
    """A text with its jobs, and the white space after each of them."""

    source: str
    lead: str = ""
    """White space before the first job, where the text was split."""
    jobs: tuple[Job, ...] = ()
    spaces: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Jobs:
    """Makes the jobs of texts, with a number for each."""

    def __init__(
        self, readers: Sequence[Reader], *, settings: DecodingSettings, request: Request, longest: int
    ) -> None:
        self._readers = readers
        self._limits = settings.filters.lengths
        self._request = request
        self._longest = min(reader.longest_source(longest) for reader in readers)
        self._numbers = 0
        self._glossary = {words: self._sayable(term, words) for term, words in request.glossary.entries}
        for reader in readers:
            reader.check_languages(request.source_language, request.target_language)
        self._short_list = _short_list(readers[0]) if request.short_list else None

    @property
    def plain(self) -> bool:
        """Whether outputs need no second look at the model."""
        wanted = self._request
        return wanted.alignments is None and not wanted.copy_unknown and calibration(self._readers, wanted) is None

    def item(self, source: str, prefix: str) -> Item:
        """A text with its jobs; one that holds nothing, or that must not pass, has none."""
        guard = self._request.input_guard
        if guard is not None and guard(source or prefix) is not None:
            return Item(source, notes=("blocked_input",))
        first = self._readers[0]
        if not first.has_source or first.reads_features:
            return Item(source, jobs=(self._job(source, prefix),), spaces=("",))
        read = self._read(source)
        if all(len(each) <= self._longest + EXTRA for each in read):
            return Item(source, jobs=(self._job(source, prefix, read),) if read[0] else (), spaces=("",))
        return self._split(source, prefix)

    def _split(self, source: str, prefix: str) -> Item:
        encoders = [reader.bundle.tokenizers.source.encode for reader in self._readers]

        def fits(part: str) -> bool:
            return all(len(encode(part)) <= self._longest for encode in encoders)

        jobs: list[Job] = []
        spaces: list[str] = []
        lead = ""
        for part in parts(source, fits=fits):
            text = part.strip()
            space = part[len(part.rstrip()) :] if text else part
            read = self._read(text)
            if not read[0]:
                if spaces:
                    spaces[-1] += space
                else:
                    lead += space
                continue
            jobs.append(self._job(text, "" if jobs else prefix, read))
            spaces.append(space)
        return Item(source, lead, tuple(jobs), tuple(spaces), ("split",))

    def _read(self, text: str) -> tuple[Read, ...]:
        languages = {"source_language": self._request.source_language, "target_language": self._request.target_language}
        return tuple(reader.read(text, **languages) for reader in self._readers)

    def _job(self, source: str, prefix: str, reads: tuple[Read, ...] | None = None) -> Job:
        reads = self._read(source) if reads is None else reads
        sentence = self._sentence(source, prefix, reads)
        self._numbers += 1
        return Job(sentence.key, source, reads, sentence, self._words(reads[0], sentence))

    def _words(self, read: Read, sentence: Sentence) -> NDArray[np.int64] | None:
        """The short-list of a sentence: whatever must be said is on it, and of a joint vocabulary what was read."""
        if self._short_list is None:
            return None
        ids = [int(i) for i in read]
        demanded = chain(sentence.prefix, *(phrase for phrases in sentence.required for phrase in phrases))
        own = ids if self._readers[0].bundle.tokenizers.joint else []
        return self._short_list.words(ids, count=self._request.short_list, also=chain(demanded, own))

    def _sentence(self, source: str, prefix: str, reads: tuple[Read, ...]) -> Sentence:
        forced = self._ids(prefix) if prefix else ()
        if UNK in forced and self._readers[0].has_source:  # a language model goes on after any prompt
            raise _unsayable(prefix, place="prefix")
        required = tuple(filter(None, (self._glossary[words] for words in self._request.glossary.found(source))))
        least, most = self._bounds(reads)
        demanded = len(forced) + sum(min(map(len, alternatives)) for alternatives in required) + 1
        most = max(most, demanded + (0 if self._readers[0].has_source else 1))
        return Sentence(
            self._numbers,
            max_length=most,
            min_length=min(least, most - 1),
            prefix=forced,
            required=required,
            seed=zlib.crc32(f"{source}\0{prefix}".encode("utf-8", "surrogatepass")),
        )

    def _sayable(self, term: str, alternatives: Sequence[str]) -> tuple[Phrase, ...]:
        """The alternatives of a term that the model has words for."""
        phrases = [ids for ids in map(self._ids, alternatives) if ids]
        sayable = tuple(ids for ids in phrases if UNK not in ids)
        if phrases and not sayable:
            raise _unsayable(" | ".join(alternatives), place=f"glossary: {term}")
        return sayable

    def _ids(self, text: str) -> Phrase:
        return tuple(self._readers[0].bundle.tokenizers.target.encode(text))

    def _bounds(self, reads: tuple[Read, ...]) -> tuple[int, int]:
        """Fewest and most tokens of an output; unless they are set, most by what the training data had."""
        reader, limits, length = self._readers[0], self._limits, len(reads[0])
        if not reader.has_source:
            least, most = limits.least, limits.most
        else:
            least, most = limits.of(length, usual=reader.bundle.description.length_ratio)
        rooms = [each.longest_output(len(read)) for each, read in zip(self._readers, reads, strict=True)]
        most = min([most, *(room for room in rooms if room is not None)])
        return min(least, most - 1), most


def _short_list(reader: Reader) -> ShortList:
    found = reader.bundle.short_list
    if found is None:
        raise SettingError(
            "this model has no short-list",
            place="short_list",
            remedy="Learn one from its training data: `dragoman shortlist MODEL SRC TGT`.",
        )
    return found


def _unsayable(text: str, *, place: str) -> DataError:
    return DataError(
        f"{text!r} has words that are not in the model's vocabulary",
        place=place,
        remedy="Ask for words that it knows; a model of subwords can spell any.",
    )
