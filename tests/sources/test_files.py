"""Tables in files: read from every format, and refused in a sentence with the place, before much memory is taken."""

import datetime
import json
import random
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from bestarm import ScoreTable, plan, race_table, read_table
from bestarm.sources.tables import score_table

TIMES = "column 'c' holds dates or times, which are no scores: leave them out, or give numbers"
NO_NUMBER = "row 1, column 'c' must be a number, or empty if missing, got "

# --- files -----------------------------------------------------------------------------------------------------------

ARMS, ITEMS = ("a", "b, c"), ('say "x"', "two\nlines", "ü")
SCORES: list[list[float | None]] = [[1.0, -0.5], [2e3, None], [None, 4.0]]


def shown(table: ScoreTable) -> tuple[Any, ...]:
    return table.arms, table.items, [[None if np.isnan(cell) else cell for cell in row] for row in table.scores]


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def records(long: bool) -> list[dict[str, Any]]:
    if not long:
        return [{"item": item} | dict(zip(ARMS, row, strict=True)) for item, row in zip(ITEMS, SCORES, strict=True)]
    cells = [(item, arm, SCORES[i][k]) for i, item in enumerate(ITEMS) for k, arm in enumerate(ARMS)]
    kept = [cells[k] for k in (0, 2, 4, 5, 3, 1)]  # another order, the same first appearances
    return [{"extra": k, "score": score, "arm": arm, "item": item} for k, (item, arm, score) in enumerate(kept)]


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "T.CSV", "t.jsonl", "t.ndjson", "t.parquet"])
def test_the_same_table_is_read_from_every_format(tmp_path: Path, name: str, long: bool) -> None:
    path = tmp_path / name
    if name.endswith("parquet"):
        parquet.write_table(pa.Table.from_pylist(records(long)), path)
    elif name.endswith(("jsonl", "ndjson")):
        path.write_text("\n\n".join(json.dumps(record) for record in records(long)) + "\n", encoding="utf-8")
    else:
        separator = "\t" if name.endswith("tsv") else ","
        pd.DataFrame(records(long)).to_csv(path, sep=separator, index=False, lineterminator="\r\n")
    columns = {f"{name}_column": name for name in ("item", "arm", "score")} if long else {}
    assert shown(read_table(str(path), **columns)) == (ARMS, ITEMS, SCORES)


def test_a_file_with_an_index_is_raced_as_the_array_in_it(tmp_path: Path) -> None:
    scores = np.random.default_rng(8).random((300, 3)) * [0.5, 0.7, 1.0]
    pd.DataFrame(scores, columns=pd.Index(list("abc"))).to_csv(tmp_path / "scores.csv")  # the index has no name
    table = read_table(tmp_path / "scores.csv")
    expected = ScoreTable(("a", "b", "c"), tuple(map(str, range(300))), scores)
    assert table == expected
    assert race_table(table).to_json() == race_table(expected).to_json()


@pytest.mark.parametrize(
    ("text", "item", "expected"),
    [
        ("a,b\n1,2\n3,4\n", None, (("a", "b"), ("1", "2"), [[1, 2], [3, 4]])),
        ("a,b\n7,2\n7,4\n", "a", None),
        ("a,n,b\n1,7,2\n3,8,4\n", "n", (("a", "b"), ("7", "8"), [[1, 2], [3, 4]])),
        *((f"{head},a,b\n7,1,2\n8,3,4\n", None, (("a", "b"), ("7", "8"), [[1, 2], [3, 4]])) for head in ("", " ID ")),
        *((f"{head},a,b\n7,1,2\n", None, (("a", "b"), ("7",), [[1, 2]])) for head in ("item", "Items", "index")),
        ("instance,a,b\n7,1,2\n", None, (("a", "b"), ("7",), [[1, 2]])),
        ("instance,a,b\n7,1,2\n", "a", (("instance", "b"), ("1",), [[7, 2]])),
        ("prompt,a,b\nhello,1,2\n,3,4\n", None, (("a", "b"), ("hello", ""), [[1, 2], [3, 4]])),
        ("\ufeffitem,a,b\n7,1,2\n", None, (("a", "b"), ("7",), [[1, 2]])),
        ('\n"a","b ""x"""\n\n"1"," 2 "\n\n', None, (("a", 'b "x"'), ("1",), [[1, 2]])),
        ("a,b\n1,\nNA,2\n N/A ,null\nNone,nan\nNaN,3", None, (("a", "b"), tuple("12345"), None)),
    ],
)
def test_items_and_cells_of_delimited_files(tmp_path: Path, text: str, item: str | None, expected: Any) -> None:
    for name, content in (("t.csv", text), ("t.tsv", text.replace(",", "\t"))):
        path = write(tmp_path, name, content)
        if expected is None:
            with pytest.raises(ValueError, match="there must be at least two arms to compare, got 1"):
                read_table(path, item_column=item)
            continue
        arms, items, scores = expected
        missing = [[1.0, None], [None, 2.0], [None, None], [None, None], [None, 3.0]]
        assert shown(read_table(path, item_column=item)) == (arms, items, missing if scores is None else scores)


