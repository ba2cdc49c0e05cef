"""Which columns of a table hold items, arms and scores: recognised, chosen, said, and never guessed in silence."""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bestarm import ScoreTable, TableWarning, plan, race_table, read_table
from bestarm.errors import ParameterError
from bestarm.sources.frames import score_table

ARMS = ("plain", "few", "steps")
N = 40
SCORES = (np.random.default_rng(0).random((N, 3)) < [0.3, 0.5, 0.9]).astype(float)


def wide(**more: Any) -> pd.DataFrame:
    """Scores of three arms, and other columns behind them."""
    return pd.DataFrame(SCORES, columns=pd.Index(ARMS)).assign(**more)


def long(item: str = "doc_id", arm: str = "model", score: str = "correct") -> pd.DataFrame:
    return wide(**{item: range(N)}).melt(item, var_name=arm, value_name=score)


def read(frame: pd.DataFrame, **choice: Any) -> ScoreTable:
    """A frame by way of a file."""
    frame.to_csv("t.csv", index=False)
    return read_table("t.csv", **choice)


BOTH = pytest.mark.parametrize("reader", [read, score_table])
SILENT = pytest.mark.filterwarnings("error")
NOTED = pytest.mark.filterwarnings("ignore::bestarm.TableWarning")


def values(table: ScoreTable) -> list[list[float | None]]:
    return [[None if np.isnan(score) else score for score in row] for row in table.scores.tolist()]


# --- True and False --------------------------------------------------------------------------------------------------

FLAGS = pd.DataFrame({"a": [True, False, None], "b": [True, True, False], "c": [None, None, False]})


@SILENT
@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.jsonl", "t.parquet"])
def test_flags_are_scores_as_pandas_writes_them(name: str) -> None:
    if name.endswith("parquet"):
        FLAGS.astype("boolean").to_parquet(name)
    elif name.endswith("jsonl"):
        FLAGS.to_json(name, orient="records", lines=True)
    else:
        FLAGS.to_csv(name, index=False, sep="\t" if name.endswith("tsv") else ",")
    table = read_table(name)
    assert (table.arms, table.items) == (("a", "b", "c"), ("1", "2", "3"))
    assert values(table) == [[1, 1, None], [0, 1, None], [None, 0, 0]]


@SILENT
@pytest.mark.parametrize(
    "frame",
    [
        FLAGS,
        FLAGS.astype("boolean"),
        FLAGS.astype(str),
        FLAGS.astype("category"),
        pl.from_pandas(FLAGS.astype("boolean")),
        pa.table(FLAGS.astype("boolean").to_dict("list"), pa.schema([(name, pa.bool_()) for name in "abc"])),
        {"a": ["true", " False", "NA"], "b": ["TRUE", "true", "FALSE"], "c": [None, "", np.False_]},
    ],
    ids=str,
)
def test_flags_of_frames_are_scores(frame: Any) -> None:
    assert values(score_table(frame)) == [[1, 1, None], [0, 1, None], [None, 0, 0]]


@SILENT
@BOTH
@pytest.mark.parametrize(
    ("cells", "row", "got"),
    [
        (["True", "Treu", "False"], 2, "'Treu'$"),  # a typo drops no arm
        (["Treu", "True", "False"], 1, "'Treu'$"),
        (["True", "0.5", "False"], 1, r"'True' \(True and False are scores in a column that holds nothing else\)"),
        (["0.5", "0.6", "o.7"], 3, "'o.7'$"),
        (["hello", "0.6", "world"], 1, "'hello'$"),
        (["93%", "94%", "95%"], 1, "'93%'$"),
        (["$5", "", "$7"], 1, r"'\$5'$"),
        (["1_000", "2_000", "3_000"], 1, "'1_000' "),
        (["0,5", "0,7", "0,9"], 1, "'0,5' "),
    ],
)
@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_column_with_texts_in_some_cells_or_odd_numbers_is_refused_with_its_place(
    reader: Any, place: int, cells: list[str], row: int, got: str
) -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [2.0, 3.0, 4.0], "c": [0.0, 1.0, 0.0]})
    frame.insert(place, "d", cells)
    if place == 0:
        frame.insert(0, "item", ["x", "y", "z"])
    wanted = f"row {row}, column 'd' must be a number, or empty if missing, got {got.rstrip('$')}"
    with pytest.raises(ValueError, match=wanted):
        reader(frame)


# --- columns of texts, and of something else -------------------------------------------------------------------------


