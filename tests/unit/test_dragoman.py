"""The public names: sorted, all there, and none of them loads torch before it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dragoman


def test_the_names_are_sorted_and_all_there():
    assert dragoman.__all__ == sorted(dragoman.__all__, key=lambda name: (name.islower(), name))
    assert len(set(dragoman.__all__)) == len(dragoman.__all__)
    for name in dragoman.__all__:
        assert getattr(dragoman, name).__name__ == name
    assert set(dragoman.__all__) <= set(dir(dragoman))


def test_what_training_from_python_takes():
    assert {"Corpora", "Recipe", "Run", "load", "train"} <= set(dragoman.__all__)


def test_another_name_is_refused():
    with pytest.raises(AttributeError, match="module 'dragoman' has no attribute 'trains'"):
        _ = dragoman.trains


def test_importing_it_loads_nothing_heavy():
    program = "import dragoman, sys; print({'torch', 'numpy', 'sentencepiece', 'rich'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
