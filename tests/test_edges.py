"""Edges that other tests do not reach: extras that are not installed, what is told twice, ends that hardly happen."""

import builtins
import math
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm import Race
from bestarm.algorithms import Game, PairwiseBAI
from bestarm.arms import BernoulliArms, GaussianArms, PoolArms, TableArms, equicorrelated_arms
from bestarm.testing import ALGORITHM_PROPERTIES, ConformanceError, Trial
from naive import Matrix
from own_games import Playing
from row_races import run

LEVEL = {"a": 0.25, "b": 0.5, "c": 0.75}


def level(arm: str, item: Any) -> float:
    return LEVEL[arm]


# --- extras that are not installed -----------------------------------------------------------------------------------


def hide(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    usual = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == package:
            raise ImportError(f"No module named {package!r}")
        return usual(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)


def test_without_pandas_a_frame_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(level, list(LEVEL), range(100), bounds=(0, 1))
    games = bestarm.simulate(PairwiseBAI(0.1), equicorrelated_arms(3, 0.9), repetitions=2)
    hide(monkeypatch, "pandas")
    for one in (result, games):
        with pytest.raises(ImportError, match=r"to_frame\(\) needs pandas: pip install 'bestarm\[frames\]'"):
            one.to_frame()


def test_without_pyarrow_parquet_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "scores.parquet").write_bytes(b"PAR1")
    hide(monkeypatch, "pyarrow")
    with pytest.raises(ImportError, match=r"Parquet files need pyarrow: pip install 'bestarm\[frames\]'"):
        bestarm.read_table(tmp_path / "scores.parquet")


# --- what is refused -------------------------------------------------------------------------------------------------


def test_scores_are_told_as_a_mapping() -> None:
    race = Race(list(LEVEL), items=range(100), bounds=(0, 1))
    todo = race.ask()[0]
    with pytest.raises(TypeError, match=r"^scores must be a mapping of arms to scores, got \[0.1, 0.2\]$"):
        race.tell(todo, [0.1, 0.2])  # type: ignore[arg-type]


def test_the_last_candidate_of_an_open_game_is_not_disqualified() -> None:
    class Stubborn(Game):
        """One candidate is left, and it plays on."""

        @property
        def candidates(self) -> tuple[int, ...]:
            return (1,)

    game = Stubborn(3)
    game.ask()
    with pytest.raises(ValueError, match=r"^arm 1 is the last candidate: it cannot be disqualified$"):
        game.disqualify(1)
    with pytest.raises(TypeError, match=r"use an elimination algorithm$"):
        game.disqualify(2)
    assert game.diagnostics == {}


# --- items, failures, records ----------------------------------------------------------------------------------------


def test_an_arm_that_failed_after_the_end_is_out_of_its_intervals() -> None:
    """The failure of a later round decides: it ends the race before that round is absorbed."""
    race = Race(["a", "b"], items=range(100), bounds=(0, 1), on_error="disqualify")
    for number in (1, 2):
        race.tell(race.ask()[0], {"a": 0.5, "b": 0.25 if number == 1 else math.nan})
    result = race.result()
    assert (result.reason, result.best, result.n_rounds) == ("decided", "a", 1)
    assert [(out.arm, out.round) for out in result.disqualified] == [("b", 2)]
    assert result.regret_bound == 0.0
    assert result.intervals is not None
    assert result.intervals.low[0, 1] <= -0.25 <= result.intervals.high[0, 1]


def test_a_file_in_which_an_arm_is_missing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "race.sqlite"
    run(level, list(LEVEL), range(100), bounds=(0, 1), store=path)
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM scores WHERE arm = 1")
        connection.execute("DELETE FROM eliminations")
        connection.execute("DELETE FROM arms WHERE arm = 1")
    connection.close()
    with pytest.raises(bestarm.StoreError, match=r"is damaged \(arms are missing\): the file was not changed"):
        bestarm.load_result(path)


