"""The tree of a beam search drawn, to be stepped through, and what other searches say beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.inspection.views.view import View
from dragoman.pages.elements import scrolled, stepped, table, text
from dragoman.pages.tree import Box, Fate, Tree, draw

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from xml.etree.ElementTree import Element

    from dragoman.inspection.search import Node, Said, SearchTree

_LEGEND = "values: running sums of log-probabilities; dashed: dropped; double frame: finished; bold: the path read back"
_VERDICTS = {
    "optimal": "No search error: exact search proves that nothing scores better.",
    "search error": "A search error: the model prefers an output that this search did not find.",
    "undecided": "Undecided: exact search gave up before it had found a better output or a proof.",
}


def view(found: SearchTree) -> View:
    """The tree as a page."""
    title = f"Beam search, {found.beam} wide"
    drawn = draw(picture(found))
    said = [_said_at(found, step) for step in range(found.steps + 1)]
    comparison = _comparison(found)
    columns = ("search", "output", "log-probability", "score")
    sections = (
        table([("source", found.source)], foreign=True),
        stepped("Step through it: what was weighed, and what survived", drawn, said),
        text("h2", "What each search says"),
        scrolled([table(comparison, columns, foreign=True)], label="What each search says"),
        text("p", verdict(found)),
        text("h2", "All that was weighed"),
        scrolled([_table(found)], label="All that was weighed"),
    )
    told = [*_lines(found), "", *(f"{name:<22} {out}  {log} / {score}" for name, out, log, score in comparison)]
    return View(title, sections, drawn, (*told, verdict(found)), scripts=("steps.js",))


def picture(found: SearchTree) -> Tree:
    """The tree that is drawn."""
    boxes = [
        Box(node.step, node.parent, node.text, f"{node.total:.2f}", _fate(node), marked=node.on_path, told=_told(node))
        for node in found.nodes
    ]
    path = " ".join(node.text for node in found.nodes if node.on_path)
    description = f"{found.steps} steps, {len(found.nodes)} continuations weighed. The path read back: {path}."
    return Tree("search", f"Beam search, {found.beam} wide", "START", boxes, description, _LEGEND)


def verdict(found: SearchTree) -> str:
    """Whether the beam made a search error."""
    told = _VERDICTS.get(found.verdict, found.verdict)
    return f"{told} It looked at {found.expansions:,} hypotheses."


def _fate(node: Node) -> Fate:
    return "finished" if node.finished else "kept" if node.survives else "dropped"


def _told(node: Node) -> str:
    return (
        f"{node.text}: log-probability {node.log_prob:.3f}, running sum {node.total:.3f}, score {node.score:.3f}, "
        f"{_fate(node)}"
    )


def _said_at(found: SearchTree, step: int) -> str:
    if not step:
        return "Before the first step there is only START."
    nodes = [node for node in found.nodes if node.step == step]
    kept = ", ".join(f"{node.text} {node.total:.2f}" for node in nodes if node.survives and not node.finished)
    ended = ", ".join(f"{node.total:.2f}" for node in nodes if node.finished)
    parts = [f"Step {step}: {len(nodes)} continuations weighed."]
    parts.append(f"Kept: {kept}." if kept else "Nothing goes on.")
    if ended:
        parts.append(f"Set aside as finished, at {ended}.")
    return " ".join(parts)


def _comparison(found: SearchTree) -> list[tuple[str, ...]]:
    rows = [(f"beam {found.beam}, rank {rank}", each) for rank, each in enumerate(found.outputs, 1)]
    rows.append(("greedy", found.greedy))
    if found.exact is not None:
        rows.append(("exact, proven" if found.proven else "exact, not proven", found.exact))
    return [(name, *_output(each)) for name, each in rows]


def _output(said: Said) -> tuple[str, str, str]:
    return said.text + ("" if said.finished else " (cut)"), f"{said.log_prob:.3f}", f"{said.score:.3f}"


def _table(found: SearchTree) -> Element:
    rows = [
        (
            str(node.step),
            " ".join(each.text for each in _way(found.nodes, node)),
            f"{node.log_prob:.3f}",
            f"{node.total:.3f}",
            f"{node.score:.3f}",
            _fate(node) + (", on the path" if node.on_path else ""),
        )
        for node in found.nodes
    ]
    return table(rows, ("step", "hypothesis", "log-probability", "sum", "score", "fate"), foreign=True)


def _way(nodes: Sequence[Node], node: Node) -> list[Node]:
    way = [node]
    while way[0].parent >= 0:
        way.insert(0, nodes[way[0].parent])
    return way


def _lines(found: SearchTree) -> Iterator[str]:
    """Step by step: what was weighed under each survivor of the step before."""
    marks = {"kept": "*", "dropped": " ", "finished": "■"}
    for step in range(1, found.steps + 1):
        yield f"step {step}"
        for node in (each for each in found.nodes if each.step == step):
            way = " ".join(each.text for each in _way(found.nodes, node))
            yield f"  {'→' if node.on_path else ' '}{marks[_fate(node)]} {node.total:8.2f}  {way}"
    yield "* kept   ■ set aside as finished   → the path read back"
