"""A kept, already beaten arm can beat every candidate in one round: the leader stays, and the game says so."""

from collections.abc import Callable
from math import exp, log, sqrt

import numpy as np
import pytest

import naive
from bestarm import simulate
from bestarm.algorithms import Game, PairwiseBAI
from bestarm.arms import TableArms
from bestarm.comparisons import EmpiricalBernstein, GaussianBernstein
from bestarm.simulation import repetition_rng
from naive import Matrix, Played

# Rewards are made up here: that they do not look like what a comparison is made for is no news.
pytestmark = pytest.mark.filterwarnings("ignore::bestarm.AssumptionWarning")


def alpha(t: int, K: int, delta: float) -> float:
    return sqrt(log(2 * K**2 * t * (t + 1) / delta) / (t - 1))


def first_round(margin: Callable[[int], float], start: int) -> int:
    return next(t for t in range(start, 100_000) if margin(t) > 0)


def turn(t: int, switch: int, before: float, after: float) -> tuple[float, float]:
    """Mean and unbiased variance of a difference that is ``before`` up to round ``switch`` and ``after`` from then."""
    mean = (switch * before + (t - switch) * after) / t
    return mean, (after - before) ** 2 * switch * (t - switch) / (t * (t - 1))


def gaussian_margin(t: int) -> float:
    a = alpha(t, 3, 0.1)
    mean, V = turn(t, 3, -1.0, 4.0)
    f = exp(2 * a**2 + 1) if a >= 1 / 3 else 1 / (1 - 2 * a)
    return mean - 3 / 2 * a * sqrt(2 * f * V)


def bounded_margin(t: int) -> float:
    a = alpha(t, 3, 0.1)
    mean, V = turn(t, 137, -1.0, 1.0)
    return mean - 3 / 2 * a * sqrt(2 * V) - 9 * a**2


GAUSSIAN = PairwiseBAI(0.1, comparison=GaussianBernstein(), keep=82)
BOUNDED = PairwiseBAI(0.1, comparison=EmpiricalBernstein(), keep=82)


def turning_rows(n: int, switch: int, before: list[float], after: list[float]) -> Matrix:
    return np.where(np.arange(n)[:, None] < switch, before, after)


def assert_contradicted(game: Game, stays: int, round_: int, by: int, margin: float) -> None:
    assert game.finished
    assert game.reason == "decided"
    assert game.candidates == (stays,)
    assert game.best == stays
    assert game.n_rounds == round_
    assert stays not in [one.arm for one in game.eliminations]
    assert game.contradiction is not None
    assert (game.contradiction.arm, game.contradiction.round, game.contradiction.by) == (stays, round_, by)
    assert game.contradiction.margin == pytest.approx(margin, rel=1e-10)


@pytest.mark.parametrize(
    ("algorithm", "margin", "switch", "before", "after"),
    [
        (GAUSSIAN, gaussian_margin, 3, [0.0, -1.0, 0.0], [0.0, 4.0, 0.0]),
        (BOUNDED, bounded_margin, 137, [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]),
    ],
    ids=["gaussian", "bounded"],
)
def test_a_kept_arm_that_turns_beats_two_equal_candidates_at_once(
    algorithm: PairwiseBAI, margin: Callable[[int], float], switch: int, before: list[float], after: list[float]
) -> None:
    """Arm 1 is beaten in round ``switch``, the first in which that is possible, and then turns."""
    expected_round = first_round(margin, switch + 1)
    rows = turning_rows(expected_round + 5, switch, before, after)
    game = algorithm.start(3)
    game.play(rows[: expected_round - 1])
    assert [(one.arm, one.round) for one in game.eliminations] == [(1, switch)]
    assert game.candidates == (0, 2)
    assert game.contradiction is None
    game.play(rows[expected_round - 1 :])
    assert_contradicted(game, stays=0, round_=expected_round, by=1, margin=margin(expected_round))
    assert [(one.arm, one.round, one.by) for one in game.eliminations] == [(1, switch, 0), (2, expected_round, 1)]
    assert game.n_queries == 3 * expected_round
    with pytest.raises(RuntimeError, match="decided"):
        game.ask()


def test_a_kept_arm_dropped_before_it_turns_contradicts_nobody() -> None:
    rows = turning_rows(500, 3, [0.0, -1.0, 0.0], [0.0, 4.0, 0.0])
    for keep in (1, 2, 2.5):
        game = PairwiseBAI(0.1, comparison=GaussianBernstein(), keep=keep).start(3)
        game.play(rows)
        assert game.candidates == (0, 2)
        assert game.contradiction is None


