import itertools
import multiprocessing
import subprocess
import sys
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest

import bestarm
from bestarm.algorithms import LUCB, Algorithm, KimNelson, PairwiseBAI
from bestarm.arms import GaussianArms, PoolArms, clustered_arms
from bestarm.comparisons import Betting, GaussianBernstein
from bestarm.simulation import Simulation, play_game, repetition_rng

ARMS = clustered_arms(6, 2, 0.95)
ALGORITHMS: dict[str, Algorithm] = {
    "PairwiseBAI": PairwiseBAI(0.1, comparison=GaussianBernstein()),
    "PairwiseBAI, kept arms": PairwiseBAI(0.1, comparison=GaussianBernstein(), keep=2.0, max_rounds=500),
    "LUCB": LUCB(0.1),
    "KimNelson": KimNelson(0.1, indifference_zone=0.1),
}
ARRAYS = ("queries", "rounds", "winners", "candidates", "contradictions", "reasons")
N = 80  # more games than batches, so that batches of different sizes are put together


def simulated(algorithm: Algorithm, executor: Executor | None = None, seed: int = 7) -> Simulation:
    return bestarm.simulate(algorithm, ARMS, repetitions=N, seed=seed, executor=executor)


@cache
def usual(name: str) -> Simulation:
    """The games of one of the algorithms as they are played by default."""
    return simulated(ALGORITHMS[name])


def assert_same(sim: Simulation, other: Simulation) -> None:
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(sim, name), getattr(other, name))


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_number_of_threads_does_not_matter(name: str, workers: int) -> None:
    with ThreadPoolExecutor(workers) as executor:
        assert_same(simulated(ALGORITHMS[name], executor), usual(name))


def test_processes_play_the_same_games_as_threads() -> None:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        for name, algorithm in ALGORITHMS.items():
            assert_same(simulated(algorithm, executor), usual(name))


def test_the_default_number_of_threads_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = simulated(ALGORITHMS["PairwiseBAI"])
    for cores in (1, 5):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        assert_same(simulated(ALGORITHMS["PairwiseBAI"]), expected)


def test_a_game_depends_on_its_number_and_the_seed_alone() -> None:
    games, others = (simulated(ALGORITHMS["PairwiseBAI"], seed=seed).queries for seed in (7, 8))
    assert (games != others).mean() > 0.9
    assert len(set(games.tolist())) > N / 2
    few = bestarm.simulate(ALGORITHMS["PairwiseBAI"], ARMS, repetitions=5, seed=7)
    np.testing.assert_array_equal(few.queries, games[:5])


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_simulation_records_the_games_that_were_played(name: str) -> None:
    sim = simulated(ALGORITHMS[name])
    for repetition in (0, 1, 41, N - 1):
        game = play_game(ALGORITHMS[name], ARMS, repetition_rng(7, repetition))
        assert sim.queries[repetition] == game.n_queries == game.counts.sum()
        assert sim.rounds[repetition] == game.n_rounds
        assert sim.winners[repetition] == game.best
        assert tuple(np.flatnonzero(sim.candidates[repetition])) == game.candidates
        assert sim.contradictions[repetition] == (game.contradiction is not None)
        assert sim.reasons[repetition] == game.reason


def test_repetitions_draw_from_children_of_the_seed() -> None:
    children = np.random.SeedSequence(12).spawn(3)
    for repetition, child in enumerate(children):
        expected = np.random.default_rng(child).random(5)
        np.testing.assert_array_equal(repetition_rng(12, repetition).random(5), expected)


# What is computed from the games.


def simulation(candidates: Any, means: Any = (0.3, 0.9, 0.9), queries: Any = None) -> Simulation:
    """A simulation with these candidates at the end of its games."""
    left = np.array(candidates, dtype=np.bool_)
    n = len(left)
    counts = np.arange(10, 10 + n) if queries is None else np.array(queries)
    arms = GaussianArms(means, np.eye(len(means)))
    return Simulation(
        algorithm=ALGORITHMS["PairwiseBAI"],
        arms=arms,
        queries=counts,
        rounds=counts // 2,
        winners=left.argmax(axis=1),
        candidates=left,
        contradictions=np.arange(n) % 2 == 1,
        reasons=np.where(left.sum(axis=1) == 1, "decided", "budget"),
    )


