"""Every entry point refuses what makes no sense, names the parameter and the value, and changes nothing."""

import re
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm.algorithms import Algorithm, Game, KimNelson, PairwiseBAI, VarianceRace
from bestarm.arms import (
    BernoulliArms,
    GaussianArms,
    TableArms,
    clustered_arms,
    equicorrelated_arms,
    gaussian_worst_case_arms,
)
from bestarm.comparisons import EmpiricalBernstein, GaussianBernstein
from subjects import KINDS

INF, NAN = float("inf"), float("nan")
BOUNDED = PairwiseBAI(0.1, comparison=EmpiricalBernstein())
GAUSSIAN = PairwiseBAI(0.1, comparison=GaussianBernstein())

every_algorithm = pytest.mark.parametrize("name", KINDS)


def refused(message: str, error: type[Exception] = ValueError) -> Any:
    """Expect this error; the message is plain text, and starts there."""
    return pytest.raises(error, match="^" + re.escape(message))


# Settings.


@every_algorithm
@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 1.5, NAN, INF])
def test_delta_outside_the_open_unit_interval(name: str, delta: float) -> None:
    with refused(f"delta must lie strictly between 0 and 1, got {delta!r}"):
        KINDS[name](delta=delta)


@every_algorithm
@pytest.mark.parametrize("n_arms", [1, 0, -3, 2.5, True])
def test_fewer_than_two_arms(name: str, n_arms: Any) -> None:
    with refused(f"n_arms must be a whole number of at least 2, got {n_arms!r}"):
        KINDS[name](delta=0.1).start(n_arms)


@pytest.mark.parametrize("keep", [0.0, 0.99, -1.0, INF, NAN])
def test_keep_below_one_or_not_finite(keep: float) -> None:
    with refused(f"keep must be a finite number of at least 1, got {keep!r}"):
        PairwiseBAI(keep=keep)


@pytest.mark.parametrize("limit", ["max_rounds", "max_queries"])
@pytest.mark.parametrize("value", [0, -1, 2.5, True])
def test_limits_that_are_no_positive_whole_numbers(limit: str, value: Any) -> None:
    with refused(f"{limit} must be a whole number of at least 1, got {value!r}"):
        PairwiseBAI(**{limit: value})


def test_unknown_inflation() -> None:
    with refused("f must be one of 'proved', 'published', got 'guessed'"):
        GaussianBernstein(f="guessed")  # type: ignore[arg-type]


def test_unknown_kind_of_rewards() -> None:
    with refused("rewards must be one of 'gaussian', 'bounded', got 'bernoulli'"):
        VarianceRace(0.1, rewards="bernoulli")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["HoeffdingRace", "LUCB"])
@pytest.mark.parametrize(
    ("variances", "message"),
    [
        (-1.0, "variances must be finite and at least 0, got variances[0] = -1.0"),
        (NAN, "variances must be finite and at least 0, got variances[0] = nan"),
        (INF, "variances must be finite and at least 0, got variances[0] = inf"),
        ((1.0, -0.5), "variances must be finite and at least 0, got variances[1] = -0.5"),
        ((1.0, NAN), "variances must be finite, got variances[1] = nan"),
        (((1.0, 1.0), (1.0, 1.0)), "variances must be a vector with one entry per arm, got shape (2, 2)"),
        ((1.0,), "variances must have at least two entries, one per arm, got 1"),
    ],
)
def test_variances_that_no_arm_has(name: str, variances: Any, message: str) -> None:
    with refused(message):
        KINDS[name](0.1, variances=variances)


@pytest.mark.parametrize("name", ["HoeffdingRace", "LUCB"])
def test_variances_of_another_number_of_arms(name: str) -> None:
    with refused("variances has 2 entries, the game has 3 arms"):
        KINDS[name](0.1, variances=(1.0, 2.0)).start(3)


@pytest.mark.parametrize("zone", [0.0, -0.1, INF, NAN])
def test_indifference_zone_that_is_not_positive(zone: float) -> None:
    with refused(f"indifference_zone must be a finite number above 0, got {zone!r}"):
        KimNelson(0.1, indifference_zone=zone)


