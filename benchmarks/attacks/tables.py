"""Score tables that are damaged, absurd or hostile: files of all formats, frames, arrays and nested lists."""

import io
import json
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from pyarrow import parquet

import bestarm
from attacks import bad_values
from attacks.judging import judge
from attacks.pool import Case, TooLongError, warm_up

Note = Callable[[str], None]
Table = tuple[list[Any], list[list[Any]]]
NAMES = ("item", "id", "a", "b", "c", "model", "score", "group", "", "index")
FLAGS = ("True", "False", True, False)
OPTIONS: dict[str, tuple[Any, ...]] = {
    "bounds": ((0, 1), (0.0, 2.0), (-1e308, 1e308), (1, 0), None),
    "missing": ("raise", "worst", "drop"),
    "criterion": ("mean", "wins", None),
    "target": ("items", "population", None),
    "delta": (0.05, 0.5, 1e-300, 0.0, None),
    "epsilon": (0.0, 0.1, 1e-320, 1e308, None),
    "lower_is_better": (True, False),
    "max_evaluations": (0, 5, 50, None),
    "seed": (0, 1, 2**64),
}
NO_RECORDS = ("[" * 100_000, '{"a":' * 50_000, "{", "nul", "NaN", '{"a": 1, "a": 2}', "9" * 5000, '"\\ud800"')
METADATA = (b"", b"{}", b"[]", b"null", b"{", b"[" * 50_000, b'{"index_columns": 5}', b'{"index_columns": ["a"]}', b'{"index_columns": [{}]}', b"\xff")  # fmt: skip


def prepare(folder: Path) -> Case:
    """Cases of one table each."""
    warnings.simplefilter("ignore")
    makers = (delimited, delimited, json_lines, parquet_file, in_memory, in_memory)

    def case(luck: random.Random, note: Note) -> str:
        return luck.choice(makers)(luck, folder, note)

    warm_up(case, 40)
    return case


def table(luck: random.Random) -> Table:
    """An ordinary table, with a few odd names and cells."""
    n_columns, n_rows = luck.choice((0, 1, 2, 3, 3, 3, 4, 4, 5, 5)), luck.choice((0, 1, 2, 3, 5, 10, 12, 20, 40))
    header: list[Any] = luck.sample(NAMES, n_columns)
    rows: list[list[Any]] = [[round(luck.random(), 3) for _ in header] for _ in range(n_rows)]
    if header and luck.random() < 0.5:
        for k, row in enumerate(rows):
            row[0] = luck.choice((f"item {k}", k, k + 1)) if luck.random() < 0.9 else None
    if header and luck.random() < 0.4:  # a column of texts, of flags, or of names that come again
        k, words = luck.randrange(n_columns), luck.choice((("x", "y"), FLAGS, (f"q {n_rows}", "", "5%")))
        for row in rows:
            row[k] = luck.choice(words)
    odd = luck.choice((0.0, 0.0, 0.0, 0.02, 0.02, 0.2, 0.7))
    header = [bad_values.text(luck) if luck.random() < odd else name for name in header]
    rows = [[cell_of(luck) if luck.random() < odd else cell for cell in row] for row in rows]
    return header, rows


def cell_of(luck: random.Random) -> Any:
    """A cell that is not an ordinary score."""
    return luck.choice((None, "", "NA", bad_values.text(luck), bad_values.number(luck), bad_values.number(luck)))


def delimited(luck: random.Random, folder: Path, note: Note) -> str:
    """A CSV or TSV file."""
    ending = luck.choice((".csv", ".tsv", ".CSV"))
    between = luck.choice((",", ",", ",", ";", "\t", "|", ", ")) if ending != ".tsv" else "\t"
    header, rows = table(luck)
    quote = luck.choice(('"', '"', "", "'"))
    lines = [between.join(quoted(cell, quote, luck) for cell in row) for row in [header, *rows]]
    text = luck.choice(("\n", "\n", "\r\n", "\r", "\n\n", "\x0b", "\u2028")).join(lines)
    text += luck.choice(("\n", "", "\n\n", "\x1a"))
    encoding = luck.choice((*["utf-8"] * 9, "utf-8-sig", "utf-16", "latin-1", "utf-32-le"))
    data = text.encode(encoding, "surrogatepass" if encoding.startswith("utf") else "replace")
    return read(luck, folder, ending, data, note)


