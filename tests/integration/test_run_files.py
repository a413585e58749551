"""The run files that come with the project: each says what it is for and what it reached, and can be run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dragoman.data import catalog, originals
from dragoman.data.corpus import Known
from dragoman.recipe.dry_run import dry_run
from dragoman.recipe.schema import read_run_file

RUNS = sorted((Path(__file__).parents[2] / "runs").glob("*.toml"))
HEAD = ("command", "wanted", "result", "seeds", "time")
CHOSEN = {"g2p": ("LANGUAGE", "fre"), "inflection": ("LANGUAGE", "german"), "scan": ("SPLIT", "jump")}
FETCHED = re.compile(r"FOLDER=\$\(dragoman data get (\S+)\)")
"""How a run of files, and not of a known part, is given the folder that they are in."""


@pytest.fixture(params=RUNS, ids=lambda path: path.stem)
def run_file(request, monkeypatch):
    if request.param.stem in CHOSEN:
        monkeypatch.setenv(*CHOSEN[request.param.stem])
    return request.param


def test_head_says_what_it_is_for_and_what_it_reached(run_file):
    head = re.match(r"(?:#.*\n)+", run_file.read_text())[0]
    found = dict(re.findall(r"^# (\w+): +(.+)$", head, re.MULTILINE))
    assert set(HEAD) <= set(found)
    assert f"runs/{run_file.name}" in found["command"]
    assert (found["result"] == "not run") == (found["time"] == "not run") == (found["seeds"] == "not run")


def test_tests_are_not_trained_on_nor_chosen_by(run_file, monkeypatch):
    monkeypatch.setenv("FOLDER", "set")
    data = read_run_file(run_file).recipe.data
    corpora = [corpus for corpus in (*data.train, data.valid) if corpus is not None]
    assert all(isinstance(corpus, Known) for corpus in corpora) != bool(FETCHED.search(run_file.read_text()))
    assert not any("test" in str(corpus) for corpus in corpora)


@pytest.mark.slow
def test_can_be_run(run_file, data_folder, tmp_path, monkeypatch):
    if found := FETCHED.search(run_file.read_text()):
        entry = catalog.find(found[1])
        if entry.built_in:
            monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
            list(originals.get(entry))
            monkeypatch.setenv("FOLDER", str(catalog.locate(entry.name)))
        else:
            monkeypatch.setenv("FOLDER", str(data_folder(entry.name)))
    recipe = read_run_file(run_file).recipe
    for corpus in recipe.data.train:
        if isinstance(corpus, Known):
            data_folder(corpus.set)
    assert dry_run(recipe, tmp_path / "out").examples > 0
