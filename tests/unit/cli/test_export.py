"""The verb export."""

from __future__ import annotations

import json

import pytest

from dragoman import bundle as bundles
from dragoman.cli.main import main
from reference.bundles import bundle, sentences


def run(*arguments):
    with pytest.raises(SystemExit) as end:
        main([str(a) for a in arguments])
    return end.value.code


@pytest.fixture
def model(tmp_path):
    bundles.save(bundle(), tmp_path / "model")
    (tmp_path / "some.txt").write_text("\n".join(sentences(3)) + "\n")
    return tmp_path / "model"


def test_it_says_where_and_how_closely(model, tmp_path, capsys):
    out = tmp_path / "out"
    assert run("export", model, "--to", "ctranslate2", "--out", out, "--sentences", tmp_path / "some.txt") == 0
    printed = capsys.readouterr()
    assert printed.out == f"{out}\n"
    assert "3 of 3 greedy outputs are the same" in printed.err


def test_json(model, tmp_path, capsys):
    options = ["--to", "ctranslate2", "--out", tmp_path / "out", "--sentences", tmp_path / "some.txt", "--json"]
    assert run("export", model, *options) == 0
    assert json.loads(capsys.readouterr().out)["agreement"]["sentences"] == 3


def test_mistakes(model, tmp_path, capsys):
    assert run("export", model, "--to", "fairseq", "--out", tmp_path / "out") == 2
    assert run("export", tmp_path / "nowhere", "--to", "ctranslate2", "--out", tmp_path / "out") == 2
    assert "is not a model" in capsys.readouterr().err
