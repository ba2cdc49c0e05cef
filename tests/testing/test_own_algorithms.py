"""Algorithms and comparisons of users in simulations and races, with stores and rounds in flight."""

import math
import random
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm import StoreError, load_result
from bestarm.algorithms import LUCB, Algorithm, Elimination, Game, PairwiseBAI
from bestarm.arms import equicorrelated_arms
from bestarm.comparisons import PairBoundary
from own_games import Playing, TopTwo

ARMS = ["low", "mid", "high"]
LEVEL = dict(zip(ARMS, (0.2, 0.5, 0.8), strict=True))


@dataclass(frozen=True)
class Wrapped:
    """Another algorithm, under a name of its own."""

    inner: Algorithm

    def start(self, n_arms: int) -> Game:
        return self.inner.start(n_arms)


def score(arm: str, item: Any) -> float:
    return LEVEL[arm] + 0.2 * random.Random(f"{arm} {item}").gauss(0, 1)  # noqa: S311


def race(algorithm: Any, evaluate: Callable[..., float] = score, **options: Any) -> bestarm.RaceResult[Any]:
    return bestarm.race(evaluate, arms=ARMS, algorithm=algorithm, progress=False, **options)


def everything(result: bestarm.RaceResult[Any]) -> dict[str, Any]:
    return {"text": str(result), "scores": repr(result.scores.tolist()), "out": result.eliminations}


def table(n_items: int = 300) -> Any:
    rng = np.random.default_rng(5)
    return np.clip(rng.normal([0.3, 0.5, 0.9], 0.2, (n_items, 3)), 0, 1)


# --- algorithms that choose their arms --------------------------------------------------------------------------------


def test_an_own_adaptive_algorithm_finds_the_best_in_simulations() -> None:
    arms = equicorrelated_arms(4, correlation=0.0)
    sim = bestarm.simulate(TopTwo(0.001, 1.0), arms, repetitions=4, seed=3)
    assert (sim.error_rate, set(sim.winners.tolist())) == (0.0, {3})
    assert sim.rounds.min() > 10


@pytest.mark.parametrize("rounds_in_flight", [1, 4])
def test_an_own_adaptive_algorithm_races_with_a_store_and_rounds_in_flight(
    rounds_in_flight: int, tmp_path: Path
) -> None:
    def run(**more: Any) -> bestarm.RaceResult[Any]:
        with ThreadPoolExecutor(3) as pool:
            return race(TopTwo(0.1, 0.04), executor=pool, rounds_in_flight=rounds_in_flight, **more)

    whole = run()
    assert (whole.best, whole.reason) == ("high", "decided")
    assert whole.n_evaluations > 3 * 3
    store = tmp_path / "race.sqlite"
    assert run(store=store, max_evaluations=15).reason == "budget"
    assert everything(run(store=store)) == everything(whole)
    assert [record["status"] for record in whole.to_records()] == ["best", "out", "out"]
    asked = (~np.isnan(whole.scores)).sum(axis=1)
    assert set(asked.tolist()) <= {2, 3}
    with pytest.raises(StoreError, match="TopTwo"):
        load_result(store)


def test_rounds_in_flight_of_an_adaptive_algorithm_are_told_as_they_were_asked() -> None:
    contest = bestarm.Race(ARMS, algorithm=TopTwo(1e-9, 0.04), rounds_in_flight=3)
    asked = contest.ask()
    assert [todo.arms for todo in asked] == [tuple(ARMS)] * 3  # all from what is known before the first
    for todo in reversed(asked):
        contest.tell(todo, {arm: LEVEL[arm] for arm in todo.arms})
    assert contest.result().counts.tolist() == [3, 3, 3]
    assert [len(todo.arms) for todo in contest.ask()] == [2, 2, 2]


def test_a_wrapped_algorithm_races_a_table_as_the_algorithm_itself() -> None:
    expected = bestarm.race_table(table(), arms=ARMS, live=True, algorithm=LUCB(0.1, variances=0.05))
    result = bestarm.race_table(table(), arms=ARMS, live=True, algorithm=Wrapped(LUCB(0.1, variances=0.05)))
    assert everything(result) == everything(expected)
    asked = ~np.isnan(result.scores)
    assert asked.sum(axis=1).tolist() == [3] + [2] * (result.n_rounds - 1)
    rows = table()[np.random.default_rng(np.random.SeedSequence(0)).permutation(300)]
    np.testing.assert_array_equal(result.scores[asked], rows[: result.n_rounds][asked])


