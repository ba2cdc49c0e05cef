"""Decision tables: rewards so simple that the round of every decision follows from the formula by hand."""

from collections.abc import Callable
from math import exp, log, sqrt
from typing import Any, Literal

import numpy as np
import pytest

from bestarm.algorithms import LUCB, Algorithm, Elimination, Game, HoeffdingRace, KimNelson, PairwiseBAI, VarianceRace
from bestarm.comparisons import EmpiricalBernstein, GaussianBernstein
from naive import Matrix
from subjects import SUBJECTS

# Rewards are made up here: that they do not look like what a comparison is made for is no news.
pytestmark = pytest.mark.filterwarnings("ignore::bestarm.AssumptionWarning")


def constant(n: int, *rewards: float) -> Matrix:
    return np.tile(rewards, (n, 1))


def swinging(n: int, mean: float, swing: float) -> Matrix:
    """``mean + swing, mean - swing, mean + swing, ...``"""
    rewards: Matrix = mean + swing * np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return rewards


def swinging_mean(t: int, mean: float, swing: float) -> float:
    return mean + swing / t if t % 2 else mean


def swinging_variance(t: int, swing: float) -> float:
    """Sum of squares ``t s^2``, less ``t (s/t)^2`` for the mean when ``t`` is odd; divided by ``t - 1``."""
    return swing**2 * ((t + 1) / t if t % 2 else t / (t - 1))


def first_round(margin: Callable[[int], float], start: int) -> int:
    return next(t for t in range(start, 100_000) if margin(t) > 0)


def tell(game: Game, rows: Matrix) -> None:
    for row in rows:
        game.tell(row[game.ask()])


def assert_eliminated_in(algorithm: Algorithm, rows: Matrix, expected_round: int, margin: float, arm: int = 0) -> Game:
    """The arm is a candidate after the round before, and gone after the round."""
    game = algorithm.start(rows.shape[1])
    tell(game, rows[: expected_round - 1])
    assert arm in game.candidates
    assert game.eliminations == []
    tell(game, rows[expected_round - 1 : expected_round])
    assert arm not in game.candidates
    (elimination,) = (one for one in game.eliminations if one.arm == arm)
    assert elimination.round == expected_round
    assert elimination.margin == pytest.approx(margin, rel=1e-10, abs=1e-10)
    return game


def alpha(t: int, K: int, delta: float) -> float:
    return sqrt(log(2 * K**2 * t * (t + 1) / delta) / (t - 1))


# --- Pairwise-BAI ----------------------------------------------------------------------------------------------------


def test_pairwise_bounded_constant_difference() -> None:
    # 9 log(8 t (t + 1) / 0.1) / (t - 1) is 1.0056 at t = 127 and 0.9988 at t = 128.
    game = assert_eliminated_in(
        PairwiseBAI(0.1, comparison=EmpiricalBernstein()), constant(128, 0.0, 1.0), 128, 1 - 9 * alpha(128, 2, 0.1) ** 2
    )
    assert game.reason == "decided"
    assert game.best == 1
    assert game.n_queries == 2 * 128


@pytest.mark.parametrize(("lead", "swing", "expected_round"), [(0.6, 0.1, 269), (0.5, 0.25, 395), (0.5, 0.5, 521)])
def test_pairwise_bounded_swinging_difference(lead: float, swing: float, expected_round: int) -> None:
    rows = np.column_stack([np.zeros(expected_round), swinging(expected_round, lead, swing)])

    def margin(t: int) -> float:
        a, V = alpha(t, 2, 0.05), swinging_variance(t, swing)
        return swinging_mean(t, lead, swing) - 3 / 2 * a * sqrt(2 * V) - 9 * a**2

    assert first_round(margin, 3) == expected_round
    assert_eliminated_in(
        PairwiseBAI(0.05, comparison=EmpiricalBernstein()), rows, expected_round, margin(expected_round)
    )


