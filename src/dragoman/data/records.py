"""Records: source and target of each line of a corpus, for every format that one can come in.

Each function yields one pair of sides a line, in order and without gaps, so that the n-th record is line n. A side
that cannot be used is a Fault in its place. What concerns a file as a whole is raised.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.data.features import ArrayFolder
from dragoman.data.lines import Fault, Reason, checked, fault_in, fit, text_or_fault
from dragoman.errors import DataError, FileError, MissingExtra
from dragoman.files import STANDARD, disk_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

Side = str | Fault
Record = tuple[Side, Side]
Opener = Callable[[Counter[str]], Iterator[Record]]
"""Starts a pass over a corpus; the counter takes note of what was mended."""

_TEXT_COLUMNS = ("string", "large_string", "dictionary<values=string", "dictionary<values=large_string")
_ROWS = 512
_ROW_GROUP_BYTES = 1 << 30


def two_files(source: str, target: str, notes: Counter[str], *, longest: int) -> Iterator[Record]:
    """Line i of the one file with line i of the other."""
    sides = (checked(source, longest=longest, notes=notes), checked(target, longest=longest, notes=notes))
    for number, record in enumerate(itertools.zip_longest(*sides)):
        if None in record:
            left = sum(1 for side in sides for _ in side)
            shorter, longer = (source, target) if record[0] is None else (target, source)
            raise DataError(
                f"has {number:,} {'line' if number == 1 else 'lines'}, but {longer} has {number + 1 + left:,}",
                place=f"{shorter}:{number + 1}",
                remedy="Lines at the same place belong together: find the line that is missing or doubled.",
            )
        yield record


def tsv(file: str, wanted: tuple[int, int], notes: Counter[str], *, columns: int, longest: int) -> Iterator[Record]:
    """Two of the columns of each line, counted from 1."""
    source, target = wanted[0] - 1, wanted[1] - 1
    for line in checked(file, longest=longest, notes=notes):
        if isinstance(line, Fault):
            yield line, line
            continue
        cells = line.split("\t")
        if len(cells) == columns:
            yield cells[source], cells[target]
        else:
            fault = Fault(Reason.COLUMNS, f"{len(cells)} where {columns} are expected")
            yield fault, fault


def jsonl(file: str, fields: tuple[str, str], notes: Counter[str], *, longest: int) -> Iterator[Record]:
    """Two fields of the object on each line."""
    row = msgspec.defstruct(
        "Row", [("source", str), ("target", str)], rename=dict(zip(("source", "target"), fields, strict=True))
    )
    decode = msgspec.json.Decoder(row).decode
    for line in checked(file, longest=longest, notes=notes):
        if isinstance(line, Fault):
            yield line, line
            continue
        try:
            found: Any = decode(line)
        except msgspec.ValidationError as error:
            fault = Fault(Reason.FIELD, str(error).replace("`", "'"))
            yield fault, fault
        except (msgspec.DecodeError, RecursionError) as error:
            fault = Fault(Reason.JSON, str(error))
            yield fault, fault
        else:
            if "\\" in line:  # only an escape can bring in what a line cannot hold
                yield fault_in(found.source) or found.source, fault_in(found.target) or found.target
            else:
                yield found.source, found.target


def mono(file: str, notes: Counter[str], *, longest: int) -> Iterator[Record]:
    """Each line as a target without a source."""
    for line in checked(file, longest=longest, notes=notes):
        yield "", line


def features(source: str, target: str, notes: Counter[str], *, longest: int) -> Iterator[Record]:
    """The path of the array that a line names, with the target on the same line of the other file."""
    folder = ArrayFolder(Path() if source == STANDARD else Path(source).parent)
    for name, text in two_files(source, target, notes, longest=longest):
        yield folder.path(name) if isinstance(name, str) and name.strip() else name, text


def parquet(file: str, fields: tuple[str, str], _: Counter[str], *, longest: int) -> Iterator[Record]:
    """Two text columns, row by row."""
    pa, pq = _pyarrow()
    row = 0
    try:
        with disk_errors(file, "read"), pq.ParquetFile(file, pre_buffer=False) as table:
            _refuse_columns(table, file, fields)
            for batch in table.iter_batches(_ROWS, columns=list(fields)):
                sides = [_side(batch.column(field), longest) for field in fields]
                yield from zip(*sides, strict=True)
                row += len(sides[0])
    except pa.ArrowException as error:
        raise FileError(
            f"damaged or not Parquet: {' '.join(str(error).split())[:200]}",
            place=f"{file}, after row {row:,}" if row else file,
            remedy="Fetch or write the file again.",
        ) from None


def _refuse_columns(table: Any, file: str, fields: tuple[str, str]) -> None:
    schema = table.schema_arrow
    for field in fields:
        kind = str(schema.field(field).type) if field in schema.names else ""
        if not kind.startswith(_TEXT_COLUMNS):
            raise DataError(
                f"column {field!r} holds {kind}, not text" if kind else f"no column {field!r}",
                place=file,
                remedy=f"Its columns are {', '.join(schema.names)}: set source_field and target_field.",
            )
    for number in range(table.metadata.num_row_groups):
        size = table.metadata.row_group(number).total_byte_size
        if size > _ROW_GROUP_BYTES:
            raise DataError(
                f"row group {number + 1} unpacks to {size:,} bytes, and {_ROW_GROUP_BYTES:,} are allowed",
                place=file,
                remedy="Write the file again with smaller row groups.",
            )


def _side(column: Any, longest: int) -> Sequence[Side]:
    try:
        texts = column.to_pylist()
    except UnicodeDecodeError:
        return [_cell(content, longest) for content in column.cast("large_binary").to_pylist()]
    if None not in texts and fit(texts) and 4 * max(map(len, texts), default=0) <= longest:
        return texts  # type: ignore[no-any-return] # pyarrow has no types
    return [_cell(text and text.encode(), longest) for text in texts]


def _cell(content: bytes | None, longest: int) -> Side:
    return Fault(Reason.FIELD, "no value") if content is None else text_or_fault(content, longest=longest)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtra("pyarrow", extra="data", purpose="a Parquet file") from None
    return pa, pq
