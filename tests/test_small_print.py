"""Details that a change could lose without a sound: each of these tests kills a fault that others let live."""

import math
import re
from concurrent.futures import Executor
from pathlib import Path

import numpy as np
import pytest

import bestarm
from bestarm import EvaluationError
from row_races import Inline, bounded_rows, reads, run


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
