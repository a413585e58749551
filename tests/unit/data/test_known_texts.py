"""Known data sets written out as lines of text."""

from __future__ import annotations

import gzip

import pytest

from dragoman.data import known_texts


@pytest.fixture
def sets(tmp_path, monkeypatch):
    folder = tmp_path / "sets" / "g2p-cmudict"
    folder.mkdir(parents=True)
    monkeypatch.setenv("DRAGOMAN_DATA", str(tmp_path / "sets"))
    lines = "PIE\tP AY\nREAD\tR EH D\nREAD\tR IY D\nREAD\tR EH D\n"
    (folder / "cmudict.test.tsv.gz").write_bytes(gzip.compress(lines.encode()))
    return tmp_path


def test_a_source_with_several_right_targets_stands_once(sets):
    (written,) = known_texts.write("g2p-cmudict", sets / "out")
    assert (written.part, written.lines) == ("test", 2)
    assert [file.name for file in written.files] == ["test.source", "test.target", "test.target2"]
    assert [file.read_text() for file in written.files] == ["PIE\nREAD\n", "P AY\nR EH D\n", "\nR IY D\n"]
