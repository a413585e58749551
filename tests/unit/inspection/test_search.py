"""The tree of a beam search, on the worked example of the lecture and on a trained model."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from dragoman.cli import main
from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.build import build
from dragoman.decoding.live import Sentence
from dragoman.errors import ModelError, SettingError
from dragoman.inspection.search import Start, search_tree, tree
from dragoman.inspection.views.search import verdict, view
from dragoman.translator import load
from reference.browser import needs_chromium, opened, photographed
from reference.html import Page
from reference.scripted import BEGIN, END, WORDS, scripted, start


def worked(beam, alpha=0.0):
    """The lecture's example, searched."""
    plan = build(BeamSettings(beam=beam, alpha=alpha), begin=BEGIN, end=END)
    begin = Start(scripted(), start(0), Sentence(key=0, max_length=9))
    return tree(
        begin,
        plan,
        source="il m'a entarté",
        names=WORDS.__getitem__,
        text=lambda ids: " ".join(WORDS[i] for i in ids if i != END),
    )


def totals(found, step, *, survives=True):
    nodes = [n for n in found.nodes if n.step == step and (n.survives or not survives)]
    return {way(found, n): round(n.total, 2) for n in nodes}


def way(found, node):
    return (way(found, found.nodes[node.parent]) + " " if node.parent >= 0 else "") + node.text


def test_running_sums_and_survivors_are_those_of_the_lecture():
    found = worked(2)
    assert totals(found, 1) == {"he": -0.7, "I": -0.9}
    weighed = totals(found, 2, survives=False)
    assert weighed.items() >= {"he hit": -1.7, "I was": -1.6, "I got": -1.8}.items()
    assert len(weighed) == 4  # k² of them
    assert totals(found, 2) == {"he hit": -1.7, "I was": -1.6}
    path = [n.text for n in found.nodes if n.on_path]
    assert path == ["he", "hit", "me", "with", "a", "pie", "<end>"]
    assert found.outputs[0].log_prob == pytest.approx(-4.3, abs=1e-3)
    assert next(n for n in found.nodes if n.finished and n.on_path).total == pytest.approx(-4.3, abs=1e-3)


def test_every_sum_is_that_of_its_parent_and_its_token():
    found = worked(3)
    for node in found.nodes:
        before = found.nodes[node.parent].total if node.parent >= 0 else 0.0
        assert node.total == pytest.approx(before + node.log_prob, abs=1e-4)
        if node.parent >= 0:
            assert found.nodes[node.parent].survives
            assert not found.nodes[node.parent].finished
    for step in range(1, found.steps + 1):
        here = [n for n in found.nodes if n.step == step]
        kept = [n.total for n in here if n.survives]
        assert len(kept) <= 3
        assert min(kept) >= max((n.total for n in here if not n.survives), default=-99) - 1e-5


def test_greedy_makes_a_search_error_and_beam_two_none():
    narrow = worked(1)
    assert narrow.verdict == "search error"
    assert narrow.greedy.text == narrow.outputs[0].text == "he hit a pie"
    assert narrow.exact.text == "he hit me with a pie"
    assert "A search error" in verdict(narrow)
    wide = worked(2)
    assert wide.verdict == "optimal"
    assert wide.proven
    assert "No search error" in verdict(wide)


def test_the_page_tells_every_hypothesis_and_can_be_stepped_through():
    found = worked(2)
    page = Page(view(found).page())
    boxes = [r for r in page.all("rect") if r["class"].startswith("node") and "inner" not in r["class"]]
    assert len(boxes) == len(found.nodes) + 1
    assert len([g for g in page.all("g") if "data-step" in g]) == found.steps
    (figure,) = [f for f in page.all("figure") if "data-steps" in f]
    said = json.loads(figure["data-steps"])
    assert len(said) == found.steps + 1
    assert said[2] == "Step 2: 4 continuations weighed. Kept: hit -1.70, was -1.60."
    assert "he hit me with a pie" in page.text("td")
    told = view(found).lines
    assert "  → *    -1.70  he hit" not in told
    assert "  →*    -1.70  he hit" in told


@needs_chromium
def test_steps_can_be_gone_through_in_a_browser(tmp_path):
    found = worked(2)
    page = view(found).page()
    seen = opened(page.replace("</body>", "<script>document.querySelector('button').click()</script></body>"), tmp_path)
    assert seen.console == ()
    assert seen.requests == ()
    assert seen.dom.count('style="display: none;"') == 1  # one step back, the last is hidden
    assert f">Step {found.steps - 1}: " in seen.dom


def test_of_a_trained_model_it_is_the_search_that_translates(reverser):
    model = load(reverser)
    settings = BeamSettings(beam=3, nbest=3)
    found = search_tree(model, "1234", settings=settings, expansions=50)
    wanted = model.translate("1234", decoding=settings)
    assert found.outputs[0].text == wanted.text
    assert found.outputs[0].score == pytest.approx(wanted.score, abs=1e-4)
    assert [o.text for o in found.outputs[:3]] == [a.text for a in (wanted.best, *wanted.alternatives)][:3]
    with pytest.raises(ModelError, match="holds nothing"):
        search_tree(model, "")
    with pytest.raises(SettingError, match="coverage"):
        search_tree(model, "12", settings=BeamSettings(coverage=0.5))


def test_the_verb(reverser, tmp_path):
    arguments = [
        "inspect",
        str(reverser),
        "search",
        "12",
        "--beam",
        "2",
        "--expansions",
        "20",
        "--threads",
        "1",
        "--json",
    ]
    done = CliRunner().invoke(main.program, [*arguments, "-o", str(tmp_path / "tree.svg")], catch_exceptions=False)
    assert json.loads(done.stdout)["beam"] == 2
    assert "START" in (tmp_path / "tree.svg").read_text()


@needs_chromium
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_follows_light_and_dark(tmp_path, dark):
    image = pytest.importorskip("matplotlib.image")
    picture = image.imread(photographed(view(worked(2)).page(), tmp_path, dark=dark))
    ground = [round(255 * value) for value in picture[3, 3, :3].tolist()]
    assert ground == ([0x15, 0x17, 0x1B] if dark else [255, 255, 255])  # --ground of colours.css
    assert picture[..., :3].std() > 0.02  # something stands on it