def with_errors(wrong: int, n: int) -> Simulation:
    return simulation([[1, 0, 0]] * wrong + [[0, 1, 0]] * (n - wrong))


def test_an_error_is_a_game_that_lost_every_arm_with_the_largest_mean() -> None:
    sim = simulation([[0, 1, 0], [0, 0, 1], [0, 1, 1], [1, 1, 0], [1, 0, 1], [1, 1, 1], [1, 0, 0]])
    assert sim.errors.tolist() == [False] * 6 + [True]
    assert sim.error_rate == pytest.approx(1 / 7, rel=1e-14)
    assert sim.decided.tolist() == [True, True, False, False, False, False, True]
    one_best = simulation([[1, 0, 0], [0, 1, 1], [1, 0, 1], [0, 0, 1]], means=(0.1, 0.5, 0.2))
    assert one_best.errors.tolist() == [True, False, True, True]


@pytest.mark.parametrize(("epsilon", "errors"), [(0.0, [True, True, False]), (0.1, [True, False, False])])
def test_an_answer_within_epsilon_is_no_error(epsilon: float, errors: list[bool]) -> None:
    """Arms 0, 1 and 2 are returned; arm 1 is worse than the best by 0.05."""
    sim = simulation(np.eye(3), means=(0.3, 0.85, 0.9))
    for reason in ("decided", "within epsilon", "all items used"):
        settings = PairwiseBAI(0.1, epsilon=epsilon)
        sim = replace(sim, algorithm=settings, reasons=np.full(3, reason))
        assert sim.errors.tolist() == errors
        assert sim.error_rate == pytest.approx(np.mean(errors), rel=1e-14)
        assert sim.to_frame()["error"].tolist() == errors


def test_epsilon_excuses_no_game_without_an_answer() -> None:
    """The guarantee of such a game is that the best arm stays a candidate, whatever epsilon is."""
    sim = simulation([[1, 1, 0], [0, 1, 1]], means=(0.3, 0.85, 0.9))
    sim = replace(sim, algorithm=PairwiseBAI(0.1, epsilon=0.1, max_rounds=10))
    assert sim.answered.tolist() == [False, False]
    assert sim.errors.tolist() == [True, False]


def test_games_that_end_by_their_budget_keep_their_candidates() -> None:
    arms = GaussianArms([0.0, 0.001, -50.0], np.eye(3))
    sim = bestarm.simulate(PairwiseBAI(0.1, comparison=GaussianBernstein(), max_rounds=200), arms, repetitions=30)
    assert sim.rounds.tolist() == [200] * 30
    assert sim.candidates.tolist() == [[True, True, False]] * 30
    assert not sim.decided.any()
    assert set(sim.reasons.tolist()) == {"budget"}
    assert set(sim.winners.tolist()) == {0, 1}
    assert sim.error_rate == 0.0


@pytest.mark.parametrize(("wrong", "n"), [(3, 20), (1, 10), (19, 20), (50, 1000), (0, 7), (7, 7), (0, 1)])
@pytest.mark.parametrize("confidence", [0.95, 0.5])
def test_error_interval_is_that_of_clopper_and_pearson(wrong: int, n: int, confidence: float) -> None:
    expected = binomtest(wrong, n).proportion_ci(confidence, method="exact")
    assert with_errors(wrong, n).error_interval(confidence) == pytest.approx((expected.low, expected.high), rel=1e-10)


def test_mean_and_standard_error_of_the_queries() -> None:
    sim = simulation([[0, 1, 0]] * 4, queries=[2, 4, 4, 10])
    assert sim.repetitions == 4
    assert sim.mean_queries == 5.0
    assert sim.standard_error == pytest.approx(np.sqrt((9 + 1 + 1 + 25) / 3 / 4), rel=1e-14)
    assert np.isnan(simulation([[0, 1, 0]]).standard_error)


def test_frame_has_one_row_a_game() -> None:
    frame = simulation([[0, 1, 0], [1, 0, 0], [1, 1, 1]], queries=[20, 30, 44]).to_frame()
    assert {name: column.tolist() for name, column in frame.items()} == {
        "queries": [20, 30, 44],
        "rounds": [10, 15, 22],
        "winner": [1, 0, 0],
        "reason": ["decided", "decided", "budget"],
        "n_candidates": [1, 1, 3],
        "error": [False, True, False],
        "contradiction": [False, True, False],
    }