@pytest.mark.parametrize("min_rounds", [1, 0, 2.5])
def test_first_rounds_that_have_no_variance(min_rounds: Any) -> None:
    with refused(f"min_rounds must be a whole number of at least 2, got {min_rounds!r}"):
        KimNelson(0.1, indifference_zone=0.1, min_rounds=min_rounds)


@pytest.mark.parametrize("delta", [0.5, 0.9])
def test_kim_nelson_with_two_arms_needs_delta_below_one_half(delta: float) -> None:
    assert KimNelson(delta, indifference_zone=0.1).start(3).n_arms == 3
    with refused(f"delta must be below (K - 1) / 2 = 0.5 for KN, got {delta!r}"):
        KimNelson(delta, indifference_zone=0.1).start(2)


# Arms.


@pytest.mark.parametrize(
    ("means", "covariance", "message"),
    [
        ([1.0], [[1.0]], "means must have at least two entries, one per arm, got 1"),
        ([], [], "means must have at least two entries, one per arm, got 0"),
        ([[0.0, 1.0]], np.eye(2), "means must be a vector with one entry per arm, got shape (1, 2)"),
        ([0.0, NAN], np.eye(2), "means must be finite, got means[1] = nan"),
        ([INF, 0.0], np.eye(2), "means must be finite, got means[0] = inf"),
        ([0.0, 1.0], np.eye(3), "covariance must have shape (2, 2) to match means, got (3, 3)"),
        ([0.0, 1.0], [1.0, 1.0], "covariance must have shape (2, 2) to match means, got (2,)"),
        ([0.0, 1.0], [[1.0, NAN], [NAN, 1.0]], "covariance must be finite, got covariance[0, 1] = nan"),
        ([0.0, 1.0], [[1.0, 0.0], [0.0, INF]], "covariance must be finite, got covariance[1, 1] = inf"),
        (
            [0.0, 1.0],
            [[1.0, 0.5], [0.4, 1.0]],
            "covariance must be symmetric, got covariance[0, 1] = 0.5 and covariance[1, 0] = 0.4",
        ),
        ([0.0, 1.0], [[1.0, 2.0], [2.0, 1.0]], "covariance must be positive semi-definite, its smallest eigenvalue is"),
        ([0.0, 1.0], [[-1.0, 0.0], [0.0, 1.0]], "covariance must be positive semi-definite, its smallest eigenvalue"),
        ([0.0, 1.0], [[-1.0, -1.0], [-1.0, -1.0]], "covariance must be positive semi-definite, its smallest"),
    ],
)
def test_gaussian_arms(means: Any, covariance: Any, message: str) -> None:
    with refused(message):
        GaussianArms(means, covariance)


def test_the_smallest_eigenvalue_is_named() -> None:
    with pytest.raises(ValueError, match=r"smallest eigenvalue is -(1\.0|0\.9999999)"):
        GaussianArms([0.0, 1.0], [[1.0, 2.0], [2.0, 1.0]])