@pytest.mark.parametrize(
    ("told", "change", "message"),
    [
        (
            1,
            "UPDATE scores SET arm = 0 WHERE round = ?",
            "it does not match the saved race from round {} on: are the items the same",
        ),
        (
            2,
            "UPDATE scores SET arm = 0 WHERE round = ? AND arm = 1",
            "it is damaged: scores of arm 1 are missing, or its comp",
        ),
    ],
    ids=["a part of a round", "a whole round"],
)
def test_a_race_that_would_have_asked_others_is_not_continued(
    told: int, change: str, message: str, tmp_path: Path
) -> None:
    """The score of an arm that had left by then: the file is of another course."""
    path = tmp_path / "race.sqlite"
    with Race(list(LEVEL), items=iter(range(1000)), bounds=(0, 1), store=path) as race:
        while len((todo := race.ask()[0]).arms) == 3:
            race.tell(todo, {arm: LEVEL[arm] for arm in todo.arms})
        assert todo.arms == ("b", "c")
        race.tell(todo, {arm: LEVEL[arm] for arm in todo.arms[:told]})
    with sqlite3.connect(path) as connection:
        connection.execute(change, (todo.number,))
    connection.close()
    with pytest.raises(bestarm.StoreError, match=message.format(todo.number)):
        Race(list(LEVEL), items=iter(range(1000)), bounds=(0, 1), store=path)


# --- words, pictures, commands ---------------------------------------------------------------------------------------


def test_the_page_of_an_algorithm_without_a_guarantee_says_so(tmp_path: Path) -> None:
    run(level, list(LEVEL), range(40), algorithm=Playing(Game)).to_html(tmp_path / "race.html")
    assert "<p>The algorithm gives no guarantee.</p>" in (tmp_path / "race.html").read_text(encoding="utf-8")


def test_arms_are_printed_as_they_are_made() -> None:
    table = [[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]
    assert repr(TableArms(table)) == "<TableArms: 3 items x 2 arms>"
    assert repr(PoolArms(table)) == "<PoolArms: 3 items x 2 arms>"
    gaussian = "GaussianArms(means=[0.0, 1.0], covariance=[[1.0, 0.5], [0.5, 1.0]])"
    assert repr(GaussianArms([0, 1], [[1, 0.5], [0.5, 1]])) == gaussian
    assert repr(BernoulliArms([0.7, 0.6], [0.0, 0.1])) == "BernoulliArms([0.7, 0.6], [0.0, 0.1])"


def test_a_pool_gives_each_item_once_and_no_more_than_it_has() -> None:
    pool = PoolArms(np.arange(10.0).reshape(5, 2))
    assert sorted(pool.draw(5, np.random.default_rng(0))[:, 0]) == [0, 2, 4, 6, 8]
    with pytest.raises(ValueError, match="the pool has 5 items, 6 cannot be drawn without replacement"):
        pool.draw(6, np.random.default_rng(0))


# --- the kit ---------------------------------------------------------------------------------------------------------


class WrongMeans(Game):
    @property
    def means(self) -> Matrix:
        return super().means * (1.0 + 1e-6 * (self.n_rounds > 1))


class WrongBest(Game):
    @property
    def best(self) -> int:
        return int(np.nanargmin(self.means))


@pytest.mark.parametrize(("game", "seen"), [(WrongMeans, "means are"), (WrongBest, "best is")], ids=str)
def test_the_kit_counts_for_itself(game: type[Game], seen: str) -> None:
    rows = np.random.default_rng(0).random((20, 3))
    trial = Trial(Playing(game), rows, 0, lambda algorithm, order: algorithm, None)
    every_query_counts_once = next(one for one in ALGORITHM_PROPERTIES if one.__name__ == "every_query_counts_once")
    with pytest.raises(ConformanceError, match=f"^{seen}"):
        every_query_counts_once(trial)
