"""What a game says about differences of means: how bad its leader can be, and simultaneous intervals."""

import math
from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from bestarm.algorithms import LUCB, Algorithm, Game, HoeffdingRace, KimNelson, PairwiseBAI, VarianceRace
from bestarm.arms import Arms, GaussianArms, TableArms
from bestarm.comparisons import Betting, Comparison, EmpiricalBernstein, GaussianBernstein, PairBoundary, StudentMixture
from games import intervals_of, regret_of
from statistics_helpers import binomial_p_value, contradicts, seed_of

Array = NDArray[np.float64]
DELTA = 0.1

COMPARISONS: dict[str, Comparison] = {
    "StudentMixture": StudentMixture(),
    "GaussianBernstein": GaussianBernstein(),
    "EmpiricalBernstein": EmpiricalBernstein(),
    "Betting": Betting(),
    "Betting, pool": Betting(pool=700),
    "Betting, bounds": Betting(bounds=(-1.0, 3.0)),
}
every_comparison = pytest.mark.parametrize("name", COMPARISONS)


def rewards(seed: int, n: int = 700) -> Array:
    """Arms in [0, 1]: two of them close, the others leave one after the other."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(0, 0.1, (n, 1))
    return np.clip(np.array([0.2, 0.52, 0.45, 0.53, 0.35]) + shared + rng.normal(0, 0.08, (n, 5)), 0, 1)


# --- against the formulas --------------------------------------------------------------------------------------------


def lower_bound(D: Array, comparison: Comparison, n_arms: int, delta: float) -> float:
    """For the mean of these differences, by one test at the level of one elimination."""
    n = len(D)
    if isinstance(comparison, Betting):
        return float(np.mean(D)) if n == comparison.pool else comparison.lower_bound(D, math.log((n_arms - 1) / delta))
    assert isinstance(comparison, PairBoundary)
    slopes, offsets = comparison.boundary(np.array([float(n)]), n_arms, delta)
    if n < 2 or slopes[0] > 1e150:
        return -math.inf
    return float(np.mean(D) - slopes[0] * np.std(D, ddof=1) - offsets[0])


def expected_regret(game: Game, rows: Array, comparison: Comparison) -> float:
    best, n = game.best, game.n_rounds
    others = [arm for arm in game.candidates if arm != best]
    bounds = [-lower_bound(rows[:n, best] - rows[:n, arm], comparison, game.n_arms, DELTA) for arm in others]
    return max([0.0, *bounds])


def shared_differences(game: Game, rows: Array) -> dict[tuple[int, int], Array]:
    """For every two arms the differences in the rounds in which both were queried."""
    shared = {(i, j): int(min(game.counts[i], game.counts[j])) for i, j in permutations(range(game.n_arms), 2)}
    return {(i, j): rows[:n, i] - rows[:n, j] for (i, j), n in shared.items()}


@every_comparison
@pytest.mark.parametrize("keep", [1.0, 2.0])
def test_regret_bound_and_intervals_are_those_of_the_raw_rewards(name: str, keep: float) -> None:
    rows, comparison = rewards(1), COMPARISONS[name]
    game = PairwiseBAI(DELTA, comparison=comparison, keep=keep).start(5)
    looks = np.array([1, 2, 3, 10, 60, 200, 500, 699, 700])
    left: list[int] = []
    for start, end in zip([0, *looks[:-1]], looks, strict=True):
        if game.finished:
            break
        game.play(rows[start:end])
        left.append(int((game.counts < game.n_rounds).sum()))
        assert regret_of(game) == pytest.approx(expected_regret(game, rows, comparison), rel=1e-8, abs=1e-10)
        intervals, expected = intervals_of(game), np.zeros((5, 5))
        for pair, D in shared_differences(game, rows).items():
            expected[pair] = lower_bound(D, comparison, 5, DELTA / 5)
            assert intervals.low[pair] < np.mean(D) < intervals.high[pair] or len(D) == comparison.pool
        np.testing.assert_allclose(intervals.low, expected, rtol=1e-8, atol=1e-10)
        np.testing.assert_array_equal(intervals.high, -intervals.low.T)
    if "Bernstein" not in name:
        assert left[-1] >= 2  # pairs of which one arm has left, and pairs of which both have


@every_comparison
def test_bounds_are_equal_told_row_by_row_and_wider_for_all_pairs_than_for_one(name: str) -> None:
    rows, comparison = rewards(2, 150), COMPARISONS[name]
    settings = PairwiseBAI(1e-6, comparison=comparison)
    told, played = settings.start(5), settings.start(5)
    for row in rows:
        told.tell(row[told.ask()])
    played.play(rows)
    assert regret_of(told) == regret_of(played)
    low = intervals_of(played).low
    np.testing.assert_array_equal(intervals_of(told).low, low)
    for i, j in permutations(played.candidates, 2):
        assert low[i, j] < lower_bound(rows[:, i] - rows[:, j], comparison, 5, 1e-6)


@every_comparison
def test_before_the_first_look_nothing_is_known(name: str) -> None:
    comparison = COMPARISONS[name]
    game = PairwiseBAI(DELTA, comparison=comparison).start(5)
    widest = comparison.bounds[1] - comparison.bounds[0] if isinstance(comparison, Betting) else math.inf
    assert intervals_of(game).low[0, 1] == -widest
    with pytest.raises(RuntimeError, match=r"^no arm leads before the first round"):
        _ = regret_of(game)
    game.play(rewards(3, 1))
    assert 0 < regret_of(game) <= widest
    assert isinstance(comparison, Betting) or regret_of(game) == math.inf


# --- agreement with the game -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["StudentMixture", "Betting", "Betting, pool", "Betting, bounds"])
@pytest.mark.parametrize("epsilon", [0.02, 0.05, 0.2])
def test_a_leader_within_epsilon_is_bounded_by_epsilon_and_was_not_a_round_before(name: str, epsilon: float) -> None:
    """The bound is the test: one round before the end it was above epsilon, or another arm was a candidate."""
    ended, settings = 0, PairwiseBAI(DELTA, comparison=COMPARISONS[name], epsilon=epsilon)
    for seed in range(25):
        rows, game, before = rewards(100 + seed), settings.start(5), settings.start(5)
        used = game.play(rows)
        if game.reason == "within epsilon":
            ended += 1
            assert 0 <= regret_of(game) <= epsilon + 1e-10
            before.play(rows[: used - 1])
            assert regret_of(before) > epsilon
    assert ended > 0


@every_comparison
def test_a_decided_game_has_no_regret(name: str) -> None:
    game = PairwiseBAI(DELTA, comparison=COMPARISONS[name]).start(2)
    game.play(np.tile([0.0, 1.0], (700, 1)))
    assert (game.reason, regret_of(game)) == ("decided", 0.0)


def test_an_exhausted_pool_has_no_regret_and_known_differences() -> None:
    rows = rewards(6, 60)
    rows += 0.5 + 0.001 * np.arange(5) - rows.mean(axis=0)  # so close that nobody is out before
    game = PairwiseBAI(1e-9, comparison=Betting(bounds=(-1.0, 2.0), pool=60)).start(5)
    game.play(rows)
    assert (game.reason, regret_of(game)) == ("all items used", 0.0)
    means = rows.mean(axis=0)
    for side in (intervals_of(game).low, intervals_of(game).high):
        np.testing.assert_allclose(side, means[:, None] - means[None, :], atol=1e-12)


@pytest.mark.parametrize(
    "algorithm", [LUCB(DELTA), HoeffdingRace(DELTA), KimNelson(DELTA, indifference_zone=0.1), VarianceRace(DELTA)]
)
def test_algorithms_without_differences_say_so(algorithm: Algorithm) -> None:
    game = algorithm.start(3)
    game.play(np.random.default_rng(0).random((5, 3)))
    assert (game.regret_bound, game.lead(0, 1), game.intervals()) == (None, None, None)


# --- coverage, measured ----------------------------------------------------------------------------------------------

LOOKS = (4, 8, 12, 20, 30, 45, 70, 100, 150, 220)


def table_near_ties() -> Arms:
    return TableArms((np.random.default_rng(3).random((400, 4)) < [0.55, 0.5, 0.45, 0.45]).astype(np.float64))


CELLS: dict[str, tuple[Comparison, Callable[[], Arms], int, tuple[int, ...]]] = {
    "Gaussian near ties": (
        StudentMixture(),
        lambda: GaussianArms([0.5, 0.45, 0.4, 0.4], 0.5 * np.eye(4) + 0.5),
        300,
        LOOKS,
    ),
    "Gaussian equal arms": (StudentMixture(), lambda: GaussianArms(np.zeros(5), 0.3 * np.eye(5) + 0.7), 300, LOOKS),
    "Bernoulli near ties": (Betting(), table_near_ties, 100, LOOKS[5::2]),
}


def misses(cell: str) -> tuple[int, int]:
    """Games in which, at any look, the leader was worse than its bound, and in which an interval missed."""
    comparison, make, games, looks = CELLS[cell]
    arms, rng = make(), np.random.default_rng(seed_of(cell))
    truth, counted = arms.means[:, None] - arms.means[None, :], np.zeros(2, dtype=int)
    stays = PairwiseBAI(DELTA, comparison=comparison, keep=1e6)  # all arms stay: most to be wrong about
    for _ in range(games):
        game, found = stays.start(arms.n_arms), np.zeros(2, dtype=bool)
        for start, end in zip((0, *looks[:-1]), looks, strict=True):
            if game.finished:
                break
            game.play(arms.draw(end - start, rng))
            too_bad = arms.means.max() - arms.means[game.best] > regret_of(game)
            found |= [too_bad, np.any(intervals_of(game).low > truth + 1e-12)]
        counted += found
    return int(counted[0]), int(counted[1])


@pytest.mark.parametrize("cell", CELLS)
def test_the_leader_is_as_good_as_its_bound_says_and_intervals_hold_at_all_looks(cell: str) -> None:
    for missed in misses(cell):
        assert not contradicts(missed, CELLS[cell][2], DELTA, len(CELLS))


def test_intervals_at_the_level_of_the_eliminations_would_not() -> None:
    """Teeth, and the reason why intervals are wider: ten equal arms, looked at after every round."""
    K, n, games = 10, 300, 200
    slopes, _ = StudentMixture(min_rounds=2).boundary(np.arange(2.0, n + 1), K, DELTA)
    wide, _ = StudentMixture(min_rounds=2).boundary(np.arange(2.0, n + 1), K, DELTA / K)
    rng = np.random.default_rng(11)
    excluded = np.array([[excludes_zero(X, s) for s in (slopes, wide)] for X in rng.normal(size=(games, n, K))])
    assert binomial_p_value(int(excluded[:, 0].sum()), games, DELTA) < 1e-6
    assert binomial_p_value(int(excluded[:, 1].sum()), games, DELTA) > 1e-3


def excludes_zero(X: Array, slopes: Array) -> bool:
    """Whether the interval of any pair excludes 0 after any round."""
    n = np.arange(1, len(X) + 1)[:, None]
    i, j = np.triu_indices(X.shape[1], 1)
    D = X[:, j] - X[:, i]
    S, Q = np.cumsum(D, axis=0), np.cumsum(D**2, axis=0)
    means, variances = (S / n)[1:], (Q - S**2 / n)[1:] / (n[1:] - 1)
    return bool(np.any(np.abs(means) > slopes[:, None] * np.sqrt(variances)))