def test_text_names_games_queries_and_error_rate() -> None:
    sim = simulation([[0, 1, 0]] * 3 + [[1, 0, 0]], queries=[2000, 2000, 2000, 2400])
    low, high = sim.error_interval()
    assert str(sim) == f"4 games: 2,100 ± 100 queries, error rate 0.25 (95% interval {low:.3g} to {high:.3g})"


# Failures and progress.


class FailingArms(GaussianArms):
    """Arms whose draw fails once, in whichever game comes to it."""

    def __init__(self, means: Any, covariance: Any, failing_draw: int) -> None:
        super().__init__(means, covariance)
        self._draws = itertools.count(1)
        self._failing_draw = failing_draw

    def draw(self, n_rounds: int, rng: np.random.Generator) -> NDArray[np.float64]:
        if next(self._draws) == self._failing_draw:
            raise ArithmeticError("the source of rewards broke down")
        return super().draw(n_rounds, rng)


@pytest.mark.parametrize("failing_draw", [1, 25])
@pytest.mark.parametrize("executors", [nullcontext, partial(ThreadPoolExecutor, 2)], ids=["default", "given"])
def test_a_draw_that_fails_in_a_worker_reaches_the_caller(failing_draw: int, executors: Any) -> None:
    arms = FailingArms(ARMS.means, ARMS.covariance, failing_draw)
    with executors() as executor, pytest.raises(ArithmeticError, match="the source of rewards broke down"):
        bestarm.simulate(ALGORITHMS["PairwiseBAI"], arms, repetitions=40, executor=executor)


def test_a_failure_ends_games_that_would_never_end() -> None:
    # Equal arms are never told apart; in an interpreter of its own, so that a hang fails the test and not the suite.
    script = """
import itertools, sys, bestarm
class Arms(bestarm.arms.GaussianArms):
    draws = itertools.count(1)
    def draw(self, n_rounds, rng):
        if next(self.draws) == 40:
            raise ArithmeticError("broke down")
        return super().draw(n_rounds, rng)
algorithm = bestarm.algorithms.PairwiseBAI(0.01)
try:
    bestarm.simulate(algorithm, Arms([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]), repetitions=20)
except ArithmeticError as error:
    print("caught:", error)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)  # noqa: S603
    assert run.stdout == "caught: broke down\n"


@pytest.mark.parametrize("wanted", [None, False])
def test_progress_is_silent_away_from_a_terminal(wanted: bool | None, capfd: pytest.CaptureFixture[str]) -> None:
    bestarm.simulate(ALGORITHMS["PairwiseBAI"], ARMS, repetitions=3, progress=wanted)
    assert capfd.readouterr() == ("", "")


def test_progress_is_shown_on_the_standard_error_stream(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TTY_COMPATIBLE", "TTY_INTERACTIVE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (("FORCE_COLOR", "1"), ("TERM", "xterm"), ("COLUMNS", "80")):
        monkeypatch.setenv(name, value)  # rich then takes the captured stream for a terminal
    sim = bestarm.simulate(ALGORITHMS["PairwiseBAI"], ARMS, repetitions=3, progress=True)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "games" in shown.err
    assert "100%" in shown.err
    assert sim.repetitions == 3


def test_a_pool_that_ran_out_before_the_game_ended_gave_no_answer() -> None:
    """The comparison knows of no pool: with its rows used up it has not decided, and nothing is wrong about that."""
    pool = PoolArms(np.random.default_rng(0).random((30, 3)))
    sim = bestarm.simulate(PairwiseBAI(0.05), pool, repetitions=20)
    assert set(sim.reasons.tolist()) == {""}
    assert not sim.answered.any()
    assert not sim.errors.any()
    assert (sim.rounds == 30).all()
    known = bestarm.simulate(PairwiseBAI(0.05, comparison=Betting(pool=30)), pool, repetitions=20)
    assert set(known.reasons.tolist()) <= {"decided", "all items used"}
    assert known.answered.all()
