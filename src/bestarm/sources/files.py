"""Score tables from files: CSV, TSV, JSON lines and Parquet, wide or long."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bestarm.checks import check_path
from bestarm.errors import ParameterError
from bestarm.files import check_is_file, check_size, lines_of, read_text_file
from bestarm.sources.columns import ColumnChoice, Columns, table_of_columns
from bestarm.sources.frames import say_notes
from bestarm.sources.tables import ScoreTable
from bestarm.text import file_name, first_repeated, first_ten_names, one_line, sanitize, short, short_repr, with_noun

LONGEST_CELL = 2**31 - 1
MOST_BYTES = 2**28  # of Parquet that is unpacked; for large files, ten times their size
PER_BYTE = 10
NO_SCORES = " (if it holds no scores, ignore it; with one row per score, name the columns of items, arms and scores)"


def read_table(
    path: str | Path,
    *,
    item_column: str | None = None,
    arm_column: str | None = None,
    score_column: str | None = None,
    group_column: str | None = None,
    arms: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
) -> ScoreTable:
    """The scores in a file, by its ending: ``.csv``, ``.tsv``, ``.jsonl``/``.ndjson`` or ``.parquet``.

    Wide: one row per item, one column per arm; ``item_column`` names the column that holds the items. If it is left
    out, the first column is used if it is called item, question, question_id, id, doc_id, task, example, prompt_id,
    instance or index, has no name, holds neither numbers nor missing cells alone, or only counts the rows (ten or
    more); or else the first column of texts that are all different. Other columns of texts are left out. A column in
    which only some cells are texts is refused.

    Long: ``item_column``, ``arm_column`` and ``score_column`` name three columns; one row per score. They need no names
    if names of arms come again and again in a column called model, arm, system, method or candidate, and exactly one
    other is called like items (as above) and one score, correct, value, accuracy, acc or reward.

    ``group_column`` names the column that holds the groups of the items, where items belong together. ``arms`` are the
    columns to race (of a long table: the arms), and ``ignore`` those to leave out.

    Scores are plain numbers, or True and False (1 and 0) where a column holds nothing else; cells may be missing.
    Choices by names and texts are heuristics: where there was one, ``notes`` of the table and a `TableWarning` say it,
    and also which columns are arms if some look unlike them (``prompt_tokens``).

    What is no such table raises ValueError, with the place; a file that cannot be opened raises OSError. A file that
    stands for far more than it holds (a few bytes of Parquet for 10^9 rows, a long table in which hardly an item has
    scores of two arms) is refused: more than 10^7 cells only where there are ten times fewer scores or bytes.
    """
    check_path("path", path)
    choice = ColumnChoice(item_column, arm_column, score_column, group_column, arms, ignore)
    table = _table_in(Path(path), choice)
    say_notes(table)
    return table


def _table_in(path: Path, choice: ColumnChoice) -> ScoreTable:
    columns = _read(path)
    if not columns or not len(next(iter(columns.values()))):
        one = "score" if choice.arm else "item"
        raise ValueError(f"{file_name(path)} has no rows: there must be one for each {one}")
    for name in choice.named:
        if name not in columns:
            have = first_ten_names([short(column) for column in columns])
            raise ValueError(f"{file_name(path)} has no column {short(name)!r}: its columns are {have}")
    try:
        return table_of_columns(columns, choice)
    except ParameterError as error:
        if error.parameter != "scores":
            raise
        raise ValueError(f"{file_name(path)}: {error}") from error
    except ValueError as error:
        hint = "" if choice.arm or "must be a number" not in str(error) else NO_SCORES
        raise ValueError(f"{file_name(path)}: {error}{hint}") from error


def _read(path: Path) -> Columns:
    """The columns of a file."""
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise ValueError(f"{file_name(path)} must end in one of {', '.join(READERS)}, so that its format is known")
    try:
        return reader(path)
    except MemoryError as error:
        raise ValueError(f"{file_name(path)} is too large for the memory of this machine") from error


def _check_names(names: Sequence[str], path: Path) -> None:
    twice = first_repeated(names)
    if twice is not None:
        raise ValueError(
            f"the columns of {file_name(path)} must have different names, but {short(twice)!r} appears more than once"
        )


# --- CSV, TSV and JSON lines -----------------------------------------------------------------------------------------


def _read_delimited(path: Path, delimiter: str) -> Columns:
    text = io.StringIO(read_text_file(path), newline="")
    usual = csv.field_size_limit(LONGEST_CELL)  # items may be long texts
    rows = csv.reader(text, delimiter=delimiter, strict=True)  # which refuses quotation marks that are never closed
    try:
        header = next(filter(None, rows), None)
        if header is None:
            raise ValueError(f"{file_name(path)} is empty: its first line must name the columns")
        if len(header) == 1:
            _refuse_other_separators(path, header[0], delimiter)
        _check_names(header, path)
        columns: list[list[str]] = [[] for _ in header]
        for row in filter(None, rows):
            if len(row) != len(header):
                where = f"row {len(columns[0]) + 1} of {file_name(path)}"
                raise ValueError(f"{where} has {with_noun(len(row), 'cell')}, but there are {len(header)} columns")
            for column, cell in zip(columns, row, strict=True):
                column.append(cell)
    except csv.Error as error:
        why = sanitize(str(error), "name")  # it may quote a tab
        raise ValueError(f"line {rows.line_num} of {file_name(path)} cannot be read as a table: {why}") from error
    finally:
        csv.field_size_limit(usual)
    return dict(zip(header, columns, strict=True))


def _refuse_other_separators(path: Path, header: str, delimiter: str) -> None:
    """Refuse a table of a single column whose name holds other separators."""
    usual = "commas" if delimiter == "," else "tabs"
    for name, mark in (("semicolons", ";"), ("tabs", "\t"), ("commas", ",")):
        if mark in header:
            raise ValueError(
                f"the columns of {file_name(path)} seem to be separated by {name}: save it with {usual} between "
                "columns and points for decimals"
            )


def _read_json_lines(path: Path) -> Columns:
    records = list(_records(path))
    names = list(dict.fromkeys(name for record in records for name in record))
    try:
        check_size(len(records), len(names), sum(map(len, records)), "entries")
    except ValueError as error:
        raise ValueError(f"{file_name(path)}: {error}") from error
    return {name: [record.get(name) for record in records] for name in names}


def _records(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines_of(read_text_file(path)), start=1):
        if not line.strip():
            continue
        where = f"line {number} of {file_name(path)}"
        try:
            record = json.loads(line, object_pairs_hook=_without_repetition)
            if "\\ud" in line.lower():
                json.dumps(record, ensure_ascii=False).encode()  # refuses half a character
        except RecursionError as error:
            raise ValueError(f"{where} is nested too deeply") from error
        except ValueError as error:
            raise ValueError(f"{where} cannot be read as JSON: {error}") from error
        if not isinstance(record, dict):
            raise ValueError(f"{where} must be a JSON object, one entry per column, got {short_repr(line.strip())}")
        yield {name: str(cell) if isinstance(cell, dict | list) else cell for name, cell in record.items()}


def _without_repetition(entries: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(entries)
    if len(record) < len(entries):
        raise ValueError(f"{short(str(first_repeated(name for name, _ in entries)))!r} appears more than once")
    return record


# --- Parquet ---------------------------------------------------------------------------------------------------------


def _read_parquet(path: Path) -> Columns:
    """The columns; the index of a pandas frame is the first, and has no name."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install 'bestarm[frames]'") from error
    check_is_file(path)
    try:
        with parquet.ParquetFile(path) as file:
            _check_names(file.schema_arrow.names, path)
            _check_unpacked_size(file.metadata, path.stat().st_size)
            table = file.read()
        table.validate(full=True)  # a damaged file may point to texts that there are not
        columns = {name: _plain_column(table.column(name)) for name in table.column_names}
    except (pyarrow.ArrowException, ValueError, OSError, OverflowError, MemoryError) as error:
        raise ValueError(f"{file_name(path)} cannot be read as Parquet: {one_line(error)}") from error
    index = _index_of_pandas(table.schema.metadata or {}, columns)
    return columns if index is None else {"": columns.pop(index)} | columns


