"""Details that a change could lose without a sound: each of these tests kills a fault that others let live."""

import math
import re
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm import EvaluationError
from bestarm.sources.items import digest
from bestarm.text import join_arm_names
from row_races import Inline, bounded_rows, reads, run

# --- inputs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [["a", "bc"], ["abc", ""], ["abc"], ["c", "ab"], ["ab", "c", ""]])
def test_texts_that_run_into_each_other_have_other_fingerprints(other: list[str]) -> None:
    assert digest(["ab", "c"]) == digest(iter(["ab", "c"])) != digest(other)


def test_items_that_run_into_each_other_are_other_items(tmp_path: Path) -> None:
    options: dict[str, Any] = {"bounds": (0, 1), "store": tmp_path / "race.sqlite"}
    run(lambda arm, item: 0.5, ["x", "y"], ["ab", "c", "d"], **options)
    with pytest.raises(bestarm.StoreError, match="the items are not the same"):
        run(lambda arm, item: 0.5, ["x", "y"], ["a", "bc", "d"], **options)


@pytest.mark.parametrize("cells", [",1,2\n,3,4\n", "NA,1,2\nNA,3,4\n"])
def test_a_first_column_without_a_score_is_an_arm(cells: str, tmp_path: Path) -> None:
    """Empty cells are missing scores, and so is NA: an item is not called that."""
    path = tmp_path / "scores.csv"
    path.write_text("x,a,b\n" + cells, encoding="utf-8")
    table = bestarm.read_table(path)
    assert (table.arms, table.items) == (("x", "a", "b"), ("1", "2"))
    assert np.isnan(table.scores[:, 0]).all()
    assert table.scores[:, -2:].tolist() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize("bad", [[(0, 3), (0, 1)], [(2, 0), (1, 4)], [(3, 2), (1, 1), (1, 2)]])
def test_of_several_failures_that_come_together_the_first_is_raised(bad: list[tuple[int, int]]) -> None:
    rows = bounded_rows(0)
    for place in bad:
        rows[place] = math.nan
    first = min(bad)
    pool: Executor = Inline()
    with pytest.raises(EvaluationError, match=re.escape(f"evaluate('{first[1]}', {first[0]})")):
        run(reads(rows), range(5), iter(range(400)), bounds=(0, 1), executor=pool, rounds_in_flight=4)


# --- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "said"), [(1, "a"), (2, "a and b"), (5, "a, b, c, d and e"), (6, "a, b, c, d, e and 1 more")]
)
def test_five_names_fit_into_a_sentence(n: int, said: str) -> None:
    assert join_arm_names(tuple("abcdefgh"[:n])) == said
