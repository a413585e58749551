"""From the outcomes of a search to translations in the order of their texts."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dragoman.decoding.mbr import MbrSettings, rank
from dragoman.measures.alignment import Link
from dragoman.measures.sentence import sentence_metric
from dragoman.text.vocabulary import UNK
from dragoman.translator.confidence import calibration, confidence_in, words_with_confidence
from dragoman.translator.forced import cross_attention, tempered_log_probs
from dragoman.translator.outputs import Alternative, Token, Translation, Word
from dragoman.translator.words import target_words, with_unknown_copied, word_alignment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor

    from dragoman.bundle import AlignedBy, Calibration
    from dragoman.decoding.build import DecodingSettings
    from dragoman.decoding.hypothesis import Found, Hypothesis
    from dragoman.measures.alignment import Alignment
    from dragoman.translator.jobs import Item, Job
    from dragoman.translator.reader import Reader
    from dragoman.translator.requests import Request

__all__ = ["Finishing"]

_NOTHING = Alternative("", -math.inf, -math.inf, (), finished=False)
_EMPTY = Alternative("", 0.0, 0.0, (), finished=True)


@dataclass(frozen=True, slots=True)
class _Output:
    """One output of a part, with its ids."""

    alternative: Alternative
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """What became of a job."""

    outputs: tuple[Alternative, ...]
    """At least one."""
    links: Alignment | None = None
    notes: tuple[str, ...] = ()
    proven: bool | None = None
    expansions: int = 0
    confidence: float | None = None
    words: tuple[Word, ...] = ()


class Finishing:
    """Takes outcomes as they come, and gives translations as soon as it is their turn."""

    def __init__(
        self, readers: Sequence[Reader], *, settings: DecodingSettings, request: Request, items: Sequence[Item]
    ) -> None:
        self._readers = readers
        self._settings = settings
        self._request = request
        self._due = deque(items)
        self._parts: dict[int, _Part] = {}
        self._calibration = calibration(readers, request)

    @property
    def jobs(self) -> list[Job]:
        """All jobs of the texts that are due."""
        return [job for item in self._due for job in item.jobs]

    @property
    def is_over(self) -> bool:
        """Whether nothing is due any more."""
        return not self._due

    def take(self, outcomes: Sequence[tuple[Job, Found]]) -> None:
        """Make parts of outcomes."""
        outputs = [self._outputs(found) for _, found in outcomes]
        if self._request.copy_unknown:
            outputs = self._copied([job for job, _ in outcomes], outputs)
        guard = self._request.output_guard
        for place, ((job, found), given) in enumerate(zip(outcomes, outputs, strict=True)):
            passed = [each for each in given if guard is None or guard(each.alternative.text) is None]
            outputs[place] = passed
            notes = () if passed else ("blocked_output",) if given else ("no_output",)
            shown = tuple(each.alternative for each in passed) or (_NOTHING,)
            self._parts[job.key] = _Part(shown, notes=notes, proven=found.proven, expansions=found.expansions)
        if self._calibration is not None:
            self._judge([job for job, _ in outcomes], outputs, self._calibration)
        if self._request.alignments is not None:
            self._align([job for job, _ in outcomes], outputs)

    def ready(self) -> Iterator[Translation]:
        """The translations whose turn it is."""
        while self._due and all(job.key in self._parts for job in self._due[0].jobs):
            item = self._due.popleft()
            yield self._translation(item, [self._parts.pop(job.key) for job in item.jobs])

    # ---- outputs of a search -------------------------------------------------------------------------------------

    def _outputs(self, found: Found) -> list[_Output]:
        outputs = [self._output(hypothesis) for hypothesis in found.hypotheses]
        if not isinstance(self._settings, MbrSettings) or not outputs:
            return outputs
        texts = [output.alternative.text for output in outputs]
        ranking = rank(texts, self._request.likeness or _likeness(self._settings, texts))
        distinct = {texts[place]: place for place in reversed(ranking.order)}  # of equal texts the first
        best = [place for place in ranking.order if distinct[texts[place]] == place][: self._settings.nbest]
        return [
            replace(outputs[place], alternative=replace(outputs[place].alternative, score=ranking.expected[place]))
            for place in best
        ]

    def _output(self, hypothesis: Hypothesis) -> _Output:
        tokenizer = self._readers[0].bundle.tokenizers.target
        pieces = tokenizer.vocabulary.pieces
        tokens = zip(hypothesis.tokens, hypothesis.log_probs, strict=True)
        alternative = Alternative(
            tokenizer.decode(hypothesis.tokens),
            hypothesis.score,
            hypothesis.log_prob,
            tuple(Token(pieces[i], value) for i, value in tokens),
            hypothesis.finished,
        )
        return _Output(alternative, hypothesis.tokens)

    # ---- what needs attention ------------------------------------------------------------------------------------

    def _copied(self, jobs: Sequence[Job], outputs: Sequence[list[_Output]]) -> list[list[_Output]]:
        """The outputs with unknown words copied from where they look."""
        tokenizers = self._readers[0].bundle.tokenizers
        pairs = [(job, each) for job, some in zip(jobs, outputs, strict=True) for each in some if UNK in each.ids]
        looks = iter(self._looks(pairs, by=self._readers[0].bundle.description.alignment))

        def copied(job: Job, output: _Output) -> _Output:
            if UNK not in output.ids:
                return output
            tags = len(self._words(job)) - len(tokenizers.source.pieces(job.source))
            text = with_unknown_copied(
                tokenizers.source, tokenizers.target, source=job.source, ids=output.ids, looks=next(looks)[:, tags:]
            )
            return replace(output, alternative=replace(output.alternative, text=text))

        return [[copied(job, each) for each in some] for job, some in zip(jobs, outputs, strict=True)]

    def _judge(self, jobs: Sequence[Job], outputs: Sequence[list[_Output]], fitted: Calibration) -> None:
        """Give each part the confidence in its best output."""
        reader = self._readers[0]
        pairs = [(job, some[0]) for job, some in zip(jobs, outputs, strict=True) if some and some[0].ids]
        if not pairs:
            return
        reads, ids = [job.reads[0] for job, _ in pairs], [output.ids for _, output in pairs]
        temperatures = (fitted.words, fitted.sentences)
        for (job, output), (of_words, of_all) in zip(
            pairs,
            tempered_log_probs(
                reader, reads, ids, temperatures=temperatures, target_language=self._request.target_language
            ),
            strict=True,
        ):
            self._parts[job.key] = replace(
                self._parts[job.key],
                confidence=confidence_in(of_all),
                words=words_with_confidence(reader.bundle.tokenizers.target, output.ids, of_words),
            )

    def _align(self, jobs: Sequence[Job], outputs: Sequence[list[_Output]]) -> None:
        """Give each part the links of its best output."""
        wanted = self._request.alignments
        assert wanted is not None
        tokenizers = self._readers[0].bundle.tokenizers
        by = wanted.chosen(self._readers[0].bundle.description.alignment)
        pairs = [(job, some[0]) for job, some in zip(jobs, outputs, strict=True) if some]
        for (job, output), looks in zip(pairs, self._looks(pairs, by=by), strict=True):
            is_text = not self._readers[0].reads_features
            links = word_alignment(
                looks,
                sources=self._words(job) if is_text else list(range(looks.shape[1])),
                targets=target_words(tokenizers.target, output.ids),
                symmetrization=wanted.symmetrization,
            )
            self._parts[job.key] = replace(self._parts[job.key], links=links)

    def _words(self, job: Job) -> list[int | None]:
        asked = self._request
        return self._readers[0].words(
            job.source, source_language=asked.source_language, target_language=asked.target_language
        )

    def _looks(self, pairs: Sequence[tuple[Job, _Output]], *, by: AlignedBy) -> list[Tensor]:
        """Where the outputs look, by the first model."""
        if not pairs:
            return []
        reads, ids = [job.reads[0] for job, _ in pairs], [output.ids for _, output in pairs]
        return cross_attention(self._readers[0], reads, ids, by=by, target_language=self._request.target_language)

    # ---- parts put together --------------------------------------------------------------------------------------

    def _translation(self, item: Item, parts: Sequence[_Part]) -> Translation:
        if not parts:
            return Translation(item.source, _EMPTY, notes=item.notes)
        count = max(len(part.outputs) for part in parts)
        chosen = [[part.outputs[min(n, len(part.outputs) - 1)] for part in parts] for n in range(count)]
        best, *others = [_joined(item, some) for some in chosen]
        notes = dict.fromkeys([*item.notes, *(note for part in parts for note in part.notes)])
        guard = self._request.output_guard
        if len(parts) > 1 and guard is not None and guard(best.text) is not None:
            best, others = _NOTHING, []
            notes["blocked_output"] = None
        if not best.finished and not {"no_output", "blocked_output"} & notes.keys():
            notes["unfinished"] = None
        sure = [part.confidence for part in parts if part.confidence is not None]
        known = [part.proven for part in parts if part.proven is not None]
        first = self._readers[0]
        return Translation(
            item.source,
            best,
            tuple(others),
            alignment=self._links(item, parts, chosen[0]),
            notes=tuple(notes),
            proven=all(known) if known else None,
            expansions=sum(part.expansions for part in parts),
            confidence=math.prod(sure) if sure else None,
            words=tuple(word for part in parts for word in part.words),
            is_text=first.has_source and not first.reads_features,
        )

    def _links(self, item: Item, parts: Sequence[_Part], outputs: Sequence[Alternative]) -> Alignment | None:
        """The links of all parts, counted from the beginning of the text."""
        if self._request.alignments is None:
            return None
        normalize = self._readers[0].bundle.tokenizers.source.normalizer
        links, source, target = set(), 0, 0
        for job, part, output in zip(item.jobs, parts, outputs, strict=True):
            links |= {Link(link.source + source, link.target + target) for link in part.links or ()}
            source += len(normalize(job.source).split())
            target += len(output.text.split())
        return frozenset(links)


def _likeness(settings: MbrSettings, texts: Sequence[str]) -> Callable[[str, str], float]:
    metric = sentence_metric(settings.metric)
    prepared = {text: metric.prepare(text) for text in texts}
    return lambda one, other: metric.score(prepared[one], prepared[other])


def _joined(item: Item, outputs: Sequence[Alternative]) -> Alternative:
    """The outputs of the parts as one, with the source's white space between them."""
    if len(outputs) == 1 and "split" not in item.notes:
        return outputs[0]
    weights = [max(1, len(output.tokens)) for output in outputs]
    score = sum(weight * output.score for weight, output in zip(weights, outputs, strict=True)) / sum(weights)
    return Alternative(
        item.lead + "".join(output.text + space for output, space in zip(outputs, item.spaces, strict=True)),
        score,
        sum(output.log_prob for output in outputs),
        tuple(token for output in outputs for token in output.tokens),
        all(output.finished for output in outputs),
    )
