"""What teachers say: their outputs for the sources of a corpus, kept as pairs that a student can learn from.

OUT/taught/train.log    while they speak: what was asked, then a line for each source; a stop costs some sources
OUT/taught/train/       when they have spoken: pairs.jsonl and facts.json, with a manifest
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from dragoman import bundle as bundles
from dragoman.data.corpus import Pair
from dragoman.data.output import writing
from dragoman.data.preparation import identity
from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.build import DecodingSettings
from dragoman.errors import DataError, FileError, ModelError, SettingError
from dragoman.files import MANIFEST, STANDARD, continuing, lines, replacing_folder, verify, whole, write_atomically
from dragoman.measures.detectors import DetectorSettings, repetition
from dragoman.measures.sentence import SentenceMetricName, sentence_metric
from dragoman.models.recurrent_lm import RecurrentLMSettings
from dragoman.models.transformer_lm import TransformerLMSettings
from dragoman.settings import Settings
from dragoman.translator import Batching, Request, load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from dragoman.bundle import Description
    from dragoman.data.corpus import Corpus
    from dragoman.translator import Translation, Translator

PAIRS = "pairs.jsonl"
_FACTS = "facts.json"
_WINDOW = 512
"""Sources that are read ahead: what a stop costs at most."""
_LONGEST_LINE = 1 << 26
_ENDLESS = DetectorSettings().repetition
"""Words said again, more than the source does, by which an output is known to go in circles."""


class TeachingSettings(Settings, frozen=True, kw_only=True):
    """What teachers are asked for."""

    decoding: DecodingSettings = BeamSettings()
    """How they search. Every output that they find for a source is learned from: the n best, or so many samples."""
    nearest: SentenceMetricName | None = None
    """Of the outputs for a source only the one that is nearest to its target by this metric; nothing: all of them."""
    target_language: str = ""
    """The language to translate into, where the teachers know several."""


class Taught(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What has come of it."""

    asked: str
    """Changes whenever teachers, sources or settings do."""
    sources: int
    pairs: int
    refused: int
    """Outputs left out because they had no end, said nothing, or said the same again and again."""
    silent: int
    """Sources left out because no output remained."""


def together(several: Sequence[Taught]) -> Taught:
    """What has come of all of them."""
    return Taught(
        asked=" ".join(each.asked for each in several),
        sources=sum(each.sources for each in several),
        pairs=sum(each.pairs for each in several),
        refused=sum(each.refused for each in several),
        silent=sum(each.silent for each in several),
    )


class _Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    source: str
    outputs: tuple[str, ...]
    refused: int


