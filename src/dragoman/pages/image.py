"""Drawings of pages as PNG or PDF, for papers: the same SVG elements in the same styles, drawn by matplotlib.

Only what the drawings of this room are made of is understood: rectangles, circles, lines, texts, and links around them.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from importlib.resources import files
from io import BytesIO
from typing import TYPE_CHECKING, Any

from dragoman.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator
    from xml.etree.ElementTree import Element

FORMATS = ("png", "pdf")
_PIXELS = 96
"""Pixels of a drawing in an inch of paper."""
_POINTS = 72 / _PIXELS
_DOTS = 220
"""Dots of a PNG in an inch."""
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_MISSING = re.compile(r"Glyph (\d+)")


@dataclass(frozen=True, slots=True)
class Image:
    """A drawing as bytes."""

    content: bytes
    missing: str
    """Characters for which there is no font here: boxes stand for them."""


def image(svg: Element, *, kind: str = "png") -> Image:
    """The drawing as an image, in the colours of light pages."""
    assert kind in FORMATS
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", extra="report", purpose="a PNG or PDF of a drawing") from None
    _, _, width, height = map(float, svg.attrib["viewBox"].split())
    styles = _Styles.read()
    figure = Figure(figsize=(width / _PIXELS, height / _PIXELS), dpi=_DOTS, facecolor=styles.variables["ground"])
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)  # downwards, as in SVG
    axes.axis("off")
    for order, element in enumerate(_shapes(svg)):
        _draw(axes, element, styles.of(element), order=order)
    stream = BytesIO()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        figure.savefig(stream, format=kind)
    missing = {chr(int(found[1])) for each in said if (found := _MISSING.search(str(each.message)))}
    return Image(stream.getvalue(), "".join(sorted(missing)))


def _shapes(element: Element) -> Iterator[Element]:
    for child in element:
        if child.tag in {"a", "g"}:
            yield from _shapes(child)
        elif child.tag not in {"title", "desc"}:
            yield child


@dataclass(frozen=True, slots=True)
class _Styles:
    """The rules of the drawings' style sheets, in their order."""

    variables: dict[str, str]
    rules: tuple[tuple[str, frozenset[str], dict[str, str]], ...]
    """Tag (or none), classes, and what they set."""

    @classmethod
    def read(cls) -> _Styles:
        folder = files("dragoman.pages") / "templates"
        colours = (folder / "colours.css").read_text("utf-8").partition("@media")[0]  # those of light pages
        variables = {name.strip().removeprefix("--"): value for name, value in _declared(_RULE.findall(colours)[0][1])}
        rules = []
        for selectors, body in _RULE.findall((folder / "drawing.css").read_text("utf-8")):
            for selector in selectors.split(","):
                tag, *classes = selector.split()[-1].split(".")
                rules.append((tag, frozenset(classes), dict(_declared(body))))
        return cls(variables, tuple(rules))

    def of(self, element: Element) -> dict[str, str]:
        """What holds for the element; of two rules the later one."""
        classes = set(element.get("class", "").split())
        found: dict[str, str] = {}
        for tag, wanted, body in self.rules:
            if tag in {"", element.tag} and wanted <= classes:
                found |= body
        return {name: re.sub(r"var\(--(\w+)\)", lambda m: self.variables[m[1]], value) for name, value in found.items()}


def _declared(body: str) -> list[tuple[str, str]]:
    pairs = (each.partition(":") for each in body.split(";") if ":" in each)
    return [(name.strip(), value.strip()) for name, _, value in pairs]


def _draw(axes: Any, element: Element, style: dict[str, str], *, order: int) -> None:
    number = {name: float(value) for name, value in element.attrib.items() if re.fullmatch(r"-?[\d.]+", value)}
    stroke = style.get("stroke", "none")
    pen = {
        "linewidth": float(style.get("stroke-width", "1")) * _POINTS if stroke != "none" else 0,
        "linestyle": _dashes(style.get("stroke-dasharray", "none")),
        "zorder": order,
    }
    match element.tag:
        case "text":
            _write(axes, element, style, order=order)
        case "line":
            axes.plot([number["x1"], number["x2"]], [number["y1"], number["y2"]], color=stroke, **pen)
        case "polyline":
            points = [tuple(map(float, point.split(","))) for point in element.attrib["points"].split()]
            axes.plot(*zip(*points, strict=True), color=stroke, solid_joinstyle="round", **pen)
        case "rect" | "circle":
            from matplotlib.colors import to_rgba

            fill = style.get("fill", "black")
            face = "none" if fill == "none" else to_rgba(fill, number.get("fill-opacity", 1.0))
            axes.add_patch(_patch(element.tag, number, facecolor=face, edgecolor=stroke, **pen))
        case other:
            raise AssertionError(f"no drawing of this room has a {other}")


def _patch(tag: str, number: dict[str, float], **look: Any) -> Any:
    from matplotlib.patches import Circle, FancyBboxPatch, Rectangle

    if tag == "circle":
        return Circle((number["cx"], number["cy"]), number["r"], **look)
    corner, size = (number["x"], number["y"]), (number["width"], number["height"])
    if rounding := number.get("rx"):
        return FancyBboxPatch(corner, *size, boxstyle=f"round,pad=0,rounding_size={rounding}", **look)
    return Rectangle(corner, *size, **look)


def _write(axes: Any, element: Element, style: dict[str, str], *, order: int) -> None:
    x, y, turn = float(element.get("x", "0")), float(element.get("y", "0")), 0.0
    transform = element.get("transform", "")
    if moved := re.search(r"translate\(([-\d.]+)[ ,]+([-\d.]+)\)", transform):
        x, y = x + float(moved[1]), y + float(moved[2])
    if turned := re.search(r"rotate\(([-\d.]+)\)", transform):
        turn = -float(turned[1])  # y grows downwards in SVG
    size = re.search(r"([\d.]+)px", style.get("font-size", style["font"]))
    assert size is not None
    axes.text(
        x,
        y,
        (element.text or "").replace("$", r"\$"),  # else matplotlib reads formulas
        color=style.get("fill", "black"),
        fontsize=float(size[1]) * _POINTS,
        fontweight=style.get("font-weight", "normal"),
        horizontalalignment={"middle": "center", "end": "right"}.get(element.get("text-anchor", ""), "left"),
        verticalalignment="center" if element.get("dominant-baseline") in {"middle", "central"} else "baseline",
        rotation=turn,
        rotation_mode="anchor",
        zorder=order,
    )


def _dashes(value: str) -> Any:
    return "-" if value == "none" else (0, tuple(float(n) * _POINTS for n in value.split()))