@SILENT
@BOTH
@pytest.mark.parametrize("place", [0, 2, 3])
def test_a_column_of_texts_holds_the_names_of_items(reader: Any, place: int) -> None:
    frame, names = wide(), [f"What is {k}?" for k in range(N)]
    frame.insert(place, "prompt", names)
    table = reader(frame)
    assert table == ScoreTable(ARMS, tuple(names), SCORES)


@BOTH
def test_other_columns_of_texts_are_left_out_and_that_is_said(reader: Any) -> None:
    frame = wide(question=[f"Q{k}" for k in range(N)], answer="Paris", day="2024-01-31")
    with pytest.warns(TableWarning) as caught:
        table = reader(frame)
    said = "left out, because they hold texts: answer ('Paris') and day ('2024-01-31')"
    notes = (f"{said}; raced as arms: plain, few, steps",)
    assert tuple(str(one.message) for one in caught) == table.notes == notes
    assert {Path(one.filename).name for one in caught if reader is score_table} <= {Path(__file__).name}
    assert (table.arms, table.items[:2]) == (ARMS, ("Q0", "Q1"))


@NOTED
@BOTH
def test_texts_that_come_again_are_no_names_of_items(reader: Any) -> None:
    table = reader(wide(category=["math", "biology"] * (N // 2), question=[f"Q{k}" for k in range(N)]))
    left_out = "left out, because they hold texts: category ('math'); raced as arms: plain, few, steps"
    assert (table.items[0], table.notes) == ("Q0", (left_out,))
    assert reader(wide(category="math")).items[0] == "1"


@SILENT
@BOTH
@pytest.mark.parametrize("choice", [{"ignore": ["answer", "few"]}, {"arms": ["plain", "steps"]}], ids=str)
def test_a_choice_of_columns_needs_no_words(reader: Any, choice: dict[str, list[str]]) -> None:
    table = reader(wide(answer="Paris"), **choice)
    assert (table.arms, table.notes) == (("plain", "steps"), ())
    np.testing.assert_array_equal(table.scores, SCORES[:, [0, 2]])


@SILENT
@BOTH
def test_arms_are_raced_in_the_order_given(reader: Any) -> None:
    np.testing.assert_array_equal(reader(wide(), arms=["steps", "plain"]).scores, SCORES[:, [2, 0]])


@BOTH
@pytest.mark.parametrize(
    ("more", "odd"),
    [
        ({"prompt_tokens": 99}, "prompt_tokens"),
        ({"nTokens": 0.5, "latency": 2}, "nTokens,latency"),
        ({"Total Cost": 2}, "Total Cost"),
        ({"doc_id": 7}, "doc_id"),
        ({"x": 1000}, "x"),
    ],
    ids=str,
)
def test_columns_that_look_like_no_candidates_are_raced_and_named(reader: Any, more: dict[str, Any], odd: str) -> None:
    with pytest.warns(TableWarning) as caught:
        table = reader(wide(**more))
    assert table.arms == (*ARMS, *more)
    raced = ", ".join(table.arms)
    (said,) = (str(one.message) for one in caught)
    assert said == f"raced as arms: {raced}; leave one out with --ignore {odd} (ignore={odd.split(',')!r})"


@SILENT
@BOTH
@pytest.mark.parametrize(
    "frame",
    [
        wide(),
        wide().rename(columns={"plain": "seed", "few": "my seed", "steps": "seed_seed"}),  # all of them
        pd.DataFrame({"fast": [1.0, 2.0], "slow": [30.0, 90.0], "slower": [90.0, 99.0]}),
    ],
    ids=lambda frame: str(list(frame)),
)
def test_nothing_is_said_where_all_look_alike(reader: Any, frame: pd.DataFrame) -> None:
    assert reader(frame).arms == tuple(frame)


@BOTH
def test_a_table_with_one_row_per_arm_is_said_to_be_one(reader: Any) -> None:
    with pytest.warns(TableWarning, match="^items are the rows of column model: if these are the arms, transpose the"):
        reader(pd.DataFrame({"model": ["a", "b", "c"], "mmlu": [0.1, 0.2, 0.3], "gsm": [0.2, 0.3, 0.4]}))


@BOTH
def test_a_first_column_that_only_numbers_the_rows_is_no_arm_and_that_is_said(reader: Any) -> None:
    frame = wide()
    frame.insert(0, "line", range(1, N + 1))
    with pytest.warns(TableWarning, match="^items from line, which only numbers the rows$"):
        assert reader(frame).arms == ARMS
    frame.loc[7, "line"] = 0
    assert reader(frame).arms == ("line", *ARMS)


# --- long tables -----------------------------------------------------------------------------------------------------

READ_AS_LONG = "read as a long table: items from {}, arms from {}, scores from {}"


@BOTH
@pytest.mark.parametrize(
    "names", [("doc_id", "model", "correct"), ("Question ID", "System", "acc"), ("id", "arm", "reward")]
)
def test_a_long_table_with_the_usual_names_is_recognised_and_said(reader: Any, names: tuple[str, str, str]) -> None:
    frame = long(*names).assign(latency=1.5, comment="ok")
    with pytest.warns(TableWarning) as caught:
        table = reader(frame)
    assert table.notes == tuple(str(one.message) for one in caught) == (READ_AS_LONG.format(*names),)
    assert (table.arms, table.items) == (ARMS, tuple(map(str, range(N))))
    np.testing.assert_array_equal(table.scores, SCORES)


@NOTED
def test_frames_of_every_kind_may_be_long() -> None:
    frame = long()
    kinds = [frame, frame.set_index(["doc_id", "model"]), pl.from_pandas(frame), pa.Table.from_pandas(frame)]
    for one in [*kinds, frame.to_dict("list")]:
        np.testing.assert_array_equal(score_table(one).scores, SCORES)


@SILENT
@BOTH
def test_long_tables_with_other_names_are_read_as_named(reader: Any) -> None:
    frame = long("q", "who", "points")
    columns = {"item_column": "q", "arm_column": "who", "score_column": "points"}
    np.testing.assert_array_equal(reader(frame, **columns).scores, SCORES)
    assert reader(frame, **columns, ignore=["few"]).arms == ("plain", "steps")
    assert reader(frame, **columns, arms=["steps", "few"]).arms == ("steps", "few")


@BOTH
@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (long().assign(question="Q" + long().doc_id.astype(str)), "the items could be in doc_id or question"),
        (long("prompt {x}"), "which column holds the items?"),
        (long().assign(value=1), "the scores could be in correct or value"),
        (long(score="points"), "which column holds the scores?"),
    ],
    ids=["two items", "no items", "two scores", "no scores"],
)
def test_what_may_be_a_long_table_is_refused_where_it_is_unclear(reader: Any, frame: pd.DataFrame, why: str) -> None:
    with pytest.raises(
        ParameterError, match=r"^arm_column must be given, and item_column and score_column: "
    ) as refused:
        reader(frame)
    assert why in str(refused.value)
    assert "--ignore" in refused.value.spelled(lambda name: f"--{name}")


@BOTH
def test_naming_the_items_is_enough_where_they_alone_are_unclear(reader: Any) -> None:
    frame = long().assign(question="Q" + long().doc_id.astype(str), latency=1.0)
    with pytest.warns(TableWarning, match="^read as a long table: items from question, arms from model, "):
        table = reader(frame, item_column="question")
    assert (table.arms, table.items[:2]) == (ARMS, ("Q0", "Q1"))


@NOTED
@BOTH
@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"id": [5, 5, 7, 7], "model": [1, 2, 1, 2], "score": [0.1, 0.2, 0.3, 0.4]}),  # all numbers
        pd.DataFrame({"item": list("wxyz"), "correct": [0, 1, 0, 1], "value": [1, 1, 0, 1]}),  # no column of arms
    ],
    ids=["numbers", "no arms"],
)
def test_what_can_be_a_wide_table_is_one_and_its_arms_are_named(reader: Any, frame: pd.DataFrame) -> None:
    table = reader(frame)
    assert table.arms == tuple(frame)[1:]
    assert table.notes[0].startswith(f"raced as arms: {', '.join(table.arms)}; leave one out with --ignore ")


