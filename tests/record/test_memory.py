"""What games, races and records keep is what was scored, and files are read without taking them at their word."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

from bestarm import Race, StoreError, load_result
from bestarm.algorithms import EliminationGame, PairwiseBAI
from bestarm.comparisons import Betting, Wins
from bestarm.comparisons.wealth import WealthEvidence
from bestarm.racing import Record

K = 60


def rows_of(n_rounds: int, n_arms: int = K) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Two good arms that nobody can tell apart among bad ones."""
    level = np.append(np.full(n_arms - 2, 0.1), [0.9, 0.9])
    return np.clip(level + np.random.default_rng(0).uniform(-0.1, 0.1, (n_rounds, n_arms)), 0.0, 1.0)


def told(rows: Any) -> EliminationGame:
    game = PairwiseBAI(1e-9, comparison=Betting()).start(rows.shape[1])
    assert isinstance(game, EliminationGame)
    for row in rows:
        game.tell(row[game.ask()])
    return game


# --- games ------------------------------------------------------------------------------------------------------------


def history_of(game: EliminationGame) -> Any:
    assert isinstance(game.evidence, WealthEvidence)
    return game.evidence.history


def test_evidence_keeps_the_rewards_of_arms_that_were_queried() -> None:
    game = told(rows_of(1000))
    assert game.candidates == (K - 2, K - 1)
    assert game.n_queries < 1000 * K / 8  # nearly all left soon
    assert game.n_queries * 8 <= history_of(game).nbytes < game.n_queries * 16  # with room for more


@pytest.mark.parametrize("keep", [1.0, 2.5])
def test_the_history_of_a_game_does_not_depend_on_the_blocks_in_which_it_was_played(keep: float) -> None:
    rng = np.random.default_rng(1)
    rows = np.clip(rng.normal(np.linspace(0.2, 0.5, 12), 0.2, (3000, 12)), 0, 1)
    algorithm = PairwiseBAI(0.05, comparison=Betting(), keep=keep)
    one_by_one, in_blocks, at_once = (algorithm.start(12) for _ in range(3))
    for row in rows:
        if not one_by_one.finished:
            one_by_one.tell(row[one_by_one.ask()])
    used = 0
    while not in_blocks.finished and used < len(rows):
        used += in_blocks.play(rows[used : used + int(rng.integers(1, 200))])
    at_once.play(rows)
    counts = at_once.counts
    assert len(set(counts.tolist())) > 5
    for game in (one_by_one, in_blocks, at_once):
        assert isinstance(game, EliminationGame)
        assert game.counts.tolist() == counts.tolist()
        assert history_of(game).nbytes < 16 * game.n_queries + 4000
        for a in range(12):
            for b in range(12):
                n = min(counts[a], counts[b])
                np.testing.assert_array_equal(history_of(game).differences(a, b), rows[:n, a] - rows[:n, b])


# --- bounds on leads --------------------------------------------------------------------------------------------------


def bisected(exact: Any, low: float, high: float, width: float) -> float:
    if exact(low) < 0:
        return low
    while high - low > width:
        middle = (low + high) / 2.0
        low, high = (middle, high) if exact(middle) >= 0 else (low, middle)
    return low


@pytest.mark.parametrize("pool", [None, 130, 10**6])
@pytest.mark.parametrize("n", [1, 5, 60, 127])
def test_bounds_are_those_of_a_slow_bisection(n: int, pool: int | None) -> None:
    rng = np.random.default_rng(n)
    betting = Betting(bounds=(0.0, 3.0), pool=pool)
    kinds: tuple[Any, ...] = (3 * rng.uniform(-1, 1, n), 3.0 * rng.integers(-1, 2, n), np.zeros(n), np.full(n, 3.0))
    for differences in kinds:
        for log_threshold in (0.1, 3.0, 20.0):

            def beyond(nu: float, given: Any = differences, threshold: float = log_threshold) -> float:
                return betting.log_wealth(given, nu) - threshold

            slow = bisected(beyond, -3.0, 3.0, 3e-12)
            assert betting.lower_bound(differences, log_threshold) == pytest.approx(slow, rel=0, abs=1e-11)