def quoted(cell: Any, quote: str, luck: random.Random) -> str:
    """A cell as text, sometimes in quotes that do not close."""
    try:
        text = "" if cell is None else str(cell)
    except ValueError:  # a number of too many digits
        text = "9" * 5000
    if luck.random() < 0.15:
        return f"{quote}{text}{quote if luck.random() < 0.9 else ''}"
    return text


def json_lines(luck: random.Random, folder: Path, note: Note) -> str:
    """A file of JSON lines."""
    header, rows = table(luck)
    lines = []
    for row in rows:
        record: Any = dict(zip(map(str, header), row, strict=True))
        if luck.random() < 0.1:
            record = luck.choice(([], {}, None, 5, "x", row, [record], {"a": record}))
        lines.append(json_text(record))
        if luck.random() < 0.05:
            lines.append(luck.choice(NO_RECORDS))
    text = luck.choice(("\n", "\n", "\n", "\r\n", "\r", ",", "")).join(lines)
    return read(luck, folder, luck.choice((".jsonl", ".ndjson")), text.encode("utf-8", "surrogatepass"), note)


def json_text(record: Any) -> str:
    """A value as JSON; as much of it as JSON can say."""
    try:
        return json.dumps(record, default=str, ensure_ascii=False)
    except ValueError:
        return '{"a": 1e999}'


def parquet_file(luck: random.Random, folder: Path, note: Note) -> str:
    """A Parquet file of odd types and metadata, sometimes damaged."""
    header, rows = table(luck)
    names = [str(name).encode("utf-8", "replace").decode() for name in header]
    columns = [arrow_column([row[k] for row in rows], luck) for k in range(len(names))]
    meta = {b"pandas": luck.choice(METADATA)}
    made = pa.table(columns, names=names).replace_schema_metadata(meta if luck.random() < 0.3 else None)
    buffer = io.BytesIO()
    try:
        parquet.write_table(made, buffer)
    except (pa.ArrowException, ValueError):
        return "cannot be written"
    return read(luck, folder, ".parquet", buffer.getvalue(), note)


def arrow_column(cells: list[Any], luck: random.Random) -> Any:
    """A column of some type that Arrow has."""
    make = luck.choice(ARROW)
    try:
        return make(cells, luck)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return pa.array([luck.random() for _ in cells], pa.float64())


ARROW: tuple[Any, ...] = (
    lambda cells, luck: pa.array([float(cell) for cell in cells], pa.float64()),
    lambda cells, luck: pa.array([luck.random() for _ in cells], pa.float32()),
    lambda cells, luck: pa.array([luck.randint(0, 9) for _ in cells], luck.choice((pa.int8(), pa.uint64(), pa.int64()))),
    lambda cells, luck: pa.array([str(cell) for cell in cells], luck.choice((pa.string(), pa.large_string()))),
    lambda cells, luck: pa.array([str(cell).encode() for cell in cells], pa.binary()),
    lambda cells, luck: pa.array([None for _ in cells]),
    lambda cells, luck: pa.array([luck.random() < 0.5 for _ in cells], pa.bool_()),
    lambda cells, luck: pa.array([luck.randint(0, 10**6) for _ in cells], luck.choice((pa.timestamp("ns"), pa.date64(), pa.duration("s"), pa.time64("us")))),
    lambda cells, luck: pa.array([[1.0, 2.0] for _ in cells], pa.list_(pa.float64())),
    lambda cells, luck: pa.array([{"x": 1} for _ in cells]),
    lambda cells, luck: pa.array([str(cell) for cell in cells]).dictionary_encode(),
    lambda cells, luck: pa.array([10**luck.randint(0, 30) for _ in cells], pa.decimal128(38, 0)),
    lambda cells, luck: pa.array([2**62 for _ in cells], pa.timestamp("s", "Europe/Nowhere")),
)  # fmt: skip


def in_memory(luck: random.Random, folder: Path, note: Note) -> str:
    """An array, a frame, a mapping or nested lists."""
    header, rows = table(luck)
    names = [name if luck.random() < 0.9 else bad_values.key(luck) for name in header]
    columns = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    try:
        frame = luck.choice(FRAMES)(header, rows, columns, luck)
    except TooLongError:
        raise
    except BaseException:  # libraries refuse some tables, in ways of their own
        frame = rows
    note(f"{type(frame).__name__} {bad_values.shown(frame)}")
    return race(luck, frame, note)


