"""The words of messages: a call, and all that its error says. Other tests look at the parameter and the value alone."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bestarm import ScoreTable, race_commands, race_table, read_table
from bestarm.algorithms import HoeffdingRace, KimNelson, PairwiseBAI
from bestarm.arms import GaussianArms, equicorrelated_arms
from bestarm.comparisons import Betting, GaussianBernstein
from small_race import run

GOOD = [[0.0, 1.0], [1.0, 0.5]]
GAP = [[np.nan, 1.0], [0.5, 0.5], [0.5, 0.75]]
MAPPING = "give arms as a mapping, {'name': ..., ...}"


def file(content: str, ending: str = "csv", **columns: str) -> Callable[[], Any]:
    """Read a file with this content."""

    def read() -> Any:
        path = Path(f"t.{ending}")
        path.write_text(content, encoding="utf-8")
        return read_table(path, **columns)

    return read


MESSAGES: list[tuple[Callable[[], Any], str]] = [
    # parameters
    (lambda: PairwiseBAI(delta=1.5), "delta must lie strictly between 0 and 1, got 1.5"),
    (
        lambda: PairwiseBAI(Betting()),  # type: ignore[arg-type]
        "delta must be a number, got Betting(): a comparison is given by name",
    ),
    (lambda: PairwiseBAI(keep=0.5), "keep must be a finite number of at least 1, got 0.5"),
    (lambda: PairwiseBAI(max_rounds=0), "max_rounds must be a whole number of at least 1, got 0"),
    (lambda: PairwiseBAI().start(10**8), "n_arms must be a whole number of at most 10,000,000, got 100000000"),
    (lambda: GaussianBernstein(f="x"), "f must be one of 'proved', 'published', got 'x'"),  # type: ignore[arg-type]
    (lambda: Betting(reserve=1.0), "reserve must be a number from 0 to below 1, got 1.0"),
    (lambda: Betting(bets=["x"]), "bets must be numbers, got ['x']"),  # type: ignore[list-item]
    (lambda: Betting(bets=[]), "bets must be a sequence of at least one number, got shape (0,)"),
    (lambda: Betting(bets=[0.1], weights=[1, 2]), "weights must have 1 entries, got 2"),
    (lambda: KimNelson(0.1, indifference_zone=0), "indifference_zone must be a finite number above 0, got 0"),
    (
        lambda: HoeffdingRace(0.1, variances=((1.0, 1.0), (1.0, 1.0))),  # type: ignore[arg-type]
        "variances must be a vector with one entry per arm, got shape (2, 2)",
    ),
    (lambda: GaussianArms([1.0], [[1.0]]), "means must have at least two entries, one per arm, got 1"),
    (lambda: GaussianArms([1.0, np.nan], np.eye(2)), "means must be finite, got means[1] = nan"),
    (lambda: GaussianArms([1e300, 0.0], np.eye(2)), "means must lie within ±1e+150, got means[0] = 1e+300"),
    (lambda: equicorrelated_arms(3, correlation=2.0), "correlation must be a number from -1 to 1, got 2.0"),
    (lambda: run(epsilon=1e-320), "epsilon must be 0, or a number from 1e-150 to 1e+150, got 1e-320"),
    (lambda: run(bounds=(1, 0)), "bounds must be two finite numbers, the lower one first, got (1, 0)"),
    (
        lambda: run(bounds=(0, 1e200)),
        "bounds must lie within ±1e+150, got (0, 1e+200): give scores in another unit",
    ),
    (
        lambda: run(bounds=(1, 1 + 1e-15)),
        "bounds are too close together for floating point, got (1.0, 1.000000000000001): give scores in another unit, "
        "or subtract what they have in common",
    ),
    (lambda: race_table(GOOD, lower_is_better="no"), "lower_is_better must be True or False, got 'no'"),  # type: ignore[arg-type]
    (lambda: race_commands(["a", "b"], timeout=1e7), "timeout must be at most 1,000,000 seconds, got 10000000.0"),
    # arms
    (lambda: run(arms="ab"), "arms must be a sequence, or a mapping of names to what evaluate is given, got 'ab'"),
    (lambda: run(arms=5), "arms must be a sequence, or a mapping of names to what evaluate is given, got 5"),
    (lambda: run(arms=[1, "1"]), "arms must have different names, but '1' appears more than once"),
    (lambda: run(arms=["a", "a"]), "arms must have different names, but 'a' appears more than once"),
    (lambda: run(arms=["a"]), "there must be at least two arms to compare, got 1"),
    (lambda: race_table(GOOD, arms=[None, "b"]), "every arm must have a name, but arm 0 is None"),  # type: ignore[list-item]
    (lambda: run(arms=["a", ""]), "every arm must have a name, but arm 1 is ''"),
    (lambda: run(arms=["a", lambda item: 0]), f"arm 1 has no name of its own (<lambda>): {MAPPING}"),
    (lambda: run(arms=["a", {"b"}]), f"arm 1 is a set, whose text changes from run to run: {MAPPING}"),
    # items and groups
    (lambda: run(items="xy"), "items must be a list or another sequence, or an iterator, got 'xy'"),
    (lambda: run(items=[1]), "items must hold at least two items, got 1"),
    (lambda: run(items=[], replace=True), "items must hold at least one item, got none"),
    (lambda: run(items=None, replace=True), "replace needs a list of items to draw from, got None"),
    (
        lambda: run(items=[{1}, 2]),
        "an item must not be a set, whose order changes from run to run: give (1,) instead",
    ),
    (lambda: run(groups=5), "groups must be a label for each item, or a function of an item, got 5"),
    (lambda: run(groups=[1, 2]), "groups must hold one label for each of the 500 items, got 2"),
    (lambda: run(groups=[1] * 500), "groups must name at least two groups, got 1"),
    (lambda: run(groups={0: 1}), "groups must hold the group of every item, but there is none for 1"),
    (lambda: run(items=[1, 2], groups=[None, 1]), "groups must be names or numbers, one for each item, got None"),
    (
        lambda: run(items=None, groups=[1]),
        "groups are those of a list of items that is used without replacement, got None",
    ),
    # tables
    (lambda: race_table("t.csv"), "scores must be a table, got the text 't.csv': read a file with bestarm.read_table"),
    (
        lambda: ScoreTable(("a", "b"), ("1",), np.eye(2)),
        "scores must have one row per item and one column per arm, got (2, 2) for 1 items and 2 arms",
    ),
    (lambda: race_table([[np.inf, 1], [0, 1]]), "scores must be finite, got inf in row 1 (1), column '0'"),
    (lambda: race_table(np.empty((0, 2))), "the table has no rows: there must be one for each item"),
    (lambda: race_table({"a": [1], "b": [1, 2]}), "all columns of the table must have the same number of rows"),
    (lambda: race_table(GOOD, arms=["a", "b", "c"]), "arms must name the 2 columns, got 3 names"),
    (
        lambda: race_table({"a": [1, 2], "b": [3, 4]}, arms=["a", "c"]),
        "arms must name columns of the table, got 'c' (its columns: a, b)",
    ),
    (
        lambda: race_table({"a": [1, 2], "b": [3, "0,5"]}),
        "row 2, column 'b' must be a number, or empty if missing, got '0,5' (write it with a point for decimals, a "
        "plain minus sign and the digits 0 to 9 alone, such as -1234.5)",
    ),
    (
        lambda: race_table({"a": [1, 2], "b": np.zeros(2, "M8[s]")}),
        "column 'b' holds dates or times, which are no scores: leave them out, or give numbers",
    ),
    (
        lambda: race_table(GAP, bounds=(0, 1)),
        "missing must be 'worst', to count empty cells as the worst score, or 'drop', to use only the 2 complete rows: "
        "1 of 6 cells are empty (the first in row 1, column '0')",
    ),
    (
        lambda: race_table([[0, 7], [1, 1]], bounds=(0, 1)),
        "bounds must be wider than (0, 1): 1 score outside (the first in row 1, column '1': 7.0)",
    ),
    (lambda: race_table(np.ones((2, 2))), "all scores of the table are 1: there is nothing to tell the arms apart"),
    (
        lambda: race_table(GOOD, groups="g"),
        "groups must name a column of the table, got 'g' (its columns: without names)",
    ),
    # files
    (file(""), "t.csv is empty: its first line must name the columns"),
    (file("a,b\n"), "t.csv has no rows: there must be one for each item"),
    (file("a,b\n1\n"), "row 1 of t.csv has 1 cell, but there are 2 columns"),
    (file("a,a\n1,2\n"), "the columns of t.csv must have different names, but 'a' appears more than once"),
    (file('a,b\n1,"2\n'), "line 2 of t.csv cannot be read as a table: unexpected end of data"),
    (
        file("a;b\n1;2\n"),
        "the columns of t.csv seem to be separated by semicolons: save it with commas between columns and points for "
        "decimals",
    ),
    (file("a,b\n1,2\n", item_column="x"), "t.csv has no column 'x': its columns are a, b"),
    (
        file("a,b\n1,2\n", arm_column="a"),
        "item_column must be given, too: a long table needs the names of all its columns",
    ),
    (
        file("a,b\n1,2\n1,x\n"),
        "t.csv: row 2, column 'b' must be a number, or empty if missing, got 'x' (if it holds no scores, ignore it; "
        "with one row per score, name the columns of items, arms and scores)",
    ),
    (file("[1]\n", "jsonl"), "line 1 of t.jsonl must be a JSON object, one entry per column, got '[1]'"),
    (
        file('{"a": 1, "a": 2}\n', "jsonl"),
        "line 1 of t.jsonl cannot be read as JSON: 'a' appears more than once",
    ),
    (file("", "txt"), "t.txt must end in one of .csv, .tsv, .jsonl, .ndjson, .parquet, so that its format is known"),
    (lambda: read_table("absent.csv"), "there is no file absent.csv: check its name and its folder"),
    # programs
    (lambda: race_commands("a"), "commands must be a sequence of commands, got the string 'a'"),
    (
        lambda: race_commands(["a", 5]),  # type: ignore[list-item]
        "commands must be texts, or a mapping of names to texts or to lists of words, got 5",
    ),
    (lambda: race_commands(["a", "a"]), "commands must be different, but 'a' appears more than once"),
    (lambda: race_commands(["a", ""]), "a command must name a program, got an empty one"),
    (
        lambda: race_commands(["a", "b 'x"]),
        'the command "b \'x" cannot be split into words: No closing quotation',
    ),
    (
        lambda: race_commands(["a", "b {item}"], items=["x"]),
        "the command 'a' has no {item} in it: the items would make no difference",
    ),
]


@pytest.mark.parametrize("place", range(len(MESSAGES)), ids=[words[:40] for _, words in MESSAGES])
def test_what_an_error_says(place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    call, words = MESSAGES[place]
    with pytest.raises((ValueError, TypeError), match=f"^{re.escape(words)}$"):
        call()
