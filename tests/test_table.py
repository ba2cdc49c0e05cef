"""Races on recorded scores: the same as a race on the same scores, from arrays, frames and files of every kind."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from pyarrow import parquet

import bestarm
from bestarm import RaceResult, ScoreTable, race_table, read_table
from bestarm.algorithms import LUCB, ConvexBAI, HoeffdingRace, KimNelson, PairwiseBAI
from bestarm.comparisons import Betting, EmpiricalBernstein, LeaderBetting, Portfolio, StudentMixture
from bestarm.sources.tables import score_table
from naive import Matrix
from statistics_helpers import contradicts

NAMES = ["plain", "few shots", "step by step", "both"]
LEADS = np.array([0.1, 0.0, 0.3, 0.25])


def made(seed: int = 0, n: int = 300) -> Matrix:
    """Correlated scores in [0.125, 0.875], multiples of 1 / 64: sums and reflections are exact."""
    rng = np.random.default_rng(seed)
    rows = 0.3 + LEADS + 0.2 * rng.standard_normal((n, 1)) + 0.1 * rng.standard_normal((n, 4))
    return np.floor(np.clip(rows, 0.125, 0.875) * 64) / 64


def raced(scores: Matrix, items: list[str] | None = None, **options: Any) -> RaceResult[Any]:
    """The race that a table stands for, one call of a function for each cell."""
    items = items or [str(k + 1) for k in range(len(scores))]
    place = {item: k for k, item in enumerate(items)}
    return bestarm.race(
        lambda arm, item: scores[place[item], NAMES.index(arm)], arms=NAMES, items=items, progress=False, **options
    )


def in_own_range(result: RaceResult[Any]) -> RaceResult[Any]:
    """The same race, but with bounds that are the range of the table."""
    assert not result.settings.own_range
    return replace(result, settings=replace(result.settings, own_range=True))


def assert_same(result: RaceResult[Any], expected: RaceResult[Any]) -> None:
    assert result.to_json() == expected.to_json()
    for name in ("means", "counts", "scores"):
        np.testing.assert_array_equal(getattr(result, name), getattr(expected, name), err_msg=name, strict=True)
    assert (result.intervals is None) == (expected.intervals is None)
    if result.intervals is not None and expected.intervals is not None:
        np.testing.assert_array_equal(result.intervals.low, expected.intervals.low)


# --- the same as a race ----------------------------------------------------------------------------------------------

KINDS: dict[str, Callable[[Matrix], Any]] = {
    "array": lambda scores: scores,
    "smaller floats": lambda scores: scores.astype(np.float32),
    "lists": lambda scores: scores.tolist(),
    "mapping": lambda scores: dict(zip(NAMES, scores.T.tolist(), strict=True)),
    "pandas": lambda scores: pd.DataFrame(scores, columns=pd.Index(NAMES)),
    "pandas, other index": lambda scores: pd.DataFrame(scores, range(300, 0, -1), columns=pd.Index(NAMES)),
    "pandas, nullable": lambda scores: pd.DataFrame(scores, columns=pd.Index(NAMES)).astype("Float64"),
    "pandas, text": lambda scores: pd.DataFrame(scores, columns=pd.Index(NAMES)).astype(str),
    "polars": lambda scores: pl.DataFrame(scores, schema=NAMES),
    "Arrow": lambda scores: pa.table(dict(zip(NAMES, scores.T.tolist(), strict=True))),
    "score table": lambda scores: ScoreTable(tuple(NAMES), tuple(str(k + 1) for k in range(len(scores))), scores),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_is_raced_as_the_function_would_be(kind: str) -> None:
    scores = made()
    arms = NAMES if kind in ("array", "smaller floats", "lists") else None
    result = race_table(KINDS[kind](scores), arms=arms, seed=5, bounds=(0, 1))
    assert_same(result, raced(scores, seed=5, bounds=(0, 1)))
    assert (result.best, result.reason, result.arms) == ("step by step", "decided", tuple(NAMES))
    assert 0 < np.isnan(result.scores).sum() == result.n_rounds * 4 - result.n_evaluations


@pytest.mark.parametrize(
    "options",
    [
        {"bounds": (0, 1), "delta": 0.2, "seed": 11},
        {"bounds": (0, 1), "lower_is_better": True},
        {"bounds": (-2, 3), "epsilon": 0.1},
        {"bounds": (0, 1), "epsilon": 0.1, "lower_is_better": True, "seed": 2},
        {"bounds": (0, 1), "indifference_zone": 0.04},
        {"comparison": StudentMixture()},
        {"comparison": StudentMixture(min_rounds=30), "lower_is_better": True},
        {"comparison": StudentMixture(), "epsilon": 0.1, "seed": 4},
        {"comparison": Portfolio(), "bounds": (0, 1), "seed": 6},
        {"comparison": EmpiricalBernstein(), "max_evaluations": 500},
        {"bounds": (0, 1), "max_evaluations": 101},
    ],
)
def test_settings_are_those_of_a_race(options: dict[str, Any]) -> None:
    scores = made(3)
    assert_same(race_table(scores, arms=NAMES, **options), raced(scores, **options))


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_bounds_of_the_table_are_its_smallest_and_largest_score(lower_is_better: bool) -> None:
    scores = made(1)
    assert (scores.min(), scores.max()) == (0.125, 0.875)
    tests: list[dict[str, Any]] = [{}, {"comparison": LeaderBetting()}, {"comparison": Betting()}]
    for test in tests:
        options: dict[str, Any] = {"lower_is_better": lower_is_better, **test}
        expected = in_own_range(raced(scores, bounds=(0.125, 0.875), **options))
        assert_same(race_table(scores, arms=NAMES, **options), expected)


@pytest.mark.parametrize(
    "algorithm",
    [
        PairwiseBAI(0.05, comparison=Betting(pool=300), keep=2.0),
        PairwiseBAI(0.1, comparison=StudentMixture(min_rounds=5), keep=1.5),
        PairwiseBAI(0.05, comparison=EmpiricalBernstein()),
        PairwiseBAI(0.05, comparison=StudentMixture(), max_rounds=12),
        PairwiseBAI(0.05, comparison=StudentMixture(), max_queries=50),
        ConvexBAI(0.05, comparison=Portfolio(pool=300)),
        KimNelson(0.05, indifference_zone=0.05),
        HoeffdingRace(0.05, variances=0.1),
        LUCB(0.05, variances=0.01),
    ],
    ids=lambda algorithm: type(algorithm).__name__,
)
def test_any_algorithm_sees_what_it_would_see_in_a_race(algorithm: Any) -> None:
    scores = made(2)
    assert_same(race_table(scores, arms=NAMES, algorithm=algorithm), raced(scores, algorithm=algorithm))


def test_the_seed_is_the_order_of_the_rows_and_nothing_else() -> None:
    scores = made(4)
    first, again, other = (race_table(scores, seed=seed) for seed in (0, 0, 1))
    assert first.to_json() == again.to_json()
    assert first.n_evaluations != other.n_evaluations
    shuffled = np.random.default_rng(np.random.SeedSequence(1)).permutation(300)
    np.testing.assert_array_equal(other.scores[:, 2], scores[shuffled[: other.n_rounds], 2])


def test_a_tie_is_named_once_all_rows_are_read() -> None:
    scores = made(5)[:, [0, 0, 1]]
    result = race_table(scores, arms=["a", "b", "c"])
    assert (result.reason, set(result.candidates), result.n_rounds) == ("all items used", {"a", "b"}, 300)
    assert result.verdict.startswith(
        f"{' and '.join(result.candidates)} tie for the best mean over all 300 items as scored here with probability"
    )
    sample = race_table(scores, arms=["a", "b", "c"], comparison=StudentMixture())
    assert (sample.reason, set(sample.candidates), sample.n_rounds) == ("ran out of items", {"a", "b"}, 300)
    assert (sample.best, sample.leader) == (None, sample.candidates[0])


@pytest.mark.parametrize(
    ("options", "own"),
    [
        ({}, True),
        ({"comparison": Betting()}, True),
        ({"comparison": Betting((0, 2))}, False),
        ({"comparison": EmpiricalBernstein()}, False),
        ({"comparison": StudentMixture()}, False),
        ({"bounds": (0.125, 0.875)}, False),
        ({"algorithm": PairwiseBAI(comparison=Betting((0.125, 0.875), pool=300))}, False),
    ],
    ids=str,
)
def test_only_bounds_that_were_read_off_the_table_are_its_range(options: dict[str, Any], own: bool) -> None:
    result = race_table(made(1), arms=NAMES, **options)
    assert result.settings.own_range is own
    assert ("(a live race must know the bounds, here [0.125, 0.875])" in " ".join(str(result).split())) is own


# --- missing cells ---------------------------------------------------------------------------------------------------


def with_gaps() -> tuple[Matrix, NDArray[np.bool_]]:
    scores = made(6)
    gaps = np.random.default_rng(7).random(scores.shape) < 0.05
    return np.where(gaps, np.nan, scores), gaps


@pytest.mark.parametrize("lower_is_better", [False, True])
@pytest.mark.parametrize("bounds", [None, (0, 1)])
def test_missing_cells_count_as_the_worst_as_failures_do_in_a_race(bounds: Any, lower_is_better: bool) -> None:
    scores, gaps = with_gaps()
    options: dict[str, Any] = {"lower_is_better": lower_is_better, "seed": 1}
    limits = (float(np.nanmin(scores)), float(np.nanmax(scores))) if bounds is None else bounds
    result = race_table(scores, arms=NAMES, missing="worst", bounds=bounds, **options)
    expected = raced(scores, on_error="worst", bounds=limits, **options)
    assert_same(result, in_own_range(expected) if bounds is None else expected)
    filled = np.where(gaps, limits[1] if lower_is_better else limits[0], scores)
    assert raced(filled, bounds=limits, **options).eliminations == result.eliminations


def test_items_with_a_missing_cell_are_dropped_and_the_bounds_stay_those_of_the_table() -> None:
    scores, _ = with_gaps()
    scores[:2] = [[np.nan, -4.0, 0.5, 0.5], [0.5, 0.5, np.nan, 4.0]]
    whole = np.flatnonzero(~np.isnan(scores).any(axis=1))
    names = [str(row + 1) for row in whole]
    result = race_table(scores, arms=NAMES, missing="drop")
    assert_same(result, in_own_range(raced(scores[whole], names, bounds=(-4, 4))))
    assert 200 < (result.settings.n_items or 0) == len(whole) < 260


def test_missing_cells_are_refused_with_their_number_and_the_two_ways_out() -> None:
    scores, gaps = with_gaps()
    row, column = np.argwhere(gaps)[0]
    message = (
        "missing must be 'worst', to count empty cells as the worst score, or 'drop', to use only the "
        f"{(~gaps.any(axis=1)).sum()} complete rows: {gaps.sum()} of 1,200 cells are empty (the first in row "
        f"{row + 1}, column {NAMES[column]!r})"
    )
    options: list[dict[str, Any]] = [{}, {"bounds": (0, 1)}, {"comparison": StudentMixture()}]
    for given in options:
        with pytest.raises(ValueError, match=re.escape(message)):
            race_table(scores, arms=NAMES, **given)


@pytest.mark.parametrize(
    "frame",
    [
        {"a": [1.0, None, 3.0], "b": [1, 2, 3]},
        {"a": ["1", " NA ", "3"], "b": [1, "2", "3.0"]},
        pd.DataFrame({"a": [1.0, None, 3.0], "b": [1, 2, 3]}),
        pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [1, 2, 3]}),
        pd.DataFrame({"a": [1, pd.NA, 3], "b": [1, 2, 3]}),
        pl.DataFrame({"a": [1, None, 3], "b": [1, 2, 3]}),
        pl.DataFrame({"a": ["1", "", "3"], "b": [1, 2, 3]}),
        pa.table({"a": [1, None, 3], "b": [1, 2, 3]}),
    ],
    ids=["mapping", "mapping of text", "pandas", "pandas, Int64", "pandas, objects", "polars", "polars, text", "Arrow"],
)
def test_what_frames_call_missing_is_missing(frame: Any) -> None:
    np.testing.assert_array_equal(score_table(frame).scores, [[1, 1], [np.nan, 2], [3, 3]])


def test_lists_and_masked_arrays_have_missing_cells_too() -> None:
    expected = [[1, 1], [np.nan, 2], [3, 3]]
    np.testing.assert_array_equal(score_table([[1, 1], [None, 2], [3, 3]]).scores, expected)
    masked = np.ma.masked_equal(np.array([[1.0, 1.0], [99.0, 2.0], [3.0, 3.0]]), 99.0)
    np.testing.assert_array_equal(score_table(masked).scores, expected)


# --- the guarantee ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["rare and large", "lower is better", "missing"])
def test_over_random_orders_of_one_table_the_best_column_is_seldom_dropped(case: str) -> None:
    rng = np.random.default_rng(0)
    n, games, delta = 120, 500, 0.2
    scores = (rng.random((n, 1)) + 0.2 * rng.standard_normal((n, 2)) < [0.5, 0.53]).astype(float)
    options: dict[str, Any] = {"delta": delta, "bounds": (0, 1)}
    if case == "rare and large":  # the worse column is better on nearly all items
        scores = np.tile([0.52, 0.5], (n, 1))
        scores[:6] = [0.0, 0.9]
    if case == "lower is better":
        options["lower_is_better"] = True
    if case == "missing":
        scores[rng.random((n, 2)) < 0.1] = np.nan
        options["missing"] = "worst"
    means = np.nan_to_num(scores).mean(axis=0)
    best = str(np.argmin(means) if case == "lower is better" else np.argmax(means))
    assert 0 < abs(means[0] - means[1]) < 0.08
    results = [race_table(scores, seed=seed, **options) for seed in range(games)]
    errors = sum(best not in result.candidates for result in results)
    assert not contradicts(errors, games, delta, cells=3)
    assert sum(result.n_rounds < n for result in results) > games / 4  # many ended before they had seen everything


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


def test_a_file_is_raced_as_the_array_in_it(tmp_path: Path) -> None:
    scores = made(8)
    pd.DataFrame(scores, columns=pd.Index(NAMES)).to_csv(tmp_path / "scores.csv")  # with an index, which has no name
    table = read_table(tmp_path / "scores.csv")
    assert (table.arms, table.items) == (tuple(NAMES), tuple(map(str, range(300))))
    assert_same(race_table(table), in_own_range(raced(scores, list(table.items), bounds=(0.125, 0.875))))


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


# --- bad input -------------------------------------------------------------------------------------------------------

LONG = {"item_column": "i", "arm_column": "m", "score_column": "s"}
BAD_FILES: dict[str, tuple[str, str | bytes, dict[str, str], str]] = {
    "text": (
        "t.csv",
        "a,b\n1,2\n\n3,high\n",
        {},
        "row 2, column 'b' must be a number, or empty if missing, got 'high'",
    ),
    "text in the first column": (
        "t.tsv",
        "a\tb\n1\t2\nx\t3\n",
        {},
        "row 2, column 'a' must be a number, or empty if missing, got 'x'",
    ),
    "decimal comma": (
        "t.csv",
        'a,b\n1,"0,5"\n',
        {},
        "row 1, column 'b' must be a number, or empty if missing, got '0,5'",
    ),
    "text in JSON": ("t.jsonl", '{"a": 1, "b": 2}\n{"a": 1, "b": "x"}', {}, "row 2, column 'b' must be a number"),
    "lists in JSON": ("t.jsonl", '{"i": "q", "a": [1, 2], "b": [3, 4]}', {}, "row 1, column 'a' must be a number"),
    "huge integer": ("t.jsonl", f'{{"a": 2, "b": 1{"0" * 400}}}', {}, "row 1"),
    "long cell": ("t.csv", f"item,a,b\n{'x' * 140_000},1,2\nq,3,\u00fc\n", {}, "row 2, column 'b' must be a number"),
    "text in a long table": (
        "t.csv",
        "i,m,s\nq,a,1\nq,b,x\n",
        LONG,
        "row 2, column 's' must be a number, or empty if missing, got 'x'",
    ),
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
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files_are_refused_with_the_place(case: str, tmp_path: Path) -> None:
    name, text, columns, message = BAD_FILES[case]
    with pytest.raises(ValueError, match=re.escape(message)):
        read_table(write(tmp_path, name, text), **columns)


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


GOOD = [[0.0, 1.0], [1.0, 0.5]]
SHIFTED = [[np.nan, 1.0], [0.5, 0.5], [0.5, 7.0]]
BAD_CALLS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "text": ({"a": [1, 2], "b": [3, "x"]}, {}, "row 2, column 'b' must be a number, or empty if missing, got 'x'"),
    "text, Arrow": (
        pa.table({"a": ["1", "x"], "b": [1, 2]}),
        {},
        "row 2, column 'a' must be a number, or empty if missing, got 'x'",
    ),
    "text, lists": (
        [[1, 2], [3, "x"]],
        {"arms": ["a", "b"]},
        "row 2, column 'b' must be a number, or empty if missing, got 'x'",
    ),
    "one column": ([[1.0], [2.0]], {}, "there must be at least two arms to compare, got 1"),
    "no rows": (np.empty((0, 2)), {}, "the table has no rows: there must be one for each item"),
    "no rows, polars": (pl.DataFrame({"a": [], "b": []}), {}, "the table has no rows: there must be one for each item"),
    "one row": ([[1.0, 2.0]], {}, "the table must have at least two rows, got 1"),
    "one whole row": (SHIFTED[:2], {"missing": "drop"}, "the table must have at least two rows, got 1"),
    "same columns": (pd.DataFrame(GOOD, columns=pd.Index(["a", "a"])), {}, "must have different names"),
    "ragged": ([[1, 2], [3]], {}, "the scores must be a table of numbers"),
    "ragged columns": ({"a": [1, 2], "b": [1]}, {}, "all columns of the table must have the same number of rows"),
    "a vector": ([1.0, 2.0], {}, "one row per item and one column per arm, got (2,)"),
    "a cube": (np.zeros((2, 2, 2)), {}, "one row per item and one column per arm, got (2, 2, 2)"),
    "infinite": ([[0, 1], [np.inf, 1]], {}, "scores must be finite, got inf in row 2 (2), column '0'"),
    "too many names": (GOOD, {"arms": ["a", "b", "c"]}, "arms must name the 2 columns, got 3 names"),
    "names beside names": (
        {"a": [1, 2], "b": [3, 4]},
        {"arms": ["a", "b"]},
        "arms must be left out: this table already has column names",
    ),
    "outside": (
        SHIFTED[1:],
        {"bounds": (0, 1)},
        "bounds must be wider than (0, 1): 1 score outside (the first in row 2",
    ),
    "outside, gaps before": (SHIFTED, {"bounds": (0, 1), "missing": "drop"}, "the first in row 3, column '1': 7"),
    "bounds in words": (GOOD, {"bounds": "auto"}, "bounds must be two finite numbers, the lower one first, got 'auto'"),
    "all equal": (np.full((5, 3), 2.5), {}, "all scores of the table are 2.5: there is nothing to tell the arms apart"),
    "nothing": (np.full((5, 2), np.nan), {"missing": "worst"}, "the table has no score in it"),
    "nothing, bounds": (np.full((5, 2), np.nan), {"bounds": (0, 1)}, "10 of 10 cells are empty (the first in row 1"),
    "no whole row": ([[1, None], [None, 2]], {"missing": "drop"}, "every row of the table has a missing cell"),
    "no worst": (
        SHIFTED,
        {"missing": "worst", "comparison": StudentMixture()},
        "missing cannot be 'worst' without bounds=(low, high): there",
    ),
    "missing": (GOOD, {"missing": "ignore"}, "missing must be one of 'raise', 'worst', 'drop', got 'ignore'"),
    "delta": (GOOD, {"delta": 1.0}, "delta must lie strictly between 0 and 1, got 1.0"),
    "seed": (GOOD, {"seed": -1}, "seed must be a whole number of at least 0, got -1"),
    "first rounds": (GOOD, {"min_rounds": 1}, "min_rounds must be a whole number of at least 2"),
    "first rounds of bets": (GOOD, {"min_rounds": 5}, "min_rounds is a setting of StudentMixture, got 5 with the test"),
    "settings twice": (GOOD, {"algorithm": PairwiseBAI(), "delta": 0.1}, "delta is 0.1 here and 0.05 in PairwiseBAI()"),
    "bounds twice": (
        GOOD,
        {"algorithm": PairwiseBAI(), "bounds": (0, 1)},
        "bounds=(0, 1) do not fit StudentMixture(), which uses no bounds",
    ),
    "algorithm's bounds": (
        [[0, 7], [1, 1]],
        {"algorithm": PairwiseBAI(0.1, comparison=Betting())},
        "the first in row 1, column",
    ),
    "other pool": (GOOD, {"algorithm": PairwiseBAI(0.1, comparison=Betting(pool=9))}, "is for a pool of 9 items"),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_bad_tables_and_settings_are_refused(case: str) -> None:
    frame, options, message = BAD_CALLS[case]
    with pytest.raises(ValueError, match=re.escape(message)):
        race_table(frame, **options)


def test_what_is_no_algorithm_or_no_flag_is_refused() -> None:
    with pytest.raises(TypeError, match="algorithm must be an algorithm such as"):
        race_table(GOOD, algorithm=PairwiseBAI)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="lower_is_better must be True or False, got 'no'"):
        race_table(GOOD, lower_is_better="no")  # type: ignore[arg-type]


@pytest.mark.parametrize("cells", [",1,2\n,3,4\n", "NA,1,2\nNA,3,4\n"])
def test_a_first_column_without_a_score_is_an_arm(cells: str, tmp_path: Path) -> None:
    """Empty cells are missing scores, and so is NA: an item is not called that."""
    path = tmp_path / "scores.csv"
    path.write_text("x,a,b\n" + cells, encoding="utf-8")
    table = read_table(path)
    assert (table.arms, table.items) == (("x", "a", "b"), ("1", "2"))
    assert np.isnan(table.scores[:, 0]).all()
    assert table.scores[:, -2:].tolist() == [[1.0, 2.0], [3.0, 4.0]]
