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
from bestarm.sources.tables import score_table
from own_games import TopTwo

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


def everything(result: bestarm.RaceResult[Any]) -> dict[str, Any]:
    return {"text": str(result), "scores": repr(result.scores.tolist()), "out": result.eliminations}


def test_an_own_adaptive_algorithm_finds_the_best_in_simulations() -> None:
    arms = equicorrelated_arms(4, correlation=0.0)
    sim = bestarm.simulate(TopTwo(0.001, 1.0), arms, repetitions=4, seed=3)
    assert sim.error_rate == 0.0
    assert (sim.winners == 3).all()
    assert sim.rounds.min() > 10


@pytest.mark.parametrize("rounds_in_flight", [1, 4])
def test_an_own_adaptive_algorithm_races_with_a_store_and_rounds_in_flight(
    rounds_in_flight: int, tmp_path: Path
) -> None:
    def run(evaluate: Callable[..., float] = score, **more: Any) -> bestarm.RaceResult[Any]:
        with ThreadPoolExecutor(3) as pool:
            return bestarm.race(
                evaluate,
                arms=ARMS,
                algorithm=TopTwo(0.1, 0.04),
                executor=pool,
                rounds_in_flight=rounds_in_flight,
                progress=False,
                **more,
            )

    whole = run()
    assert (whole.best, whole.reason) == ("high", "decided")
    assert whole.n_evaluations > 3 * 3
    store = tmp_path / "race.sqlite"
    part = run(store=store, max_evaluations=15)
    assert part.reason == "budget"
    again = run(store=store)
    assert everything(again) == everything(whole)
    assert [record["status"] for record in whole.to_records()] == ["best", "out", "out"]
    asked = (~np.isnan(whole.scores)).sum(axis=1)
    assert set(asked.tolist()) <= {2, 3}
    with pytest.raises(StoreError, match="TopTwo, is not one of bestarm's own: continue the race from Python"):
        load_result(store)


def test_rounds_in_flight_of_an_adaptive_algorithm_are_told_as_they_were_asked() -> None:
    race = bestarm.Race(ARMS, algorithm=TopTwo(1e-9, 0.04), rounds_in_flight=3)
    asked = race.ask()
    assert [todo.arms for todo in asked] == [tuple(ARMS)] * 3  # all from what is known before the first
    for todo in reversed(asked):
        race.tell(todo, {arm: LEVEL[arm] for arm in todo.arms})
    assert race.state.game.counts.tolist() == [3, 3, 3]
    assert [len(todo.arms) for todo in race.ask()] == [2, 2, 2]


def table(n_items: int = 300) -> Any:
    rng = np.random.default_rng(5)
    return np.clip(rng.normal([0.3, 0.5, 0.9], 0.2, (n_items, 3)), 0, 1)


def test_a_wrapped_algorithm_races_a_table_as_the_algorithm_itself() -> None:
    expected = bestarm.race_table(table(), arms=ARMS, algorithm=LUCB(0.1, variances=0.05))
    result = bestarm.race_table(table(), arms=ARMS, algorithm=Wrapped(LUCB(0.1, variances=0.05)))
    assert everything(result) == everything(expected)
    assert (~np.isnan(result.scores)).sum(axis=1).tolist() == [3] + [2] * (result.n_rounds - 1)
    asked = ~np.isnan(result.scores)
    rows = score_table(table()).scores[np.random.default_rng(np.random.SeedSequence(0)).permutation(300)]
    np.testing.assert_array_equal(result.scores[asked], rows[: result.n_rounds][asked])


def test_a_game_that_cannot_work_ahead_refuses_rounds_in_flight() -> None:
    for algorithm in (LUCB(0.1), Wrapped(LUCB(0.1))):
        name = type(algorithm).__name__
        with pytest.raises(
            ValueError, match=f"^{name} chooses every round from the one before it: rounds_in_flight must be 1"
        ):
            bestarm.Race(ARMS, algorithm=algorithm, rounds_in_flight=4)