def test_a_game_that_cannot_work_ahead_refuses_rounds_in_flight() -> None:
    for algorithm in (LUCB(0.1), Wrapped(LUCB(0.1))):
        with pytest.raises(ValueError, match=f"^{type(algorithm).__name__} .*rounds_in_flight must be 1"):
            bestarm.Race(ARMS, algorithm=algorithm, rounds_in_flight=4)


def test_a_game_that_cannot_do_without_an_arm_refuses_to_disqualify() -> None:
    for algorithm in (TopTwo(), Wrapped(LUCB(0.1))):
        with pytest.raises(ValueError, match=r"^on_error.*disqualify"):
            bestarm.Race(ARMS, algorithm=algorithm, on_error="disqualify")


def test_the_words_about_an_algorithm_that_promises_nothing() -> None:
    result = race(Playing(Game), max_evaluations=9)
    assert "(no guarantee, all seeds)" in result.verdict
    assert "The algorithm gives no guarantee." in result.explain()
    assert (result.n_rounds, result.leader, math.isnan(result.delta)) == (3, "high", True)
    assert result.intervals is None
    assert math.isnan(result.regret_bound)


def answering(answer: Any) -> Algorithm:
    """An algorithm whose games want what they are told to want."""

    class Odd(Game):
        def next_arms(self) -> Any:
            return answer

    return Playing(Odd)


@pytest.mark.parametrize("answer", [np.array([], dtype=int), [-1, 0], [0, 1, 2, 0], [1, 0], [3], [0.5], None, 1, "ab"])
def test_arms_that_cannot_be_queried_are_refused_with_the_name_of_the_game(answer: Any) -> None:
    calls: tuple[Callable[[], Any], ...] = (
        lambda: answering(answer).start(3).ask(),
        lambda: bestarm.race_table(table(), arms=ARMS, algorithm=answering(answer)),
        lambda: race(answering(answer), max_evaluations=30),
    )
    for call in calls:
        with pytest.raises(ValueError, match=r"^Odd.next_arms\(\) must return different arms from 0 to 2"):
            call()


def test_a_list_of_arms_is_as_good_as_an_array() -> None:
    assert race(answering([0, 2]), max_evaluations=30).counts.tolist() == [15, 0, 15]


class Forgives(Game):
    """All arms in every round; those that fail are left out."""

    no_disqualification = None
    gone: tuple[int, ...] = ()

    def next_arms(self) -> Any:
        return np.array([arm for arm in range(self.n_arms) if arm not in self.gone])

    def take_out(self, arm: int) -> None:
        self.gone = (*self.gone, arm)

    @property
    def candidates(self) -> tuple[int, ...]:
        return tuple(self.next_arms().tolist())


@dataclass(frozen=True)
class Forgiving:
    """Settings that a file can hold."""

    def start(self, n_arms: int) -> Game:
        return Forgives(n_arms)


@pytest.mark.parametrize("rounds_in_flight", [1, 3])
def test_an_own_game_can_do_without_arms_that_fail(rounds_in_flight: int, tmp_path: Path) -> None:
    calls: list[str] = []

    def fails(arm: str, item: int) -> float:
        calls.append(arm)
        if arm == "mid" and calls.count("mid") == 5:
            raise OSError("disk full")
        return score(arm, item)

    def run(limit: int) -> bestarm.RaceResult[Any]:
        more: dict[str, Any] = {"on_error": "disqualify", "store": tmp_path / "race.sqlite", "max_evaluations": limit}
        return race(Forgiving(), fails, rounds_in_flight=rounds_in_flight, **more)

    assert run(18).game.counts.tolist()[1] == 4
    result = run(40)
    assert [failed.arm for failed in result.disqualified] == ["mid"]
    assert result.game.counts[1] == 4  # what was in flight when it failed does not count
    assert result.counts[0] == result.counts[2] == result.n_rounds > 10


