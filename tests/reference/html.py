"""A page taken apart, for tests of what is written as HTML."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """A page as a list of elements with their attributes and text; wrong nesting is refused."""

    def __init__(self, html: str):
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if data.strip():
            self.texts.append((self.open[-1], data))

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    def text(self, tag):
        return [text for name, text in self.texts if name == tag]
