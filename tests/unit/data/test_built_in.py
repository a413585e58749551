"""Data sets that are made here, as files."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from dragoman import files
from dragoman.data import built_in, catalog, numerals
from dragoman.data.corpus import Features, build


def test_the_numerals_are_a_corpus_of_features(tmp_path, monkeypatch):
    small = functools.partial(numerals.splits, train=8, dev=2, test=2)
    monkeypatch.setattr(numerals, "splits", small)
    built_in.write("numerals", tmp_path / "set")
    files.verify(tmp_path / "set")
    for part, drawn in (("train", small().train), ("test", small().test)):
        lists = {"source": tmp_path / "set" / f"{part}.arrays", "target": tmp_path / "set" / f"{part}.words"}
        pairs = list(build(Features(**{side: str(path) for side, path in lists.items()})))
        assert [pair.target for pair in pairs] == [each.words for each in drawn]
        assert all(np.array_equal(np.load(p.source), d.frames) for p, d in zip(pairs, drawn, strict=True))


def test_every_set_that_nobody_publishes_can_be_made(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(built_in, "_write_phrasebook", made.append)
    monkeypatch.setattr(built_in, "_write_numerals", made.append)
    ours = [entry.name for entry in catalog.entries() if entry.built_in]
    for name in ours:
        built_in.write(name, tmp_path / name)
    assert made == [tmp_path / name for name in ours]
    with pytest.raises(AssertionError, match="nothing here makes"):
        built_in.write("scan", tmp_path / "scan")