def test_a_game_that_cannot_do_without_an_arm_refuses_to_disqualify() -> None:
    for algorithm in (TopTwo(), Wrapped(LUCB(0.1))):
        with pytest.raises(
            ValueError, match=r"^on_error='disqualify' needs an algorithm that compares arms pair by pair"
        ):
            bestarm.Race(ARMS, algorithm=algorithm, on_error="disqualify")


def test_the_words_about_an_algorithm_that_promises_nothing() -> None:
    class Never(Game):
        pass

    @dataclass(frozen=True)
    class Endless:
        def start(self, n_arms: int) -> Game:
            return Never(n_arms)

    result = bestarm.race(score, arms=ARMS, algorithm=Endless(), max_evaluations=9, progress=False)
    assert "The algorithm gives no guarantee." in result.verdict
    assert (result.n_rounds, result.leader, math.isnan(result.delta)) == (3, "high", True)
    assert result.intervals is None
    assert math.isnan(result.regret_bound)


@dataclass(frozen=True)
class Faulty(PairBoundary):
    """A comparison with a mistake in it that shows at one level only."""

    def boundary(self, rounds: Any, n_arms: int, delta: float) -> Any:
        if delta < 0.05:  # intervals are at delta / K
            raise TypeError("unsupported operand")
        return np.full(rounds.shape, np.inf), np.zeros(rounds.shape)


def test_a_mistake_in_an_own_comparison_is_not_taken_for_missing_intervals() -> None:
    result = bestarm.race(
        score, arms=ARMS, algorithm=PairwiseBAI(0.1, comparison=Faulty()), max_evaluations=30, progress=False
    )
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = result.intervals
    assert result.regret_bound == math.inf


def answering(answer: Any) -> Algorithm:
    """An algorithm whose games want what they are told to want."""

    class Odd(Game):
        def next_arms(self) -> Any:
            return answer

    @dataclass(frozen=True)
    class Settings:
        def start(self, n_arms: int) -> Game:
            return Odd(n_arms)

    return Settings()


@pytest.mark.parametrize("answer", [np.array([], dtype=int), [-1, 0], [0, 1, 2, 0], [1, 0], [3], [0.5], None, 1, "ab"])
def test_arms_that_cannot_be_queried_are_refused_with_the_name_of_the_game(answer: Any) -> None:
    message = r"^Odd.next_arms\(\) must return different arms from 0 to 2 in increasing order, got "
    with pytest.raises(ValueError, match=message):
        answering(answer).start(3).ask()
    with pytest.raises(ValueError, match=message):
        bestarm.race_table(table(), arms=ARMS, algorithm=answering(answer))
    with pytest.raises(ValueError, match=message):
        bestarm.race(score, arms=ARMS, algorithm=answering(answer), max_evaluations=30, progress=False)


def test_a_list_of_arms_is_as_good_as_an_array() -> None:
    result = bestarm.race(score, arms=ARMS, algorithm=answering([0, 2]), max_evaluations=30, progress=False)
    assert result.counts.tolist() == [15, 0, 15]


@pytest.mark.parametrize(
    "returned",
    [
        lambda rounds: (np.ones(len(rounds) - 1), np.zeros(len(rounds))),
        lambda rounds: (np.ones(len(rounds)), np.zeros(len(rounds) - 1)),
        lambda rounds: (np.full(len(rounds), np.nan), np.zeros(len(rounds))),
        lambda rounds: (1.0, 0.0),
    ],
)
def test_boundaries_of_the_wrong_shape_or_without_numbers_are_refused(returned: Callable[..., Any]) -> None:
    @dataclass(frozen=True)
    class Broken(PairBoundary):
        def boundary(self, rounds: Any, n_arms: int, delta: float) -> Any:
            return returned(rounds)

    with pytest.raises(
        ValueError, match=r"^Broken.boundary must return a slope and an offset for each of the 2048 round"
    ):
        PairwiseBAI(0.1, comparison=Broken()).start(3).play(table())


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