def inflation(x: float, f: Literal["proved", "published"]) -> float:
    if x < 1 / 3:
        return 1 / (1 - 2 * x)
    return exp(2 * x**2 + 1) if f == "proved" else exp(2 * x + 1)


@pytest.mark.parametrize(
    ("f", "swing", "expected_round"),
    [
        ("published", 0.015, 3),  # alpha_3 = 1.94 > 1: the published rule is the quicker one
        ("proved", 0.015, 5),
        ("published", 0.25, 34),  # alpha_25 = 0.69 < 1: the proved one is
        ("proved", 0.25, 25),
        ("published", 2.0, 503),  # alpha_503 < 1/3: they are the same
        ("proved", 2.0, 503),
    ],
)
def test_pairwise_gaussian_swinging_difference(
    f: Literal["proved", "published"], swing: float, expected_round: int
) -> None:
    # Both arms swing, and share a wave: only the difference counts.
    wave = 5.0 * np.sin(np.arange(expected_round))
    swings = [swinging(expected_round, 0, -swing / 2), swinging(expected_round, 1, swing / 2)]

    def margin(t: int) -> float:
        a, V = alpha(t, 2, 0.05), swinging_variance(t, swing)
        return swinging_mean(t, 1, swing) - 3 / 2 * a * sqrt(2 * inflation(a, f) * V)

    assert first_round(margin, 3) == expected_round
    rows = np.column_stack(swings) + wave[:, None]
    assert_eliminated_in(
        PairwiseBAI(0.05, comparison=GaussianBernstein(f=f)), rows, expected_round, margin(expected_round)
    )


def test_pairwise_looks_first_after_two_rounds_on_all_arms() -> None:
    game = PairwiseBAI(0.1, comparison=GaussianBernstein()).start(4)
    rows = constant(3, 0.0, 3.0, 1.0, 2.0)  # no variance: the first look beats all but the best
    for _ in range(2):
        assert game.ask().tolist() == [0, 1, 2, 3]
        tell(game, rows[:1])
        assert game.candidates == (0, 1, 2, 3)
    assert game.ask().tolist() == [0, 1, 2, 3]
    tell(game, rows[2:])
    assert game.candidates == (1,)
    assert game.eliminations == [Elimination(0, 3, 1, 3.0), Elimination(2, 3, 1, 2.0), Elimination(3, 3, 1, 1.0)]


def limited(algorithm: Any) -> bool:
    """Whether games of equal arms end, by a limit or because they are near enough to each other."""
    settings = [getattr(algorithm, name, None) for name in ("max_rounds", "max_queries", "epsilon")]
    zone = getattr(algorithm, "comparison", None) and getattr(algorithm, "indifference_zone", 0.0)
    return bool(any(settings) or zone or getattr(getattr(algorithm, "comparison", None), "pool", None))


UNLIMITED = {name: subject.algorithm for name, subject in SUBJECTS.items() if not limited(subject.algorithm)}


@pytest.mark.parametrize("name", UNLIMITED)
def test_equal_arms_never_beat_each_other(name: str) -> None:
    shared = np.random.default_rng(0).random((500, 1))
    game = UNLIMITED[name].start(3)
    game.play(np.repeat(shared, 3, axis=1))
    assert game.candidates == (0, 1, 2)
    assert game.reason is None


# --- how long a beaten arm is asked ----------------------------------------------------------------------------------


def rounds_asked(algorithm: Algorithm, rows: Matrix, arm: int) -> list[int]:
    game = algorithm.start(rows.shape[1])
    asked = []
    for row in rows:
        queried = game.ask()
        if arm in queried:
            asked.append(game.n_rounds + 1)
        game.tell(row[queried])
    assert [one.arm for one in game.eliminations] == [arm]
    return asked


