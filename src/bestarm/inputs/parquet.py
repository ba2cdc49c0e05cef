"""Parquet files: a few bytes may stand for any number of rows, so that sizes are checked before anything is read."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bestarm.inputs.sizes import check_size
from bestarm.inputs.text_files import check_is_file
from bestarm.inputs.texts import short
from bestarm.shown import cut_short, file_name

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