def test_json_lines_may_lack_cells_have_flags_and_a_byte_order_mark(tmp_path: Path) -> None:
    text = '{"a": true, "b": 2}\n \n{"c": "3", "b": null}\r\n{"c": NaN, "a": false, "b": "NA"}'
    expected = (("a", "b", "c"), ("1", "2", "3"), [[1, 2, None], [None, None, 3], [0, None, None]])
    assert shown(read_table(write(tmp_path, "t.jsonl", text))) == expected
    assert shown(read_table(write(tmp_path, "t.jsonl", "\ufeff" + text))) == expected


@pytest.mark.parametrize("index", [[5, 1, 9], ["q5", "q1", "q9"]])
@pytest.mark.parametrize("name", [None, "item"])
def test_the_index_of_a_pandas_frame_in_parquet_is_no_arm(tmp_path: Path, index: list[Any], name: str | None) -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [2.0, 3.0, 4.0]}, index=pd.Index(index, name=name))
    frame.to_parquet(tmp_path / "t.parquet")
    expected = (("a", "b"), tuple(map(str, index)), [[1, 2], [2, 3], [3, 4]])
    assert shown(read_table(tmp_path / "t.parquet")) == expected


LONG = {"item_column": "i", "arm_column": "m", "score_column": "s"}
MANY = range(4000)
OTHER_COLUMNS = "".join(f'{{"k{k}": 1}}\n' for k in MANY)  # in each line
OTHER_CELLS = "i,m,s\n" + "".join(f"{k},{k},1\n" for k in MANY)  # another item and arm in each row
BAD_FILES: dict[str, tuple[str, str | bytes, dict[str, str], str]] = {
    "text": ("t.csv", "a,b\n1,2\n\n3,high\n", {}, "row 2, column 'b' must be a number, or empty if missing, got 'high"),
    "text in the first column": ("t.tsv", "a\tb\n1\t2\nx\t3\n", {}, "row 2, column 'a' must be a number, or empty if "),
    "decimal comma": ("t.csv", 'a,b\n1,"0,5"\n', {}, "row 1, column 'b' must be a number, or empty if missing, got '0"),
    "text in JSON": ("t.jsonl", '{"a": 1, "b": 2}\n{"a": 1, "b": "x"}', {}, "row 2, column 'b' must be a number"),
    "lists in JSON": ("t.jsonl", '{"i": "q", "a": [1, 2], "b": [3, 4]}', {}, "row 1, column 'a' must be a number"),
    "huge integer": ("t.jsonl", f'{{"a": 2, "b": 1{"0" * 400}}}', {}, "row 1"),
    "long cell": ("t.csv", f"item,a,b\n{'x' * 140_000},1,2\nq,3,\u00fc\n", {}, "row 2, column 'b' must be a number"),
    "text in a long table": ("t.csv", "i,m,s\nq,a,1\nq,b,x\n", LONG, "row 2, column 's' must be a number, or empty if"),
    "one column": ("t.csv", "a\n1\n2\n", {}, "there must be at least two arms to compare, got 1"),
    "one arm, long": ("t.csv", "i,m,s\nq,a,1\nr,a,1\n", LONG, "there must be at least two arms to compare, got 1"),
    "no name": ("t.csv", "a,b, \n1,2,3\n", {}, "every arm must have a name, but arm 2 is ' '"),
    "no rows": ("t.csv", "a,b\n\n", {}, "t.csv has no rows: there must be one for each item"),
    "no rows, long": ("t.csv", "i,m,s\n", LONG, "t.csv has no rows: there must be one for each score"),
    "no objects": ("t.jsonl", "\n", {}, "t.jsonl has no rows: there must be one for each item"),
    "empty": ("t.csv", "", {}, "t.csv is empty: its first line must name the columns"),
    "same columns": ("t.csv", "a,b,a\n1,2,3\n", {}, "must have different names, but 'a' appears more than once"),
    "same score": ("t.csv", "i,m,s\nq,a,1\nq,b,2\nq,a,1\n", LONG, "row 3 repeats the score of arm 'a' on item 'q'"),
    "short row": ("t.csv", "a,b\n1,2\n\n3\n", {}, "row 2 of "),
    "long row": ("t.csv", "a,b\n1,2,3\n", {}, "t.csv has 3 cells, but there are 2 columns"),
    "infinite": ("t.csv", "item,a,b\nq,1,2\nr,3,-inf\n", {}, "must be finite, got -inf in row 2 (r), column 'b'"),
    "infinite in JSON": ("t.jsonl", '{"a": 1, "b": Infinity}', {}, "must be finite, got inf in row 1 (1), column 'b'"),
    "ending": ("t.txt", "a,b\n1,2\n", {}, "t.txt must end in one of .csv, .tsv, .jsonl, .ndjson, .parquet, so that"),
    "item column": ("t.csv", "a,b\n1,2\n", {"item_column": "x"}, "t.csv has no column 'x': its columns are a, b"),
    "arm column": ("t.csv", "i,m,s\nq,a,1\n", LONG | {"arm_column": "x"}, "no column 'x': its columns are i, m, s"),
    "score column": ("t.csv", "i,m,s\nq,a,1\n", LONG | {"score_column": "x"}, "no column 'x': its columns are i, m, s"),
    "no item": ("t.csv", "i,m,s\nq,a,1\n", {"arm_column": "m", "score_column": "s"}, "the names of all its columns"),
    "no arm": ("t.csv", "i,m,s\nq,a,1\n", {"item_column": "i", "score_column": "s"}, "the names of all its columns"),
    "no score": ("t.csv", "i,m,s\nq,a,1\n", {"item_column": "i", "arm_column": "m"}, "the names of all its columns"),
    "no JSON": ("t.jsonl", '{"a": 1, "b": 2}\n\n{"a": 1,\n', {}, "line 3 of "),
    "no object": ("t.jsonl", "[1, 2]\n", {}, "t.jsonl must be a JSON object, one entry per column, got '[1, 2]'"),
    "no Parquet": ("t.parquet", "a,b\n1,2\n", {}, "t.parquet"),
    "no text": ("t.csv", "a,b\n1,caf\xe9\n".encode("latin-1"), {}, "t.csv"),
    "nested deeply": ("t.jsonl", '{"a": ' + "[" * 100_000, {}, "line 1 of t.jsonl is nested too deeply"),
    "huge integer again": ("t.jsonl", f'{{"a": 1, "b": {"9" * 5000}}}', {}, "line 1 of t.jsonl cannot be read as JSON"),
    "a quote in a cell": ("t.tsv", '"a"b\tc\n1\t2\n', {}, r"line 1 of t.tsv cannot be read as a table: '\t' expected"),
    "same key": ("t.jsonl", '{"a": 1, "b": 2, "a": 3}', {}, "line 1 of t.jsonl cannot be read as JSON: 'a' appears mo"),
    "half a character": ("t.jsonl", '{"a": 1, "\\uD800": 2}', {}, "line 1 of t.jsonl cannot be read as JSON: 'utf-8' "),
    "other columns in each line": (
        "t.jsonl",
        OTHER_COLUMNS,
        {},
        "4,000 rows and 4,000 columns from 4,000 entries are too many",
    ),
    "another item and arm in each row": (
        "t.csv",
        OTHER_CELLS,
        LONG,
        "4,000 rows and 4,000 columns from 4,000 scores are too many",
    ),
    "open quotation mark": ("t.csv", 'a,b,item\n1,2,"x\n3,4,y\n', {"item_column": "item"}, "line 3 of t.csv"),
    "NUL": ("t.csv", "a,b\n1,2\0\n", {}, "t.csv must be a text file in UTF-8: it holds NUL bytes"),
    "UTF-16": ("t.csv", "a,b\n1,2\n".encode("utf-16"), {}, "t.csv must be a text file in UTF-8: it holds NUL bytes"),
    "semicolons and decimal commas": ("t.csv", "a;b\n1,5;2,5\n", {}, "separated by semicolons: save it with commas be"),
    "semicolons": ("t.csv", "a;b\n1.5;2.5\n", {}, "separated by semicolons: save it with commas"),
    "tabs in CSV": ("t.csv", "a\tb\n1\t2\n", {}, "separated by tabs: save it with commas"),
    "commas in TSV": ("t.tsv", "a,b\n1,2\n", {}, "separated by commas: save it with tabs"),
    "long cell again": ("t.csv", f"a,b\n1,{'x' * 10_000}\n", {}, "row 1, column 'b' must be a number"),
    "long names": ("t.csv", f"{'x' * 10_000},{'y' * 10_000}\n1,2\n", {"item_column": "i"}, "t.csv has no column 'i'"),
    "names of two lines": ("t.csv", '"a\nb",c\n1,2\n', {"item_column": "i"}, r"its columns are a\nb, c"),
    "items of two lines": ("t.csv", 'x,a,b\n"q\nr",inf,2\n', {}, r"got inf in row 1 (q\nr), column 'a'"),
    "many names": ("t.csv", ",".join(map(str, MANY)) + "\n" + "1," * 3999 + "1\n", {"item_column": "i"}, "3990 more"),
    "one column twice": ("t.csv", "a,b,c\n1,2,3\n", {"item_column": "a", "group_column": "a"}, "in different columns"),
    "date": ("t.csv", "a,b\n1,2024-05-01\n", {}, "row 1, column 'b' must be a number, or empty if missing, got '2024-"),
}


