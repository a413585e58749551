"""The verb demo, with a few phrases and updates: a training folder, figures, a drawing, a page, what to type next."""

from __future__ import annotations

import json
import shlex

import pytest
from click.testing import CliRunner

from dragoman.cli import main
from dragoman.cli.demo import _program
from dragoman.recipe import demo_corpora


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which the demonstration has run."""
    place = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setattr(demo_corpora, "_PHRASES", 300)
        patch.setattr(demo_corpora, "_HELD_OUT", 6)
        done = CliRunner().invoke(main.program, ["demo", "--steps", "50", "--threads", "1"], catch_exceptions=False)
        again = CliRunner().invoke(
            main.program, ["demo", "--steps", "50", "--threads", "1", "--json"], catch_exceptions=False
        )
    return place, done, again


def test_it_leaves_a_training_folder(folder):
    place, _, _ = folder
    for name in ("best/model.json", "run.toml", "events.jsonl", "report.html", "attention.svg", "corpus/train.source"):
        assert (place / "demo" / name).exists(), name
    assert "Where the model looks" in (place / "demo" / "report.html").read_text()


def test_it_shows_translations_figures_and_an_alignment_and_says_what_comes_next(folder):
    _, done, _ = folder
    lines = done.stdout.splitlines()
    assert any(line.startswith("chrf|nrefs:1") for line in lines)
    assert any(line.startswith("alignment_error_rate|") for line in lines)
    assert any("  →  " in line for line in lines)
    assert "dragoman train --src" in done.stdout
    assert "demo/report.html" in done.stdout
    assert "demo/attention.svg" in done.stdout


def test_what_it_says_to_type_works_and_finds_the_same_figures(folder):
    place, done, _ = folder
    shown = done.stdout.splitlines()
    first = shown.index("Now try:") + 1
    translate, evaluate = (shlex.split(line) for line in shown[first : first + 2])
    typed = translate[translate.index("translate") :]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        said = CliRunner().invoke(main.program, typed, input=f"{translate[1]}\n", catch_exceptions=False)
        words = [*evaluate[evaluate.index("evaluate") :], "--threads", "1", "--json"]
        found = CliRunner().invoke(main.program, words, catch_exceptions=False)
    assert len(said.stdout.splitlines()) == 3
    (system,) = json.loads(found.stdout)["systems"]
    table = [line.split() for line in shown]
    for name in ("chrf", "bleu", "exact_match"):
        (value,) = [each["value"] for each in system["measurements"] if each["name"] == name]
        assert [name, f"{value:.2f}"] in [line[:2] for line in table]


def test_the_gold_alignments_are_files_that_evaluate_reads(folder):
    place, done, _ = folder
    corpus = place / "demo" / "corpus"
    options = {"--src": "source", "--ref": "target", "--gold-alignment": "alignment"}
    files = [word for option, name in options.items() for word in (option, str(corpus / f"test.{name}"))]
    words = [str(corpus / f"test.{side}.words") for side in ("source", "target")]
    line = ["evaluate", str(place / "demo"), *files, "--words", *words, "--threads", "1", "--json"]
    (system,) = json.loads(CliRunner().invoke(main.program, line, catch_exceptions=False).stdout)["systems"]
    (value,) = [each["value"] for each in system["measurements"] if each["name"] == "alignment_error_rate"]
    assert f"{value:.2f}" in next(row for row in done.stdout.splitlines() if row.startswith("alignment_error_rate  "))


@pytest.mark.parametrize(
    ("beside", "said"),
    [("dragoman", ".venv/bin/dragoman"), ("other", "/.venv/bin/python -m dragoman")],
)
def test_the_program_is_named_as_the_shell_knows_it(beside, said, tmp_path, monkeypatch):
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / beside).touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.executable", str(programs / "python"))
    monkeypatch.setenv("PATH", str(programs))
    assert (_program() == "dragoman") == (beside == "dragoman")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _program().removeprefix(str(tmp_path)) == said


def test_run_again_it_only_shows(folder):
    _, _, again = folder
    assert json.loads(again.stdout).keys() == {"chrf", "bleu", "exact_match", "alignment_error_rate"}
