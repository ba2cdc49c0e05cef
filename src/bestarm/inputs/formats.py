"""The formats of score tables: each reader gives the names of the columns, and the columns."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from bestarm.inputs.parquet import read_parquet
from bestarm.inputs.sizes import check_size
from bestarm.inputs.text_files import lines_of, read_text_file
from bestarm.inputs.texts import counted, repeated, short
from bestarm.shown import described, file_name

LONGEST_CELL = 2**31 - 1
ROWS_AT_A_TIME = 200  # more would not stay in the processor's cache, nor out of the garbage collector's sight
DECIMAL_COMMA = re.compile(r"[-+]?[0-9]*,[0-9]+([eE][-+]?[0-9]+)?")
END = "\0"  # a row after the last one: no text file holds it

Column = Sequence[Any]  # or an Arrow column of numbers
Columns = tuple[list[str], list[Column]]


def _read_delimited(path: Path, delimiter: str) -> Columns:
    text = read_text_file(path)
    usual = csv.field_size_limit(LONGEST_CELL)  # items may be long texts
    try:
        rows = _rows(csv.reader(chain(_csv_lines(text), [END]), delimiter=delimiter))
        header = next(rows, None)
        if header is None:
            raise ValueError(f"{file_name(path)} is empty: its first line must name the columns")
        if len(header) == 1:
            _refuse_other_separators(path, header[0], delimiter, delimiter.join(next(rows, [])))
        return header, _columns_of(header, rows, path)
    except csv.Error as error:
        raise ValueError(f"{file_name(path)} cannot be read as a table: {error}") from error
    finally:
        csv.field_size_limit(usual)


def _csv_lines(text: str) -> Iterable[str]:
    """The lines of a table; a cell in quotes may hold line ends, so that these have to be kept then."""
    return io.StringIO(text, newline="") if '"' in text else filter(None, lines_of(text))


def _rows(rows: Iterable[list[str]]) -> Iterator[list[str]]:
    """The rows that are not blank, up to the end."""
    for row in rows:
        if row == [END]:
            return
        if row and row[-1].endswith(END):
            raise csv.Error("a quotation mark is opened and never closed")
        if row:
            yield row


def _columns_of(header: list[str], rows: Iterator[list[str]], path: Path) -> list[Column]:
    """The cells of the columns; some rows at a time, as lists of rows take far more memory."""
    columns: list[list[str]] = [[] for _ in header]
    while block := list(islice(rows, ROWS_AT_A_TIME)):
        if set(map(len, block)) != {len(header)}:
            number, row = next((k, row) for k, row in enumerate(block, start=1) if len(row) != len(header))
            where = f"row {len(columns[0]) + number} of {file_name(path)}"
            raise ValueError(f"{where} has {counted(len(row), 'cell')}, but there are {len(header)} columns")
        for column, cells in zip(columns, zip(*block, strict=True), strict=True):
            column.extend(cells)
    return list(columns)


def _refuse_other_separators(path: Path, header: str, delimiter: str, row: str) -> None:
    """Refuse a table of a single column whose name holds other separators; ``row`` is the one below it."""
    for name, mark in (("semicolons", ";"), ("tabs", "\t"), ("commas", ",")):
        if mark not in header or mark == delimiter:
            continue
        what, usual = f"separated by {name}", "commas" if delimiter == "," else "tabs"
        number = next((cell.strip() for cell in row.split(mark) if DECIMAL_COMMA.fullmatch(cell.strip())), None)
        if number is not None and mark != ",":
            what += f", and its numbers written with decimal commas ({short(number)})"
            usual += " between columns and points for decimals"
        raise ValueError(f"the columns of {file_name(path)} seem to be {what}: save it with {usual}")


def _read_json_lines(path: Path) -> Columns:
    records = list(_records(path))
    header = list(dict.fromkeys(name for record in records for name in record))
    try:
        check_size(len(records), len(header), sum(map(len, records)), "entries")
    except ValueError as error:
        raise ValueError(f"{file_name(path)}: {error}") from error
    return header, [[record.get(name) for record in records] for name in header]


def _records(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines_of(read_text_file(path)), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line, object_pairs_hook=_unique)
            if isinstance(record, dict):
                record = {name: str(cell) if isinstance(cell, dict | list) else cell for name, cell in record.items()}
                if "\\ud" in line.lower():
                    json.dumps(record, ensure_ascii=False).encode()  # refuses half a character
        except RecursionError as error:
            raise ValueError(f"line {number} of {file_name(path)} is nested too deeply") from error
        except ValueError as error:
            raise ValueError(f"line {number} of {file_name(path)} cannot be read as JSON: {error}") from error
        if not isinstance(record, dict):
            got = described(line.strip())
            raise ValueError(
                f"line {number} of {file_name(path)} must be a JSON object, one entry per column, got {got}"
            )
        yield record


def _unique(entries: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(entries)
    if len(record) < len(entries):
        raise ValueError(f"{short(str(repeated(name for name, _ in entries)))!r} appears more than once")
    return record


READERS: dict[str, Callable[[Path], Columns]] = {
    ".csv": partial(_read_delimited, delimiter=","),
    ".tsv": partial(_read_delimited, delimiter="\t"),
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".parquet": read_parquet,
}
