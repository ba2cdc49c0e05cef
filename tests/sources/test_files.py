"""Tables in files: read from every format, and refused in a sentence with the place, before much memory is taken."""

import datetime
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from bestarm import ScoreTable, plan, race_table, read_table
from bestarm.sources.frames import score_table
from sources.conftest import NO_NUMBER, TIMES, assert_one_sentence

ARMS, ITEMS = ("a", "b, c"), ('say "x"', "two\nlines", "ü")
SCORES: list[list[float | None]] = [[1.0, -0.5], [2e3, None], [None, 4.0]]


def shown(table: ScoreTable) -> tuple[Any, ...]:
    return table.arms, table.items, [[None if np.isnan(cell) else cell for cell in row] for row in table.scores]


def write(name: str, text: str | bytes) -> Path:
    path = Path(name)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def write_parquet(table: pa.Table, **options: Any) -> Path:
    parquet.write_table(table, "t.parquet", **options)
    return Path("t.parquet")


def records(long: bool) -> list[dict[str, Any]]:
    if not long:
        return [{"item": item} | dict(zip(ARMS, row, strict=True)) for item, row in zip(ITEMS, SCORES, strict=True)]
    cells = [(item, arm, SCORES[i][k]) for i, item in enumerate(ITEMS) for k, arm in enumerate(ARMS)]
    kept = [cells[k] for k in (0, 2, 4, 5, 3, 1)]  # another order, the same first appearances
    return [{"extra": k, "score": score, "arm": arm, "item": item} for k, (item, arm, score) in enumerate(kept)]


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "T.CSV", "t.jsonl", "t.ndjson", "t.parquet"])
def test_the_same_table_is_read_from_every_format(name: str, long: bool) -> None:
    if name.endswith("parquet"):
        write_parquet(pa.Table.from_pylist(records(long)))
    elif name.endswith(("jsonl", "ndjson")):
        write(name, "\n\n".join(json.dumps(record) for record in records(long)) + "\n")
    else:
        separator = "\t" if name.endswith("tsv") else ","
        pd.DataFrame(records(long)).to_csv(name, sep=separator, index=False, lineterminator="\r\n")
    columns = {f"{name}_column": name for name in ("item", "arm", "score")} if long else {}
    assert shown(read_table(name, **columns)) == (ARMS, ITEMS, SCORES)


def test_a_file_with_an_index_is_raced_as_the_array_in_it() -> None:
    scores = np.random.default_rng(8).random((300, 3)) * [0.5, 0.7, 1.0]
    pd.DataFrame(scores, columns=pd.Index(list("abc"))).to_csv("scores.csv")  # the index has no name
    table = read_table("scores.csv")
    expected = ScoreTable(("a", "b", "c"), tuple(map(str, range(300))), scores)
    assert table == expected
    assert race_table(table).to_json() == race_table(expected).to_json()


AB, SEVEN = ("a", "b"), (("a", "b"), ("7",), [[1, 2]])
GAPS = [[1.0, None], [None, 2.0], [None, None], [None, None], [None, 3.0]]


def counted(first: int) -> tuple[str, None, tuple[Any, ...]]:
    """A file whose first column numbers its ten rows, and what is read from it."""
    rows = range(first, first + 10)
    text = "question,a,b\n" + "".join(f"{k},{k % 2},1\n" for k in rows)
    return text, None, (AB, tuple(map(str, rows)), [[k % 2, 1] for k in rows])


