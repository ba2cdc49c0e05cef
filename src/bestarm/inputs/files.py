"""Score tables from files: CSV, TSV, JSON lines and Parquet, wide or long."""

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bestarm.inputs.tables import ScoreTable, to_score
from bestarm.inputs.texts import counted

ITEM_NAMES = ("", "item", "items", "id", "index", "instance")  # an index saved by pandas has no name
LONGEST_CELL = 2**31 - 1
COUNTED = 10  # rows: scores of a few items may happen to be 1, 2, 3
LONG = " (one row per score? then name item_column, arm_column and score_column)"

Cells = Sequence[Any]


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
    out, the first column is used if it is called item, id, index or instance, has no name, holds no numbers, or only
    counts the rows (ten or more).

    Long: ``item_column``, ``arm_column`` and ``score_column`` name three columns; one row per score.

    ``group_column`` names the column that holds the groups of the items, where items belong together.
    """
    path, item, arm, score = Path(path), item_column, arm_column, score_column
    try:
        header, rows = _read(path)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be a text file in UTF-8: {error}") from error
    if len(set(header)) < len(header):
        twice = next(name for k, name in enumerate(header) if name in header[:k])
        raise ValueError(f"the columns of {path} must have different names, but {twice!r} appears more than once")
    if not rows:
        raise ValueError(f"{path} has no rows: there must be one for each {'score' if arm else 'item'}")
    for name in filter(None, (item, arm, score, group_column)):
        if name not in header:
            raise ValueError(f"{path} has no column {name!r}: its columns are {', '.join(header)}")
    try:
        if arm is None and score is None:
            return _wide(header, rows, item, group_column)
        if item is not None and arm is not None and score is not None:
            table = _long(header, rows, item, arm, score)
            return table if group_column is None else _with_groups(table, header, rows, item, group_column)
    except ValueError as error:
        long = "" if arm or "must be a number" not in str(error) else LONG
        raise ValueError(f"{path}: {error}{long}") from error
    raise ValueError("a long table needs the names of all its columns: item_column, arm_column and score_column")


def _read(path: Path) -> tuple[list[str], list[Cells]]:
    """The names of the columns, and the rows."""
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise ValueError(f"{path} must end in one of {', '.join(READERS)}, so that its format is known")
    return reader(path)


def _read_delimited(path: Path, delimiter: str) -> tuple[list[str], list[Cells]]:
    usual = csv.field_size_limit(LONGEST_CELL)  # items may be long texts
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [line for line in csv.reader(file, delimiter=delimiter) if line]
    except csv.Error as error:
        raise ValueError(f"{path} cannot be read as a table: {error}") from error
    finally:
        csv.field_size_limit(usual)
    if not lines:
        raise ValueError(f"{path} is empty: its first line must name the columns")
    header, rows = lines[0], lines[1:]
    if len(header) == 1 and ";" in header[0]:
        raise ValueError(f"the columns of {path} seem to be separated by semicolons: save it with commas")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise ValueError(
                f"row {number} of {path} has {counted(len(row), 'cell')}, but there are {len(header)} columns"
            )
    return header, list(rows)


def _read_json_lines(path: Path) -> tuple[list[str], list[Cells]]:
    records = list(_records(path))
    header = list(dict.fromkeys(name for record in records for name in record))
    return header, [[record.get(name) for name in header] for record in records]


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except json.JSONDecodeError as error:
                raise ValueError(f"line {number} of {path} is not JSON: {error}") from error
            if not isinstance(record, dict):
                raise ValueError(
                    f"line {number} of {path} must be a JSON object, one entry per column, got {line.strip()[:40]!r}"
                )
            yield record


def _read_parquet(path: Path) -> tuple[list[str], list[Cells]]:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install 'bestarm[frames]'") from error
    try:
        table = parquet.ParquetFile(path).read()
    except (ValueError, OSError) as error:  # pyarrow's own errors are kinds of these
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from error
    columns = {name: column.to_pylist() for name, column in zip(table.column_names, table.columns, strict=True)}
    if len(columns) < len(table.column_names):
        return list(table.column_names), []
    written = json.loads((table.schema.metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
    index = [name for name in written if name in columns] if all(isinstance(name, str) for name in written) else []
    if len(index) == 1:  # the index of a pandas frame holds the items
        columns = {"": columns.pop(index[0])} | columns
    return list(columns), list(zip(*columns.values(), strict=True))


READERS: dict[str, Callable[[Path], tuple[list[str], list[Cells]]]] = {
    ".csv": partial(_read_delimited, delimiter=","),
    ".tsv": partial(_read_delimited, delimiter="\t"),
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".parquet": _read_parquet,
}


def _wide(header: list[str], rows: list[Cells], item: str | None, group: str | None) -> ScoreTable:
    if group is not None:
        at = header.index(group)
        table = _wide([*header[:at], *header[at + 1 :]], [[*row[:at], *row[at + 1 :]] for row in rows], item, None)
        return ScoreTable(table.arms, table.items, table.scores, tuple(row[at] for row in rows))
    names_at = header.index(item) if item is not None else _names_at(header, rows)
    arms = [k for k in range(len(header)) if k != names_at]
    items = [str(k) for k in range(1, len(rows) + 1)] if names_at is None else [str(row[names_at]) for row in rows]
    return ScoreTable(tuple(header[k] for k in arms), tuple(items), _numbers(rows, header, arms))


def _names_at(header: list[str], rows: list[Cells]) -> int | None:
    """The first column, if others are left and it is named like one of items or holds no number at all."""
    if len(header) < 2:
        return None
    cells = [row[0] for row in rows]
    names = not any(map(_is_number, cells)) and not all(cell in (None, "") for cell in cells)
    names = names or _counts_up(cells)
    items = header[0].strip().lower() in ITEM_NAMES or names
    return 0 if items else None


def _counts_up(cells: Cells) -> bool:
    """Whether a column only numbers its rows, whatever it is called: such numbers are no scores."""
    start = 0 if str(cells[0]) == "0" else 1
    return len(cells) >= COUNTED and [str(cell) for cell in cells] == [str(k) for k in range(start, start + len(cells))]


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _numbers(rows: list[Cells], header: list[str], columns: list[int]) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """The scores; where a cell is missing or no number, cell by cell, so that its place can be named."""
    chosen = [[row[k] for k in columns] for row in rows]
    try:
        scores = np.array(chosen, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        scores = np.empty(0)
    if scores.ndim == 2:
        return scores
    return np.array(
        [
            [to_score(cell, number, header[k]) for k, cell in zip(columns, row, strict=True)]
            for number, row in enumerate(chosen, start=1)
        ]
    )


def _long(header: list[str], rows: list[Cells], item: str, arm: str, score: str) -> ScoreTable:
    item_at, arm_at, score_at = (header.index(name) for name in (item, arm, score))
    items = {name: k for k, name in enumerate(dict.fromkeys(str(row[item_at]) for row in rows))}
    arms = {name: k for k, name in enumerate(dict.fromkeys(str(row[arm_at]) for row in rows))}
    scores = np.full((len(items), len(arms)), np.nan)
    filled = np.zeros(scores.shape, dtype=bool)
    for number, row in enumerate(rows, start=1):
        place = items[str(row[item_at])], arms[str(row[arm_at])]
        if filled[place]:
            raise ValueError(f"row {number} repeats the score of arm {row[arm_at]!r} on item {row[item_at]!r}")
        filled[place] = True
        scores[place] = to_score(row[score_at], number, score)
    return ScoreTable(tuple(arms), tuple(items), scores)


def _with_groups(table: ScoreTable, header: list[str], rows: list[Cells], item: str, group: str) -> ScoreTable:
    """A long table with the groups of its items, which must be the same in all rows of an item."""
    item_at, group_at = header.index(item), header.index(group)
    groups: dict[str, Any] = {}
    for number, row in enumerate(rows, start=1):
        name, label = str(row[item_at]), row[group_at]
        if groups.setdefault(name, label) != label:
            raise ValueError(f"row {number} puts item {name!r} into group {label!r}, but it was in {groups[name]!r}")
    return ScoreTable(table.arms, table.items, table.scores, tuple(groups[name] for name in table.items))