@pytest.mark.parametrize(
    ("means", "variances", "message"),
    [
        ([0.0, 0.5], [0.1, 0.0], "means must lie strictly between 0 and 1, got means[0] = 0.0"),
        ([0.5, 1.0], [0.1, 0.0], "means must lie strictly between 0 and 1, got means[1] = 1.0"),
        ([0.5, -0.2], [0.1, 0.0], "means must lie strictly between 0 and 1, got means[1] = -0.2"),
        ([0.5, NAN], [0.1, 0.0], "means must be finite, got means[1] = nan"),
        ([0.5], [0.0], "means must have at least two entries, one per arm, got 1"),
        ([0.5, 0.5], [0.1, 0.0], "means must have one largest entry, 0.5 appears more than once"),
        ([0.5, 0.7], [0.1, 0.0], "difference_variances[0] = 0.1 is impossible for Bernoulli arms with means 0.5 and"),
        ([0.5, 0.7], [0.8, 0.0], "difference_variances[0] = 0.8 is impossible for Bernoulli arms with means 0.5 and"),
        ([0.5, 0.7], [0.2, 0.2], "difference_variances[1] = 0.2 is impossible for Bernoulli arms with means 0.7 and"),
        ([0.5, 0.7], [0.2, 0.0, 0.1], "difference_variances must have 2 entries as means has, got 3"),
        ([0.5, 0.7], [NAN, 0.0], "difference_variances must be finite, got difference_variances[0] = nan"),
    ],
)
def test_bernoulli_arms(means: Any, variances: Any, message: str) -> None:
    with refused(message):
        BernoulliArms(means, variances)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([], "scores must be a table with at least one row, got shape (0,)"),
        (np.empty((0, 3)), "scores must be a table with at least one row, got shape (0, 3)"),
        ([1.0, 2.0], "scores must be a table with at least one row, got shape (2,)"),
        ([[1.0], [2.0]], "n_arms must be a whole number of at least 2, got 1"),
        ([[1.0, 2.0], [NAN, 0.0]], "scores must be finite, got scores[1, 0] = nan"),
        ([[1.0, -INF]], "scores must be finite, got scores[0, 1] = -inf"),
    ],
)
def test_table_arms(scores: Any, message: str) -> None:
    with refused(message):
        TableArms(scores)


@pytest.mark.parametrize(
    ("variances", "message"),
    [
        ([0.1, -0.1, 0.0], "difference_variances must be at least 0, got difference_variances[1] = -0.1"),
        ([0.1, 0.1, 0.3], "difference_variances[2] must be 0, arm 2 is the best arm itself, got 0.3"),
        ([0.1, 0.0], "difference_variances must have 3 entries as means has, got 2"),
        ([0.1, INF, 0.0], "difference_variances must be finite, got difference_variances[1] = inf"),
    ],
)
def test_gaussian_worst_case_arms(variances: Any, message: str) -> None:
    with refused(message):
        gaussian_worst_case_arms([0.1, 0.2, 0.3], variances)


def test_families_of_figure_1() -> None:
    with refused("n_arms must be a whole number of at least 2, got 1"):
        equicorrelated_arms(1)
    with refused("covariance must be positive semi-definite"):
        equicorrelated_arms(3, correlation=-0.6)
    with refused("correlation must be a number from -1 to 1, got nan"):
        equicorrelated_arms(3, correlation=NAN)
    with refused("n_clusters must divide n_arms, got 3 clusters for 16 arms"):
        clustered_arms(16, 3)
    with refused("n_clusters must be a whole number of at least 1, got 0"):
        clustered_arms(16, 0)
    with refused("correlation must be a number from -1 to 1, got 1.5"):
        clustered_arms(4, 2, correlation=1.5)


# Simulation.


@pytest.mark.parametrize("repetitions", [0, -5, 1.5])
def test_simulate_without_repetitions(repetitions: Any) -> None:
    with refused(f"repetitions must be a whole number of at least 1, got {repetitions!r}"):
        bestarm.simulate(GAUSSIAN, equicorrelated_arms(3), repetitions=repetitions)


@pytest.mark.parametrize("seed", [-1, 0.5])
def test_simulate_with_a_seed_that_is_no_whole_number(seed: Any) -> None:
    with refused(f"seed must be a whole number of at least 0, got {seed!r}"):
        bestarm.simulate(GAUSSIAN, equicorrelated_arms(3), repetitions=2, seed=seed)


@pytest.mark.parametrize("algorithm", [BOUNDED, VarianceRace(0.1, rewards="bounded")])
def test_gaussian_arms_under_a_bounded_comparison(algorithm: Algorithm) -> None:
    with refused("rewards must be finite and lie in [0, 1], got "):
        bestarm.simulate(algorithm, equicorrelated_arms(3), repetitions=4)


@pytest.mark.parametrize("confidence", [0.0, 1.0, NAN])
def test_confidence_outside_the_open_unit_interval(confidence: float) -> None:
    sim = bestarm.simulate(GAUSSIAN, clustered_arms(2, 1), repetitions=2)
    with refused(f"confidence must lie strictly between 0 and 1, got {confidence!r}"):
        sim.error_interval(confidence)


