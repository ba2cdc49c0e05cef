"""Tables from strangers: what is no table of plain numbers is refused in a sentence, before much memory is taken."""

import datetime
import json
import random
import re
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from bestarm import ScoreTable, plan, race_table, read_table
from bestarm.sources.tables import score_table

LONG = {"item_column": "i", "arm_column": "m", "score_column": "s"}
MANY = range(4000)
BAD_TEXTS: dict[str, tuple[str, str | bytes, dict[str, str], str]] = {
    "nested deeply": ("t.jsonl", '{"a": ' + "[" * 100_000, {}, "line 1 of t.jsonl is nested too deeply"),
    "huge integer": (
        "t.jsonl",
        f'{{"a": 1, "b": {"9" * 5000}}}',
        {},
        "line 1 of t.jsonl cannot be read as JSON: Exceeds the limit",
    ),
    "a quote in a cell": ("t.tsv", '"a"b\tc\n1\t2\n', {}, r"line 1 of t.tsv cannot be read as a table: '\t' expected"),
    "same key": (
        "t.jsonl",
        '{"a": 1, "b": 2, "a": 3}',
        {},
        "line 1 of t.jsonl cannot be read as JSON: 'a' appears more than once",
    ),
    "half a character": (
        "t.jsonl",
        '{"a": 1, "\\uD800": 2}',
        {},
        "line 1 of t.jsonl cannot be read as JSON: 'utf-8' codec",
    ),
    "other columns in each line": (
        "t.jsonl",
        "".join(f'{{"k{k}": 1}}\n' for k in MANY),
        {},
        "4,000 rows and 4,000 columns from 4,000 entries are too many",
    ),
    "another item and arm in each row": (
        "t.csv",
        "i,m,s\n" + "".join(f"{k},{k},1\n" for k in MANY),
        LONG,
        "4,000 rows and 4,000 columns from 4,000 scores are too many",
    ),
    "open quotation mark": (
        "t.csv",
        'a,b,item\n1,2,"x\n3,4,y\n',
        {"item_column": "item"},
        "line 3 of t.csv",
    ),
    "NUL": ("t.csv", "a,b\n1,2\0\n", {}, "t.csv must be a text file in UTF-8: it holds NUL bytes"),
    "UTF-16": ("t.csv", "a,b\n1,2\n".encode("utf-16"), {}, "t.csv must be a text file in UTF-8: it holds NUL bytes"),
    "semicolons and decimal commas": (
        "t.csv",
        "a;b\n1,5;2,5\n",
        {},
        "separated by semicolons: save it with commas between columns and points for decimals",
    ),
    "semicolons": ("t.csv", "a;b\n1.5;2.5\n", {}, "separated by semicolons: save it with commas"),
    "tabs in CSV": ("t.csv", "a\tb\n1\t2\n", {}, "separated by tabs: save it with commas"),
    "commas in TSV": ("t.tsv", "a,b\n1,2\n", {}, "separated by commas: save it with tabs"),
    "long cell": ("t.csv", f"a,b\n1,{'x' * 10_000}\n", {}, "row 1, column 'b' must be a number"),
    "long names": ("t.csv", f"{'x' * 10_000},{'y' * 10_000}\n1,2\n", {"item_column": "i"}, "t.csv has no column 'i'"),
    "names of two lines": ("t.csv", '"a\nb",c\n1,2\n', {"item_column": "i"}, r"its columns are a\nb, c"),
    "items of two lines": ("t.csv", 'x,a,b\n"q\nr",inf,2\n', {}, r"got inf in row 1 (q\nr), column 'a'"),
    "many names": ("t.csv", ",".join(map(str, MANY)) + "\n" + "1," * 3999 + "1\n", {"item_column": "i"}, "3990 more"),
    "one column twice": ("t.csv", "a,b,c\n1,2,3\n", {"item_column": "a", "group_column": "a"}, "in different columns"),
    "date": (
        "t.csv",
        "a,b\n1,2024-05-01\n",
        {},
        "row 1, column 'b' must be a number, or empty if missing, got '2024-05",
    ),
}


def one_sentence(error: BaseException) -> str:
    """The message, which is short and in one line."""
    message = str(error)
    assert 0 < len(message) < 700, message[:700]
    assert "\n" not in message.strip()
    return message


@pytest.mark.parametrize("case", BAD_TEXTS)
def test_texts_that_are_no_tables(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, text, columns, message = BAD_TEXTS[case]
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=re.escape(message)) as refused:
        read_table(name, **columns)
    one_sentence(refused.value)


