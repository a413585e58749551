"""The page of a comparison: whole, needing nothing else, and no text becomes markup."""

from __future__ import annotations

import re

import pytest

from dragoman.evaluation.evaluate import EvaluateSettings, TestSet, compare_all, evaluate
from dragoman.evaluation.report import report, write_report
from dragoman.evaluation.significance import SignificanceSettings
from reference.html import Page

GOLD = ["a b <i>c d", "a b c d e f", "x y", "the $end", "a"]
FIRST = ["a b <i>c d", "a b c d e z", "x q", "the $end", "b"]
SECOND = ["a b <script>c z", "a b c d e f", "x q", "no $end", "a\x00"]


@pytest.fixture(scope="module")
def parts():
    test = TestSet.of([GOLD], sources=["s & t"] * 5)
    settings = EvaluateSettings(metrics=("chrf", "exact_match"))
    systems = [evaluate(o, test, name=n, settings=settings) for n, o in (("one & <1>", FIRST), ("two", SECOND))]
    tests = compare_all(*systems, settings=SignificanceSettings(resamples=100, trials=100))
    return systems, test, tests


@pytest.fixture(scope="module")
def html(parts):
    systems, test, tests = parts
    return report(*systems, test=test, tests=tests)


def test_the_page_is_whole_and_needs_nothing_else(html):
    page = Page(html)
    assert page.text("h1") == ["one & <1> against two"]
    assert not any(page.all(tag) for tag in ("script", "link", "img", "iframe"))
    assert not re.search(r"https?://|url\(|@import", html)
    assert "prefers-color-scheme: dark" in html
    assert "\x00" not in html


def test_charts_are_described_and_repeated_as_tables(html):
    page = Page(html)
    assert len(page.all("svg")) == len(page.all("details")) == 2
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids)) == 4
    assert all(set(chart["aria-labelledby"].split()) <= set(ids) for chart in page.all("svg"))
    assert page.text("h3")[-1] == "Lost: right more often in the second"
    assert "1-4: first: one & <1> " in " ".join(page.text("desc"))


def test_lines_show_which_words_are_in_the_reference(html):
    page = Page(html)
    assert {"first", "second"} == {mark["class"] for mark in page.all("mark")}
    marked = page.text("mark")
    assert "the" in marked
    assert "no" not in marked
    assert any(caption.startswith("line 4: chrf 100.0 and") for caption in page.text("caption"))


def test_tests_and_signatures_are_told(html, parts):
    page = Page(html)
    items = page.text("li")
    assert any(item.startswith("chrf: ") and "show a difference of" in item for item in items)
    assert f"tests|{parts[2][0].signature}" in items
    assert any(item.startswith("exact_match|nrefs:1") for item in items)


def test_the_page_is_written(parts, tmp_path, html):
    systems, test, tests = parts
    path = write_report(tmp_path / "r.html", *systems, test=test, tests=tests)
    assert path.read_text(encoding="utf-8") == html
