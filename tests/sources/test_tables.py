"""Races on recorded scores: as a race on the same scores would be, from arrays and frames of every kind."""

import datetime
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import bestarm
from bestarm import RaceResult, ScoreTable, race_table
from bestarm.algorithms import LUCB, ConvexBAI, HoeffdingRace, KimNelson, PairwiseBAI
from bestarm.comparisons import Betting, EmpiricalBernstein, LeaderBetting, Portfolio, StudentMixture
from bestarm.sources.frames import score_table
from naive import Matrix
from sources.conftest import NO_NUMBER, TIMES, assert_one_sentence

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


def live(frame: Any, **options: Any) -> RaceResult[str]:
    """The race on a table as it would have run."""
    return race_table(frame, live=True, **options)


def in_own_range(result: RaceResult[Any]) -> RaceResult[Any]:
    """A race with bounds that are the range of the table."""
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
    result = live(KINDS[kind](scores), arms=arms, seed=5, bounds=(0, 1))
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
        {"algorithm": PairwiseBAI(0.05, comparison=Betting(pool=300), keep=2.0)},
        {"algorithm": PairwiseBAI(0.1, comparison=StudentMixture(min_rounds=5), keep=1.5)},
        {"algorithm": PairwiseBAI(0.05, comparison=EmpiricalBernstein())},
        {"algorithm": PairwiseBAI(0.05, comparison=StudentMixture(), max_rounds=12)},
        {"algorithm": PairwiseBAI(0.05, comparison=StudentMixture(), max_queries=50)},
        {"algorithm": ConvexBAI(0.05, comparison=Portfolio(pool=300))},
        {"algorithm": KimNelson(0.05, indifference_zone=0.05)},
        {"algorithm": HoeffdingRace(0.05, variances=0.1)},
        {"algorithm": LUCB(0.05, variances=0.01)},
    ],
    ids=str,
)
def test_settings_and_algorithms_are_those_of_a_race(options: dict[str, Any]) -> None:
    scores = made(3)
    assert_same(live(scores, arms=NAMES, **options), raced(scores, **options))


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_bounds_of_the_table_are_its_smallest_and_largest_score(lower_is_better: bool) -> None:
    scores = made(1)
    assert (scores.min(), scores.max()) == (0.125, 0.875)
    tests: list[dict[str, Any]] = [{}, {"comparison": LeaderBetting()}, {"comparison": Betting()}]
    for test in tests:
        options: dict[str, Any] = {"lower_is_better": lower_is_better, **test}
        expected = in_own_range(raced(scores, bounds=(0.125, 0.875), **options))
        assert_same(live(scores, arms=NAMES, **options), expected)


def test_the_seed_is_the_order_of_the_rows_and_nothing_else() -> None:
    scores = made(4)
    first, again, other = (live(scores, seed=seed) for seed in (0, 0, 1))
    assert first.to_json() == again.to_json()
    assert first.n_evaluations != other.n_evaluations
    shuffled = np.random.default_rng(np.random.SeedSequence(1)).permutation(300)
    np.testing.assert_array_equal(other.scores[:, 2], scores[shuffled[: other.n_rounds], 2])


def test_a_tie_is_named_once_all_rows_are_read() -> None:
    scores = made(5)[:, [0, 0, 1]]
    for live in (False, True):
        result = race_table(scores, arms=["a", "b", "c"], target="items", live=live)
        assert (result.reason, set(result.candidates), result.n_rounds) == ("all items used", {"a", "b"}, 300)
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
    assert ("(a live race must know the bounds, here [0.125, 0.875])" in result.explain()) is own


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
    result = live(scores, arms=NAMES, missing="worst", bounds=bounds, **options)
    expected = raced(scores, on_error="worst", bounds=limits, **options)
    assert_same(result, in_own_range(expected) if bounds is None else expected)
    filled = np.where(gaps, limits[1] if lower_is_better else limits[0], scores)
    assert raced(filled, bounds=limits, **options).eliminations == result.eliminations


