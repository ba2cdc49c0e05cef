"""Score tables from files: CSV, TSV, JSON lines and Parquet, wide or long."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from bestarm.checks import check_path, check_text
from bestarm.files import check_is_file, check_size, lines_of, read_text_file
from bestarm.sources.tables import ScoreTable, column_scores, is_absent, is_number, to_score
from bestarm.text import counted, cut_short, described, file_name, first_names, legible, repeated, short

MOST_BYTES = 2**28  # of what is unpacked; for large files, ten times their size
PER_BYTE = 10
LONGEST_REASON = 300  # characters of what Arrow says
NESTED_ROWS = 16  # of lists and records, read at a time: no size of theirs is known before


def read_parquet(path: Path) -> tuple[list[str], list[Any]]:
    """The names of the columns, and the columns; the index of a pandas frame is the first, and has no name."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install 'bestarm[frames]'") from error
    check_is_file(path)
    try:
        with parquet.ParquetFile(path) as file:
            most = max(MOST_BYTES, PER_BYTE * path.stat().st_size)
            _check_sizes(file.metadata, path.stat().st_size, most)
            schema = file.schema_arrow
        names = list(schema.names)
        if len(set(names)) < len(names):
            return names, [[] for _ in names]  # refused by the names
        with parquet.ParquetFile(
            path, read_dictionary=[name for name in names if _is_text(schema.field(name))]
        ) as file:
            columns = _columns(file, schema, most)
    except (pyarrow.ArrowException, ValueError, OSError, OverflowError, MemoryError) as error:
        why = cut_short(" ".join(str(error).split()), LONGEST_REASON)
        raise ValueError(f"{file_name(path)} cannot be read as Parquet: {why}") from error
    index = _index_of_pandas(schema.metadata or {}, columns)
    if index is not None:
        columns = {"": columns.pop(index)} | columns
    return list(columns), list(columns.values())


def _check_sizes(metadata: Any, n_bytes: int, most: int) -> None:
    """Refuse a file that would be far larger when unpacked."""
    check_size(metadata.num_rows, metadata.num_columns, n_bytes, "bytes")
    unpacked = sum(
        group.column(k).total_uncompressed_size
        for group in map(metadata.row_group, range(metadata.num_row_groups))
        for k in range(metadata.num_columns)
    )
    if unpacked > most:
        raise ValueError(
            f"its {n_bytes:,} bytes would be {unpacked:,} when unpacked, but at most {MOST_BYTES:,} are read, or "
            f"{PER_BYTE} times the size of the file if that is more"
        )


def _columns(file: Any, schema: Any, most: int) -> dict[str, Any]:
    from pyarrow import types

    nested = {field.name for field in schema if types.is_nested(field.type)}
    flat = [name for name in schema.names if name not in nested]
    table = file.read(columns=flat if nested else None)
    cells = {name: _nested(file, name) if name in nested else _flat(table.column(name)) for name in schema.names}
    return {name: _limited(part, name, most) if isinstance(part, Iterator) else part for name, part in cells.items()}


def _is_text(field: Any) -> bool:
    from pyarrow import types

    kinds = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return any(is_kind(field.type) for is_kind in kinds)


def _flat(column: Any) -> Any:
    """A column of numbers or flags as it is, of texts one by one, of anything else as a list."""
    from pyarrow import types

    if types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type):
        return column
    if types.is_dictionary(column.type):
        return (cell for chunk in column.chunks for cell in _looked_up(chunk))
    try:
        return column.to_pylist()
    except (ValueError, OverflowError):  # times that Python has no object for
        return column.cast("string").to_pylist()


def _looked_up(chunk: Any) -> Iterator[Any]:
    """The cells of a column that holds each text once, and where it belongs: no copy is made of any."""
    chunk.validate(full=True)  # a damaged file may point to texts that there are not
    words = [
        word.decode("utf-8", "backslashreplace") if isinstance(word, bytes) else word
        for word in chunk.dictionary.to_pylist()
    ]
    return (None if place is None else words[place] for place in chunk.indices.to_pylist())


def _nested(file: Any, name: str) -> Iterator[str]:
    """The cells of a column of lists or records, as texts."""
    for batch in file.iter_batches(NESTED_ROWS, columns=[name]):
        yield from map(str, batch.column(name).to_pylist())


def _limited(cells: Iterator[Any], name: str, most: int) -> list[Any]:
    """The cells, refused once their texts are too long together: each may be in the file once for many rows."""
    kept, size = [], 0
    for cell in cells:
        size += len(cell) if isinstance(cell, str) else 0
        if size > most:
            raise ValueError(f"column {short(name)!r} holds more than {most:,} characters")
        kept.append(cell)
    return kept