@pytest.mark.parametrize("comparison", [Betting(), Betting(pool=300), Wins(), Wins(pool=300)])
@pytest.mark.parametrize("n_rounds", [1, 20, 250])
def test_the_smallest_bound_is_found_without_most_of_the_others(
    comparison: Any, n_rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.clip(np.random.default_rng(2).normal(np.linspace(0.2, 0.5, 12), 0.2, (n_rounds, 12)), 0, 1)
    game = PairwiseBAI(0.05, comparison=comparison).start(12)
    game.play(rows)
    assert isinstance(game, EliminationGame)
    for arm in range(12):
        others = [other for other in range(12) if other != arm]
        slow = min(game.lead_bound(arm, b) for b in others)  # type: ignore[type-var]
        assert game.evidence.smallest_lead_bound(arm, others) == pytest.approx(slow, rel=0, abs=1e-11)
    found: list[float] = []

    def noted(*given: Any, **options: Any) -> float:
        found.append(brentq(*given, **options))
        return found[-1]

    monkeypatch.setattr("scipy.optimize.brentq", noted)
    assert game.regret_bound == max(0.0, -min(found, default=-1.0))
    assert len(found) < len(game.candidates) or n_rounds == 1


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
    monkeypatch.setattr("bestarm.record.record.CELLS", cells)
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
    del vars(again)["_game"]
    known = again.regret_bound, again.lead("3", "4"), again.lead("0", "4")  # from the record
    monkeypatch.delattr("bestarm.result.result.replay")
    shown = load_result(tmp_path / "race.sqlite")
    assert (shown.regret_bound, shown.lead("3", "4"), shown.lead("0", "4")) == known


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Path:
    with Race(["a", "b", "c"], store=tmp_path / "race.sqlite") as race:
        for number in range(12):
            for todo in race.ask():
                race.tell(todo, {arm: float(number % 3 == k) for k, arm in enumerate(todo.arms)})
    return tmp_path / "race.sqlite"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE rounds SET asked = 'three' WHERE round = 4",
        "UPDATE rounds SET asked = 2.5 WHERE round = 4",
        "UPDATE rounds SET asked = -1 WHERE round = 4",
        "UPDATE rounds SET asked = 4 WHERE round = 12",
        "UPDATE rounds SET asked = 9000000000000000000 WHERE round = 12",
        "UPDATE rounds SET item = x'ff' WHERE round = 4",
        "UPDATE scores SET score = 'much' WHERE round = 4 AND arm = 1",
        "UPDATE scores SET score = x'00' WHERE round = 4 AND arm = 1",
        "UPDATE scores SET score = 9e999 WHERE round = 4 AND arm = 1",
        "UPDATE scores SET failure = x'00' WHERE round = 4 AND arm = 1",
        "UPDATE scores SET arm = 3 WHERE round = 4 AND arm = 2",
        "UPDATE scores SET arm = 'c' WHERE round = 4 AND arm = 2",
        "UPDATE scores SET arm = 9000000000 WHERE round = 4 AND arm = 2",
        "UPDATE scores SET arm = -1 WHERE round = 4 AND arm = 2",
        "UPDATE scores SET round = 900 WHERE round = 4 AND arm = 2",
        "UPDATE scores SET round = 'last' WHERE round = 12 AND arm = 2",
        "UPDATE rounds SET round = 100000000 WHERE round = 12",
        "UPDATE rounds SET round = 9000000000000000000 WHERE round = 12",
    ],
)
def test_numbers_in_a_file_that_no_race_has_written_are_refused(statement: str, store: Path) -> None:
    load_result(store)
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute(statement).rowcount == 1
        connection.commit()
    for attempt in (lambda: load_result(store), lambda: Race(["a", "b", "c"], store=store)):
        with pytest.raises(StoreError, match="is damaged"):
            attempt()
