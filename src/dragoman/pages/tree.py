"""Trees that grow to the right: boxes joined by lines, a group for each step, so that they can be stepped through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from xml.etree.ElementTree import Element, SubElement

if TYPE_CHECKING:
    from collections.abc import Sequence

Fate = Literal["kept", "dropped", "finished"]

_WIDTH, _HEIGHT = 108, 24
_ACROSS, _DOWN = 146, 30
_MARGIN, _HEAD, _FOOT = 12, 34, 30
_LONGEST = 7
"""Letters of a name that a box has room for."""


@dataclass(frozen=True, slots=True)
class Box:
    """A node of a tree."""

    column: int
    """From 1; the root is in column 0."""
    parent: int
    """The place of another box; -1 for the root."""
    name: str
    value: str
    fate: Fate
    marked: bool
    """Whether it lies on the path that is drawn strongly."""
    told: str
    """What pointing at it says."""


@dataclass(frozen=True, slots=True)
class Tree:
    """Boxes, column after column."""

    key: str
    title: str
    root: str
    boxes: Sequence[Box]
    description: str
    legend: str


def draw(tree: Tree) -> Element:
    """The tree as an SVG element; each column after the root is a group with its number."""
    columns = max((box.column for box in tree.boxes), default=0)
    counts = [sum(box.column == column for box in tree.boxes) for column in range(1, columns + 1)]
    tallest = max(counts, default=1)
    width = 2 * _MARGIN + columns * _ACROSS + _WIDTH
    height = _HEAD + tallest * _DOWN + _FOOT
    names = {"title": f"{tree.key}-title", "desc": f"{tree.key}-description"}
    shape = {"viewBox": f"0 0 {width} {height}", "style": f"width: {width}px; max-width: none"}
    svg = Element("svg", {**shape, "role": "img", "aria-labelledby": " ".join(names.values())})
    SubElement(svg, "title", {"id": names["title"]}).text = tree.title
    SubElement(svg, "desc", {"id": names["desc"]}).text = tree.description
    middle = _HEAD + tallest * _DOWN / 2
    corners: list[tuple[float, float]] = []
    tops = {column: middle - count * _DOWN / 2 for column, count in enumerate(counts, 1)}
    groups = {column: SubElement(svg, "g", {"data-step": str(column)}) for column in range(1, columns + 1)}
    for box in tree.boxes:
        corners.append((_MARGIN + box.column * _ACROSS, tops[box.column]))
        tops[box.column] += _DOWN
    root = (float(_MARGIN), middle - _HEIGHT / 2)
    order = sorted(range(len(tree.boxes)), key=lambda place: tree.boxes[place].marked)  # strong lines lie above
    for place in order:
        box = tree.boxes[place]
        _join(groups[box.column], corners[box.parent] if box.parent >= 0 else root, corners[place], box)
    _draw_box(svg, root, Box(0, -1, tree.root, "", "kept", marked=True, told=tree.root))
    for box, corner in zip(tree.boxes, corners, strict=True):
        _draw_box(groups[box.column], corner, box)
    for column, group in groups.items():
        label = {"x": f"{_MARGIN + column * _ACROSS + _WIDTH / 2}", "y": "18", "text-anchor": "middle"}
        SubElement(group, "text", label).text = f"step {column}"
    SubElement(svg, "text", {"x": f"{_MARGIN}", "y": f"{height - 10}"}).text = tree.legend
    return svg


def _join(group: Element, begin: tuple[float, float], end: tuple[float, float], box: Box) -> None:
    start = {"x1": f"{begin[0] + _WIDTH:.1f}", "y1": f"{begin[1] + _HEIGHT / 2:.1f}"}
    stop = {"x2": f"{end[0]:.1f}", "y2": f"{end[1] + _HEIGHT / 2:.1f}"}
    SubElement(group, "line", {"class": f"edge {'path' if box.marked else box.fate}", **start, **stop})


def _draw_box(group: Element, corner: tuple[float, float], box: Box) -> None:
    x, y = corner
    style = f"node {box.fate}{' path' if box.marked else ''}"
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "width": f"{_WIDTH}", "height": f"{_HEIGHT}"}
    SubElement(SubElement(group, "rect", {"class": style, "rx": "5", **place}), "title").text = box.told
    if box.fate == "finished":  # a second frame, as final states are drawn
        inner = {"x": f"{x + 3:.1f}", "y": f"{y + 3:.1f}", "width": f"{_WIDTH - 6}", "height": f"{_HEIGHT - 6}"}
        SubElement(group, "rect", {"class": "node finished inner", "rx": "3", **inner})
    name = box.name if len(box.name) <= _LONGEST else box.name[: _LONGEST - 1] + "…"
    line = {"y": f"{y + _HEIGHT / 2:.1f}", "dominant-baseline": "central"}
    strong = " strong" if box.marked else ""
    SubElement(group, "text", {"class": f"label {box.fate}{strong}", "x": f"{x + 8:.1f}", **line}).text = name
    right = {"x": f"{x + _WIDTH - 8:.1f}", "text-anchor": "end"}
    SubElement(group, "text", {"class": f"label {box.fate}{strong}", **right, **line}).text = box.value