@BOTH
def test_a_long_table_names_the_row_that_repeats_and_the_cell_that_is_no_number(reader: Any) -> None:
    frame = long()
    with pytest.raises(ValueError, match="row 121 repeats the score of arm 'plain' on item '0'"):
        reader(pd.concat([frame, frame.iloc[:1]], ignore_index=True))
    frame["correct"] = frame["correct"].astype(object)
    frame.loc[4, "correct"] = "wrong"
    with pytest.raises(ValueError, match="row 5, column 'correct' must be a number, or empty if missing, got 'wrong'"):
        reader(frame)


# --- indexes, and what calls take ------------------------------------------------------------------------------------


@SILENT
def test_an_index_of_names_holds_the_items_and_one_of_numbers_does_not() -> None:
    frame, names = wide(), [f"q{k}" for k in range(N)]
    assert score_table(frame.set_index(pd.Index(names))).items == tuple(names)
    numbered = frame.set_index(pd.Index(range(100, 100 + N), name="qid"))
    assert score_table(numbered).items[0] == "100"
    assert score_table(numbered.rename_axis(None)).items[0] == "1"
    pivoted = long().pivot(index="doc_id", columns="model", values="correct")
    assert (score_table(pivoted).arms, score_table(pivoted).items[0]) == (("few", "plain", "steps"), "0")


