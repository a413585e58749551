"""Weights are read out of a pickle, and nothing else is, on systems that cannot bound a process too."""

from __future__ import annotations

import os

import pytest
import torch
from safetensors.torch import load_file

from dragoman.errors import FileError
from dragoman.interop import unpickling
from dragoman.interop.unpickling import unpickled


@pytest.fixture
def unbounded(tmp_path, monkeypatch):
    """A Python that lacks what Windows lacks."""
    (tmp_path / "lacking").mkdir()
    (tmp_path / "lacking" / "resource.py").write_text("raise ImportError\n")
    given = os.pathsep.join(filter(None, [str(tmp_path / "lacking"), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("PYTHONPATH", given)


class Planted:
    """Makes a folder when it is unpickled."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return os.mkdir, (str(self.place),)


def test_weights_are_read_where_memory_cannot_be_bounded(tmp_path, unbounded):
    torch.save({"a": torch.arange(3)}, tmp_path / "weights.bin")
    unpickled(tmp_path / "weights.bin", tmp_path / "weights.safetensors")
    assert load_file(tmp_path / "weights.safetensors")["a"].tolist() == [0, 1, 2]


def test_nothing_is_run_there_either(tmp_path, unbounded):
    torch.save({"a": Planted(tmp_path / "made")}, tmp_path / "weights.bin")
    with pytest.raises(FileError, match="more than weights"):
        unpickled(tmp_path / "weights.bin", tmp_path / "weights.safetensors")
    assert not (tmp_path / "made").exists()


def test_memory_is_bounded_where_it_can_be(monkeypatch):
    resource = pytest.importorskip("resource", reason="Windows has no such module")
    told = []
    monkeypatch.setattr(resource, "setrlimit", lambda *given: told.append(given))
    monkeypatch.setattr(resource, "getrlimit", lambda which: (9 << 30, 10 << 30))
    unpickling._bound_memory(1 << 30)
    unpickling._bound_memory(1 << 50)
    (_, (least, _)), (_, (most, _)) = told
    assert 1 << 30 < least <= most == 10 << 30
