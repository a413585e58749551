"""A whole page, or a drawing by itself: frame and styles are files in `templates/`, and nothing else is needed."""

from __future__ import annotations

from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, tostring

from dragoman.pages.elements import escaped, html

if TYPE_CHECKING:
    from collections.abc import Sequence

_DRAWING = ("colours.css", "drawing.css")


def page(title: str, sections: Sequence[Element], *, scripts: Sequence[str] = ()) -> str:
    """The page with this heading and these sections; scripts are files in `templates/`."""
    content = "\n".join(html(each) for each in sections)
    style = "\n".join(map(_template, (*_DRAWING, "page.css")))
    script = "\n".join(map(_script, scripts))
    frame = Template(_template("page.html"))
    return frame.substitute(title=escaped(title), style=style, content=content, script=script)


def drawing(svg: Element) -> str:
    """The SVG element as a file of its own, which follows the reader's choice of light or dark."""
    style = Element("style")
    style.text = "\n".join(map(_template, _DRAWING))
    alone = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **svg.attrib})
    alone.append(style)
    alone.append(Element("rect", {"class": "ground", "width": "100%", "height": "100%"}))
    alone.extend(svg)
    return tostring(alone, encoding="unicode") + "\n"


def _script(name: str) -> str:
    element = Element("script")
    element.text = _template(name)
    return html(element)


def _template(name: str) -> str:
    return (files("dragoman.pages") / "templates" / name).read_text("utf-8")
