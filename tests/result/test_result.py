"""What a race hands back: its numbers against the raw scores, and how many games it takes to work them out."""

import json
import math
from collections.abc import Callable
from dataclasses import make_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bestarm
from bestarm.algorithms import LUCB, Game, PairwiseBAI
from bestarm.comparisons import Betting, LeaderBetting, StudentMixture
from games import intervals_of

Table = NDArray[np.float64]
NAMES = ["a", "b", "c", "d", "e"]
Race = Callable[..., Any]


def noisy() -> Table:
    rng = np.random.default_rng(3)
    table: Table = 0.5 * rng.random((3000, 1)) + 0.3 * rng.random((3000, 5)) + [0.0, 0.04, 0.05, 0.12, 0.2]
    return table


def race_noisy(race: Race, calls: list[tuple[str, int]] | None = None, **more: Any) -> Any:
    table, asked = noisy(), [] if calls is None else calls

    def evaluate(arm: str, item: int) -> float:
        asked.append((arm, item))
        return float(table[item, NAMES.index(arm)])

    return race(evaluate, NAMES, range(len(table)), **more)


BETTING, STUDENT = LeaderBetting(bounds=(0, 1), pool=3000), StudentMixture(min_rounds=10)
ITEMS = {"target": "items"}
LOWER = {"bounds": None, "lower_is_better": True, "epsilon": 0.01}
CASES: dict[str, tuple[dict[str, Any], PairwiseBAI, Callable[[Table], Table]]] = {
    "bounded": (ITEMS, PairwiseBAI(0.05, comparison=BETTING), lambda scores: scores),
    "bounded, lower": (
        ITEMS | {"lower_is_better": True, "delta": 0.1},
        PairwiseBAI(0.1, comparison=BETTING),
        lambda scores: 1 - scores,
    ),
    "like these": ({}, PairwiseBAI(0.05, comparison=LeaderBetting(bounds=(0, 1))), lambda scores: scores),
    "student": ({"bounds": None}, PairwiseBAI(0.05, comparison=STUDENT), lambda scores: scores),
    "student, lower": (LOWER, PairwiseBAI(0.05, comparison=STUDENT, epsilon=0.01), lambda scores: -scores),
    "stopped": ({"bounds": None, "max_evaluations": 70}, PairwiseBAI(0.05, comparison=STUDENT), lambda scores: scores),
}


@pytest.mark.parametrize("case", CASES)
def test_numbers_are_those_of_the_raw_scores(race: Race, case: str) -> None:
    table, calls, more = noisy(), list[tuple[str, int]](), CASES[case][0]
    result = race_noisy(race, calls, **more)
    items = list(dict.fromkeys(item for _, item in calls))
    own = {arm: {i: float(table[i, k]) for name, i in calls if name == arm} for k, arm in enumerate(NAMES)}
    sign = -1 if result.settings.lower_is_better else 1
    assert result.n_evaluations == len(calls)
    assert result.n_rounds == len(items) == len(result.scores)
    assert result.answered == (case != "stopped")
    assert result.saved == (pytest.approx(1 - len(calls) / (3000 * 5), rel=1e-12) if result.answered else None)
    assert list(result.items) == [str(item) for item in items]
    for k, arm in enumerate(NAMES):
        leads = [own[result.leader][item] - score for item, score in own[arm].items() if item in own[result.leader]]
        assert result[arm].behind == pytest.approx(sign * sum(leads) / len(leads), rel=1e-9, abs=1e-15)
        assert (result[arm].n_items, result[arm].mean) == (result.counts[k], result.means[k])
        assert result.counts[k] == len(own[arm])
        assert result.means[k] == pytest.approx(sum(own[arm].values()) / len(own[arm]), rel=1e-12)
        np.testing.assert_array_equal(result.scores[:, k], [own[arm].get(item, math.nan) for item in items])
    by_mean = sorted(result.candidates, key=lambda arm: -sign * result.means[NAMES.index(arm)])
    assert list(result.candidates) == by_mean
    assert result.leader == by_mean[0] == ("e" if sign > 0 else "a")
    assert result.best == (result.leader if result.answered else None)
    assert {out.arm for out in result.eliminations} == set(NAMES) - set(by_mean)
    assert (result.arms, result.disqualified, result.contradiction) == (tuple(NAMES), (), None)


@pytest.mark.parametrize("case", CASES)
def test_eliminations_bounds_and_intervals_are_those_of_a_game_fed_by_hand(race: Race, case: str) -> None:
    more, algorithm, rewards_of = CASES[case]
    result = race_noisy(race, **more)
    game = algorithm.start(len(NAMES))
    for row in rewards_of(result.scores):
        game.tell(row[game.ask()])
    expected = [(NAMES[out.arm], out.round, NAMES[out.by], out.margin) for out in game.eliminations]
    assert [(out.arm, out.round, out.by, out.margin) for out in result.eliminations] == expected
    assert result.reason == (game.reason or "budget")
    assert result.regret_bound == game.regret_bound
    assert result.intervals is not None
    np.testing.assert_array_equal(result.intervals.low, intervals_of(game).low)
    np.testing.assert_array_equal(result.intervals.high, intervals_of(game).high)


