"""What the demonstration found, as sections at the head of its run's report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.files import write_atomically
from dragoman.pages.elements import figure, table, text
from dragoman.pages.heatmap import HeatMap, draw
from dragoman.pages.page import drawing

if TYPE_CHECKING:
    from pathlib import Path
    from xml.etree.ElementTree import Element

    from dragoman.evaluation.evaluate import Evaluated
    from dragoman.recipe.demo import Looks, Outcome
    from dragoman.recipe.demo_corpora import Parts

PICTURE = "attention.svg"
_SHOWN = 12


def sections(parts: Parts, found: Outcome, measured: Evaluated, looks: Looks) -> list[Element]:
    """Figures with their intervals, translations beside references, and where the model looks."""
    numbers = [
        (each.name, f"{each.value:.2f}", str(measured.intervals.get(each.name, "")), each.signature)
        for each in found.figures
    ]
    pairs = list(zip(parts.test, found.outputs, strict=True))[:_SHOWN]
    samples = table(
        [(each.source, output, each.references[0]) for each, output in pairs],
        ("source", "output", "reference"),
        foreign=True,
    )
    samples.set("class", "samples")
    picture = heatmap(looks)
    shares = [(target, *(f"{w:.0%}" for w in row)) for target, row in zip(looks.target, looks.weights, strict=True)]
    return [
        text("h2", "Held out"),
        text("p", f"{len(parts.test):,} of them, from {parts.title}; {parts.note}."),
        table(numbers, ("metric", "value", "interval", "signature")),
        text("p", "The first of them:"),
        samples,
        text("h2", "Where the model looks"),
        figure(picture.title, draw(picture), [table(shares, ("", *looks.source), numbers=True)]),
    ]


def write_picture(folder: Path, looks: Looks) -> Path:
    """The attention as an SVG file in the folder, after it was written."""
    path = folder / PICTURE
    write_atomically(path, drawing(draw(heatmap(looks))).encode())
    return path


def heatmap(looks: Looks) -> HeatMap:
    """The attention as a picture, the strongest of each row ringed."""
    best = {(row, max(range(len(each)), key=each.__getitem__)) for row, each in enumerate(looks.weights)}
    return HeatMap(
        "attention",
        "Attention: a row for each output word, darker for more",
        looks.target,
        looks.source,
        looks.weights,
        ringed=frozenset(best),
        legend="darker: more attention; ringed: the most",
    )
