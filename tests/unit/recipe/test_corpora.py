"""Corpora by the names of their files."""

from __future__ import annotations

import pytest

from dragoman.data.corpus import Jsonl, Mono, Parquet, TextFiles, Tsv
from dragoman.errors import SettingError
from dragoman.recipe.corpora import Corpora


def test_two_files_of_lines_by_their_whole_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = Corpora(source="a.en", target="a.fr", valid_source="v.en", valid_target="v.fr", target_language="fr")
    found = given.settings()
    assert found.train == (
        TextFiles(source=str(tmp_path / "a.en"), target=str(tmp_path / "a.fr"), target_language="fr"),
    )
    assert found.valid == TextFiles(source=str(tmp_path / "v.en"), target=str(tmp_path / "v.fr"), target_language="fr")


def test_one_file_of_pairs_by_its_ending(tmp_path):
    (tmp_path / "three.tsv").write_text("a\tb\tCC BY\n")
    assert Corpora(source=tmp_path / "three.tsv").settings().train == (
        Tsv(file=str(tmp_path / "three.tsv"), columns=3),
    )
    for name, kind in (("p.jsonl", Jsonl), ("p.ndjson", Jsonl), ("p.jsonl.gz", Jsonl), ("p.parquet", Parquet)):
        assert Corpora(source=tmp_path / name).settings().train == (kind(file=str(tmp_path / name)),)


def test_text_alone():
    found = Corpora(text="/a", valid_text="/b").settings()
    assert (found.train, found.valid) == ((Mono(file="/a"),), Mono(file="/b"))


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({}, "nothing to train on"),
        ({"text": "a", "source": "b"}, "both pairs and text alone are given"),
        ({"source": "a.en"}, "--tgt: the targets of a.en are missing"),
        ({"source": "a.en", "target": "b", "valid_source": "v"}, "--valid-tgt: the targets of v are missing"),
        ({"source": "a.en", "target": "b", "valid_target": "v"}, "--valid-tgt: sources are missing"),
        ({"source": "a.en", "target": "b", "valid_text": "v"}, "--valid-text v: does not go with the other files"),
        ({"text": "a.en", "target": "b"}, "--tgt b: does not go with the other files"),
    ],
)
def test_what_does_not_go_together_is_refused(given, complaint):
    with pytest.raises(SettingError, match=complaint):
        Corpora(**given).settings()
