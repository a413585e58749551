"""The cutting of a text drawn: its pieces, and the merges behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement

from dragoman.inspection.views.view import View
from dragoman.pages.elements import printable, scrolled, table, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dragoman.inspection.tokens import Tokens, WordCut

_COLUMNS = ("rank", "left", "right", "count", "the word then")


def view(found: Tokens) -> View:
    """The cutting as a page."""
    sections = [
        table(
            [("text", found.text), ("as it is cut", found.normal), ("pieces", str(sum(_counts(found))))], foreign=True
        ),
        text("p", f"A tokenizer of kind {found.kind} with {found.vocabulary:,} pieces. Frames are pieces:"),
        _frames(found),
    ]
    for word in dict.fromkeys(found.words):  # one that comes again is cut alike
        sections.append(text("h2", word.word or word.pieces[0]))
        sections.append(text("p", f"{' | '.join(word.pieces)}: {word.why}."))
        if word.applied:
            sections.append(scrolled([_applied(word)], label=f"Merges of {word.word}"))
    if found.merges:
        rows = [(f"{n:,}", m.left, m.right, m.piece, f"{m.count:,}") for n, m in enumerate(found.merges, 1)]
        sections.append(text("h2", f"All {len(found.merges):,} merges"))
        columns = ("rank", "left", "right", "piece", "count")
        sections.append(scrolled([table(rows, columns, foreign=True)], label="All merges"))
    return View("How a text is cut", tuple(sections), None, tuple(_lines(found)))


def _counts(found: Tokens) -> Iterator[int]:
    return (len(word.pieces) for word in found.words)


def _frames(found: Tokens) -> Element:
    line = Element("p", {"class": "pieces", "dir": "auto"})
    for word in found.words:
        for piece, number in zip(word.pieces, word.ids, strict=True):
            SubElement(line, "span", {"title": f"id {number}"}).text = printable(piece)
    return line


def _applied(word: WordCut) -> Element:
    rows = [
        (
            f"{each.rank:,}",
            each.left,
            each.right,
            "" if each.count is None else f"{each.count:,}",
            " | ".join(each.result),
        )
        for each in word.applied
    ]
    return table(rows, _COLUMNS, foreign=True)


def _lines(found: Tokens) -> Iterator[str]:
    yield " ".join(piece for word in found.words for piece in word.pieces)
    for word in dict.fromkeys(found.words):
        yield ""
        yield f"{word.word}: {word.why}"
        for each in word.applied:
            count = "" if each.count is None else f", {each.count:,} times"
            yield f"  {' | '.join(each.result):<28} {each.left} + {each.right} (merge {each.rank:,}{count})"