# --- settings and eliminations in a store -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Counting:
    """An own algorithm that names arms as NumPy counts them."""

    rounds: int = 3
    measure: Any = 1.0

    def start(self, n_arms: int) -> Game:
        settings = self

        class Counted(Game):
            @property
            def reason(self) -> str | None:
                return "decided" if self.n_rounds >= settings.rounds else None

            @property
            def candidates(self) -> tuple[int, ...]:
                return (int(np.argmax(self.means)),) if self.finished else super().candidates

            @property
            def eliminations(self) -> list[Elimination[int]]:
                best = np.argmax(self.means)
                gone = [arm for arm in np.arange(self.n_arms) if arm != best] if self.finished else []
                return [Elimination(arm, self.n_rounds, best, np.float64(1.0)) for arm in gone]  # type: ignore[arg-type]

        return Counted(n_arms)


class Ordinary:
    """An algorithm that is no dataclass: a file could not tell its settings apart."""

    def start(self, n_arms: int) -> Game:
        return Counting().start(n_arms)


def test_numbers_of_numpy_in_eliminations_are_stored_as_numbers(tmp_path: Path) -> None:
    result = race(Counting(), store=tmp_path / "race.sqlite")
    with closing(sqlite3.connect(tmp_path / "race.sqlite")) as connection:
        rows = connection.execute("SELECT arm, round, by, margin FROM eliminations").fetchall()
    assert rows == [(0, 3, 2, 1.0), (1, 3, 2, 1.0)]
    assert [out.arm for out in result.eliminations] == ["low", "mid"]


@pytest.mark.parametrize("algorithm", [Ordinary(), Counting(measure=print), Counting(measure=(1, {2: 3}))])
def test_settings_that_a_file_cannot_hold_are_refused_with_a_store_only(algorithm: Any, tmp_path: Path) -> None:
    assert race(algorithm).best == "high"
    with pytest.raises(TypeError, match="cannot be kept in a store"):
        race(algorithm, store=tmp_path / "race.sqlite")


# --- comparisons ------------------------------------------------------------------------------------------------------

Boundary = Callable[[Any, float], Any]


def comparing(returned: Boundary) -> PairwiseBAI:
    """An algorithm with a comparison whose boundary is a function of the rounds and the level."""

    @dataclass(frozen=True)
    class Own(PairBoundary):
        def boundary(self, rounds: Any, n_arms: int, delta: float) -> Any:
            return returned(rounds, delta)

    return PairwiseBAI(0.1, comparison=Own())


def never(rounds: Any) -> tuple[Any, Any]:
    """A boundary that nobody crosses."""
    return np.full(rounds.shape, np.inf), np.zeros(rounds.shape)


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (lambda rounds, _: (np.ones(len(rounds) - 1), np.zeros(len(rounds))), "a slope and an offset for each of"),
        (lambda rounds, _: (np.ones(len(rounds)), np.zeros(len(rounds) - 1)), "a slope and an offset for each of"),
        (lambda rounds, _: (np.where(rounds == 7, np.nan, 1.0), np.zeros(len(rounds))), "numbers, got NaN for round 7"),
        (lambda rounds, _: (1.0, 0.0), "a slope and an offset for each of"),
    ],
)
def test_boundaries_of_the_wrong_shape_or_without_numbers_are_refused(returned: Boundary, words: str) -> None:
    with pytest.raises(ValueError, match=rf"^Own.boundary must return {words}"):
        comparing(returned).start(3).play(table())


def test_a_mistake_in_an_own_comparison_is_not_taken_for_missing_intervals() -> None:
    def faulty(rounds: Any, delta: float) -> Any:
        if delta < 0.05:  # intervals are at delta / K
            raise TypeError("unsupported operand")
        return never(rounds)

    result = race(comparing(faulty), max_evaluations=30)
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = result.intervals
    assert result.regret_bound == math.inf


def test_a_boundary_that_raises_on_the_way_leaves_a_game_that_knows_where_it_is() -> None:
    def late(rounds: Any, delta: float) -> Any:
        if rounds[-1] > 2048:
            raise ArithmeticError("too late")
        return never(rounds)

    game = comparing(late).start(3)
    with pytest.raises(ArithmeticError, match="too late"):
        game.play(table(3000))
    assert (game.n_rounds, game.counts.tolist(), game.n_queries) == (2048, [2048] * 3, 3 * 2048)