def test_numbers_of_numpy_in_eliminations_are_stored_as_numbers(tmp_path: Path) -> None:
    result = bestarm.race(score, arms=ARMS, algorithm=Counting(), store=tmp_path / "race.sqlite", progress=False)
    with closing(sqlite3.connect(tmp_path / "race.sqlite")) as connection:
        rows = connection.execute("SELECT arm, round, by, margin FROM eliminations").fetchall()
    assert rows == [(0, 3, 2, 1.0), (1, 3, 2, 1.0)]
    assert [out.arm for out in result.eliminations] == ["low", "mid"]


class Ordinary:
    """An algorithm that is no dataclass: a file could not tell its settings apart."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds

    def start(self, n_arms: int) -> Game:
        return Counting(self.rounds).start(n_arms)


@pytest.mark.parametrize("algorithm", [Ordinary(3), Counting(measure=print), Counting(measure=(1, {2: 3}))])
def test_settings_that_a_file_cannot_hold_are_refused_with_a_store_only(algorithm: Any, tmp_path: Path) -> None:
    assert bestarm.race(score, arms=ARMS, algorithm=algorithm, progress=False).best == "high"
    with pytest.raises(TypeError, match="cannot be kept in a store: it must be a frozen dataclass of numbers, strings"):
        bestarm.race(score, arms=ARMS, algorithm=algorithm, store=tmp_path / "race.sqlite", progress=False)


def test_results_can_be_compared_and_collected() -> None:
    one, other = (bestarm.race(score, arms=ARMS, algorithm=Counting(), progress=False) for _ in range(2))
    assert one == one  # noqa: PLR0124
    assert one != other
    assert other in {one, other}


@dataclass(frozen=True)
class Forgiving:
    """All arms in every round; those that fail are left out."""

    def start(self, n_arms: int) -> Game:
        class Forgives(Game):
            no_disqualification = None

            def next_arms(self) -> Any:
                return np.array([arm for arm in range(self.n_arms) if arm not in getattr(self, "gone", ())])

            def take_out(self, arm: int) -> None:
                self.gone = {*getattr(self, "gone", ()), arm}

            @property
            def candidates(self) -> tuple[int, ...]:
                return tuple(self.next_arms().tolist())

        return Forgives(n_arms)


@pytest.mark.parametrize("rounds_in_flight", [1, 3])
def test_an_own_game_can_do_without_arms_that_fail(rounds_in_flight: int, tmp_path: Path) -> None:
    calls = list[Any]()

    def fails(arm: str, item: int) -> float:
        calls.append(arm)
        if arm == "mid" and calls.count("mid") == 5:
            raise OSError("disk full")
        return score(arm, item)

    def run(limit: int) -> bestarm.RaceResult[Any]:
        return bestarm.race(
            fails,
            arms=ARMS,
            algorithm=Forgiving(),
            on_error="disqualify",
            rounds_in_flight=rounds_in_flight,
            max_evaluations=limit,
            store=tmp_path / "race.sqlite",
            progress=False,
        )

    assert run(18).counts.tolist()[1] == 4
    result = run(40)
    assert [failed.arm for failed in result.disqualified] == ["mid"]
    assert result.counts[1] == 4  # what was in flight when it failed does not count
    assert result.counts[0] == result.counts[2] == result.n_rounds > 10


def test_a_boundary_that_raises_on_the_way_leaves_a_game_that_knows_where_it_is() -> None:
    @dataclass(frozen=True)
    class Late(PairBoundary):
        def boundary(self, rounds: Any, n_arms: int, delta: float) -> Any:
            if rounds[-1] > 2048:
                raise ArithmeticError("too late")
            return np.full(rounds.shape, np.inf), np.zeros(rounds.shape)

    game = PairwiseBAI(0.1, comparison=Late()).start(3)
    with pytest.raises(ArithmeticError, match="too late"):
        game.play(table(3000))
    assert (game.n_rounds, game.counts.tolist(), game.n_queries) == (2048, [2048] * 3, 3 * 2048)