@pytest.mark.parametrize(("keep", "last"), [(1, 3), (1.3, 3), (1.4, 4), (2, 6), (2.5, 7), (82, 246)])
def test_an_arm_beaten_in_round_3_is_asked_up_to_keep_times_3(keep: float, last: int) -> None:
    rows = constant(300, 1.0, 0.0, 1.0)  # the tied arms 0 and 2 play on
    assert rounds_asked(PairwiseBAI(0.1, comparison=GaussianBernstein(), keep=keep), rows, arm=1) == list(
        range(1, last + 1)
    )


@pytest.mark.parametrize(("keep", "last"), [(1, 137), (2, 274), (2.5, 342), (82, 11234)])
def test_an_arm_beaten_in_round_137_is_asked_up_to_keep_times_137(keep: float, last: int) -> None:
    # 9 log(18 t (t + 1) / 0.1) / (t - 1) is 1.0017 at t = 136 and 0.9953 at t = 137.
    assert 9 * alpha(137, 3, 0.1) ** 2 < 1 < 9 * alpha(136, 3, 0.1) ** 2
    rows = constant(12_000 if keep == 82 else 400, 1.0, 0.0, 1.0)
    assert rounds_asked(PairwiseBAI(0.1, comparison=EmpiricalBernstein(), keep=keep), rows, arm=1) == list(
        range(1, last + 1)
    )


def test_keep_times_round_is_not_lost_to_rounding() -> None:
    assert 1.15 * 100 < 115

    def slope(t: int) -> float:
        a = alpha(t, 3, 0.1)
        return 3 / 2 * a * sqrt(2 * inflation(a, "proved"))

    # The lead is 1 in even rounds and smaller in odd ones; the swing makes it cross between rounds 98 and 100.
    swing = -2 / (slope(98) * sqrt(98 / 97) + slope(100) * sqrt(100 / 99))
    assert first_round(lambda t: swinging_mean(t, 1, swing) - slope(t) * sqrt(swinging_variance(t, swing)), 3) == 100
    ahead = swinging(130, 1, swing)
    rows = np.column_stack([ahead, np.zeros(130), ahead])
    assert rounds_asked(PairwiseBAI(0.1, comparison=GaussianBernstein(), keep=1.15), rows, arm=1) == list(range(1, 116))


@pytest.mark.parametrize("keep", [1e18, 1e19, 1e300])
def test_a_keep_without_end_asks_a_beaten_arm_for_ever(keep: float) -> None:
    game = PairwiseBAI(0.1, comparison=GaussianBernstein(), keep=keep).start(3)
    game.play(constant(20, 1.0, 0.0, 1.0))
    assert [one.arm for one in game.eliminations] == [1]
    assert game.counts.tolist() == [20, 20, 20]
    assert game.n_queries == 60


# --- budgets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_rounds", [1, 2, 3, 10, 5000])
def test_max_rounds_ends_the_game_with_all_candidates(max_rounds: int) -> None:
    game = PairwiseBAI(0.1, comparison=GaussianBernstein(), max_rounds=max_rounds).start(3)
    assert game.play(constant(max_rounds + 7, 1.0, 0.0, 1.0)) == max_rounds
    assert game.finished
    assert game.reason == "budget"
    assert game.n_rounds == max_rounds
    assert game.candidates == ((0, 1, 2) if max_rounds < 3 else (0, 2))


# All three arms are asked in rounds 1 to 6 (the beaten one is kept up to round 2 * 3), then two.
@pytest.mark.parametrize(
    ("max_queries", "n_rounds", "n_queries"),
    [(3, 1, 3), (5, 1, 3), (17, 5, 15), (18, 6, 18), (19, 6, 18), (20, 7, 20), (21, 7, 20), (22, 8, 22)],
)
def test_max_queries_is_never_exceeded(max_queries: int, n_rounds: int, n_queries: int) -> None:
    game = PairwiseBAI(0.1, comparison=GaussianBernstein(), keep=2, max_queries=max_queries).start(3)
    rows = constant(20, 1.0, 0.0, 1.0)
    for _ in range(n_rounds):
        assert not game.finished
        tell(game, rows[:1])
        assert game.n_queries <= max_queries
    assert (game.n_rounds, game.n_queries) == (n_rounds, n_queries)
    assert game.reason == "budget"
    assert game.candidates == ((0, 1, 2) if n_rounds < 3 else (0, 2))