def test_items_with_a_missing_cell_are_dropped_and_the_bounds_stay_those_of_the_table() -> None:
    scores, _ = with_gaps()
    scores[:2] = [[np.nan, -4.0, 0.5, 0.5], [0.5, 0.5, np.nan, 4.0]]
    whole = np.flatnonzero(~np.isnan(scores).any(axis=1))
    names = [str(row + 1) for row in whole]
    result = live(scores, arms=NAMES, missing="drop")
    assert_same(result, in_own_range(raced(scores[whole], names, bounds=(-4, 4))))
    assert 200 < (result.settings.n_items or 0) == len(whole) < 260


@pytest.mark.parametrize("options", [{}, {"bounds": (0, 1)}, {"comparison": StudentMixture()}], ids=str)
def test_missing_cells_are_refused_unless_it_is_said_what_they_count(options: dict[str, Any]) -> None:
    scores, gaps = with_gaps()
    row, column = np.argwhere(gaps)[0]
    place = f"{gaps.sum()} of 1,200 cells are empty (the first in row {row + 1}, column {NAMES[column]!r})"
    with pytest.raises(ValueError, match=f"^missing must be .* {re.escape(place)}"):
        race_table(scores, arms=NAMES, **options)


MASKED = np.ma.masked_equal(np.array([[1.0, 1.0], [99.0, 2.0], [3.0, 3.0]]), 99.0)


@pytest.mark.parametrize(
    "frame",
    [
        [[1, 1], [None, 2], [3, 3]],
        MASKED,
        {"a": [1.0, None, 3.0], "b": [1, 2, 3]},
        {"a": ["1", " NA ", "3"], "b": [1, "2", "3.0"]},
        {"a": MASKED[:, 0], "b": pd.Series([1, 2, 3]).astype("category")},
        {
            "a": pd.Series([1.0, None, 3.0], dtype="double[pyarrow]"),
            "b": pd.Series(pd.arrays.SparseArray([1.0, 2.0, 3.0])),
        },
        pd.DataFrame({"a": [1.0, None, 3.0], "b": [1, 2, 3]}),
        pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [1, 2, 3]}),
        pd.DataFrame({"a": [1, pd.NA, 3], "b": [1, 2, 3]}),
        pl.DataFrame({"a": [1, None, 3], "b": [1, 2, 3]}),
        pl.DataFrame({"a": ["1", "", "3"], "b": [1, 2, 3]}),
        pl.DataFrame({"a": [1, None, 3], "b": [1, 2, 3]}, schema={"a": pl.Int128, "b": pl.Int8}),
        pa.table({"a": [1, None, 3], "b": [1, 2, 3]}),
        pa.table({"a": pa.array(["1", None, "3"]).dictionary_encode(), "b": [1, 2, 3]}),
    ],
    ids=lambda frame: type(frame).__name__,
)
def test_what_frames_call_missing_is_missing(frame: Any) -> None:
    np.testing.assert_array_equal(score_table(frame).scores, [[1, 1], [np.nan, 2], [3, 3]])


# --- bad input -------------------------------------------------------------------------------------------------------

