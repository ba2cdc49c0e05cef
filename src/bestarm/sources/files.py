"""Score tables from files: CSV, TSV, JSON lines and Parquet, wide or long."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bestarm.checks import check_path, check_text
from bestarm.errors import ParameterError
from bestarm.files import check_is_file, check_size, lines_of, read_text_file
from bestarm.sources.tables import ScoreTable, as_list, is_absent, is_number, table_of, to_score
from bestarm.text import file_name, first_repeated, first_ten_names, one_line, sanitize, short, short_repr, with_noun

Columns = dict[str, Any]  # lists of cells, or Arrow columns of numbers, by name
LONGEST_CELL = 2**31 - 1
MOST_BYTES = 2**28  # of Parquet that is unpacked; for large files, ten times their size
PER_BYTE = 10
ITEM_NAMES = ("", "item", "items", "id", "index", "instance")  # an index saved by pandas has no name
COUNTED = 10  # rows: scores of a few items may happen to be 1, 2, 3
LONG = " (one row per score? then name the columns of items, arms and scores)"


def read_table(
    path: str | Path,
    *,
    item_column: str | None = None,
    arm_column: str | None = None,
    score_column: str | None = None,
    group_column: str | None = None,
) -> ScoreTable:
    """The scores in a file, by its ending: ``.csv``, ``.tsv``, ``.jsonl``/``.ndjson`` or ``.parquet``.

    Wide: one row per item, one column per arm; ``item_column`` names the column that holds the items. If it is left
    out, the first column is used if it is called item, id, index or instance, has no name, holds neither numbers nor
    missing cells alone, or only counts the rows (ten or more).

    Long: ``item_column``, ``arm_column`` and ``score_column`` name three columns; one row per score.

    ``group_column`` names the column that holds the groups of the items, where items belong together.

    What is no such table raises ValueError, with the place; a file that cannot be opened raises OSError. A file that
    stands for far more than it holds (a few bytes of Parquet for 10^9 rows, a long table in which hardly an item has
    scores of two arms) is refused: more than 10^7 cells only where there are ten times fewer scores or bytes.
    """
    check_path("path", path)
    path, item, arm, score = Path(path), item_column, arm_column, score_column
    given = {"item_column": item, "arm_column": arm, "score_column": score, "group_column": group_column}
    for parameter, name in given.items():
        if name is not None:
            check_text(parameter, name)
    chosen = [name for name in given.values() if name is not None]
    columns = _read(path)
    if not columns or not len(next(iter(columns.values()))):
        raise ValueError(f"{file_name(path)} has no rows: there must be one for each {'score' if arm else 'item'}")
    for name in chosen:
        if name not in columns:
            have = first_ten_names([short(column) for column in columns])
            raise ValueError(f"{file_name(path)} has no column {short(name)!r}: its columns are {have}")
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"items, arms, scores and groups must be in different columns, got {short_repr(chosen)}")
    try:
        if arm is None and score is None:
            return _wide(columns, item, group_column)
        if item is not None and arm is not None and score is not None:
            return _long(columns, item, arm, score, group_column)
    except ValueError as error:
        long = "" if arm or "must be a number" not in str(error) else LONG
        raise ValueError(f"{file_name(path)}: {error}{long}") from error
    absent = "item_column" if item is None else "arm_column" if arm is None else "score_column"
    raise ParameterError(absent, "must be given, too: a long table needs the names of all its columns", None)


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


# --- wide and long ---------------------------------------------------------------------------------------------------


def _wide(columns: Columns, item: str | None, group: str | None) -> ScoreTable:
    scores = dict(columns)
    groups = None if group is None else as_list(scores.pop(group))
    named_by = item if item is not None else _find_items(scores)
    items = None if named_by is None else as_list(scores.pop(named_by))
    return table_of(scores, items, groups)


def _find_items(columns: Columns) -> str | None:
    """The first column, if others are left and it is named like one of items or holds no number at all."""
    if len(columns) < 2:
        return None
    first = next(iter(columns))
    cells = as_list(columns[first])
    are_names = not any(map(is_number, cells)) and not all(map(is_absent, cells))
    return first if first.strip().lower() in ITEM_NAMES or are_names or _counts_up(cells) else None


def _counts_up(cells: list[Any]) -> bool:
    """Whether a column only numbers its rows, whatever it is called: such numbers are no scores."""
    start = 0 if str(cells[0]) == "0" else 1
    return len(cells) >= COUNTED and all(str(cell) == str(k) for k, cell in enumerate(cells, start))


def _long(columns: Columns, item: str, arm: str, score: str, group: str | None) -> ScoreTable:
    of_item, of_arm = ([str(name) for name in as_list(columns[column])] for column in (item, arm))
    cells = as_list(columns[score])
    items = {name: k for k, name in enumerate(dict.fromkeys(of_item))}
    arms = {name: k for k, name in enumerate(dict.fromkeys(of_arm))}
    check_size(len(items), len(arms), len(cells), "scores")
    scores = np.full((len(items), len(arms)), np.nan)
    filled = np.zeros(scores.shape, dtype=bool)
    for row, (its_item, its_arm, cell) in enumerate(zip(of_item, of_arm, cells, strict=True), start=1):
        place = items[its_item], arms[its_arm]
        if filled[place]:
            raise ValueError(f"row {row} repeats the score of arm {short(its_arm)!r} on item {short(its_item)!r}")
        filled[place] = True
        scores[place] = to_score(cell, row, score)
    groups = None if group is None else _groups_of(of_item, as_list(columns[group]))
    return ScoreTable(tuple(arms), tuple(items), scores, groups)


def _groups_of(of_item: list[str], labels: list[Any]) -> tuple[Any, ...]:
    """The groups of the items of a long table, which must be the same in all rows of an item."""
    groups: dict[str, Any] = {}
    for row, (item, label) in enumerate(zip(of_item, labels, strict=True), start=1):
        if groups.setdefault(item, label) != label:
            known, now = short_repr(groups[item]), short_repr(label)
            raise ValueError(f"row {row} puts item {short(item)!r} into group {now}, but it was in {known}")
    return tuple(groups.values())


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
            _check_sizes(file.metadata, path.stat().st_size)
            table = file.read()
        table.validate(full=True)  # a damaged file may point to texts that there are not
        columns = {name: _plain_column(table.column(name)) for name in table.column_names}
    except (pyarrow.ArrowException, ValueError, OSError, OverflowError, MemoryError) as error:
        raise ValueError(f"{file_name(path)} cannot be read as Parquet: {one_line(error)}") from error
    index = _index_of_pandas(table.schema.metadata or {}, columns)
    return columns if index is None else {"": columns.pop(index)} | columns


def _check_sizes(metadata: Any, n_bytes: int) -> None:
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
