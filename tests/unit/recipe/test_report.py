"""The report: one page that is whole, needs nothing else, and says what the events say."""

from __future__ import annotations

import math
import re

import pytest

from dragoman.errors import FileError
from dragoman.recipe.report import History, read_history, report, write_report
from dragoman.training.events import (
    Braked,
    EventLog,
    Finished,
    Progress,
    Sample,
    Skipped,
    Split,
    Started,
    Validated,
)
from reference.html import Page


def progress(step, **changes):
    values = {
        "epoch": step / 100,
        "objective": 4.0,
        "loss": 1 + 5 * math.exp(-step / 300),
        "norm": 1.0,
        "rate": min(step / 200, 1.0),
        "tokens": step * 900,
        "seconds": 2.5,
        "tokens_per_second": 9_000.0 + 50 * (step % 7),
        "skipped": 1,
    }
    return Progress(step=step, **values | changes)


def validated(step, *, best=False, value=20.0, output="ein Haus", **changes):
    values = {
        "metric": "bleu",
        "signature": "nrefs:1|case:mixed|v:2",
        "tokens": step * 900,
        "stalls": 0 if best else 1,
        "others": {"loss": 2 + 4 * math.exp(-step / 300), "perplexity": 9.0},
        "samples": (Sample(source="a <house> & $home", output=output, reference="ein Haus"),),
        "seconds": 3.0,
    }
    return Validated(step=step, best=best, value=value, **values | changes)


STARTED = Started(step=0, steps=1_000, parameters=2_600_000, examples=29_000, tokens=0)
FINISHED = Finished(
    step=1_000, reason="all 1,000 updates were made", best=33.0, best_step=800, tokens=9, skipped=1, seconds=9.0
)
RUN = [
    STARTED,
    *(
        event
        for step in range(50, 1_001, 50)
        for event in (
            progress(step),
            *([validated(step, best=step <= 800, value=step / 25, output=f"out {step}")] if step % 200 == 0 else []),
        )
    ),
    Skipped(step=77, reason="objective inf, gradient norm nan", examples=(1,)),
    Split(step=78, rows=9, parts=2),
    FINISHED,
]


def write_run(folder, events=RUN):
    log = EventLog(folder / "events.jsonl", length=0)
    for event in events:
        log.append(event)
    log.close()
    (folder / "run.toml").write_text("[training]\n# <why>\nsteps = 1000\n")
    return folder


@pytest.fixture
def page(tmp_path):
    return Page(report(write_run(tmp_path)))


# ---- the page ------------------------------------------------------------------------------------------------------


def test_the_page_is_whole_and_needs_nothing_else(tmp_path):
    html = report(write_run(tmp_path))
    page = Page(html)
    assert html.startswith("<!doctype html>")
    assert page.all("html") == [{"lang": "en"}]
    for tag in ("script", "link", "img", "iframe"):
        assert page.all(tag) == []
    assert not re.search(r"https?://|url\(|@import", html)
    assert "$" not in html.replace("&amp; $home", "")


def test_each_chart_has_a_title_a_description_and_a_table(page):
    charts = page.all("svg")
    assert len(charts) == len(page.all("figure")) == len(page.all("details")) == 4
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for chart in charts:
        assert chart["role"] == "img"
        assert set(chart["aria-labelledby"].split()) <= set(ids)
    described = " ".join(page.text("desc"))
    assert "training, in nats per target token: " in described
    assert "bleu, in bleu: 8 at update 200" in described
    assert {"scope": "col", "class": "number"} in page.all("th")


def test_curves_can_be_told_apart_without_colour(tmp_path):
    html = report(write_run(tmp_path))
    style = html[html.index("<style>") : html.index("</style>")]
    assert "stroke-dasharray" in style
    assert "prefers-color-scheme: dark" in style
    classes = [attributes.get("class") for attributes in Page(html).all("polyline")]
    assert classes.count("curve second") == 1


def test_facts_settings_trouble_and_samples_are_told(page):
    cells = page.text("td")
    assert "all 1,000 updates were made" in cells
    assert "1,000 of 1,000" in cells
    assert "bleu 32.00 at update 800" in cells
    assert "nrefs:1|case:mixed|v:2" in cells
    assert "2,600,000" in cells
    assert "# <why>" in "".join(page.text("pre"))
    assert any("objective inf" in text for text in page.text("li"))
    assert any("in 2 parts" in text for text in page.text("li"))
    assert {"out 1000", "out 800"} <= set(cells)  # of the last validation and of the best
    assert "out 200" not in cells


def test_texts_cannot_become_markup(tmp_path):
    html = report(write_run(tmp_path, [STARTED, validated(5, best=True, output="</td><script>x\x00y</script>")]))
    assert "<script" not in html
    assert "a &lt;house&gt; &amp; $home" in html
    assert "\x00" not in html
    assert "x\ufffdy" in html


def test_samples_keep_the_direction_of_their_writing(page):
    assert {"dir": "auto"} in page.all("td")


def test_a_run_that_goes_on_is_reported_as_it_stands(tmp_path):
    cells = Page(report(write_run(tmp_path, RUN[:12]))).text("td")
    assert "at update 450, not finished" in cells
    assert "450 of 1,000" in cells


@pytest.mark.parametrize("events", [[], [STARTED], [STARTED, progress(1)], [STARTED, validated(3, best=True)]])
def test_a_run_that_has_hardly_begun_has_a_page_too(events, tmp_path):
    page = Page(report(write_run(tmp_path, events)))
    assert page.text("h1") == [f"Training of {tmp_path.name}"]


def test_a_run_judged_by_its_loss_has_no_chart_of_another_metric(tmp_path):
    events = [STARTED, progress(5), validated(5, best=True, metric="loss", value=2.0)]
    assert len(Page(report(write_run(tmp_path, events))).all("svg")) == 3


def test_the_page_is_written_beside_the_log(tmp_path):
    path = write_report(write_run(tmp_path))
    assert path == tmp_path / "report.html"
    assert path.read_text(encoding="utf-8") == report(tmp_path)


def test_a_folder_without_a_log_or_with_a_damaged_one_is_refused(tmp_path):
    with pytest.raises(FileError, match=r"events\.jsonl"):
        report(tmp_path)
    (tmp_path / "events.jsonl").write_text("{}\n")
    with pytest.raises(FileError, match="not a log"):
        report(tmp_path)


# ---- history -------------------------------------------------------------------------------------------------------


def test_what_a_run_took_back_is_not_drawn():
    history = History()
    for event in (STARTED, progress(10), progress(20), Braked(step=25, back_to=10, brake=0.5), progress(20, loss=9.0)):
        history.add(event)
    assert [(e.step, e.loss) for e in history.progress][1:] == [(20, 9.0)]
    assert "50%" in history.troubles[0]


def test_a_resumed_run_is_not_finished(tmp_path):
    history = read_history(write_run(tmp_path, [*RUN, STARTED]) / "events.jsonl")
    assert history.finished is None
