"""What a game says about differences of means: how bad its leader can be, and simultaneous intervals."""

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from bestarm.algorithms import LUCB, Algorithm, Game, HoeffdingRace, KimNelson, PairwiseBAI, VarianceRace
from bestarm.arms import Arms, GaussianArms, TableArms
from bestarm.comparisons import Betting, Comparison, EmpiricalBernstein, GaussianBernstein, PairBoundary, StudentMixture
from games import intervals_of, regret_of
from statistics_helpers import binomial_p_value, contradicts

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
    n, log_threshold = len(D), math.log((n_arms - 1) / delta)
    if isinstance(comparison, Betting):
        if n == comparison.pool:
            return float(np.mean(D))
        return comparison.lower_bound(D, log_threshold)
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


def expected_low(game: Game, rows: Array, comparison: Comparison) -> Array:
    K = game.n_arms
    low = np.zeros((K, K))
    for i, j in permutations(range(K), 2):
        n = int(min(game.counts[i], game.counts[j]))  # the rounds that both were queried in
        low[i, j] = lower_bound(rows[:n, i] - rows[:n, j], comparison, K, DELTA / K)
    return low


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
        intervals = intervals_of(game)
        np.testing.assert_allclose(intervals.low, expected_low(game, rows, comparison), rtol=1e-8, atol=1e-10)
        np.testing.assert_array_equal(intervals.high, -intervals.low.T)
    if "Bernstein" not in name:
        assert left[-1] >= 2  # pairs of which one arm has left, and pairs of which both have


@every_comparison
def test_it_is_the_same_told_row_by_row(name: str) -> None:
    rows, settings = rewards(2, 150), PairwiseBAI(DELTA, comparison=COMPARISONS[name])
    told, played = settings.start(5), settings.start(5)
    for row in rows:
        if told.finished:
            break
        told.tell(row[told.ask()])
    played.play(rows)
    assert regret_of(told) == regret_of(played)
    np.testing.assert_array_equal(intervals_of(told).low, intervals_of(played).low)


@every_comparison
def test_before_the_first_look_nothing_is_known(name: str) -> None:
    comparison = COMPARISONS[name]
    game = PairwiseBAI(DELTA, comparison=comparison).start(5)
    low = intervals_of(game).low[0, 1]
    if isinstance(comparison, Betting):
        assert low == -(comparison.bounds[1] - comparison.bounds[0])
    else:
        assert low == -math.inf
    with pytest.raises(RuntimeError, match=r"^no arm leads before the first round"):
        _ = regret_of(game)
    game.play(rewards(3, 1))
    if isinstance(comparison, Betting):
        assert 0 < regret_of(game) <= comparison.bounds[1] - comparison.bounds[0]
    else:
        assert regret_of(game) == math.inf


@every_comparison
def test_intervals_are_wider_than_the_tests_of_the_eliminations(name: str) -> None:
    rows, comparison = rewards(4, 300), COMPARISONS[name]
    game = PairwiseBAI(1e-6, comparison=comparison).start(5)
    game.play(rows)
    n, low = game.n_rounds, intervals_of(game).low
    for i, j in permutations(game.candidates, 2):
        assert low[i, j] < lower_bound(rows[:n, i] - rows[:n, j], comparison, 5, 1e-6)


@every_comparison
def test_intervals_hold_the_means_and_zero_on_the_diagonal(name: str) -> None:
    rows = rewards(5, 300)
    game = PairwiseBAI(DELTA, comparison=COMPARISONS[name]).start(5)
    game.play(rows)
    intervals = intervals_of(game)
    assert np.all(np.diag(intervals.low) == 0)
    assert np.all(np.diag(intervals.high) == 0)
    for i, j in permutations(range(5), 2):
        n = int(min(game.counts[i], game.counts[j]))
        lead = float(np.mean(rows[:n, i] - rows[:n, j]))
        assert intervals.low[i, j] < lead < intervals.high[i, j]


# --- agreement with the game -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["StudentMixture", "Betting", "Betting, pool", "Betting, bounds"])
@pytest.mark.parametrize("epsilon", [0.02, 0.05, 0.2])
def test_a_leader_within_epsilon_is_bounded_by_epsilon(name: str, epsilon: float) -> None:
    ended = 0
    for seed in range(25):
        game = PairwiseBAI(DELTA, comparison=COMPARISONS[name], epsilon=epsilon).start(5)
        game.play(rewards(100 + seed))
        if game.reason == "within epsilon":
            ended += 1
            assert 0 <= regret_of(game) <= epsilon + 1e-10
    assert ended > 0


