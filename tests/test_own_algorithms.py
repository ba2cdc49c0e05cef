"""Algorithms and comparisons of users in simulations and races, with stores and rounds in flight."""

import math
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm import LUCB, PairBoundary, PairwiseBAI, StoreError, load_result
from bestarm.inputs.tables import score_table
from own_games import TopTwo

ARMS = ["low", "mid", "high"]
LEVEL = dict(zip(ARMS, (0.2, 0.5, 0.8), strict=True))


@dataclass(frozen=True)
class Wrapped:
    """Another algorithm, under a name of its own."""

    inner: bestarm.Algorithm

    def start(self, n_arms: int) -> bestarm.Game:
        return self.inner.start(n_arms)


def score(arm: str, item: Any) -> float:
    return LEVEL[arm] + 0.2 * random.Random(f"{arm} {item}").gauss(0, 1)  # noqa: S311


def everything(result: bestarm.RaceResult) -> dict[str, Any]:
    return {"text": str(result), "scores": repr(result.scores.tolist()), "out": result.eliminations}


def test_an_own_adaptive_algorithm_finds_the_best_in_simulations() -> None:
    arms = bestarm.equicorrelated_arms(4, correlation=0.0)
    sim = bestarm.simulate(TopTwo(0.001, 1.0), arms, repetitions=20, seed=3)
    assert sim.error_rate == 0.0
    assert (sim.winners == 3).all()
    assert sim.rounds.min() > 10


@pytest.mark.parametrize("in_flight", [1, 4])
def test_an_own_adaptive_algorithm_races_with_a_store_and_rounds_in_flight(in_flight: int, tmp_path: Path) -> None:
    def run(evaluate: Callable[..., float] = score, **more: Any) -> bestarm.RaceResult:
        with ThreadPoolExecutor(3) as pool:
            return bestarm.race(
                evaluate, ARMS, algorithm=TopTwo(0.1, 0.04), executor=pool, in_flight=in_flight, progress=False, **more
            )

    whole = run()
    assert (whole.best, whole.reason) == ("high", "decided")
    assert whole.n_queries > 3 * 3
    store = tmp_path / "race.sqlite"
    part = run(store=store, max_queries=15)
    assert part.reason == "budget"
    again = run(store=store)
    assert everything(again) == everything(whole)
    assert [record["status"] for record in whole.to_records()] == ["best", "out", "out"]
    asked = (~np.isnan(whole.scores)).sum(axis=1)
    assert set(asked.tolist()) <= {2, 3}
    with pytest.raises(StoreError, match="TopTwo, is not one of bestarm: continue it from Python"):
        load_result(store)


def test_rounds_in_flight_of_an_adaptive_algorithm_are_told_as_they_were_asked() -> None:
    race = bestarm.Race(ARMS, algorithm=TopTwo(1e-9, 0.04), in_flight=3)
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
    expected = bestarm.race_table(table(), arms=ARMS, algorithm=LUCB(0.1, 0.05))
    result = bestarm.race_table(table(), arms=ARMS, algorithm=Wrapped(LUCB(0.1, 0.05)))
    assert everything(result) == everything(expected)
    assert (~np.isnan(result.scores)).sum(axis=1).tolist() == [3] + [2] * (result.n_rounds - 1)
    asked = ~np.isnan(result.scores)
    rows = score_table(table()).scores[np.random.default_rng(np.random.SeedSequence(0)).permutation(300)]
    np.testing.assert_array_equal(result.scores[asked], rows[: result.n_rounds][asked])


def test_a_game_that_cannot_work_ahead_refuses_rounds_in_flight() -> None:
    for algorithm in (LUCB(0.1), Wrapped(LUCB(0.1))):
        name = type(algorithm).__name__
        with pytest.raises(
            ValueError, match=f"^{name} chooses every round from the one before it: in_flight must be 1"
        ):
            bestarm.Race(ARMS, algorithm=algorithm, in_flight=4)


def test_a_game_that_cannot_do_without_an_arm_refuses_to_disqualify() -> None:
    for algorithm in (TopTwo(), Wrapped(LUCB(0.1))):
        with pytest.raises(
            ValueError, match=r"^on_error='disqualify' needs an algorithm that compares arms pair by pair"
        ):
            bestarm.Race(ARMS, algorithm=algorithm, on_error="disqualify")


def test_the_words_about_an_algorithm_that_promises_nothing() -> None:
    class Never(bestarm.Game):
        pass

    @dataclass(frozen=True)
    class Endless:
        def start(self, n_arms: int) -> bestarm.Game:
            return Never(n_arms)

    result = bestarm.race(score, ARMS, algorithm=Endless(), max_queries=9, progress=False)
    assert "(its algorithm states no guarantee)" in result.verdict
    assert (result.n_rounds, result.best, math.isnan(result.delta)) == (3, "high", True)
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
    result = bestarm.race(score, ARMS, algorithm=PairwiseBAI(0.1, Faulty()), max_queries=30, progress=False)
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = result.intervals
    assert result.regret_bound == math.inf