class _Head(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    asked: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Teaching:
    """The outputs of teachers, which are an ensemble if there are several, for the sources of a corpus."""

    teachers: tuple[Path, ...]
    """Folders of their bundles."""
    corpus: Corpus
    folder: Path
    settings: TeachingSettings

    @property
    def pairs(self) -> Path:
        """The file of what was taught."""
        return self.folder / PAIRS

    def done(self) -> Taught | None:
        """What has come of it, once all of it is there."""
        with contextlib.suppress(FileError, msgspec.MsgspecError):
            verify(self.folder)
            found = msgspec.json.decode((self.folder / _FACTS).read_bytes(), type=Taught)
            self._refuse_others(found.asked)
            return found
        return None

    def known(self) -> int:
        """How many sources have their outputs."""
        done = self.done()
        return self._logged()[0] if done is None else done.sources

    def outputs(self) -> Iterator[int]:
        """The number of each source that gets its outputs, from where it was stopped."""
        if self.done() is not None:
            return
        log, asked = self._log, self._asked()
        known, length = self._logged()
        translator = load(*self.teachers, batching=Batching(window=_WINDOW))
        with continuing(log, at=length) as stream:
            if not length:
                stream.write(msgspec.json.encode(_Head(asked=asked)) + b"\n")
            for number, line in enumerate(self._lines(translator, skipped=known), known + 1):
                stream.write(msgspec.json.encode(line) + b"\n")
                stream.flush()
                yield number
        self._keep(log, asked)
        log.unlink()

    @property
    def _log(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}.log")

    def _asked(self) -> str:
        """A hash of all that the outputs depend on."""
        manifests = [whole(each) / MANIFEST for each in self.teachers]
        facts = (identity(manifests), identity(self.corpus.files), self.corpus.skips, self.settings)
        return hashlib.sha256(msgspec.json.encode(facts)).hexdigest()

    def _refuse_others(self, asked: str) -> None:
        if asked != self._asked():
            raise SettingError(
                "the outputs that are kept here are those of other teachers, sources or searches",
                place=str(self.folder),
                remedy="Restore these to go on, choose another folder, or start over with --fresh.",
            )

    def _logged(self) -> tuple[int, int]:
        """How many sources are in the log, and how many bytes of it are whole lines."""
        log = self._log
        if not log.exists():
            return 0, 0
        count, length = -1, 0
        size = log.stat().st_size
        for line in lines(log, longest=_LONGEST_LINE):
            if length + len(line) + 1 > size:
                break  # without its end: the writer was killed
            try:
                if count < 0:
                    self._refuse_others(msgspec.json.decode(line, type=_Head).asked)
                else:
                    msgspec.json.decode(line, type=_Line)
            except msgspec.MsgspecError:
                break
            count, length = count + 1, length + len(line) + 1
        return max(count, 0), length

    def _lines(self, translator: Translator, *, skipped: int) -> Iterator[_Line]:
        asked, told = itertools.tee(itertools.islice(self.corpus, skipped, None))
        request = Request(target_language=self.settings.target_language, confidence=False)
        found = translator.stream(map(source_of, asked), decoding=self.settings.decoding, request=request)
        for pair, translation in zip(told, found, strict=True):
            yield self._line(pair, translation)

    def _line(self, pair: Pair, translation: Translation) -> _Line:
        sound, refused = _sound(translation)
        if self.settings.nearest is not None and sound:
            metric = sentence_metric(self.settings.nearest)
            target = metric.prepare(pair.target)
            sound = [max(sound, key=lambda text: metric.score(metric.prepare(text), target))]
        return _Line(source=source_of(pair), outputs=tuple(sound), refused=refused)

    def _keep(self, log: Path, asked: str) -> None:
        """Make the log the folder that it was written for."""
        sources = pairs = refused = silent = 0
        with replacing_folder(self.folder) as fresh:
            with writing([fresh / PAIRS], one_sided=False) as write:
                for encoded in itertools.islice(lines(log, longest=_LONGEST_LINE), 1, None):
                    line = msgspec.json.decode(encoded, type=_Line)
                    sources, refused, silent = sources + 1, refused + line.refused, silent + (not line.outputs)
                    for output in line.outputs:
                        pairs += 1
                        write(Pair(line.source, output, str(self.pairs), pairs))
            if not pairs:
                raise DataError(
                    f"none of the outputs for {sources:,} sources can be learned from",
                    place=str(log),
                    remedy="See what the teacher makes of them with `dragoman translate`.",
                )
            found = Taught(asked=asked, sources=sources, pairs=pairs, refused=refused, silent=silent)
            write_atomically(fresh / _FACTS, msgspec.json.encode(found))


def source_of(pair: Pair) -> str:
    """What is to be translated; of a text alone, the text."""
    return pair.source or pair.target


def describe_teachers(teachers: Sequence[Path]) -> tuple[Description, ...]:
    """What the teachers are; ModelError unless they turn texts into texts."""
    found = tuple(map(bundles.describe, teachers))
    for folder, each in zip(teachers, found, strict=True):
        is_lm = isinstance(each.model, RecurrentLMSettings | TransformerLMSettings)
        if is_lm or each.features:
            reads = "reads no source" if is_lm else "reads arrays"
            raise ModelError(
                f"it {reads}, and outputs are asked for texts here",
                place=str(folder),
                remedy='Train the student on your data with training.objective = { kind = "distillation", … }.',
            )
    return found


def refuse_standard_input(corpus: Corpus) -> None:
    """Raise SettingError where the sources cannot be read again."""
    if STANDARD in corpus.files:
        raise SettingError(
            "standard input can be read only once, and a stopped run reads again",
            place="--src",
            remedy="Write it to a file.",
        )


def _sound(translation: Translation) -> tuple[list[str], int]:
    """The different outputs that can be learned from, best first, and how many cannot."""
    sound: dict[str, None] = {}
    refused = 0
    for each in (translation.best, *translation.alternatives):
        if each.finished and each.text.strip() and repetition(translation.source, each.text) < _ENDLESS:
            sound[each.text] = None
        else:
            refused += 1
    return list(sound), refused