GOOD = [[0.0, 1.0], [1.0, 0.5]]
SHIFTED = [[np.nan, 1.0], [0.5, 0.5], [0.5, 7.0]]
EMPTY = np.full((5, 2), np.nan)
DATES = np.zeros((2, 2), dtype="M8[s]")
X_IN_B = "row 2, column 'b' must be a number, or empty if missing, got 'x'"
UNLIKE_A_TABLE = "the scores must be a table with one row per item and one column per arm, got "
# Other messages are in tests/test_messages.py.
BAD_TABLES: dict[str, tuple[Any, dict[str, Any], str]] = {
    "text, Arrow": (pa.table({"a": [1, 2], "b": ["1", "x"]}), {}, X_IN_B),
    "text, lists": ([[1, 2], [3, "x"]], {"arms": ["a", "b"]}, X_IN_B),
    "no rows": (pl.DataFrame({"a": [], "b": []}), {}, "the table has no rows: there must be one for each item"),
    "one row": ([[1.0, 2.0]], {}, "the table must have at least two rows, got 1"),
    "one whole row": (SHIFTED[:2], {"missing": "drop"}, "the table must have at least two rows, got 1"),
    "same columns": (pd.DataFrame(GOOD, columns=pd.Index(["a", "a"])), {}, "must have different names"),
    "ragged": ([[1, 2], [3]], {}, "the scores must be a table of numbers"),
    "a vector": ([1.0, 2.0], {}, UNLIKE_A_TABLE + "(2,)"),
    "bytes": (b"12", {}, UNLIKE_A_TABLE),
    "None": (None, {}, UNLIKE_A_TABLE),
    "dates": (DATES, {}, "column '0' holds dates or times, which are no scores"),
    "dates in lists": ([[np.datetime64("2020"), np.datetime64("2021")]] * 2, {}, "column '0' holds dates or times"),
    "complex": (np.array([[1j, 2], [1, 2]]), {}, "column '0' holds complex numbers"),
    "huge": ([[1, 10**400], [1, 2]], {}, "row 1, column '1' must be a number"),
    "outside": (SHIFTED, {"bounds": (0, 1), "missing": "drop"}, "the first in row 3, column '1': 7"),
    "outside its own": ([[0, 7], [1, 1]], {"algorithm": PairwiseBAI(0.1, comparison=Betting())}, "the first in row 1,"),
    "bounds beside": (
        GOOD,
        {"algorithm": PairwiseBAI(), "bounds": (0, 1)},
        "bounds=(0, 1) do not fit StudentMixture()",
    ),
    "bounds in words": (GOOD, {"bounds": "auto"}, "bounds must be two finite numbers, the lower one first, got 'auto'"),
    "nothing": (EMPTY, {"missing": "worst"}, "the table has no score in it"),
    "nothing, bounds": (EMPTY, {"bounds": (0, 1)}, "10 of 10 cells are empty (the first in row 1"),
    "no whole row": ([[1, None], [None, 2]], {"missing": "drop"}, "every row of the table has a missing cell"),
    "no worst": (
        SHIFTED,
        {"missing": "worst", "comparison": StudentMixture()},
        "missing cannot be 'worst' without bound",
    ),
    "missing": (GOOD, {"missing": "ignore"}, "missing must be one of 'raise', 'worst', 'drop', got 'ignore'"),
    "delta": (GOOD, {"delta": 1.0}, "delta must lie strictly between 0 and 1, got 1.0"),
    "seed": (GOOD, {"seed": -1}, "seed must be a whole number of at least 0, got -1"),
    "other pool": (GOOD, {"algorithm": PairwiseBAI(0.1, comparison=Betting(pool=9))}, "is for a pool of 9 items"),
    "names of names": (ScoreTable(("a", "b"), ("1", "2"), np.eye(2)), {"arms": ["x", "y"]}, "arms must name arms"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_bad_tables_and_settings_are_refused(case: str) -> None:
    frame, options, message = BAD_TABLES[case]
    with pytest.raises(ValueError, match=re.escape(message)):
        race_table(frame, **options)


DAYS = pd.Series(pd.date_range("2020", periods=2))
NO_ROWS = "column 'c' must hold one score for each row, got "
BAD_COLUMNS: dict[str, tuple[Any, str]] = {
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
    "a matrix": (np.eye(2), NO_ROWS + "shape (2, 2)"),
    "a text": ("12", NO_ROWS + "'12'"),
    "a number": (12, NO_ROWS + "12"),
    "a set": ({1, 2}, NO_ROWS),
    "periods": (pd.Series(pd.period_range("2020", periods=2, freq="D")), NO_NUMBER),
}


@pytest.mark.parametrize("case", BAD_COLUMNS)
def test_columns_that_are_no_scores_are_refused(case: str) -> None:
    column, message = BAD_COLUMNS[case]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=re.escape(message)) as refused:
            race_table({"a": [1.0, 2.0], "b": [2.0, 3.0], "c": column})
    assert_one_sentence(refused.value)


def test_a_lazy_frame_is_to_be_collected() -> None:
    with pytest.raises(TypeError, match=r"got a LazyFrame: call its collect"):
        race_table(pl.DataFrame({"a": [0.1, 0.2], "b": [0.3, 0.4]}).lazy())


def test_a_score_table_holds_numbers_and_is_taken_as_it_is() -> None:
    table = ScoreTable(("a", "b"), ("1", "2"), np.eye(2))
    assert score_table(table) is table
    with pytest.raises(ValueError, match="scores hold dates or times, which are no scores"):
        ScoreTable(("a", "b"), ("1", "2"), DATES)