def _index_of_pandas(metadata: dict[bytes, bytes], columns: dict[str, Any]) -> str | None:
    """The column that was the index of a pandas frame, if there is one: it holds the items."""
    try:
        written = json.loads(metadata.get(b"pandas", b"{}"))["index_columns"]
    except (ValueError, RecursionError, KeyError, TypeError):  # written by others
        return None
    if not isinstance(written, list) or not all(isinstance(name, str) for name in written):
        return None
    index = [name for name in written if name in columns]
    return index[0] if len(index) == 1 else None


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
ITEM_NAMES = ("", "item", "items", "id", "index", "instance")  # an index saved by pandas has no name
COUNTED = 10  # rows: scores of a few items may happen to be 1, 2, 3
LONG = " (one row per score? then name item_column, arm_column and score_column)"


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
    chosen = [name for name in (item, arm, score, group_column) if name is not None]
    for name in chosen:
        check_text("the name of a column", name)
    header, columns = _read(path)
    twice = repeated(header)
    if twice is not None:
        raise ValueError(
            f"the columns of {file_name(path)} must have different names, but {short(twice)!r} appears more than once"
        )
    if not columns or not len(columns[0]):
        raise ValueError(f"{file_name(path)} has no rows: there must be one for each {'score' if arm else 'item'}")
    for name in chosen:
        if name not in header:
            have = first_names([legible(column) for column in header])
            raise ValueError(f"{file_name(path)} has no column {short(name)!r}: its columns are {have}")
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"items, arms, scores and groups must be in different columns, got {described(chosen)}")
    try:
        if arm is None and score is None:
            return _wide(header, columns, item, group_column)
        if item is not None and arm is not None and score is not None:
            table = _long(header, columns, item, arm, score)
            return table if group_column is None else _with_groups(table, header, columns, item, group_column)
    except ValueError as error:
        long = "" if arm or "must be a number" not in str(error) else LONG
        raise ValueError(f"{file_name(path)}: {error}{long}") from error
    raise ValueError("a long table needs the names of all its columns: item_column, arm_column and score_column")


def _read(path: Path) -> Columns:
    """The names of the columns, and the columns."""
    reader: Callable[[Path], Columns] | None = READERS.get(path.suffix.lower())
    if reader is None:
        raise ValueError(f"{file_name(path)} must end in one of {', '.join(READERS)}, so that its format is known")
    try:
        return reader(path)
    except MemoryError as error:
        raise ValueError(f"{file_name(path)} is too large for the memory of this machine") from error


def _cells(column: Column) -> list[Any]:
    """The cells of a column, as Python's own objects."""
    return column.to_pylist() if hasattr(column, "to_pylist") else list(column)


def _wide(header: list[str], columns: list[Column], item: str | None, group: str | None) -> ScoreTable:
    groups = None
    if group is not None:
        at = header.index(group)
        groups = tuple(_cells(columns[at]))
        header, columns = [*header[:at], *header[at + 1 :]], [*columns[:at], *columns[at + 1 :]]
    n_rows = len(columns[0]) if columns else 0
    names_at = header.index(item) if item is not None else _names_at(header, columns)
    arms = [k for k in range(len(header)) if k != names_at]
    items = map(str, range(1, n_rows + 1)) if names_at is None else map(str, _cells(columns[names_at]))
    scores = np.empty((n_rows, len(arms)))
    for place, k in enumerate(arms):
        scores[:, place] = column_scores(columns[k], header[k])
    return ScoreTable(tuple(header[k] for k in arms), tuple(items), scores, groups)


def _names_at(header: list[str], columns: list[Column]) -> int | None:
    """The first column, if others are left and it is named like one of items or holds no number at all."""
    if len(header) < 2:
        return None
    cells = _cells(columns[0])
    names = not any(map(is_number, cells)) and not all(map(is_absent, cells))
    items = header[0].strip().lower() in ITEM_NAMES or names or _counts_up(cells)
    return 0 if items else None


def _counts_up(cells: list[Any]) -> bool:
    """Whether a column only numbers its rows, whatever it is called: such numbers are no scores."""
    start = 0 if str(cells[0]) == "0" else 1
    return len(cells) >= COUNTED and all(str(cell) == str(k) for k, cell in enumerate(cells, start))


def _long(header: list[str], columns: list[Column], item: str, arm: str, score: str) -> ScoreTable:
    of_item, of_arm, cells = (_cells(columns[header.index(name)]) for name in (item, arm, score))
    of_item, of_arm = [str(name) for name in of_item], [str(name) for name in of_arm]
    items = {name: k for k, name in enumerate(dict.fromkeys(of_item))}
    arms = {name: k for k, name in enumerate(dict.fromkeys(of_arm))}
    check_size(len(items), len(arms), len(cells), "scores")
    scores = np.full((len(items), len(arms)), np.nan)
    filled = np.zeros(scores.shape, dtype=bool)
    for number, (its_item, its_arm, cell) in enumerate(zip(of_item, of_arm, cells, strict=True), start=1):
        place = items[its_item], arms[its_arm]
        if filled[place]:
            where = f"arm {short(its_arm)!r} on item {short(its_item)!r}"
            raise ValueError(f"row {number} repeats the score of {where}")
        filled[place] = True
        scores[place] = to_score(cell, number, score)
    return ScoreTable(tuple(arms), tuple(items), scores)


def _with_groups(table: ScoreTable, header: list[str], columns: list[Column], item: str, group: str) -> ScoreTable:
    """A long table with the groups of its items, which must be the same in all rows of an item."""
    names, labels = (_cells(columns[header.index(name)]) for name in (item, group))
    groups: dict[str, Any] = {}
    for number, (name, label) in enumerate(zip(map(str, names), labels, strict=True), start=1):
        if groups.setdefault(name, label) != label:
            known, now = described(groups[name]), described(label)
            raise ValueError(f"row {number} puts item {short(name)!r} into group {now}, but it was in {known}")
    return ScoreTable(table.arms, table.items, table.scores, tuple(groups[name] for name in table.items))