@pytest.mark.parametrize("limits", [{"max_rounds": 3}, {"max_queries": 6}, {"max_queries": 7}])
def test_a_game_decided_in_its_last_round_is_decided(limits: dict[str, int]) -> None:
    game = PairwiseBAI(0.1, comparison=GaussianBernstein(), **limits).start(2)
    assert game.play(constant(10, 1.0, 0.0)) == 3
    assert game.reason == "decided"


def test_a_budget_too_small_for_one_round_is_refused() -> None:
    with pytest.raises(ValueError, match="max_queries must allow for one round of all 3 arms, got 2"):
        PairwiseBAI(0.1, comparison=GaussianBernstein(), max_queries=2).start(3)


# --- the baselines ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variances", "lead", "expected_round"),
    [((1.0, 4.0), 1.0, 268), ((0.0, 1.0), 2.0, 4), ((0.01, 0.01), 1.0, 1), ((0.0, 0.0), 1.0, 1)],
)
def test_hoeffding_race_constant_rewards(variances: tuple[float, float], lead: float, expected_round: int) -> None:
    def margin(t: int) -> float:
        return lead - (sqrt(variances[0]) + sqrt(variances[1])) * sqrt(2 * log(4 * t * (t + 1) / 0.1) / t)

    assert first_round(margin, 1) == expected_round
    rows = constant(expected_round, 0.0, lead)
    assert_eliminated_in(HoeffdingRace(0.1, variances=variances), rows, expected_round, margin(expected_round))


@pytest.mark.parametrize(
    ("swings", "expected_round"),
    [((0.0, 0.0), 2), ((0.001, 0.002), 3), ((0.25, 0.5), 61), ((1.0, 2.0), 481)],
)
def test_variance_race_gaussian_swinging_rewards(swings: tuple[float, float], expected_round: int) -> None:
    def margin(t: int) -> float:
        a = sqrt(log(8 * t * (t + 1) / 0.1) / (t - 1))
        radii = [a * sqrt(2 * inflation(a, "proved") * swinging_variance(t, swing)) for swing in swings]
        return swinging_mean(t, 1, swings[1]) - swinging_mean(t, 0, swings[0]) - sum(radii)

    assert first_round(margin, 2) == expected_round
    rows = np.column_stack([swinging(expected_round, 0, swings[0]), swinging(expected_round, 1, swings[1])])
    assert_eliminated_in(VarianceRace(0.1), rows, expected_round, margin(expected_round))


@pytest.mark.parametrize(
    ("means", "swings", "expected_round"),
    [((0.0, 1.0), (0.0, 0.0), 77), ((0.1, 0.9), (0.05, 0.1), 112), ((0.25, 0.75), (0.2, 0.2), 252)],
)
def test_variance_race_bounded_swinging_rewards(
    means: tuple[float, float], swings: tuple[float, float], expected_round: int
) -> None:
    def radius(t: int, swing: float) -> float:
        x, variance = log(6 * t * (t + 1) / 0.1), swinging_variance(t, swing) * (t - 1) / t
        return sqrt(2 * variance * x / t) + 3 * x / t

    def margin(t: int) -> float:
        low = swinging_mean(t, means[1], swings[1]) - radius(t, swings[1])
        return low - swinging_mean(t, means[0], swings[0]) - radius(t, swings[0])

    assert first_round(margin, 2) == expected_round
    rows = np.column_stack([swinging(expected_round, means[i], swings[i]) for i in (0, 1)])
    assert_eliminated_in(VarianceRace(0.1, rewards="bounded"), rows, expected_round, margin(expected_round))


