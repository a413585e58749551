"""The verb import."""

from __future__ import annotations

import json
import warnings

import pytest

from dragoman.cli.main import main
from reference import huggingface as made

pytest.importorskip("transformers", reason="needs transformers to compare with")


def run(*arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # transformers', about its own files
        with pytest.raises(SystemExit) as end:
            main([str(a) for a in arguments])
    return end.value.code


def test_it_says_where_and_how_closely(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made.save("marian", tmp_path / "hub" / "en-fr")
    (tmp_path / "some.txt").write_text("He sleeps.\n\nDo they like tennis?\n")
    capsys.readouterr()
    assert run("import", "hub/en-fr", "--sentences", "some.txt") == 0
    printed = capsys.readouterr()
    assert printed.out == "en-fr\n"
    assert "of 2 sentences have the same ids" in printed.err
    assert run("import", "hub/en-fr", "--out", "again", "--sentences", "some.txt", "--json") == 0
    assert json.loads(capsys.readouterr().out)["probe"]["greedy"] == 2
    assert run("translate", "en-fr", "some.txt", "--greedy", "--max-length", "5") in (0, 3)
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_mistakes_are_named(tmp_path, capsys):
    assert run("import", tmp_path / "nothing", "--out", tmp_path / "out") == 2
    assert "does not exist" in capsys.readouterr().err
