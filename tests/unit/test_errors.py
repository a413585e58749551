"""The tree of errors: what a user reads, exit codes, and errors that cross processes."""

from __future__ import annotations

import pickle
import re

import pytest

from dragoman import errors

LEAVES = [
    errors.SettingError,
    errors.DataError,
    errors.TextError,
    errors.FileError,
    errors.ModelError,
    errors.DownloadError,
]


@pytest.mark.parametrize("kind", LEAVES)
def test_a_mistake_says_place_problem_and_remedy(kind):
    error = kind("no such thing: 7", place="run.toml: a.b", remedy="Give an 8.")
    assert str(error) == "run.toml: a.b: no such thing: 7. Give an 8."
    assert str(kind("no such thing", remedy="Mend it.")) == "no such thing. Mend it."
    assert error.exit_code == errors.MISTAKE == 2


@pytest.mark.parametrize("kind", LEAVES)
def test_a_mistake_survives_the_way_from_a_worker(kind):
    error = kind("problem", place="here", remedy="Mend it.")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - what was pickled on the line itself
    assert type(again) is kind
    assert (again.problem, again.place, again.remedy) == ("problem", "here", "Mend it.")
    assert str(again) == str(error)


def test_a_missing_extra_says_what_to_install():
    error = errors.MissingExtra("pyarrow", extra="data", purpose="a Parquet file")
    assert str(error) == (
        "a Parquet file needs the package pyarrow, which is not installed. "
        'Install it with: pip install "dragoman[data]"'
    )
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - what was pickled on the line itself
    assert type(again) is errors.MissingExtra
    assert str(again) == str(error)
    assert again.extra == "data"


@pytest.mark.parametrize(("number", "code"), [(2, 130), (15, 143)])
def test_an_interruption_ends_with_its_documented_code(number, code):
    assert errors.Interrupted(number, "stopped; saved").exit_code == code
    again = pickle.loads(pickle.dumps(errors.Interrupted(number, "stopped")))  # noqa: S301 - as above
    assert (again.exit_code, str(again)) == (code, "stopped")


def test_a_fault_of_ours_has_another_code_than_a_mistake():
    assert (errors.DONE, errors.FAULT, errors.MISTAKE, errors.DONE_WITH_SKIPS) == (0, 1, 2, 3)
    assert errors.DragomanError.exit_code == errors.FAULT


def test_wrong_values_are_value_errors_too():
    assert issubclass(errors.SettingError, ValueError)
    assert issubclass(errors.TextError, ValueError)


def test_the_drawing_shows_the_tree():
    drawn = {}
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"([├└│ ─]*)(\w+Error|MissingExtra|Interrupted)\b", line):
            drawn[found[2]] = len(found[1]) // 4
    kinds = [k for k in vars(errors).values() if isinstance(k, type)]
    depth = {k.__name__: sum(issubclass(above, errors.DragomanError) for above in k.__mro__[1:]) for k in kinds}
    assert drawn == depth