@pytest.mark.parametrize("number", ["1_000", "１２", "\N{MINUS SIGN}5", "1,5", "1,000", "٣"])
@pytest.mark.parametrize("place", [0, 1])
def test_numbers_written_otherwise_are_never_misread(number: str, place: int, tmp_path: Path) -> None:
    cells = [number, "2"] if place == 0 else ["2", number]
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + ",".join(f'"{cell}"' for cell in cells) + "\n1,2\n", encoding="utf-8")
    message = (
        f"row 1, column '{'ab'[place]}' must be a number, or empty if missing, got {number!r} (write it with a point"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        read_table(path)
    with pytest.raises(ValueError, match=re.escape(message)):
        score_table({"a": [cells[0], "1"], "b": [cells[1], "2"]})
    with pytest.raises(ValueError, match=re.escape(repr(number))):
        score_table([cells, ["1", "2"]])


def test_a_first_column_of_decimal_commas_is_not_taken_for_items_but_versions_are(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a,b,c\n"0,5",1,2\n"0,7",2,3\n', encoding="utf-8")
    with pytest.raises(ValueError, match="row 1, column 'a' must be a number, or empty if missing, got '0,5'"):
        read_table(path)
    path.write_text("version,b,c\n1.2.3,1,2\n1_1,2,3\n", encoding="utf-8")
    assert read_table(path).items == ("1.2.3", "1_1")


@pytest.mark.parametrize("absent", ["NA", "", "null", " N/A "])
def test_a_first_column_of_missing_cells_is_an_arm(absent: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"a,b,c\n{absent},1,2\n{absent},2,3\n", encoding="utf-8")
    table = read_table(path)
    assert table.arms == ("a", "b", "c")
    assert np.isnan(table.scores[:, 0]).all()
    with pytest.raises(ValueError, match="2 of 6 cells are empty"):
        race_table(table)


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
@pytest.mark.parametrize("quoted", [False, True])
def test_lines_end_as_on_every_system_and_nowhere_else(end: str, quoted: bool, tmp_path: Path) -> None:
    item = '"q\N{LINE SEPARATOR}1"' if quoted else "q\N{LINE SEPARATOR}1\x0c"
    path = tmp_path / "t.csv"
    path.write_text(end.join(["\ufeffname,a,b", f"{item},1,2", "", "q2,3,4", ""]), encoding="utf-8", newline="")
    table = read_table(path)
    assert (table.arms, table.items) == (("a", "b"), (item.strip('"'), "q2"))
    assert table.scores.tolist() == [[1, 2], [3, 4]]
    path.write_text(end * 1000, encoding="utf-8", newline="")
    with pytest.raises(ValueError, match="is empty: its first line must name the columns"):
        read_table(path)


# --- Parquet ---------------------------------------------------------------------------------------------------------

TIMES = "column 'c' holds dates or times, which are no scores: leave them out, or give numbers"
NO_NUMBER = "row 1, column 'c' must be a number, or empty if missing, got "
TYPES: dict[str, tuple[pa.Array, list[Any] | str]] = {
    "flags": (pa.array([True, None]), [1.0, None]),
    "decimals": (pa.array([Decimal("1.5"), Decimal(2)]), [1.5, 2.0]),
    "half floats": (pa.array([1.5, 2.0], pa.float16()), [1.5, 2.0]),
    "words for numbers": (pa.array(["1", "2"]).dictionary_encode(), [1.0, 2.0]),
    "bytes for numbers": (pa.array([b"1", b"2"]), [1.0, 2.0]),
    "nothing": (pa.nulls(2), [None, None]),
    "times": (pa.array([datetime.datetime(2020, 1, 1)] * 2), TIMES),
    "dates": (pa.array([datetime.date(2020, 1, 1)] * 2), TIMES),
    "durations": (pa.array([datetime.timedelta(1)] * 2), TIMES),
    "clock": (pa.array([1, 2], pa.time64("ns")), TIMES),
    "dates far away": (pa.array([2**31 - 1, 1], pa.date32()), NO_NUMBER),
    "times far away": (pa.array([2**62, 1], pa.timestamp("us")), NO_NUMBER),
    "no text": (pa.array([b"\xff", b"\xfe"]), NO_NUMBER),
    "lists": (pa.array([[1], [2]]), NO_NUMBER),
    "records": (pa.array([{"x": 1}] * 2), NO_NUMBER),
    "mappings": (pa.array([[("k", 1)]] * 2, pa.map_(pa.string(), pa.int64())), NO_NUMBER),
}


@pytest.mark.parametrize("case", TYPES)
def test_types_of_parquet(case: str, tmp_path: Path) -> None:
    cells, expected = TYPES[case]
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": [1.0, 2.0], "b": [2.0, 3.0], "c": cells}), path)
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=re.escape(expected)) as refused:
            read_table(path)
        one_sentence(refused.value)
        parquet.write_table(pa.table({"what": cells, "a": [1.0, 2.0], "b": [2.0, 3.0]}), path)
        assert read_table(path).arms == ("a", "b")  # they may be the items
    else:
        scores = read_table(path).scores[:, 2]
        assert [None if np.isnan(score) else score for score in scores] == expected


@pytest.mark.parametrize(
    "metadata",
    [
        b'{"index_columns": ["z"]}',
        b'{"index_columns": [["a"]]}',
        b'{"index_columns": 5}',
        b"[]",
        b"\xff",
        b"[" * 10_000,
    ],
)
def test_an_index_of_pandas_that_is_not_there(metadata: bytes, tmp_path: Path) -> None:
    table = pa.table({"a": [1.0, 2.0], "b": [2.0, 3.0]}).replace_schema_metadata({b"pandas": metadata})
    parquet.write_table(table, tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").arms == ("a", "b")


def repeated_text(n_rows: int) -> pa.Array:
    """A long text, once in a file and in every row."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n_rows, dtype=np.int32)), pa.array(["x" * 10**6]))


def test_small_files_that_stand_for_large_tables(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    zeros = np.zeros(5_000_001)
    parquet.write_table(pa.table({"a": zeros, "b": zeros}), path, compression="zstd")
    assert path.stat().st_size < 10**6
    with pytest.raises(ValueError, match=r"5,000,001 rows and 2 columns from [0-9,]+ bytes are too many"):
        read_table(path)
    for texts in (repeated_text(300), pa.ListArray.from_arrays(range(301), repeated_text(300))):
        parquet.write_table(pa.table({"item": texts, "a": zeros[:300], "b": zeros[:300]}), path, compression="zstd")
        with pytest.raises(ValueError, match="column 'item' holds more than 268,435,456 characters"):
            read_table(path)


def test_parquet_without_rows_or_columns(tmp_path: Path) -> None:
    for table in (pa.table({}), pa.table({"a": pa.array([], pa.float64()), "b": pa.array([], pa.float64())})):
        parquet.write_table(table, tmp_path / "t.parquet")
        with pytest.raises(ValueError, match="has no rows"):
            read_table(tmp_path / "t.parquet")


# --- frames and arrays -----------------------------------------------------------------------------------------------

DAYS = pd.Series(pd.date_range("2020", periods=2))
COLUMNS: dict[str, tuple[Any, str]] = {
    "dates": (DAYS, TIMES),
    "dates with a zone": (DAYS.dt.tz_localize("UTC"), TIMES),
    "durations": (DAYS - DAYS[0], TIMES),
    "dates of polars": (pl.Series([datetime.date(2020, 1, 1)] * 2), TIMES),
    "dates of Arrow": (pa.chunked_array([pa.array([datetime.date(2020, 1, 1)] * 2)]), TIMES),
    "dates in a list": ([datetime.date(2020, 1, 1)] * 2, TIMES),
    "dates of NumPy in a list": ([np.datetime64("2020"), np.datetime64("2021")], TIMES),
    "complex": (np.array([1j, 2]), "column 'c' holds complex numbers, which are no scores"),
    "complex in a list": ([np.complex128(1j), 2], NO_NUMBER),
    "huge integer": ([10**5000, 1], NO_NUMBER + "a number of more than 100 digits"),
    "lists": ([[1], [2]], NO_NUMBER),
    "arrays": ([np.array([1.0]), 2.0], NO_NUMBER),
    "a matrix": (np.eye(2), "column 'c' must hold one score for each row, got shape (2, 2)"),
    "a text": ("12", "column 'c' must hold one score for each row, got '12'"),
    "a number": (12, "column 'c' must hold one score for each row, got 12"),
    "a set": ({1, 2}, "column 'c' must hold one score for each row"),
    "periods": (pd.Series(pd.period_range("2020", periods=2, freq="D")), NO_NUMBER),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_columns_that_are_no_scores(case: str) -> None:
    column, message = COLUMNS[case]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=re.escape(message)) as refused:
            race_table({"a": [1.0, 2.0], "b": [2.0, 3.0], "c": column})
    one_sentence(refused.value)


def test_masked_columns_and_sparse_categories_of_pandas() -> None:
    masked = np.ma.masked_equal(np.array([1.0, 9.0]), 9.0)
    frame = {
        "masked": masked,
        "sparse": pd.Series(pd.arrays.SparseArray([0.0, 3.0])),
        "category": pd.Series([1, 2]).astype("category"),
        "Arrow": pd.Series([1.0, None], dtype="double[pyarrow]"),
        "no words": pa.chunked_array([pa.array([None, None], pa.dictionary(pa.int8(), pa.string()))]),
    }
    expected = [[1, 0, 1, 1, np.nan], [np.nan, 3, 2, np.nan, np.nan]]
    np.testing.assert_array_equal(score_table(frame).scores, expected)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 2), dtype="M8[s]"), "the table holds dates or times, which are no scores"),
        ([[np.datetime64("2020"), np.datetime64("2021")]] * 2, "the table holds dates or times"),
        (np.array([[1j, 2], [1, 2]]), "the table holds complex numbers"),
        ([[1, 10**400], [1, 2]], "row 1, column '1' must be a number"),
        ([["1", "1_0"], ["1", "2"]], "row 1, column '1' must be a number, or empty if missing, got '1_0'"),
        (b"12", "the scores must be a table with one row per item"),
        (None, "the scores must be a table with one row per item"),
    ],
    ids=str,
)
def test_arrays_that_are_no_scores(array: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        race_table(array)


def test_a_score_table_of_dates_is_refused() -> None:
    with pytest.raises(ValueError, match="scores hold dates or times, which are no scores"):
        ScoreTable(("a", "b"), ("q",), np.zeros((1, 2), dtype="M8[s]"))


def test_very_wide_tables_are_read_but_not_raced(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    names = [f"a{k}" for k in range(100_000)]
    path.write_text("\n".join([",".join(names), ",".join("1" for _ in names), ",".join("2" for _ in names)]))
    table = read_table(path)
    assert (len(table.arms), len(table.items)) == (100_000, 2)
    for use in (race_table, plan):
        with pytest.raises(ValueError, match="a table may have at most 2,000 arms to compare, got 100,000"):
            use(table)


# --- anything --------------------------------------------------------------------------------------------------------

NASTY = [
    "",
    "NA",
    "1_0",
    "\N{MINUS SIGN}5",
    "0,5",
    "x",
    "inf",
    "1e999",
    "\x0c",
    "\ufeff",
    '"',
    "\r",
    "9" * 400,
    "\x1b[2J",
]
CELL = st.one_of(st.floats(0, 1).map(str), st.sampled_from(NASTY))
ROWS = st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(CELL, min_size=width, max_size=width), max_size=6))
OBJECTS: Any = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.floats(), st.integers(), st.text(max_size=5), st.dates(), st.complex_numbers()
    ),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)


def read_or_refuse(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    try:
        table = read_table(path)
    except ValueError as error:
        one_sentence(error)
    else:
        assert table.scores.shape == (len(table.items), len(table.arms))


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(rows=ROWS, end=st.sampled_from(["\n", "\r\n", "\r"]), noise=st.binary(max_size=3), at=st.integers(0, 40))
def test_any_text_is_a_table_or_refused(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], end: str, noise: bytes, at: int
) -> None:
    folder = tmp_path_factory.mktemp("any", numbered=True)
    header = [f"a{k}" for k in range(len(rows[0]) if rows else 0)]
    text = end.join(",".join(row) for row in [header, *rows]).encode()
    lines = end.join(json.dumps(dict(zip(header, row, strict=True))) for row in rows).encode()
    for name, content in (("t.csv", text), ("t.jsonl", lines)):
        read_or_refuse(folder / name, content)
        read_or_refuse(folder / name, content[:at] + noise + content[at:])


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(columns=st.lists(st.lists(OBJECTS, min_size=2, max_size=2), min_size=2, max_size=3))
def test_any_objects_are_scores_or_refused(columns: list[list[Any]]) -> None:
    for frame in (dict(zip("abc", columns, strict=False)), columns):
        try:
            assert np.isfinite(score_table(frame).scores[~np.isnan(score_table(frame).scores)]).all()
        except ValueError as error:
            one_sentence(error)


def test_damaged_parquet_is_a_table_or_refused(tmp_path: Path) -> None:
    path, luck = tmp_path / "t.parquet", random.Random(0)  # noqa: S311
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["1", "2"], "c": DAYS}, index=pd.Index(["q", "r"]))
    frame.to_parquet(path)
    whole = path.read_bytes()
    for _ in range(200):
        damaged = bytearray(whole)
        for _ in range(luck.randint(1, 4)):
            damaged[luck.randrange(len(damaged))] = luck.randrange(256)
        read_or_refuse(path, bytes(damaged))
