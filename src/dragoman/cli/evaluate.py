"""The verb `evaluate`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import console, evaluation_input, evaluation_output
from dragoman.cli.decoding_options import decoding_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.bundle import Calibration
    from dragoman.cli.evaluation_input import System, Wanted
    from dragoman.evaluation.contrastive import Accuracy
    from dragoman.evaluation.evaluate import Evaluated, TestSet
    from dragoman.evaluation.search_errors import Judged
    from dragoman.measures.metrics import Measurement
    from dragoman.translator import Translation

_FILE = click.Path(path_type=Path, allow_dash=True)
_PAGE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("systems", nargs=-1, required=True, metavar="MODEL_OR_HYPOTHESES")
@click.option("--src", type=_FILE, metavar="FILE", help="Sources, one a line.")
@click.option("--ref", "refs", type=_FILE, multiple=True, metavar="FILE", help="References; may be repeated.")
@click.option("--against", metavar="MODEL_OR_HYPOTHESES", help="Compare with this: is a difference more than luck?")
@click.option("--report", type=_PAGE, metavar="FILE.html", help="With --against: write a page about the differences.")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="What is measured; may be repeated: bleu, chrf, chrf++, ter, exact_match, error_rate, token_error_rate, "
    "character_error_rate, tokenized_bleu. Else the first two, ter and exact_match.",
)
@click.option(
    "--tokenize", type=click.Choice(["13a", "intl", "zh", "char", "none"]), default="13a", help="How bleu cuts words."
)
@click.option("--lowercase", is_flag=True, help="Capitals make no difference.")
@click.option("--target-lang", metavar="LANG", default="", help="Language to translate into, where there are several.")
@click.option("--classes", type=_FILE, metavar="FILE", help="The class of each line: also measured class by class.")
@click.option("--gold-alignment", type=_FILE, metavar="FILE", help="Gold word alignments with the first references.")
@click.option("--alignment", type=_FILE, metavar="FILE", help="Alignments to measure, where no model makes them.")
@click.option("--words", nargs=2, type=_FILE, metavar="SRC REF", help="The same lines cut into the words that count.")
@click.option(
    "--layer", type=int, help="Layer whose attention aligns; else the one that the model is known to align by."
)
@click.option("--contrastive", type=_FILE, metavar="FILE", help="TSV or .jsonl: source, right, wrong, class.")
@click.option("--per-token", is_flag=True, help="With --contrastive: compare means over the tokens.")
@click.option("--search-errors", is_flag=True, help="Whose fault wrong outputs are, by exact search.")
@click.option("--expansions", type=click.IntRange(min=1), metavar="N", help="When exact search gives a proof up.")
@click.option("--comet", "comet_model", metavar="NAME", help="Also COMET by this model, with the program comet-score.")
@click.option("--calibrate", is_flag=True, help="Fit confidence to these lines, and keep it in the model.")
@decoding_options
@click.option("--json", "as_json", is_flag=True, help="The result as one JSON document.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads to compute with; else one per core.")
def evaluate(*, systems: tuple[str, ...], as_json: bool, threads: int | None, **options: Any) -> None:
    """How good a model's translations, or the lines of a file, are: metrics with signatures and intervals.

    With --against, the paired bootstrap and approximate randomisation say whether a difference is more than luck, and
    how small a difference this test set can show. Any other setting: --set significance.X=V, --set decoding.X=V.

    \b
      dragoman evaluate models/en-fr --src test.en --ref test.fr
      dragoman evaluate out.fr --ref test.fr --ref more.fr --metric chrf
      dragoman evaluate new.fr --against old.fr --src test.en --ref test.fr --report new-old.html
      dragoman evaluate phones.txt --ref test.phones --metric error_rate --metric token_error_rate
      dragoman evaluate models/en-fr --contrastive pronouns.tsv
      dragoman evaluate models/en-fr --src dev.en --ref dev.fr --calibrate
    """  # noqa: D301 - click wants the character itself
    if len(systems) > 1:
        raise click.UsageError("name one model or file; repeat --ref for each file of references.")
    names = [systems[0], *([options["against"]] if options["against"] else [])]
    wanted = evaluation_input.read(options, names, threads=threads)
    first = wanted.systems[0]
    result = evaluation_output.Result()
    if wanted.test is not None:
        _measure(result, wanted, wanted.test, layer=options["layer"], report=options["report"])
        if options["search_errors"]:
            result.judged = _judged(first, wanted.test, options["expansions"])
        if options["calibrate"]:
            files = [str(each) for each in (options["src"], *options["refs"])]
            result.calibration = _calibrated(first, wanted.test, files)
    if wanted.contrasts is not None:
        result.contrastive = [(each.name, _contrasted(each, wanted, options)) for each in wanted.systems]
    evaluation_output.show(result, as_json=as_json)


# ---- measures ------------------------------------------------------------------------------------------------------


def _measure(
    result: evaluation_output.Result, wanted: Wanted, test: TestSet, *, layer: int | None, report: Path | None
) -> None:
    from dragoman.evaluation.evaluate import compare_all

    result.systems = [_evaluated(each, wanted, test, layer=layer) for each in wanted.systems]
    if len(result.systems) == 2:
        result.comparison = compare_all(*result.systems, settings=wanted.significance)
        if report is not None:
            from dragoman.evaluation.report import write_report

            path = write_report(report, *result.systems, test=test, tests=result.comparison)
            console.note(f"the differences are shown in {path}")


def _evaluated(system: System, wanted: Wanted, test: TestSet, *, layer: int | None) -> Evaluated:
    from dragoman.evaluation import evaluate as evaluation

    translations: list[Translation] = []
    if system.model is not None and not system.model.has_source:
        found = evaluation.nothing_measured(system.name)
    else:
        translations = _translated(system, test)
        outputs = system.lines if system.model is None else [each.text for each in translations]
        console.note(f"measuring {len(outputs):,} lines of {system.name}")
        found = evaluation.evaluate(
            outputs, test, name=system.name, settings=wanted.metrics, significance=wanted.significance
        )
        found = replace(_with_comet(found, wanted, test), search=system.search)
    more = []
    if system.model is not None:
        more.append(evaluation.perplexity(system.model, test))
        more += _confidence(system, translations, test)
    if wanted.gold is not None:
        more.append(_alignment(system, wanted, test, layer=layer))
    return replace(found, measurements=(*found.measurements, *more))


def _translated(system: System, test: TestSet) -> list[Translation]:
    """What the model makes of the sources; nothing of a file."""
    if system.model is None:
        return []
    found = system.model.stream(test.sources, decoding=system.search)
    return list(console.progress(found, total=len(test.sources), label=system.name, unit="lines"))


def _with_comet(found: Evaluated, wanted: Wanted, test: TestSet) -> Evaluated:
    if wanted.comet is None:
        return found
    from dragoman.evaluation.comet import comet, measurement
    from dragoman.evaluation.significance import interval

    console.note(f"asking comet-score for {wanted.comet.model}")
    counts = comet(found.outputs, test, settings=wanted.comet)
    return replace(
        found,
        measurements=(*found.measurements, measurement(counts, settings=wanted.comet)),
        statistics=(*found.statistics, counts),
        intervals={**found.intervals, "comet": interval(counts, settings=wanted.significance)},
    )


def _alignment(system: System, wanted: Wanted, test: TestSet, *, layer: int | None) -> Measurement:
    from dragoman.evaluation import evaluate as evaluation
    from dragoman.measures import metrics

    assert wanted.gold is not None
    if wanted.alignments:
        return metrics.alignment_error_rate(wanted.alignments, wanted.gold.alignments)
    assert system.model is not None, "refused before"
    return evaluation.alignment_error_rate(system.model, test, wanted.gold, layer=layer)


def _contrasted(system: System, wanted: Wanted, options: dict[str, Any]) -> tuple[Accuracy, ...]:
    from dragoman.evaluation.contrastive import accuracies

    assert system.model is not None, "refused before"
    assert wanted.contrasts is not None
    return accuracies(system.model, wanted.contrasts, per_token=options["per_token"], level=wanted.significance.level)


# ---- confidence and search errors ----------------------------------------------------------------------------------


def _confidence(system: System, translations: Sequence[Translation], test: TestSet) -> tuple[Measurement, ...]:
    """How well the confidence of a calibrated model fits what was right."""
    if all(each.confidence is None for each in translations):
        return ()
    from dragoman.evaluation.calibrate import calibration_errors, fingerprint

    assert system.model is not None
    fitted = system.model.bundle.description.calibration
    if getattr(fitted, "contents", "") == fingerprint(test):
        console.warn(f"{system.name} was calibrated on these very lines: its calibration errors are too low")
    return calibration_errors(translations, test)


def _calibrated(system: System, test: TestSet, files: Sequence[str]) -> Calibration:
    """The calibration of the model, after it was put into its folder."""
    from dragoman.evaluation.calibrate import calibrate, keep, refuse_uncalibratable
    from dragoman.translator.loading import bundle_folder

    assert system.model is not None, "refused before"
    refuse_uncalibratable(system.model)
    fitted = calibrate(system.model, test, search=system.search, files=files)
    folder = bundle_folder(Path(system.name))
    keep(folder, fitted)
    console.note(f"fitted on {' and '.join(files)}, and kept in {folder}: test on other lines")
    return fitted


def _judged(system: System, test: TestSet, expansions: int | None) -> list[Judged]:
    from dragoman.evaluation.search_errors import judge

    assert system.model is not None, "refused before"
    assert system.search is not None
    found = judge(system.model, test.sources, test.references, search=system.search, expansions=expansions)
    return list(console.progress(found, total=len(test.sources), label="exact search", unit="lines"))