def test_scores_of_rounds_in_flight_are_kept_and_count_where_they_are_shown(race: Race) -> None:
    result = race(rounds_in_flight=4)
    assert [(out.arm, out.round) for out in result.eliminations] == [("low", 9), ("mid", 14)]
    assert result.counts.tolist() == [12, 14, 14]
    assert result.game.counts.tolist() == [9, 14, 14]  # what the test has seen
    assert (~np.isnan(result.scores)).sum(axis=0).tolist() == [12, 14, 14]
    assert result.n_evaluations == 12 * 3 + 5 * 2  # rounds 15 to 17 were asked before round 14 was counted


def test_an_algorithm_without_statistics_of_differences_knows_no_intervals(race: Race) -> None:
    result = race(bounds=None, items=None, algorithm=LUCB(0.1, variances=0.01), max_evaluations=5)
    assert (result.leader, result.reason, result.intervals) == ("high", "budget", None)
    assert result.lead("high", "low") == pytest.approx((0.7, math.nan, math.nan), nan_ok=True)
    assert math.isnan(result.regret_bound)
    assert result.evidence_history is None


def test_a_race_that_ends_before_its_first_round_knows_nobody(race: Race) -> None:
    result = race(items=iter(()))
    assert (result.best, result.reason, result.n_rounds, result.n_evaluations) == (None, "ran out of items", 0, 0)
    assert set(result.candidates) == set(result.arms)
    assert np.isnan(result.means).all()
    assert result.scores.shape == (0, 3)
    assert json.loads(result.to_json())["regret_bound"] is None
    assert result.plot().axes == []


def test_a_race_that_a_disqualification_ends_bounds_the_regret_of_its_best(race: Race) -> None:
    result = race(fails={"high": 12}, on_error="disqualify")
    assert (result.best, result.n_rounds, result.regret_bound) == ("mid", 11, 0.0)


def test_an_arm_that_was_beaten_and_failed_later_was_beaten(race: Race) -> None:
    """It was still asked, to beat others: it is out for its scores, and its failure is told beside."""
    algorithm = PairwiseBAI(0.05, comparison=Betting(), keep=50.0)
    options = {"algorithm": algorithm, "on_error": "disqualify"}
    level = {"low": 0.1, "mid": 0.7, "high": 0.75}
    result = race(
        lambda arm, item: math.nan if (arm, item) == ("low", 40) else level[arm], items=iter(range(400)), **options
    )
    out, record = next(out for out in result.eliminations if out.arm == "low"), result["low"]
    assert out.round < 40
    assert (record.status, record.left_in_round, record.beaten_by) == ("out", out.round, out.by)
    assert "evaluate('low', 40) returned nan" in record.failure
    assert f"low left in round {out.round}, beaten by {out.by}." in result.explain()


@pytest.mark.parametrize("bounds", [(1.0, 2.0), (-3.0, -2.0)])
def test_scores_far_from_zero_are_played_again_within_their_bounds(
    race: Race, bounds: tuple[float, float], tmp_path: Path
) -> None:
    """What an arm that had left would have scored is not known, and 0 is out of bounds."""
    rows, store = bounds[0] + noisy(), tmp_path / "race.sqlite"
    evaluate = lambda arm, item: float(rows[item, arm])  # noqa: E731
    result = race(evaluate, range(5), iter(range(3000)), bounds=bounds, store=store)
    assert result.reason == "decided"
    assert min(result.counts) < result.n_rounds
    again = bestarm.load_result(store)
    assert [(int(out.arm), out.round) for out in again.eliminations] == [
        (out.arm, out.round) for out in result.eliminations
    ]
    assert again.intervals is not None
    assert again.intervals.low.tolist() == result.intervals.low.tolist()


# --- the forms in which a result is exported -------------------------------------------------------------------------


def test_the_frame_has_one_row_per_arm_the_best_first(race: Race) -> None:
    frame = race().to_frame()
    assert (frame.index.tolist(), frame.index.name) == (["high", "mid", "low"], "arm")
    assert frame[["status", "n_items"]].to_numpy().tolist() == [["best", 14], ["out", 14], ["out", 9]]
    assert frame["mean"].tolist() == pytest.approx([0.9, 0.5, 0.2], rel=1e-12)
    assert frame["behind"].tolist() == pytest.approx([0.0, 0.4, 0.7], rel=1e-12)
    assert frame.loc["low", ["left_in_round", "beaten_by"]].tolist() == [9, "high"]
    assert frame["failure"].isna().all()