@pytest.mark.parametrize("name", ["StudentMixture", "Betting"])
def test_before_the_leader_is_within_epsilon_it_may_be_worse(name: str) -> None:
    """The bound is the test: one round before the end it was above epsilon, or another arm was a candidate."""
    settings = PairwiseBAI(DELTA, comparison=COMPARISONS[name], epsilon=0.05)
    for seed in range(20):
        rows = rewards(200 + seed)
        game = settings.start(5)
        used = game.play(rows)
        before = settings.start(5)
        before.play(rows[: used - 1])
        assert regret_of(before) > 0.05 or game.reason == "decided"


@every_comparison
def test_a_decided_game_has_no_regret(name: str) -> None:
    rows = np.tile([0.0, 1.0], (700, 1))
    game = PairwiseBAI(DELTA, comparison=COMPARISONS[name]).start(2)
    game.play(rows)
    assert (game.reason, regret_of(game)) == ("decided", 0.0)


def test_an_exhausted_pool_has_no_regret_and_known_differences() -> None:
    rows = rewards(6, 60)
    rows += 0.5 + 0.001 * np.arange(5) - rows.mean(axis=0)  # so close that nobody is out before
    game = PairwiseBAI(1e-9, comparison=Betting(bounds=(-1.0, 2.0), pool=60)).start(5)
    game.play(rows)
    assert (game.reason, regret_of(game)) == ("all items used", 0.0)
    means = rows.mean(axis=0)
    intervals = intervals_of(game)
    np.testing.assert_allclose(intervals.low, means[:, None] - means[None, :], atol=1e-12)
    np.testing.assert_allclose(intervals.high, means[:, None] - means[None, :], atol=1e-12)


@pytest.mark.parametrize(
    "algorithm",
    [
        LUCB(DELTA),
        HoeffdingRace(DELTA),
        KimNelson(DELTA, indifference_zone=0.1),
        VarianceRace(DELTA),
    ],
)
def test_algorithms_without_differences_say_so(algorithm: Algorithm) -> None:
    game = algorithm.start(3)
    game.play(np.random.default_rng(0).random((5, 3)))
    assert (game.regret_bound, game.lead(0, 1), game.intervals()) == (None, None, None)


# --- coverage, measured ----------------------------------------------------------------------------------------------

GAMES = 300
LOOKS = (4, 8, 12, 20, 30, 45, 70, 100, 150, 220)


def gaussian_near_ties() -> Arms:
    return GaussianArms([0.5, 0.45, 0.4, 0.4], 0.5 * np.eye(4) + 0.5)


def gaussian_equal() -> Arms:
    return GaussianArms(np.zeros(5), 0.3 * np.eye(5) + 0.7)


def table_near_ties() -> Arms:
    rng = np.random.default_rng(3)
    return TableArms((rng.random((400, 4)) < [0.55, 0.5, 0.45, 0.45]).astype(np.float64))


CELLS: dict[str, tuple[StudentMixture | Betting, Callable[[], Arms]]] = {
    "Gaussian near ties": (StudentMixture(), gaussian_near_ties),
    "Gaussian equal arms": (StudentMixture(), gaussian_equal),
    "Bernoulli near ties": (Betting(), table_near_ties),
}


@lru_cache(maxsize=len(CELLS))
def misses(cell: str) -> tuple[int, int]:
    """Games in which, at any look, the leader was worse than its bound, and in which an interval missed."""
    comparison, make = CELLS[cell]
    arms, rng = make(), np.random.default_rng(list(CELLS).index(cell))
    truth = arms.means[:, None] - arms.means[None, :]
    counted = np.zeros(2, dtype=int)
    looks = LOOKS if isinstance(comparison, StudentMixture) else LOOKS[5::2]
    for _ in range(GAMES if isinstance(comparison, StudentMixture) else GAMES // 3):
        game = PairwiseBAI(DELTA, comparison=comparison, keep=1e6).start(
            arms.n_arms
        )  # all arms stay: most to be wrong about
        found = np.zeros(2, dtype=bool)
        for start, end in zip((0, *looks[:-1]), looks, strict=True):
            if game.finished:
                break
            game.play(arms.draw(end - start, rng))
            found |= missed(game, arms.means, truth)
        counted += found
    return int(counted[0]), int(counted[1])


def missed(game: Game, means: Array, truth: Array) -> NDArray[np.bool_]:
    too_bad = means.max() - means[game.best] > regret_of(game)
    return np.array([too_bad, np.any(intervals_of(game).low > truth + 1e-12)])


def games_of(cell: str) -> int:
    return GAMES if isinstance(CELLS[cell][0], StudentMixture) else GAMES // 3


@pytest.mark.parametrize("cell", CELLS)
def test_the_leader_is_as_good_as_its_bound_says(cell: str) -> None:
    assert not contradicts(misses(cell)[0], games_of(cell), DELTA, len(CELLS))


@pytest.mark.parametrize("cell", CELLS)
def test_intervals_hold_all_differences_at_all_looks(cell: str) -> None:
    assert not contradicts(misses(cell)[1], games_of(cell), DELTA, len(CELLS))


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
