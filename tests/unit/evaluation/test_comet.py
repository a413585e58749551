"""COMET through another program: a stand-in on the PATH gets the lines and prints as comet-score does."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.errors import DataError, FileError
from dragoman.evaluation.comet import CometSettings, comet, measurement
from dragoman.evaluation.evaluate import TestSet
from dragoman.evaluation.significance import compare
from dragoman.measures.statistics import Statistics

TEST = TestSet.of([["a a", "b"], ["x", "y"]], sources=["s 1", "s 2"])


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A function that puts a program with this body on the PATH."""

    def put(body):
        path = tmp_path / "comet-score"
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return put


def test_each_line_gets_its_score(program, tmp_path):
    program(
        f'echo "$@" > {tmp_path}/said; cat "$2" "$4" "$6" > {tmp_path}/read\n'
        'printf "out\\tSegment 0\\tscore: 0.9000\\nout\\tSegment 1\\tscore: -0.1000\\nout\\tscore: 0.4000\\n"'
    )
    found = comet(["o\n1", "o2"], TEST, settings=CometSettings(model="some/model", gpus=1))
    assert found.counts_NK.tolist() == [[0.9, 1], [-0.1, 1]]
    assert found.value() == pytest.approx(40)
    assert (tmp_path / "read").read_text().splitlines() == ["s 1", "s 2", "o 1", "o2", "a a", "b"]
    assert (tmp_path / "said").read_text().split()[-4:] == ["--model", "some/model", "--gpus", "1"]
    shown = measurement(found, settings=CometSettings(model="some/model"))
    assert str(shown) == "comet|model:some/model|nrefs:1|scale:100|version:unknown = 40.00"
    assert compare(found, found).p_randomization == 1


def test_the_signature_tells_the_version_in_the_environment_of_the_program(tmp_path, monkeypatch):
    home = tmp_path / "comet"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "comet-score").write_text("#!/bin/sh\n")
    (home / "bin" / "comet-score").chmod(0o755)
    facts = home / "lib" / "python3.10" / "site-packages" / "unbabel_comet-2.2.7.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: unbabel-comet\nVersion: 2.2.7\n")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "comet-score").symlink_to(home / "bin" / "comet-score")
    monkeypatch.setenv("PATH", str(tmp_path / "links"))
    found = Statistics("comet", np.ones((2, 2)))
    assert measurement(found).signature.endswith("|version:2.2.7")


def test_a_program_that_fails_or_says_too_little_is_told(program):
    program("echo no such model >&2; exit 3")
    with pytest.raises(FileError, match="code 3: no such model"):
        comet(["a", "b"], TEST)
    program('printf "out\\tSegment 0\\tscore: 0.9\\n"')
    with pytest.raises(FileError, match="1 scores for 2 lines"):
        comet(["a", "b"], TEST)


def test_without_the_program_or_sources_there_is_a_remedy(program, monkeypatch):
    with pytest.raises(FileError, match="an environment of its own"):
        comet(["a", "b"], TEST)
    program("exit 0")
    with pytest.raises(DataError, match="sources"):
        comet(["a"], TestSet.of([["a"]]))
