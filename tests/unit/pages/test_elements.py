"""Elements and the page around them: texts stay texts, tables have names, and nothing else is needed."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from dragoman.pages.elements import escaped, figure, html, printable, scrolled, table, text
from dragoman.pages.page import page
from reference.html import Page


def test_texts_cannot_become_markup():
    written = html(text("p", "a <b> & \x00 \u2028"))
    assert written == "<p>a &lt;b&gt; &amp; \ufffd \u2028</p>"
    assert escaped("<\x07>") == "&lt;\ufffd&gt;"
    assert printable("a\tb\nc") == "a\tb\nc"


def test_a_table_has_names_of_rows_or_of_columns():
    rows = Page(html(table([("name", "1")])))
    assert rows.all("th") == [{"scope": "row"}]
    columns = Page(html(table([("x", "1")], ("a", "b"), numbers=True, foreign=True)))
    assert columns.all("th") == [{"scope": "col", "class": "number"}] * 2
    assert columns.all("td") == [{"class": "number", "dir": "auto"}] * 2


def test_numbers_are_told_apart_so_that_none_is_broken_in_two():
    cells = table([("word", "-0.091", "1,024", "3 words", "-")], ("a", "b", "c", "d", "e")).findall("tbody/tr/td")
    assert [cell.get("class") for cell in cells] == [None, "value", "value", None, None]


def test_a_figure_says_in_a_table_what_it_shows():
    found = Page(html(figure("Speed", Element("svg"), [table([("a", "1")])])))
    assert found.text("figcaption") == ["Speed"]
    assert found.text("summary") == ["As a table"]
    assert found.text("td") == ["1"]
    (box,) = found.all("div")
    assert box == {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": "Speed"}
    assert html(scrolled([], label="a\x00")).count("\ufffd") == 1


def test_a_page_is_whole():
    written = page("A & <B>", [text("p", "$title ${x}")])
    assert written.startswith("<!doctype html>")
    assert Page(written).text("title") == Page(written).text("h1") == ["A & <B>"]
    assert "<p>$title ${x}</p>" in written  # what stands in a section is no place to fill in
