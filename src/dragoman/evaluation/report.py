"""The page about two sets of outputs: what the tests say, and where they differ; it needs nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement

from dragoman.evaluation.compare import differences
from dragoman.files import write_atomically
from dragoman.measures.edits import common_words
from dragoman.pages.bars import BarChart, Bars, draw
from dragoman.pages.elements import figure, printable, scrolled, table, text
from dragoman.pages.page import page

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dragoman.evaluation.compare import Comparison, Gram, Group, Line
    from dragoman.evaluation.evaluate import Evaluated, TestSet
    from dragoman.evaluation.significance import Significance

_COLUMNS = ("metric", "first", "second", "difference", "interval", "better in", "p (bootstrap)", "p (randomisation)")


def write_report(
    path: Path, first: Evaluated, second: Evaluated, *, test: TestSet, tests: Sequence[Significance]
) -> Path:
    """The file with the page, after it was written."""
    write_atomically(path, report(first, second, test=test, tests=tests).encode())
    return path


def report(first: Evaluated, second: Evaluated, *, test: TestSet, tests: Sequence[Significance]) -> str:
    """The page as HTML."""
    found = differences(first, second, test)
    names = (f"first: {first.name}", f"second: {second.name}")
    sections = [
        text(
            "p", f"{names[0]} · {names[1]} · {len(first.outputs):,} lines, {found.equal:,} of them with equal outputs"
        ),
        *_tests(tests),
        *_groups(found, names),
        *_grams(found),
        *_lines(found, test),
        *_signatures(first, tests),
    ]
    return page(f"{first.name} against {second.name}", sections)


# ---- sections ------------------------------------------------------------------------------------------------------


def _tests(tests: Sequence[Significance]) -> list[Element]:
    rows = [
        (
            each.name,
            f"{each.value:.2f} ({each.interval})",
            f"{each.against:.2f} ({each.against_interval})",
            f"{each.difference:+.2f}",
            str(each.difference_interval),
            f"{each.better:.1%}",
            f"{each.p_bootstrap:.4f}",
            f"{each.p_randomization:.4f}",
        )
        for each in tests
    ]
    verdicts = Element("ul")
    verdicts.extend(text("li", f"{each.verdict('the first', 'the second')} {each.reach}") for each in tests)
    return [
        text("h2", "Is it more than luck?"),
        scrolled([table(rows, _COLUMNS, numbers=True)], label="Tests of significance"),
        verdicts,
    ]


def _groups(found: Comparison, names: tuple[str, str]) -> list[Element]:
    grid = Element("div", {"class": "charts"})
    by_length = ("length", f"{found.metric} by length", found.metric, "words in the reference")
    by_frequency = ("frequency", "Words by how frequent they are", "F-score", "occurrences in the references")
    for (key, title, unit, across), groups in ((by_length, found.lengths), (by_frequency, found.frequencies)):
        chart = BarChart(
            key,
            title,
            unit,
            across,
            tuple(group.name for group in groups),
            (
                Bars(names[0], tuple(group.first for group in groups)),
                Bars(names[1], tuple(group.second for group in groups)),
            ),
        )
        grid.append(figure(title, draw(chart), [_group_table(groups, across)]))
    return [text("h2", "Where they differ"), grid]


def _group_table(groups: Sequence[Group], across: str) -> Element:
    rows = [
        (each.name, f"{each.count:,}", f"{each.first:.2f}", f"{each.second:.2f}", f"{each.first - each.second:+.2f}")
        for each in groups
    ]
    return table(rows, (across, "number", "first", "second", "difference"), numbers=True)


def _grams(found: Comparison) -> list[Element]:
    grid = Element("div", {"class": "charts"})
    titles = ("Gained: right more often in the first", "Lost: right more often in the second")
    for title, grams in zip(titles, (found.gained, found.lost), strict=True):
        box = SubElement(grid, "section")
        box.append(text("h3", title))
        box.append(_gram_table(grams) if grams else text("p", "Nothing."))
    return [text("h2", "N-grams gained and lost"), grid]


def _gram_table(grams: Sequence[Gram]) -> Element:
    rows = [(" ".join(each.words), f"{each.first:,}", f"{each.second:,}") for each in grams]
    return table(rows, ("n-gram of a reference", "first", "second"), foreign=True)


def _lines(found: Comparison, test: TestSet) -> list[Element]:
    sections = [text("p", "Single lines below: words that the reference has too, in the same order, are underlined.")]
    titles = ("Most improved: the first is better", "Most damaged: the second is better")
    for title, lines in zip(titles, (found.improved, found.damaged), strict=True):
        sections.append(text("h2", title))
        if not lines:
            sections.append(text("p", "No line."))
        sections += [_line(each, found.line_metric, with_source=bool(test.sources)) for each in lines]
    return sections


def _line(line: Line, metric: str, *, with_source: bool) -> Element:
    """A line as a table; words of an output that are in the reference too are underlined."""
    element = table([])
    element.set("class", "lines")
    caption = Element("caption")
    caption.text = f"line {line.number:,}: {metric} {line.first_score:.1f} and {line.second_score:.1f}"
    element.insert(0, caption)
    body = element.find("tbody")
    assert body is not None
    plain = [("source", line.source)] * with_source + [("reference", each) for each in line.references]
    for name, content in plain:
        _cell(body, name).text = printable(content)
    for name, content in (("first", line.first), ("second", line.second)):
        _mark(_cell(body, name), content, line.references[0], style=name)
    return element


def _cell(body: Element, name: str) -> Element:
    row = SubElement(body, "tr")
    SubElement(row, "th", {"scope": "row"}).text = name
    return SubElement(row, "td", {"dir": "auto"})


def _mark(cell: Element, output: str, reference: str, *, style: str) -> None:
    """Put the words of the output into the cell, those marked that stand in the reference in the same order."""
    words = output.split()
    common = common_words(words, reference.split())
    for number, word in enumerate(words):
        if number:
            _append(cell, " ")
        if number in common:
            SubElement(cell, "mark", {"class": style}).text = printable(word)
        else:
            _append(cell, printable(word))


def _append(cell: Element, content: str) -> None:
    if len(cell):
        cell[-1].tail = (cell[-1].tail or "") + content
    else:
        cell.text = (cell.text or "") + content


def _signatures(first: Evaluated, tests: Sequence[Significance]) -> list[Element]:
    listed = Element("ul")
    for each in first.measurements:
        if not each.subset:
            listed.append(text("li", f"{each.name}|{each.signature}"))
    listed.append(text("li", f"tests|{tests[0].signature}"))
    return [text("h2", "Signatures"), listed]
