"""Decision tables of the baselines: rewards so simple that the round of every decision follows from the formula."""

from math import log, sqrt

import numpy as np
import pytest

import naive
from bestarm.algorithms import LUCB, HoeffdingRace, KimNelson, VarianceRace
from games import assert_eliminated_in, constant, first_round, swinging, swinging_mean, swinging_variance, tell

pytestmark = pytest.mark.filterwarnings("ignore::bestarm.AssumptionWarning")  # rewards are made up here


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
        radii = [a * sqrt(2 * naive.f(a, "proved") * swinging_variance(t, swing)) for swing in swings]
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