@SILENT
def test_a_race_and_a_plan_take_the_choice_of_columns() -> None:
    frame = long("q", "who", "points")
    columns: dict[str, Any] = {"item_column": "q", "arm_column": "who", "score_column": "points", "bounds": (0, 1)}
    chosen = race_table(frame, ignore=["few"], **columns)
    expected = race_table(wide()[["plain", "steps"]].set_index(pd.Index(map(str, range(N)))), bounds=(0, 1))
    assert chosen.to_json() == expected.to_json()
    assert plan(frame, arms=["plain", "steps"], repetitions=10, **columns).n_arms == 2


def test_what_was_read_is_said_once() -> None:
    wide(prompt_tokens=99.0).to_csv("t.csv", index=False)
    with pytest.warns(TableWarning):
        table = read_table("t.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "prompt_tokens" in race_table(table).arms
    with pytest.warns(TableWarning) as caught:
        race_table(wide(prompt_tokens=99.0))
    assert [Path(one.filename).name for one in caught] == [Path(__file__).name]


TABLE = ScoreTable(ARMS, tuple(map(str, range(N))), SCORES)
COLUMNS = "(its columns: plain, few, steps)"
BAD_CHOICES: dict[str, tuple[Any, dict[str, Any], str]] = {
    "arm": (wide(), {"arms": ["few", "stpes"]}, f"arms must name columns of the table, got 'stpes' {COLUMNS}"),
    "ignored": (wide(), {"ignore": ["x"]}, f"ignore must name columns of the table, got 'x' {COLUMNS}"),
    "item": (wide(), {"item_column": "x"}, f"item_column must name columns of the table, got 'x' {COLUMNS}"),
    "arm of a table": (
        TABLE,
        {"arms": ["few", "x"]},
        "arms must name arms of the table, got 'x' (its arms: plain, few",
    ),
    "a text": (wide(), {"arms": "few"}, "arms must be a list of names, got 'few'"),
    "numbers": (wide(), {"ignore": [1]}, "ignore must be a list of names, got [1]"),
    "twice": (wide(), {"arms": ["few", "few"]}, "arms must be different names, but 'few' appears more than once"),
    "one": (wide(), {"arms": ["few"]}, "there must be at least two arms to compare, got 1"),
    "one left": (TABLE, {"ignore": ["few", "plain"]}, "there must be at least two arms to compare, got 1"),
    "both": (wide(), {"item_column": "few", "ignore": ["few"]}, "ignore must not hold a column that is named for"),
    "item and arm": (wide(), {"item_column": "few", "arms": ["few", "steps"]}, "arms must not hold a column that is"),
    "an array": (SCORES, {"item_column": "0"}, "item_column must be left out: there are no columns with names"),
    "no arms": (wide(), {"item_column": "few", "score_column": "plain"}, "arm_column must be given, too"),
    "no list": ({"item": 5, "a": [1.0], "b": [2.0]}, {}, "column 'item' must hold one score for each row, got 5"),
    "items": (
        {"q": 5, "a": [1.0], "b": [2.0]},
        {"item_column": "q"},
        "column 'q' must hold one cell for each row, got 5",
    ),
    "lengths": ({"item": ["x"], "a": [1.0, 2.0], "b": [2.0, 3.0]}, {}, "must have one row per item"),
    "names": ({1: [1.0], "1": [2.0]}, {}, "must have different names, but '1' appears more than once"),
}


@pytest.mark.parametrize("case", BAD_CHOICES)
def test_choices_that_cannot_be_are_refused(case: str) -> None:
    frame, choice, message = BAD_CHOICES[case]
    with pytest.raises(ValueError, match=re.escape(message)):
        race_table(frame, **choice)