@pytest.mark.parametrize("min_rounds", [2, 5, 10])
def test_kim_nelson_looks_first_after_its_first_rounds(min_rounds: int) -> None:
    # No variance: the boundary is 0, and the smallest lead decides at the first look.
    algorithm = KimNelson(0.1, indifference_zone=0.1, min_rounds=min_rounds)
    assert_eliminated_in(algorithm, constant(min_rounds, 0.0, 0.25), min_rounds, margin=0.25)


@pytest.mark.parametrize(
    ("min_rounds", "swing", "lead", "zone", "expected_round"),
    [(2, 0.5, 1.0, 0.5, 9), (4, 0.5, 0.05, 0.1, 67), (10, 0.5, 0.05, 0.1, 25), (10, 2.0, 0.5, 0.5, 19)],
)
def test_kim_nelson_knows_only_the_variance_of_the_first_rounds(
    min_rounds: int, swing: float, lead: float, zone: float, expected_round: int
) -> None:
    wild = 3.0  # what the difference swings by after the first rounds: it moves the mean, not the boundary
    eta: float = (0.2 ** (-2 / (min_rounds - 1)) - 1) / 2
    h2S2 = 2 * eta * (min_rounds - 1) * swinging_variance(min_rounds, swing)

    def margin(r: int) -> float:
        mean = lead if r % 2 == 0 else lead + (swing if r < min_rounds else wild) / r
        return mean - max(0, zone / (2 * r) * (h2S2 / zone**2 - r))

    assert first_round(margin, min_rounds) == expected_round
    ahead = np.where(np.arange(200) < min_rounds, swinging(200, lead, swing), swinging(200, lead, wild))
    rows = np.column_stack([np.zeros(200), ahead])
    assert_eliminated_in(
        KimNelson(0.1, indifference_zone=zone, min_rounds=min_rounds), rows, expected_round, margin(expected_round)
    )


@pytest.mark.parametrize(
    ("variances", "lead", "expected_round"),
    [((1.0, 1.0), 1.0, 195), ((1.0, 4.0), 2.0, 97), ((0.01, 0.01), 1.0, 1), ((0.0, 0.0), 1.0, 1)],
)
def test_lucb_stops_when_the_intervals_part(variances: tuple[float, float], lead: float, expected_round: int) -> None:
    def margin(t: int) -> float:  # of two arms both are asked in every round
        return lead - (sqrt(variances[0]) + sqrt(variances[1])) * sqrt(2 * log(10 * t**4 / 0.4) / t)

    assert first_round(margin, 1) == expected_round
    rows = constant(expected_round, 0.0, lead)
    game = assert_eliminated_in(LUCB(0.1, variances=variances), rows, expected_round, margin(expected_round))
    assert game.reason == "decided"
    assert (game.best, game.candidates) == (1, (1,))


def test_lucb_asks_all_arms_then_leader_and_challenger() -> None:
    # Rewards 0, 1, 0.9 and variances 1. Upper bounds of arms 0 and 2, with beta_t = sqrt(2 log(15 t^4 / 0.4)):
    # t = 1: beta, 0.9 + beta;  2: 3.58, 3.43;  3: 2.83, 3.73;  4: 3.03, 3.37;  5: 3.17, 3.14
    expected = [[0, 1, 2], [1, 2], [0, 1], [1, 2], [1, 2], [0, 1]]
    game = LUCB(0.1, variances=1.0).start(3)
    asked = []
    for _ in range(6):
        asked.append(game.ask().tolist())
        tell(game, constant(1, 0.0, 1.0, 0.9))
        assert game.candidates == (0, 1, 2)
        assert game.eliminations == []
    assert asked == expected
    assert game.counts.tolist() == [3, 6, 4]
    assert game.n_queries == 13
