"""What a view is made of, and the page that it becomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dragoman.pages.page import page

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

__all__ = ["View"]


@dataclass(frozen=True, slots=True)
class View:
    """A result drawn in every way in which it can be shown."""

    title: str
    sections: tuple[Element, ...]
    """Of the page."""
    picture: Element | None
    """The SVG drawing that stands for it in a paper; nothing where the page is all there is."""
    lines: tuple[str, ...]
    """What a terminal shows."""
    scripts: tuple[str, ...] = ()
    """Scripts of the page, files of `pages/templates/`."""

    def page(self) -> str:
        """The page as HTML, which needs nothing else."""
        return page(self.title, self.sections, scripts=self.scripts)
