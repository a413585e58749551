"""How often each detector is right: precision and recall on annotated German-English outputs.

    DRAGOMAN_DATA=... python benchmarks/detectors.py

Rows are dealt into two halves by their order. The first half chose the thresholds: with `--choose` it shows each
detector's precision and recall at every threshold. The second half is what is reported.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import record
from dragoman.measures.detectors import (
    DetectorSettings,
    copied,
    length_deviation,
    names_changed,
    numbers_changed,
    placeholders_changed,
    repetition,
    stock,
    unbalanced,
    usual_lengths,
)

if TYPE_CHECKING:
    from collections.abc import Callable

ANY = "any"
LABELS = ("repetitions", "named-entities", "omission", "strong-unsupport", "full-unsupport")
TARGETS = {
    "repetition": ("repetitions", ANY),
    "too_short": ("omission", ANY),
    "too_long": ("repetitions", ANY),
    "copied": ("full-unsupport", ANY),
    "stock": ("full-unsupport", "strong-unsupport", ANY),
    "numbers": ("omission", ANY),
    "placeholders": (ANY,),
    "brackets": (ANY,),
    "names": ("named-entities", "full-unsupport", ANY),
}
"""For each detector, the kinds that annotators marked and that it might find."""


@dataclass(frozen=True, slots=True)
class Row:
    """An output, what is wrong with it, and the detectors' scores."""

    labels: frozenset[str]
    scores: dict[str, float]


@dataclass(frozen=True, slots=True)
class Counts:
    """Findings, wanted findings, and those that are both."""

    found: int
    wanted: int
    right: int

    @property
    def precision(self) -> float:
        """The share of the findings that are right."""
        return self.right / self.found if self.found else float("nan")

    @property
    def recall(self) -> float:
        """The share of what is wrong that was found."""
        return self.right / self.wanted if self.wanted else float("nan")


def read_rows(path: Path) -> list[Row]:
    """All rows with their scores."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        table = list(csv.DictReader(stream))
    sources, outputs = [row["src"] for row in table], [row["mt"] for row in table]
    usual = usual_lengths(sources, outputs)
    print(f"usual ratio {usual.ratio:.3f}, spread {usual.spread:.3f}")
    pairwise: dict[str, Callable[[str, str], float]] = {
        "repetition": repetition,
        "too_short": lambda s, o: -length_deviation(s, o, usual_ratio=usual.ratio, spread=usual.spread),
        "too_long": lambda s, o: length_deviation(s, o, usual_ratio=usual.ratio, spread=usual.spread),
        "copied": copied,
        "numbers": numbers_changed,
        "placeholders": placeholders_changed,
        "brackets": unbalanced,
        "names": lambda s, o: names_changed(s, o, capitalized_nouns=True),
    }
    rows = []
    for row, repeated in zip(table, stock(sources, outputs), strict=True):
        labels = {label for label in LABELS if row[label] == "1"}
        scores = {name: score(row["src"], row["mt"]) for name, score in pairwise.items()}
        rows.append(Row(frozenset(labels | {ANY} if labels else labels), {**scores, "stock": repeated}))
    return rows


def counts(rows: list[Row], detector: str, label: str, *, least: float) -> Counts:
    """The counts of a detector that speaks from `least` on."""
    found = [row for row in rows if row.scores[detector] >= least]
    return Counts(len(found), sum(label in r.labels for r in rows), sum(label in r.labels for r in found))


def thresholds() -> dict[str, float]:
    """The thresholds in force."""
    settings = DetectorSettings()
    given = {name: getattr(settings, "length" if name.startswith("too_") else name) for name in TARGETS}
    return {name: 2 if least is None else least for name, least in given.items()}  # names are off: shown from 2 on


def show(rows: list[Row], detector: str, label: str, *, least: float) -> None:
    """One line of the table."""
    c = counts(rows, detector, label, least=least)
    shares = f"{100 * c.precision:.0f} | {100 * c.recall:.0f}"
    print(f"| `{detector}` | {least:g} | {label} | {c.found} | {c.wanted} | {shares} |")


def figures(rows: list[Row], detector: str) -> dict[str, dict[str, float]]:
    """What is kept of a detector: its counts, precision and recall for each label."""
    kept = {}
    for label in TARGETS[detector]:
        c = counts(rows, detector, label, least=thresholds()[detector])
        shares = {"precision": round(c.precision, 3), "recall": round(c.recall, 3)} if c.found else {}
        kept[label] = {"from": thresholds()[detector], "found": c.found, "wanted": c.wanted, **shares}
    return kept


def main() -> None:
    """The table of the second half, or the choices of the first."""
    parser = argparse.ArgumentParser(description=__doc__)
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--choose", action="store_true", help="show every threshold on the first half")
    either.add_argument("--save", action="store_true", help="keep the result, with today's date")
    options = parser.parse_args()
    path = Path(os.environ.get("DRAGOMAN_DATA", ".")) / "hallucinations-de-en" / "annotated.csv.gz"
    if not path.is_file():
        sys.exit(f"needs the data set hallucinations-de-en: there is no {path}")
    rows = read_rows(path)
    half = rows[0::2] if options.choose else rows[1::2]
    print("| detector | from | annotated as | found | wanted | precision | recall |\n|---|---|---|---|---|---|---|")
    for detector, labels in TARGETS.items():
        for label in labels:
            if options.choose:
                scores = sorted({round(row.scores[detector], 1) for row in half if row.scores[detector] > 0})
                for least in scores[:: max(1, len(scores) // 12)]:
                    show(half, detector, label, least=least)
            else:
                show(half, detector, label, least=thresholds()[detector])
    if options.save:
        record.save("detectors", {name: figures(half, name) for name in TARGETS})


if __name__ == "__main__":
    main()