def swinging_candidates(leader: int) -> Matrix:
    """Arm 3 as above; arms 0 to 2 swing around means so near that they cannot beat each other, one of them ahead."""
    rows = turning_rows(200, 3, [0.0, 0.0, 0.0, -1.0], [0.0, 0.0, 0.0, 4.0])
    rows[:, 1] += np.tile([0.01, -0.01], 100)
    rows[:, 2] += np.tile([0.01, 0.01, -0.01, -0.01], 50)
    rows[:, leader] += np.tile([0.002, -0.001], 100)
    return rows


@pytest.mark.parametrize("leader", [0, 1, 2])
def test_the_candidate_with_the_largest_mean_stays(leader: int) -> None:
    rows = swinging_candidates(leader)
    expected = naive.pairwise_gaussian(rows, 0.1, "proved", keep=82)
    assert expected.contradiction is not None
    game = GAUSSIAN.start(4)
    game.play(rows)
    means = rows[: game.n_rounds].mean(axis=0)
    assert means[leader] > max(means[arm] for arm in range(3) if arm != leader)
    assert_contradicted(game, leader, expected.contradiction.round, by=3, margin=expected.contradiction.margins[3])
    assert_as_reference(game, expected)
    others = [arm for arm in range(3) if arm != leader]
    assert [(one.arm, one.by) for one in game.eliminations] == [(3, game.eliminations[0].by), *((i, 3) for i in others)]
    assert {one.round for one in game.eliminations[1:]} == {game.n_rounds}


def assert_as_reference(game: Game, expected: Played) -> None:
    assert [(one.arm, one.round) for one in game.eliminations] == [
        (one.arm, one.round) for one in expected.eliminations
    ]
    assert (game.candidates, game.n_queries) == (expected.candidates, expected.n_queries)
    assert (game.contradiction is None) == (expected.contradiction is None)


def test_told_row_by_row_it_is_the_same() -> None:
    rows = swinging_candidates(1)
    told, played = GAUSSIAN.start(4), GAUSSIAN.start(4)
    played.play(rows)
    for row in rows[: played.n_rounds]:
        told.tell(row[told.ask()])
    assert told.finished
    assert told.contradiction == played.contradiction
    assert told.eliminations == played.eliminations


def test_a_round_that_beats_all_candidates_but_one_is_no_contradiction() -> None:
    """Arm 0 turns with arm 3, which therefore beats only arms 1 and 2."""
    rows = swinging_candidates(1)
    rows[:, 0] = rows[:, 3]
    rows[:3, 0] = 0.0
    expected = naive.pairwise_gaussian(rows, 0.1, "proved", keep=82)
    game = GAUSSIAN.start(4)
    game.play(rows)
    assert_as_reference(game, expected)
    assert game.reason == "decided"
    assert game.best == 0
    assert game.contradiction is None


def test_ordinary_games_have_no_contradiction() -> None:
    rng = np.random.default_rng(1)
    for keep in (1, 82):
        game = PairwiseBAI(0.1, comparison=GaussianBernstein(), keep=keep).start(3)
        assert game.contradiction is None
        game.play(rng.standard_normal((300, 1)) + [0.0, 0.5, 1.0] + 0.1 * rng.standard_normal((300, 3)))
        assert game.reason == "decided"
        assert game.best == 2
        assert game.contradiction is None


def test_simulate_reports_the_games_that_contradict_themselves() -> None:
    # The third arm is the best, but starts with three bad rounds in one game of 23, and is beaten by the first.
    arms = TableArms([[0.0, 0.0, -1.0]] * 7 + [[0.0, 0.0, 9.0]] * 13)
    algorithm = PairwiseBAI(0.1, comparison=GaussianBernstein(), keep=82, max_rounds=250)
    sim = simulate(algorithm, arms, repetitions=200, seed=3)
    games = [
        naive.pairwise_gaussian(arms.draw(250, repetition_rng(3, repetition)), 0.1, "proved", keep=82)
        for repetition in range(200)
    ]
    contradictions = [game.contradiction is not None for game in games]
    assert sim.contradictions.tolist() == contradictions
    assert 3 <= sum(contradictions) <= 20
    assert sim.rounds.tolist() == [game.n_rounds for game in games]
    assert sim.queries.tolist() == [game.n_queries for game in games]
    assert [(winner,) for winner in sim.winners] == [game.candidates for game in games]
    np.testing.assert_array_equal(sim.errors, contradictions)  # here only these games lose the best arm