@pytest.mark.filterwarnings("ignore:raced as arms")
@pytest.mark.parametrize(
    ("text", "item", "expected"),
    [
        ("a,b\n1,2\n2,3\n3,5\n", None, (AB, ("1", "2", "3"), [[1, 2], [2, 3], [3, 5]])),  # scores, of a few items
        counted(0),
        counted(1),
        ("a,n,b\n1,7,2\n3,8,4\n", "n", (AB, ("7", "8"), [[1, 2], [3, 4]])),
        *((f"{head},a,b\n7,1,2\n", None, SEVEN) for head in ("", " ID ", "item", "Items", "index", "instance")),
        ("instance,a,b\n7,1,2\n", "a", (("instance", "b"), ("1",), [[7, 2]])),
        ("prompt,a,b\nhello,1,2\n,3,4\n", None, (AB, ("hello", ""), [[1, 2], [3, 4]])),
        ("version,a,b\n1.2.3,1,2\n1_1,3,4\n", None, (AB, ("1.2.3", "1_1"), [[1, 2], [3, 4]])),
        ("\ufeffitem,a,b\n7,1,2\n", None, SEVEN),
        ('\n"a","b ""x"""\n\n"1"," 2 "\n\n', None, (("a", 'b "x"'), ("1",), [[1, 2]])),
        ("a,b\n1,\nNA,2\n N/A ,null\nNone,nan\nNaN,3", None, (AB, tuple("12345"), GAPS)),
        *(
            (f"a,b\n{cell},1\n{cell},2\n", None, (AB, ("1", "2"), [[None, 1], [None, 2]]))
            for cell in ("NA", "", " null")
        ),
    ],
)
def test_items_and_cells_of_delimited_files(text: str, item: str | None, expected: Any) -> None:
    assert shown(read_table(write("t.csv", text), item_column=item)) == expected
    assert shown(read_table(write("t.tsv", text.replace(",", "\t")), item_column=item)) == expected


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_json_lines_may_lack_cells_have_flags_and_a_byte_order_mark(mark: str) -> None:
    text = '{"a": true, "b": 2}\n \n{"c": "3", "b": null}\r\n{"c": NaN, "a": false, "b": "NA"}'
    expected = (("a", "b", "c"), ("1", "2", "3"), [[1, 2, None], [None, None, 3], [0, None, None]])
    assert shown(read_table(write("t.jsonl", mark + text))) == expected


@pytest.mark.parametrize("index", [[5, 1, 9], ["q5", "q1", "q9"]])
@pytest.mark.parametrize("name", [None, "item"])
def test_the_index_of_a_pandas_frame_in_parquet_is_no_arm(index: list[Any], name: str | None) -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [2.0, 3.0, 4.0]}, index=pd.Index(index, name=name))
    frame.to_parquet("t.parquet")
    assert shown(read_table("t.parquet")) == (AB, tuple(map(str, index)), [[1, 2], [2, 3], [3, 4]])


# --- bad files: other messages are in tests/test_messages.py ----------------------------------------------------------

