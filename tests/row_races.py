"""Races on rows of scores that several files look at, by algorithms of all kinds, and an executor without timing."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import numpy as np

import bestarm
from bestarm import Race, RaceResult
from bestarm.algorithms import Algorithm, ConvexBAI, HoeffdingRace, KimNelson, PairwiseBAI, VarianceRace
from bestarm.comparisons import Betting, GaussianBernstein, Portfolio, StudentMixture
from naive import Matrix

Evaluate = Callable[[Any, Any], Any]
Way = Callable[..., RaceResult[Any]]
Bounds = tuple[float, float] | None
N_ARMS = 5


def gaussian_rows(seed: int, n: int = 400, K: int = N_ARMS) -> Matrix:
    """Correlated scores of arms that leave early and late."""
    rng = np.random.default_rng(seed)
    leads = rng.permutation(np.linspace(0.0, 1.0, K) ** 2)
    return leads + rng.standard_normal((n, 1)) + 0.6 * rng.standard_normal((n, K))


def bounded_rows(seed: int, n: int = 400, K: int = N_ARMS) -> Matrix:
    """Scores in [0, 1], multiples of 1 / 64: sums and reflections are exact."""
    scores = 0.5 + 0.15 * (gaussian_rows(seed, n, K) - 0.5)
    return np.floor(np.clip(scores, 0.0, 1.0) * 64) / 64


def reads(rows: Matrix) -> Evaluate:
    return lambda arm, item: float(rows[item, arm])


def run(evaluate: Evaluate, arms: Any = range(N_ARMS), items: Any = None, **options: Any) -> RaceResult[Any]:
    return bestarm.race(evaluate, arms=arms, items=items, progress=False, **options)


def ways(in_turn: Way) -> tuple[Way, Way, Way, Way]:
    """A race of a function of one arm, run in turn, on threads, by a coroutine, and with all arms at once."""

    def on_threads(evaluate: Evaluate, **options: Any) -> RaceResult[Any]:
        with ThreadPoolExecutor(2) as pool:
            return in_turn(evaluate, executor=pool, **options)

    def awaited(evaluate: Evaluate, **options: Any) -> RaceResult[Any]:
        async def later(arm: Any, item: Any) -> Any:
            await asyncio.sleep(0)
            return evaluate(arm, item)

        return in_turn(later, **options)

    def jointly(evaluate: Evaluate, **options: Any) -> RaceResult[Any]:
        return in_turn(lambda arms, item: {arm: evaluate(arm, item) for arm in arms}, jointly=True, **options)

    return in_turn, on_threads, awaited, jointly


def told(result: RaceResult[Any]) -> dict[str, Any]:
    """What two races must have in common to be the same."""
    parts = ("best", "leader", "candidates", "reason", "n_evaluations", "n_rounds", "eliminations", "disqualified")
    arrays = {name: np.nan_to_num(getattr(result, name), nan=-9.0).tolist() for name in ("means", "counts", "scores")}
    return {name: getattr(result, name) for name in parts} | arrays


def play(race: Race[Any], evaluate: Evaluate) -> list[bestarm.Round[Any]]:
    """The rounds that a race asks for, each evaluated when it is asked."""
    rounds: list[bestarm.Round[Any]] = []
    while not race.finished:
        for todo in race.ask():
            rounds.append(todo)
            race.tell(todo, {arm: evaluate(arm, todo.item) for arm in todo.arms})
    return rounds


ALGORITHMS: list[tuple[Algorithm, Callable[..., Matrix]]] = [
    (PairwiseBAI(comparison=StudentMixture(min_rounds=10)), gaussian_rows),
    (PairwiseBAI(0.1, comparison=StudentMixture(), keep=2.5), gaussian_rows),
    (PairwiseBAI(0.1, comparison=StudentMixture(), indifference_zone=0.2), gaussian_rows),
    (PairwiseBAI(comparison=Betting(), epsilon=0.1), bounded_rows),
    (PairwiseBAI(0.2, comparison=Betting(), keep=1.5), bounded_rows),
    (PairwiseBAI(0.2, comparison=GaussianBernstein(), max_rounds=60), gaussian_rows),
    (ConvexBAI(comparison=Portfolio()), bounded_rows),
    (KimNelson(indifference_zone=0.3), gaussian_rows),
    (HoeffdingRace(0.2, variances=0.1), gaussian_rows),
    (VarianceRace(0.2), bounded_rows),
]


def score(arm: int, item: int) -> float:
    return ((item * 37) % 64 + 16 * arm) / 128


class Inline(Executor):
    """Evaluates when it is asked to: nothing depends on timing."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        return future
