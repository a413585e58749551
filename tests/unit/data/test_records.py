from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dragoman.data import records
from dragoman.data.corpus import Parquet, build
from dragoman.data.lines import Fault, Reason
from dragoman.errors import DataError, MissingExtra


@pytest.fixture
def table(tmp_path):
    def write(columns, **options):
        path = str(tmp_path / "a.parquet")
        pq.write_table(pa.table(columns), path, **options)
        return path

    return write


ROWS = [f"text {i}" for i in range(2000)]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())], ids=str
)
def test_every_kind_of_text_column_is_read(table, kind):
    path = table({"source": pa.array(ROWS).cast(kind), "target": ROWS, "more": range(2000)}, row_group_size=300)
    pairs = list(build(Parquet(file=path)))
    assert [pair.source for pair in pairs] == [pair.target for pair in pairs] == ROWS
    assert [pair.line for pair in pairs] == list(range(1, 2001))


def test_a_row_without_a_value_is_a_fault(table):
    path = table({"source": ["a", None, "c"], "target": ["x", "y", "z"]})
    found = list(records.parquet(path, ("source", "target"), Counter(), longest=9))
    assert found == [("a", "x"), (Fault(Reason.FIELD, "no value"), "y"), ("c", "z")]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [(("source", "cible"), "no column 'cible'"), (("n", "target"), "column 'n' holds int64, not")],
)
def test_columns_are_checked_first(table, fields, problem):
    path = table({"source": ["a"], "target": ["b"], "n": [1]})
    with pytest.raises(DataError, match=problem) as caught:
        list(build(Parquet(file=path, source_field=fields[0], target_field=fields[1])))
    assert "source, target, n" in caught.value.remedy


def test_a_row_group_that_would_fill_the_memory_is_refused(table, monkeypatch):
    path = table({"source": ["a" * 1000], "target": ["b" * 1000]}, compression=None)
    monkeypatch.setattr(records, "_ROW_GROUP_BYTES", 1999)
    with pytest.raises(DataError, match="row group 1 unpacks to"):
        list(build(Parquet(file=path)))


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"dragoman\[data\]"):
        list(build(Parquet(file="a.parquet")))