LONG = {"item_column": "i", "arm_column": "m", "score_column": "s"}
MANY = range(4000)
OTHER_COLUMNS = "".join(f'{{"k{k}": 1}}\n' for k in MANY)  # in each line
OTHER_CELLS = "i,m,s\n" + "".join(f"{k},{k},1\n" for k in MANY)  # another item and arm in each row
BAD_FILES: dict[str, tuple[str, str | bytes, dict[str, str], str]] = {
    "text in JSON": ("t.jsonl", '{"a": 1, "b": 2}\n{"a": 1, "b": "x"}', {}, "row 2, column 'b' must be a number"),
    "lists in JSON": ("t.jsonl", '{"i": "q", "a": [1, 2], "b": [3, 4]}', {}, "row 1, column 'a' must be a number"),
    "huge integer": ("t.jsonl", f'{{"a": 2, "b": 1{"0" * 400}}}', {}, "row 1"),
    "long cell": ("t.csv", f"item,a,b\n{'x' * 140_000},1,2\nq,3,\u00fc\n", {}, "row 2, column 'b' must be a number"),
    "text in a long table": ("t.csv", "i,m,s\nq,a,1\nq,b,x\n", LONG, "row 2, column 's' must be a number, or empty if"),
    "no rows, long": ("t.csv", "i,m,s\n", LONG, "t.csv has no rows: there must be one for each score"),
    "no objects": ("t.jsonl", "\n", {}, "t.jsonl has no rows: there must be one for each item"),
    "same score": ("t.csv", "i,m,s\nq,a,1\nq,b,2\nq,a,1\n", LONG, "row 3 repeats the score of arm 'a' on item 'q'"),
    "long row": ("t.csv", "a,b\n1,2\n\n1,2,3\n", {}, "row 2 of t.csv has 3 cells, but there are 2 columns"),
    "infinite": ("t.csv", "item,a,b\nq,1,2\nr,3,-inf\n", {}, "must be finite, got -inf in row 2 (r), column 'b'"),
    "arm column": ("t.csv", "i,m,s\nq,a,1\n", LONG | {"arm_column": "x"}, "no column 'x': its columns are i, m, s"),
    "no arm": ("t.csv", "i,m,s\nq,a,1\n", {"item_column": "i", "score_column": "s"}, "arm_column must be given, too"),
    "no score": ("t.csv", "i,m,s\nq,a,1\n", {"item_column": "i", "arm_column": "m"}, "score_column must be given, too"),
    "no JSON": ("t.jsonl", '{"a": 1, "b": 2}\n\n{"a": 1,\n', {}, "line 3 of "),
    "no Parquet": ("t.parquet", "a,b\n1,2\n", {}, "t.parquet"),
    "no text": ("t.csv", "a,b\n1,caf\xe9\n".encode("latin-1"), {}, "t.csv"),
    "nested deeply": ("t.jsonl", '{"a": ' + "[" * 100_000, {}, "line 1 of t.jsonl is nested too deeply"),
    "huge integer again": ("t.jsonl", f'{{"a": 1, "b": {"9" * 5000}}}', {}, "line 1 of t.jsonl cannot be read as JSON"),
    "a quote in a cell": ("t.tsv", '"a"b\tc\n1\t2\n', {}, r"line 1 of t.tsv cannot be read as a table: '\t' expected"),
    "half a character": ("t.jsonl", '{"a": 1, "\\uD800": 2}', {}, "line 1 of t.jsonl cannot be read as JSON: 'utf-8' "),
    "other columns": ("t.jsonl", OTHER_COLUMNS, {}, "4,000 rows and 4,000 columns from 4,000 entries are too many"),
    "other cells": ("t.csv", OTHER_CELLS, LONG, "4,000 rows and 4,000 columns from 4,000 scores are too many"),
    "NUL": ("t.csv", "a,b\n1,2\0\n", {}, "t.csv must be a text file in UTF-8: it holds NUL bytes"),
    "UTF-16": ("t.csv", "a,b\n1,2\n".encode("utf-16"), {}, "t.csv must be a text file in UTF-8: it holds NUL bytes"),
    "tabs in CSV": ("t.csv", "a\tb\n1\t2\n", {}, "separated by tabs: save it with commas"),
    "commas in TSV": ("t.tsv", "a,b\n1,2\n", {}, "separated by commas: save it with tabs"),
    "long cell again": ("t.csv", f"a,b\n1,{'x' * 10_000}\n", {}, "row 1, column 'b' must be a number"),
    "names of two lines": ("t.csv", '"a\nb",c\n1,2\n', {"item_column": "i"}, r"its columns are a\nb, c"),
    "items of two lines": ("t.csv", 'x,a,b\n"q\nr",inf,2\n', {}, r"got inf in row 1 (q\nr), column 'a'"),
    "many names": ("t.csv", ",".join(map(str, MANY)) + "\n" + "1," * 3999 + "1\n", {"item_column": "i"}, "3990 more"),
    "one column twice": ("t.csv", "a,b,c\n1,2,3\n", {"item_column": "a", "group_column": "a"}, "in different columns"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files_are_refused_in_one_sentence_with_the_place(case: str) -> None:
    name, text, columns, named = BAD_FILES[case]
    with pytest.raises(ValueError, match=re.escape(named)) as refused:
        read_table(write(name, text), **columns)
    assert_one_sentence(refused.value)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_folder_is_no_table(name: str) -> None:
    Path(name).mkdir()
    with pytest.raises(ValueError, match=f"{name} is a folder: give the path of a file$"):
        read_table(name)


@pytest.mark.parametrize("number", ["1_000", "１２", "\N{MINUS SIGN}5", "1,5", "1,000", "٣"])
@pytest.mark.parametrize("place", [0, 1])
def test_numbers_written_otherwise_are_never_misread(number: str, place: int) -> None:
    rows = [[number, "2"] if place == 0 else ["2", number], ["1", "2"]]
    path = write("t.csv", "a,b\n" + "".join(f'"{row[0]}","{row[1]}"\n' for row in rows))
    where = (
        f"row 1, column '{'ab'[place]}' must be a number, or empty if missing, got {number!r} (write it with a point"
    )
    with pytest.raises(ValueError, match=re.escape(where)):
        read_table(path)
    for table in (rows, dict(zip("ab", zip(*rows, strict=True), strict=True))):
        with pytest.raises(ValueError, match=re.escape(where)):
            score_table(table, ["a", "b"] if table is rows else None)


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
@pytest.mark.parametrize("quoted", [False, True])
def test_lines_end_as_on_every_system_and_nowhere_else(end: str, quoted: bool) -> None:
    item = '"q\N{LINE SEPARATOR}1"' if quoted else "q\N{LINE SEPARATOR}1\x0c"
    text = end.join(["\ufeffname,a,b", f"{item},1,2", "", "q2,3,4", ""])
    assert shown(read_table(write("t.csv", text))) == (AB, (item.strip('"'), "q2"), [[1, 2], [3, 4]])
    with pytest.raises(ValueError, match="is empty: its first line must name the columns"):
        read_table(write("t.csv", end * 1000))


# --- Parquet ---------------------------------------------------------------------------------------------------------

TYPES: dict[str, tuple[pa.Array, list[Any] | str]] = {
    "flags": (pa.array([True, None]), [1.0, None]),
    "decimals": (pa.array([Decimal("1.5"), Decimal(2)]), [1.5, 2.0]),
    "half floats": (pa.array([1.5, 2.0], pa.float16()), [1.5, 2.0]),
    "words for numbers": (pa.array(["1", "2"]).dictionary_encode(), [1.0, 2.0]),
    "bytes for numbers": (pa.array([b"1", b"2"]), [1.0, 2.0]),
    "nothing": (pa.nulls(2), [None, None]),
    "times": (pa.array([datetime.datetime(2020, 1, 1)] * 2), TIMES),
    "clock": (pa.array([1, 2], pa.time64("ns")), TIMES),
    "dates far away": (pa.array([2**31 - 1, 1], pa.date32()), []),
    "times far away": (pa.array([2**62, 1], pa.timestamp("us")), []),
    "no text": (pa.array([b"\xff", b"\xfe"]), []),
    "lists": (pa.array([[1], [2]]), NO_NUMBER),
}


@pytest.mark.parametrize("case", TYPES)
def test_types_of_parquet(case: str) -> None:
    cells, expected = TYPES[case]
    path = write_parquet(pa.table({"a": [1.0, 2.0], "b": [2.0, 3.0], "c": cells}))
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=re.escape(expected)) as refused:
            read_table(path)
        assert_one_sentence(refused.value)
        write_parquet(pa.table({"what": cells, "a": [1.0, 2.0], "b": [2.0, 3.0]}))
        assert read_table(path).arms == AB  # they may be the items
    elif not expected:
        assert read_table(path).arms == AB  # texts are names of the items
    else:
        scores = read_table(path).scores[:, 2]
        assert [None if np.isnan(score) else score for score in scores] == expected


@pytest.mark.parametrize("metadata", [b'["z"]', b'[["a"]]', b"5", b"[]", b"\xff", b"[" * 10_000])
def test_an_index_of_pandas_that_is_not_there(metadata: bytes) -> None:
    table = pa.table({"a": [1.0, 2.0], "b": [2.0, 3.0]})
    for text in (metadata, b'{"index_columns": ' + metadata + b"}"):
        assert read_table(write_parquet(table.replace_schema_metadata({b"pandas": text}))).arms == AB


def test_small_files_that_stand_for_large_tables_are_refused() -> None:
    zeros = np.zeros(5_000_001)
    path = write_parquet(pa.table({"a": zeros, "b": zeros}), compression="zstd")
    assert path.stat().st_size < 10**6
    with pytest.raises(ValueError, match=r"5,000,001 rows and 2 columns from [0-9,]+ bytes are too many"):
        read_table(path)
    text = ["x" * 10**7] * 30 + ["y"]
    table = pa.table({"item": text, "a": zeros[:31], "b": zeros[:31]})
    with pytest.raises(ValueError, match=r"bytes would be [0-9,]+ when unpacked, but at most 268,435,456 are read"):
        read_table(write_parquet(table, use_dictionary=False, compression="zstd"))


NO_FLOATS = pa.array([], pa.float64())


@pytest.mark.parametrize(
    ("table", "named"),
    [
        (pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["a", "a"]), "'a' appears more than once"),
        (
            pa.table({"a": [1.0, 2.0], "b": ["1", "x"]}),
            "row 2, column 'b' must be a number, or empty if missing, got 'x'",
        ),
        (pa.table({}), "t.parquet has no rows"),
        (pa.table({"a": NO_FLOATS, "b": NO_FLOATS}), "t.parquet has no rows"),
    ],
)
def test_bad_parquet_is_refused(table: pa.Table, named: str) -> None:
    with pytest.raises(ValueError, match=re.escape(named)):
        read_table(write_parquet(table))


def test_very_wide_tables_are_read_but_not_raced() -> None:
    names = ",".join(f"a{k}" for k in range(100_000))
    ones, twos = (",".join([cell] * 100_000) for cell in "12")
    table = read_table(write("t.csv", f"{names}\n{ones}\n{twos}\n"))
    assert (len(table.arms), len(table.items)) == (100_000, 2)
    for use in (race_table, plan):
        with pytest.raises(ValueError, match="a table may have at most 2,000 arms to compare, got 100,000"):
            use(table)
