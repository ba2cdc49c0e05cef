"""What races and records keep is what was scored, and what is said of a race takes no table of all of it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bestarm import Race, load_result
from bestarm.racing import Record

K = 60


def rows_of(n_rounds: int, n_arms: int = K) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Two good arms that nobody can tell apart among bad ones."""
    level = np.append(np.full(n_arms - 2, 0.1), [0.9, 0.9])
    return np.clip(level + np.random.default_rng(0).uniform(-0.1, 0.1, (n_rounds, n_arms)), 0.0, 1.0)


# --- records ----------------------------------------------------------------------------------------------------------


def record_of(sets: list[list[int]]) -> Record:
    record = Record()
    for number, arms in enumerate(sets, start=1):
        record.append(str(number), arms, [number + arm / 100 for arm in arms])
    return record


SETS = [[0, 1, 2, 3], [0, 1, 2, 3], [1, 3], [0, 3], [0, 3], [3], [0, 1, 2, 3]]


def test_a_record_says_where_its_arms_change() -> None:
    assert record_of(SETS).changes() == [3, 4, 6, 7]
    assert record_of([]).changes() == []
    assert record_of(SETS[:1]).changes() == []


@pytest.mark.parametrize("sets", [SETS, [[0, 1, 2, 3]] * 7, [[0, 1, 2, 3]] * 6 + [[3, 1, 0, 2]]])
def test_the_scores_of_a_record_arm_by_arm_are_those_of_its_table(sets: list[list[int]]) -> None:
    record = record_of(sets)
    table, by_arm = record.dense(1, 7, 4), record.by_arm(7, 4)
    for number, arms in enumerate(sets, start=1):
        for arm in range(4):
            assert table[number - 1, arm] == (number + arm / 100) if arm in arms else np.isnan(table[number - 1, arm])
    for a in range(4):
        known = ~np.isnan(table[:, a])
        np.testing.assert_array_equal(by_arm.of(a)[0], np.flatnonzero(known))
        np.testing.assert_array_equal(by_arm.of(a)[1], table[known, a])
        for b in range(4):
            both = ~(np.isnan(table[:, a]) | np.isnan(table[:, b]))
            np.testing.assert_array_equal(by_arm.shared(a, b)[0], np.flatnonzero(both))
            np.testing.assert_array_equal(by_arm.table(a, b, 7), table[both][:, [a, b]])
            np.testing.assert_array_equal(by_arm.table(a, b, 4), table[:4][both[:4]][:, [a, b]])


@pytest.mark.parametrize("cells", [1, 8, 13, 1000])
def test_blocks_of_a_record_hold_its_table_whatever_their_size(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bestarm.record.record.CELLS_OF_BLOCK", cells)
    found = np.full((7, 4), np.nan)
    begun = 0
    for arms, scores in record_of(SETS).blocks(7):
        assert scores.size <= max(cells, 4)
        found[begun : begun + len(scores), arms] = scores
        begun += len(scores)
    np.testing.assert_array_equal(found, record_of(SETS).dense(1, 7, 4))


@pytest.mark.parametrize("bounds", [None, (0, 1)])
def test_what_is_said_of_a_race_takes_no_table_of_all_rounds_and_arms(bounds: Any, tmp_path: Path) -> None:
    rows, n_arms = rows_of(400, 50), 50
    race = Race(range(n_arms), bounds=bounds, delta=1e-9)
    for row in rows:
        for todo in race.ask():
            race.tell(todo, {arm: row[arm] for arm in todo.arms})
    result = race.result()
    assert set(result.outcome.candidates) == {n_arms - 2, n_arms - 1}
    assert result.n_evaluations < 400 * n_arms / 5
    str(result)
    result.to_json()
    result.to_html(tmp_path / "page.html")
    assert "scores" not in vars(result)  # made when somebody asks for it
    assert result.scores.shape == (400, n_arms)


@pytest.mark.parametrize("options", [{}, {"bounds": (0, 1)}, {"items": range(900), "bounds": (0, 1)}])
def test_a_file_is_played_once_to_be_shown(options: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Race(range(5), store=tmp_path / "race.sqlite", rounds_in_flight=4, delta=1e-9, **options) as race:
        for row in rows_of(90, 5):
            for todo in race.ask():
                race.tell(todo, {arm: row[arm] for arm in todo.arms})
    again = load_result(tmp_path / "race.sqlite")
    del vars(again)["game"]
    known = again.regret_bound, again.lead("3", "4"), again.lead("0", "4")  # from the record
    monkeypatch.delattr("bestarm.result.result.replay")
    shown = load_result(tmp_path / "race.sqlite")
    assert (shown.regret_bound, shown.lead("3", "4"), shown.lead("0", "4")) == known
