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
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import bestarm
from bestarm import RaceResult, ScoreTable, race_table
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
    for chosen in options:
        with pytest.raises(ValueError, match=re.escape(message)):
            race_table(scores, arms=NAMES, **chosen)


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


# --- bad input -------------------------------------------------------------------------------------------------------

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


TIMES = "column 'c' holds dates or times, which are no scores: leave them out, or give numbers"
NO_NUMBER = "row 1, column 'c' must be a number, or empty if missing, got "
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


def test_a_lazy_frame_is_to_be_collected() -> None:
    with pytest.raises(TypeError, match=r"got a LazyFrame: call its collect"):
        race_table(pl.DataFrame({"a": [0.1, 0.2], "b": [0.3, 0.4]}).lazy())


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


def one_sentence(error: BaseException) -> str:
    """The message, which is short and in one line."""
    message = str(error)
    assert 0 < len(message) < 700, message[:700]
    assert "\n" not in message.strip()
    return message


OBJECTS: Any = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.floats(), st.integers(), st.text(max_size=5), st.dates(), st.complex_numbers()
    ),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(columns=st.lists(st.lists(OBJECTS, min_size=2, max_size=2), min_size=2, max_size=3))
def test_any_objects_are_scores_or_refused(columns: list[list[Any]]) -> None:
    for frame in (dict(zip("abc", columns, strict=False)), columns):
        try:
            assert np.isfinite(score_table(frame).scores[~np.isnan(score_table(frame).scores)]).all()
        except ValueError as error:
            one_sentence(error)


def test_a_table_must_fit_its_names() -> None:
    with pytest.raises(ValueError, match=r"^scores must have one row per item .* got \(3, 2\) for 2 items and 2 arms$"):
        ScoreTable(("a", "b"), ("1", "2"), np.zeros((3, 2)))


def test_a_table_that_has_names_takes_no_others() -> None:
    table = ScoreTable(("a", "b"), ("1", "2"), np.eye(2))
    assert score_table(table) is table
    with pytest.raises(ValueError, match=r"^arms must be left out: this table already has column names$"):
        score_table(table, ["x", "y"])