def test_missing_files_folders_and_repeated_columns_of_parquet_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"there is no file .*absent\.csv"):
        read_table(tmp_path / "absent.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ValueError, match=r"folder\.csv is a folder: give the path of a file"):
        read_table(tmp_path / "folder.csv")
    twice = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["a", "a"])
    parquet.write_table(twice, tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="'a' appears more than once"):
        read_table(tmp_path / "t.parquet")
    parquet.write_table(pa.table({"a": [1.0, 2.0], "b": ["1", "x"]}), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="row 2, column 'b' must be a number, or empty if missing, got 'x'"):
        read_table(tmp_path / "t.parquet")


def one_sentence(error: BaseException) -> str:
    """The message, which is short and in one line."""
    message = str(error)
    assert 0 < len(message) < 700, message[:700]
    assert "\n" not in message.strip()
    return message


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files_are_refused_in_one_sentence_with_the_place(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, text, columns, named = BAD_FILES[case]
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=re.escape(named)) as refused:
        read_table(write(Path(), name, text), **columns)
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


def test_small_files_that_stand_for_large_tables(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    zeros = np.zeros(5_000_001)
    parquet.write_table(pa.table({"a": zeros, "b": zeros}), path, compression="zstd")
    assert path.stat().st_size < 10**6
    with pytest.raises(ValueError, match=r"5,000,001 rows and 2 columns from [0-9,]+ bytes are too many"):
        read_table(path)
    text = ["x" * 10**7] * 30 + ["y"]
    parquet.write_table(
        pa.table({"item": text, "a": zeros[:31], "b": zeros[:31]}), path, use_dictionary=False, compression="zstd"
    )
    with pytest.raises(ValueError, match=r"bytes would be [0-9,]+ when unpacked, but at most 268,435,456 are read"):
        read_table(path)


def test_parquet_without_rows_or_columns(tmp_path: Path) -> None:
    for table in (pa.table({}), pa.table({"a": pa.array([], pa.float64()), "b": pa.array([], pa.float64())})):
        parquet.write_table(table, tmp_path / "t.parquet")
        with pytest.raises(ValueError, match="has no rows"):
            read_table(tmp_path / "t.parquet")


def test_very_wide_tables_are_read_but_not_raced(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    names = [f"a{k}" for k in range(100_000)]
    path.write_text("\n".join([",".join(names), ",".join("1" for _ in names), ",".join("2" for _ in names)]))
    table = read_table(path)
    assert (len(table.arms), len(table.items)) == (100_000, 2)
    for use in (race_table, plan):
        with pytest.raises(ValueError, match="a table may have at most 2,000 arms to compare, got 100,000"):
            use(table)


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


def test_damaged_parquet_is_a_table_or_refused(tmp_path: Path) -> None:
    path, luck = tmp_path / "t.parquet", random.Random(0)  # noqa: S311
    frame = pd.DataFrame(
        {"a": [1.0, 2.0], "b": ["1", "2"], "c": pd.date_range("2020", periods=2)}, index=pd.Index(["q", "r"])
    )
    frame.to_parquet(path)
    whole = path.read_bytes()
    for _ in range(200):
        damaged = bytearray(whole)
        for _ in range(luck.randint(1, 4)):
            damaged[luck.randrange(len(damaged))] = luck.randrange(256)
        read_or_refuse(path, bytes(damaged))


@pytest.mark.parametrize("cells", [",1,2\n,3,4\n", "NA,1,2\nNA,3,4\n"])
def test_a_first_column_without_a_score_is_an_arm(cells: str, tmp_path: Path) -> None:
    """Empty cells are missing scores, and so is NA: an item is not called that."""
    path = tmp_path / "scores.csv"
    path.write_text("x,a,b\n" + cells, encoding="utf-8")
    table = read_table(path)
    assert (table.arms, table.items) == (("x", "a", "b"), ("1", "2"))
    assert np.isnan(table.scores[:, 0]).all()
    assert table.scores[:, -2:].tolist() == [[1.0, 2.0], [3.0, 4.0]]