FRAMES: tuple[Any, ...] = (
    lambda header, rows, columns, luck: rows,
    lambda header, rows, columns, luck: columns,
    lambda header, rows, columns, luck: {name: tuple(column[: luck.choice((-1, None))]) for name, column in columns.items()},
    lambda header, rows, columns, luck: np.array(rows),
    lambda header, rows, columns, luck: np.array(rows, dtype=object),
    lambda header, rows, columns, luck: np.array(rows, dtype=luck.choice(("f2", "f4", "f8", "i4", "U5", "S5", "c16", "M8[s]", "?"))),
    lambda header, rows, columns, luck: np.random.default_rng(luck.getrandbits(30)).random((luck.choice((0, 1, 2, 9)), luck.choice((0, 1, 2, 3)), 2)[: luck.choice((1, 2, 2, 3))]),
    lambda header, rows, columns, luck: np.ma.masked_invalid(np.array(rows, dtype=float)),
    lambda header, rows, columns, luck: pd.DataFrame(rows, columns=header),
    lambda header, rows, columns, luck: pd.DataFrame(rows, columns=header).set_index(header[0]),
    lambda header, rows, columns, luck: pd.DataFrame(rows, columns=pd.MultiIndex.from_tuples([(name, 1) for name in header])),
    lambda header, rows, columns, luck: pd.DataFrame(rows, columns=header).astype(luck.choice(("category", "string", "Float64", "boolean"))),
    lambda header, rows, columns, luck: pd.concat([pd.DataFrame(rows, columns=header)] * 2, axis=1),
    lambda header, rows, columns, luck: pd.DataFrame(rows, columns=header)[header[0]],
    lambda header, rows, columns, luck: pl.DataFrame(rows, schema=list(map(str, header)), orient="row", strict=False),
    lambda header, rows, columns, luck: pl.DataFrame({str(name): column for name, column in columns.items()}, strict=False).lazy(),
    lambda header, rows, columns, luck: pa.table([arrow_column(column, luck) for column in columns.values()], names=list(map(str, columns))),
    lambda header, rows, columns, luck: bad_values.value(luck),
    lambda header, rows, columns, luck: [dict(zip(header, row, strict=True)) for row in rows],
)  # fmt: skip


def read(luck: random.Random, folder: Path, ending: str, data: bytes, note: Note) -> str:
    """Read a file, damaged or whole, with or without the names of columns, and race on what it holds."""
    path, data = folder / f"table{ending}", bad_values.mutated(data, luck, luck.choice((0, 0, 0, 1, 1, 2, 5)))
    path.write_bytes(data)
    note(f"{path.name}: {bad_values.shown(data[:600])} ({len(data)} bytes)")
    few = [name for name in ("item_column", "arm_column", "score_column", "group_column") if luck.random() < 0.05]
    columns: Any = {name: luck.choice((*NAMES, bad_values.value(luck))) for name in few} | chosen(luck)
    note(bad_values.shown(columns))
    try:
        scores = bestarm.read_table(path, **columns)
    except Exception as error:
        return judge(error)
    return race(luck, scores, note) if luck.random() < 0.5 else "read"


def chosen(luck: random.Random) -> Any:
    """Now and then arms, and columns to leave out."""
    few = [name for name in ("arms", "ignore") if luck.random() < 0.1]
    return {name: luck.choice((luck.sample(NAMES, 2), ["a"], bad_values.value(luck))) for name in few}


def race(luck: random.Random, frame: Any, note: Note) -> str:
    """Race on a table, with a few options."""
    strange = {
        "arms": (["a", "b", "c"], bad_values.value(luck)),
        "groups": ("group", "a", [1, 1, 2], bad_values.value(luck)),
        "ignore": (["a"], ["model", "id"], bad_values.value(luck)),
        "item_column": ("id", "a", bad_values.value(luck)),
        "arm_column": ("model", bad_values.value(luck)),
        "score_column": ("score", bad_values.value(luck)),
    }
    options: Any = {name: luck.choice(values) for name, values in (OPTIONS | strange).items() if luck.random() < 0.15}
    note(bad_values.shown(options))
    try:
        result = bestarm.race_table(frame, **options)
    except Exception as error:
        return judge(error)
    if luck.random() < 0.1:
        str(result)
        result.to_json()
    return "raced"