def _check_unpacked_size(metadata: Any, n_bytes: int) -> None:
    """Refuse a file that would be far larger when unpacked."""
    check_size(metadata.num_rows, metadata.num_columns, n_bytes, "bytes")
    unpacked = sum(metadata.row_group(k).total_byte_size for k in range(metadata.num_row_groups))
    if unpacked > max(MOST_BYTES, PER_BYTE * n_bytes):
        raise ValueError(
            f"its {n_bytes:,} bytes would be {unpacked:,} when unpacked, but at most {MOST_BYTES:,} are read, or "
            f"{PER_BYTE} times the size of the file if that is more"
        )


def _plain_column(column: Any) -> Any:
    """A column of numbers or flags as it is, of anything else as a list."""
    from pyarrow import types

    if types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type):
        return column
    try:
        cells = column.to_pylist()
    except (ValueError, OverflowError):  # times that Python has no object for
        cells = column.cast("string").to_pylist()
    return [cell.decode("utf-8", "backslashreplace") if isinstance(cell, bytes) else cell for cell in cells]


def _index_of_pandas(metadata: dict[bytes, bytes], columns: Columns) -> str | None:
    """The column that was the index of a pandas frame, if there is one: it holds the items."""
    try:
        names = json.loads(metadata.get(b"pandas", b"{}"))["index_columns"]
        found = [name for name in names if name in columns]
    except (ValueError, RecursionError, KeyError, TypeError):  # written by others
        return None
    return found[0] if len(found) == 1 else None


READERS: dict[str, Callable[[Path], Columns]] = {
    ".csv": partial(_read_delimited, delimiter=","),
    ".tsv": partial(_read_delimited, delimiter="\t"),
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".parquet": _read_parquet,
}
