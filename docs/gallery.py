"""Draws the pictures of the lecture gallery (docs/concepts/gallery.md).

Those that need no trained model are drawn whenever the documentation is built, in a few seconds. Those of a trained
model are kept, and drawn again by:

    make demo
    python docs/gallery.py demo
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.build import build
from dragoman.decoding.live import Sentence
from dragoman.files import write_atomically
from dragoman.inspection.attention import attention
from dragoman.inspection.attribution import attribute
from dragoman.inspection.cost import costs, fresh_models
from dragoman.inspection.gradients import compare_cells
from dragoman.inspection.positions import sinusoidal
from dragoman.inspection.search import Start, search_tree, tree
from dragoman.inspection.views import attention as attention_views
from dragoman.inspection.views import attribution, curves, positions, search
from dragoman.pages.page import drawing

if TYPE_CHECKING:
    from dragoman.inspection.views.view import View

FOLDER = Path(__file__).parent / "pictures"
SENTENCE = "My sister bought a red car yesterday."


def draw_fresh(folder: Path) -> None:
    """Draw what needs no trained model."""
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    from reference.scripted import BEGIN, END, WORDS, scripted, start

    plan = build(BeamSettings(beam=2, alpha=0.0), begin=BEGIN, end=END)
    begin = Start(scripted(), start(0), Sentence(key=0, max_length=9))
    worked = tree(
        begin,
        plan,
        source="il m'a entarté",
        names=WORDS.__getitem__,
        text=lambda ids: " ".join(WORDS[i] for i in ids if i != END),
    )
    _write(folder / "search-worked.svg", search.view(worked))
    _write(folder / "positions.svg", positions.view(sinusoidal(40, 32)))
    _write(folder / "gradients.svg", curves.gradients(compare_cells()))
    _write(folder / "cost.svg", curves.costs(costs(fresh_models(), repeats=1)))


def draw_trained(model: str, folder: Path) -> None:
    """Draw what a model of the demonstration does with a sentence."""
    import dragoman

    translator = dragoman.load(model)
    settings = BeamSettings(beam=2)
    _write(folder / "attention.svg", attention_views.view(attention(translator, SENTENCE)))
    _write(folder / "search.svg", search.view(search_tree(translator, SENTENCE, settings=settings, expansions=200)))
    _write(folder / "attribution.svg", attribution.attribution(attribute(translator, SENTENCE)))


def _write(path: Path, view: View) -> None:
    assert view.picture is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, drawing(view.picture).encode())


if __name__ == "__main__":
    draw_fresh(FOLDER / "made")
    if len(sys.argv) > 1:
        draw_trained(sys.argv[1], FOLDER)