# Games. That all of them refuse, and that a refusal changes nothing, is checked by the kit (test_conformance.py); here
# are the words, which are the same for all games.

WORDS: dict[str, tuple[Algorithm, str]] = {
    "any numbers": (GAUSSIAN, "rewards must be finite, got "),
    "bounded": (BOUNDED, "rewards must be finite and lie in [0, 1], got "),
}
every_game = pytest.mark.parametrize("case", WORDS)
GOOD = np.array([0.3, 0.1, 0.7, 0.5])


def asked(case: str) -> Game:
    """A game of four arms after two rounds, with a question open."""
    game = WORDS[case][0].start(4)
    game.play([GOOD, GOOD[::-1]])
    game.ask()
    return game


@every_game
@pytest.mark.parametrize("bad", [GOOD[:-1], np.append(GOOD, 0.5), GOOD[None, :], GOOD[:, None], 0.5, []])
def test_rewards_that_are_not_one_per_arm(case: str, bad: Any) -> None:
    shape = np.shape(bad)
    with refused(f"rewards must hold one number for each of the 4 arms asked (0, 1, 2, 3), got shape {shape}"):
        asked(case).tell(bad)


@every_game
@pytest.mark.parametrize("place", [0, 3])
@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_a_refused_reward_is_named_with_its_arm_and_round(case: str, place: int, value: float) -> None:
    broken = GOOD.copy()
    broken[place] = value
    with refused(f"{WORDS[case][1]}{value!r} for arm {place} in round 3"):
        asked(case).tell(broken)
    with refused(f"{WORDS[case][1]}{value!r} for arm {place} in round 5"):
        asked(case).play([GOOD, GOOD, broken, GOOD])


@pytest.mark.parametrize("value", [-1e-9, 1.0000001])
def test_a_reward_out_of_bounds_is_named(value: float) -> None:
    with refused(f"rewards must be finite and lie in [0, 1], got {value!r} for arm 3 in round 3"):
        asked("bounded").tell([0.5, 0.5, 0.5, value])


@every_game
@pytest.mark.parametrize("shape", [(5, 3), (4,), (1, 5, 4)])
def test_rows_of_another_shape(case: str, shape: tuple[int, ...]) -> None:
    with refused(f"rows must have shape (n_rounds, 4), got {shape}"):
        asked(case).play(np.full(shape, 0.5))


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_rewards_at_the_bounds_are_accepted(value: float) -> None:
    game = BOUNDED.start(2)
    game.ask()
    game.tell([value, 0.5])
    assert game.means.tolist() == [value, 0.5]


@every_game
def test_tell_before_ask(case: str) -> None:
    with refused("tell() needs the arms of this round: call ask() first", RuntimeError):
        WORDS[case][0].start(4).tell(GOOD)


@every_game
def test_arms_of_another_round(case: str) -> None:
    with refused("the arms of this round are [0, 1, 2, 3], got [0, 1]"):
        asked(case).tell([0.5, 0.5], arms=[0, 1])


def test_nothing_to_ask_tell_or_play_after_the_end() -> None:
    game = PairwiseBAI(0.1, comparison=GaussianBernstein()).start(2)
    game.play([[0.0, 1.0]] * 5)
    where = "the game has ended (decided) after round 3: "
    with refused(where + "nothing to ask", RuntimeError):
        game.ask()
    with refused(where + "nothing to tell", RuntimeError):
        game.tell([0.0, 1.0])
    with refused(where + "nothing to play", RuntimeError):
        game.play([[0.0, 1.0]])
    with refused(where + "nobody to disqualify", RuntimeError):
        game.disqualify(1)


def test_nothing_to_ask_after_the_budget() -> None:
    game = PairwiseBAI(0.1, comparison=GaussianBernstein(), max_rounds=2).start(2)
    game.play([[0.0, 1.0], [1.0, 0.0]])
    with refused("the game has ended (budget) after round 2: nothing to ask", RuntimeError):
        game.ask()


@every_game
def test_nobody_is_best_before_the_first_round(case: str) -> None:
    game = WORDS[case][0].start(4)
    game.ask()
    with refused("no arm leads before the first round", RuntimeError):
        _ = game.best