def test_json_holds_the_result_and_null_for_what_is_not_a_number(race: Race, tmp_path: Path) -> None:
    result = race(fails={"high": 1}, on_error="disqualify")
    text = result.to_json(tmp_path / "result.json")
    assert (tmp_path / "result.json").read_text(encoding="utf-8") == text + "\n"
    plain = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    same = ("verdict", "answered", "best", "leader", "reason", "n_evaluations", "n_rounds", "saved", "regret_bound")
    assert plain["settings"] == result.settings.to_plain()
    assert (plain["format"], plain["warnings"]) == (1, [])
    assert {name: plain[name] for name in same} == {name: getattr(result, name) for name in same}
    records = {record["arm"]: record for record in plain["arms"]}
    assert (list(records), plain["candidates"]) == (["mid", "low", "high"], ["mid"])
    assert (records["high"]["mean"], records["high"]["behind"], records["high"]["n_items"]) == (None, None, 0)
    assert plain["eliminations"][0]["margin"] == result.eliminations[0].margin == records["low"]["margin"]
    assert [(out["arm"], out["by"], out["weights"]) for out in plain["eliminations"]] == [("low", "mid", None)]
    failure = result.disqualified[0].failure
    assert plain["disqualified"] == [{"arm": "high", "round": 1, "failure": failure, "had_eliminated": []}]


Solver = make_dataclass("Solver", ["level"])


@pytest.mark.parametrize(
    ("arms", "names"),
    [
        ([Solver(0.2), Solver(0.9)], ["Solver(level=0.2)", "Solver(level=0.9)"]),
        ([min, max], ["min", "max"]),
        ([{"depth": 1}, {"depth": 2}], ["{'depth': 1}", "{'depth': 2}"]),
        ([np.int64(1), np.int64(2)], ["1", "2"]),
    ],
)
def test_arms_that_are_no_strings_go_by_their_names_in_all_forms(race: Race, arms: list[Any], names: list[str]) -> None:
    result = race(lambda arm, item: 0.9 if arm == arms[1] else 0.2, arms)
    assert result.best is arms[1]
    assert result.verdict.startswith(f"BEST: {names[1]}  ")
    assert f"beaten by {names[1]}" in result.explain()
    assert [line.split("  ")[0] for line in result.table().splitlines()[1:]] == [f" {name}" for name in names[::-1]]
    assert result.to_frame()["status"].tolist() == ["best", "out"]
    plain = json.loads(result.to_json())
    assert [str(record["arm"]) for record in plain["arms"]] == names[::-1]
    assert [(str(out["arm"]), str(out["by"])) for out in plain["eliminations"]] == [(names[0], names[1])]


# --- the games behind a result ---------------------------------------------------------------------------------------


def everything(result: Any) -> list[Any]:
    history, bounds = result.evidence_history, result.intervals
    arrays = (result.scores, result.means, result.counts, bounds.low, bounds.high, history.rounds, history.shares)
    return [result.to_json(), str(result), result.outcome.failures, repr([array.tolist() for array in arrays])]


def test_a_result_taken_on_the_way_stays_what_it_was(level: dict[str, float]) -> None:
    contest = bestarm.Race([*level, "odd"], items=range(1000), bounds=(0, 1), on_error="disqualify")
    full, taken = OSError("disk full"), list[Any]()
    failures = {("odd", 5): full, ("mid", 14): full}
    for number in range(1, 15):
        (todo,) = contest.ask()
        contest.tell(todo, {arm: failures.get((arm, number), level.get(arm, 0.3)) for arm in todo.arms})
        if number == 12:
            taken += [contest.result(), contest.result()]
            before = everything(taken[0])
    assert contest.finished
    assert [everything(result) for result in taken] == [before, before]
    result, rounds = taken[1], [failure.round for failure in contest.result().outcome.failures]
    assert ([failure.round for failure in result.outcome.failures], rounds) == ([5], [5, 14])
    assert (result.n_rounds, result.reason, result.candidates) == (12, "running", ("high", "mid"))
    again = result.new_game()
    result.play(again, 12)
    assert (again.n_rounds, again.candidates, again.counts.tolist()) == (12, (1, 2), result.counts.tolist())


ENDS: dict[str, dict[str, Any]] = {
    "decided": {},
    "undecided": {"max_evaluations": 30},
    "interrupted": {"fails": {"high": 13}, "error": KeyboardInterrupt()},
    "disqualified": {"fails": {"high": 12}, "on_error": "disqualify"},
    "of the population": {"bounds": None, "max_evaluations": 30},
    "of the items": {"target": "items"},
}


@pytest.mark.parametrize("case", ENDS)
@pytest.mark.parametrize("kind", ["raced", "loaded"])
def test_a_result_keeps_the_game_of_its_race(
    race: Race, case: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Printed, it plays no game; explained, one more for the other target; the picture takes another one."""
    result = race(**ENDS[case], store=tmp_path / "race.sqlite")
    if kind == "loaded":
        result = bestarm.load_result(tmp_path / "race.sqlite")
    begun, begin = list[Game](), Game.__init__

    def counted(game: Game, *settings: Any, **more: Any) -> None:
        begun.append(game)
        begin(game, *settings, **more)

    monkeypatch.setattr(Game, "__init__", counted)
    other_target = 1 if result.target == "items" else 0
    str(result)
    assert len(begun) == 0
    for _ in range(2):
        result.explain()
        assert len(begun) == other_target
    result.lead("high", "mid")
    result.to_json()
    result.to_html(tmp_path / "page.html")
    result.plot()
    assert (result.intervals is None, len(begun)) == (False, other_target + 1)
