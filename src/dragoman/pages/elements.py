"""Elements of a page, built as a tree, so that no text can become markup."""

from __future__ import annotations

import re
from html import escape
from json import dumps
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, tostring

if TYPE_CHECKING:
    from collections.abc import Sequence


_NUMBER = re.compile(r"[-\u2212+]?\d[\d.,]*")


def text(name: str, content: str) -> Element:
    """An element that holds a text."""
    element = Element(name)
    element.text = printable(content)
    return element


def table(
    rows: Sequence[tuple[str, ...]], columns: tuple[str, ...] = (), *, numbers: bool = False, foreign: bool = False
) -> Element:
    """A table with names of columns, or, without these, with names of rows."""
    element = Element("table")
    style = {"class": "number"} if numbers else {}
    if columns:
        head = SubElement(SubElement(element, "thead"), "tr")
        for name in columns:
            SubElement(head, "th", {"scope": "col", **style}).text = printable(name)
    body = SubElement(element, "tbody")
    for row in rows:
        line = SubElement(body, "tr")
        for number, value in enumerate(row):
            is_name = not columns and number == 0
            cell = SubElement(line, "th" if is_name else "td", {"scope": "row"} if is_name else dict(style))
            if _NUMBER.fullmatch(value):
                cell.set("class", "number" if numbers else "value")  # never broken in two
            if foreign:
                cell.set("dir", "auto")  # in whatever direction its language is written
            cell.text = printable(value)
    return element


def figure(title: str, drawing: Element, values: Sequence[Element]) -> Element:
    """A drawing under its title, with what it shows as tables that can be unfolded."""
    element = Element("figure")
    element.append(text("figcaption", title))
    element.append(drawing)
    details = SubElement(element, "details")
    details.append(text("summary", "As a table"))
    details.append(scrolled(values, label=title))
    return element


def stepped(title: str, drawing: Element, said: Sequence[str]) -> Element:
    """A drawing whose groups have steps, with controls to go through them; `said` has a text for each, from 0."""
    element = Element("figure", {"data-steps": dumps(list(said))})
    element.append(text("figcaption", title))
    controls = SubElement(element, "div", {"class": "controls", "hidden": "hidden"})
    for name in ("Back", "On"):
        SubElement(controls, "button", {"type": "button"}).text = name
    most = str(len(said) - 1)
    SubElement(controls, "input", {"type": "range", "min": "0", "max": most, "value": most, "aria-label": "Step"})
    SubElement(controls, "output", {"aria-live": "polite"})
    box = scrolled([drawing], label=title)
    box.set("class", "scroll wide")
    element.append(box)
    return element


def scrolled(content: Sequence[Element], *, label: str) -> Element:
    """A box that is scrolled where its content is too large, also by the keyboard."""
    box = Element("div", {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": printable(label)})
    box.extend(content)
    return box


def printable(content: str) -> str:
    """The text without control characters, which no HTML may hold."""
    return "".join(c if c.isprintable() or c in "\n\t" or c > "\x9f" else "\ufffd" for c in content)


def html(element: Element) -> str:
    """The element as HTML."""
    return tostring(element, encoding="unicode", method="html")


def escaped(content: str) -> str:
    """The text as it stands between tags."""
    return escape(printable(content))
