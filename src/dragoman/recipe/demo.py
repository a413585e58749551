"""The demonstration: recipes small enough for five minutes on two cores, and how well they did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from dragoman.data import phrasebook
from dragoman.data.corpus import DataSettings, TextFiles
from dragoman.data.preparation import StoreSettings
from dragoman.evaluation.evaluate import EvaluateSettings, Gold, TestSet, alignment_error_rate, evaluate
from dragoman.evaluation.linking import looks
from dragoman.models.recurrence import RecurrentDropoutSettings
from dragoman.models.rnn import RecurrentSettings
from dragoman.recipe.schema import Recipe
from dragoman.text.build import TextSettings
from dragoman.text.characters import CharacterSettings
from dragoman.text.subword import BpeSettings
from dragoman.text.symbols import SymbolSettings
from dragoman.training.average import Exponential
from dragoman.training.build import TrainingSettings
from dragoman.training.objectives.cross_entropy import CrossEntropy
from dragoman.training.optimizer import AdamW
from dragoman.training.schedule import Linear
from dragoman.training.validation import EvaluationSettings

if TYPE_CHECKING:
    from pathlib import Path

    from dragoman.evaluation.evaluate import Evaluated
    from dragoman.measures.metrics import Measurement, MetricName
    from dragoman.recipe.demo_corpora import CorpusName, Parts
    from dragoman.translator import Translator

_VALIDATIONS = 5


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the trained model makes of the held-out part."""

    outputs: tuple[str, ...]
    measurements: tuple[Measurement, ...]
    alignment: Measurement | None
    """Against the grammar's gold alignments, where there are any."""

    @property
    def figures(self) -> tuple[Measurement, ...]:
        """All that was measured."""
        return (*self.measurements, *([self.alignment] if self.alignment else []))


@dataclass(frozen=True, slots=True)
class Looks:
    """Where the model looks while it reads a pair."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]
    """For each target word the attention to each source word."""


def recipe(
    name: CorpusName, corpus: Path, parts: Parts, *, steps: int | None = None, threads: int | None = None
) -> Recipe:
    """A GRU with attention, trained on the files in the folder."""
    kind = _kind(name)
    steps = steps or kind.steps
    every = max(1, steps // _VALIDATIONS)
    return Recipe(
        data=DataSettings(train=(_files(corpus, "train", parts),), valid=_files(corpus, "valid", parts)),
        text=kind.text,
        store=StoreSettings(workers=0),
        model=kind.model,
        training=TrainingSettings(
            steps=steps,
            batch_tokens=kind.batch_tokens,
            objective=CrossEntropy(smoothing=0.0),
            optimizer=AdamW(rate=3e-3),
            schedule=Linear(warmup=min(200, steps // 5)),
            average=Exponential(decay=0.99),
            validate_every=every,
            checkpoint_every=every,
            log_every=20,
            threads=threads,
        ),
        evaluation=EvaluationSettings(metric=_metrics(name)[0], sentences=200),
    )


@dataclass(frozen=True, slots=True)
class _Kind:
    """What differs from corpus to corpus."""

    text: TextSettings
    model: RecurrentSettings
    batch_tokens: int
    steps: int


def _kind(name: CorpusName) -> _Kind:
    """Chosen on the validation parts: nearly whole words, and many small updates, soon lead to attention."""
    dropout = RecurrentDropoutSettings(hidden=0.1)
    match name:
        case "phrasebook":
            text = TextSettings(source=BpeSettings(), joint=False, vocabulary_size=1_700, target_vocabulary_size=2_600)
            never_seen_twice = RecurrentDropoutSettings(hidden=0.0)
            return _Kind(text, RecurrentSettings(size=128, dropout=never_seen_twice), batch_tokens=1_024, steps=3_600)
        case "tatoeba":
            text = TextSettings(source=BpeSettings(), joint=False, vocabulary_size=4_000, target_vocabulary_size=4_000)
            return _Kind(text, RecurrentSettings(size=160, dropout=dropout), batch_tokens=1_280, steps=2_000)
        case "cmudict":
            text = TextSettings(source=CharacterSettings(), target=SymbolSettings(), joint=False)
            return _Kind(text, RecurrentSettings(size=128, dropout=dropout), batch_tokens=2_048, steps=3_000)
        case _:
            assert_never(name)


def _metrics(name: CorpusName) -> tuple[MetricName, ...]:
    return ("error_rate", "token_error_rate") if name == "cmudict" else ("chrf", "bleu", "exact_match")


def outcome(translator: Translator, parts: Parts) -> tuple[Outcome, Evaluated]:
    """The model's own translations against the references, and its attention against gold alignments."""
    test = TestSet(
        references=tuple(each.references for each in parts.test), sources=tuple(each.source for each in parts.test)
    )
    outputs = tuple(t.text for t in translator.translate(test.sources))
    found = evaluate(outputs, test, name=parts.name, settings=EvaluateSettings(metrics=_metrics(parts.name)))
    gold = [each.gold for each in parts.test if each.gold is not None]
    alignment = None
    if len(gold) == len(parts.test):
        wanted = Gold(
            alignments=tuple(gold),
            source_words=tuple(each.source_words for each in parts.test),
            target_words=tuple(each.target_words for each in parts.test),
        )
        alignment = alignment_error_rate(translator, test, wanted)
    return Outcome(outputs, found.measurements, alignment), found


def attention(translator: Translator, parts: Parts, output: str) -> Looks:
    """Where the model looks while it says this of the source to try, word by word, or letter by letter.

    Where it says nothing, it reads the first held-out pair.
    """
    cut, cut_target = (list, str.split) if parts.name == "cmudict" else (phrasebook.words, phrasebook.words)
    source, target = parts.tried, output
    if not cut_target(target):
        source, target = parts.test[0].source, parts.test[0].references[0]
    sources, targets = tuple(cut(source)), tuple(cut_target(target))
    weights_TS = looks(translator, source, target, source_words=sources, target_words=targets)
    return Looks(sources, targets, tuple(tuple(row) for row in weights_TS.tolist()))


def _files(folder: Path, part: str, parts: Parts) -> TextFiles:
    source, target = parts.languages
    return TextFiles(
        source=str(folder / f"{part}.source"),
        target=str(folder / f"{part}.target"),
        source_language=source,
        target_language=target,
    )
