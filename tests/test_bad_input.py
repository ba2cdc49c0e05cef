"""Every entry point refuses what makes no sense, names the parameter and the value, and changes nothing."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bestarm
from bestarm.algorithms.game import Algorithm

INF, NAN = float("inf"), float("nan")
BOUNDED = bestarm.PairwiseBAI(0.1, bestarm.EmpiricalBernstein())
GAUSSIAN = bestarm.PairwiseBAI(0.1, bestarm.GaussianBernstein())

ALGORITHMS: dict[str, Callable[..., Algorithm]] = {
    "PairwiseBAI": bestarm.PairwiseBAI,
    "HoeffdingRace": bestarm.HoeffdingRace,
    "LUCB": bestarm.LUCB,
    "VarianceRace": bestarm.VarianceRace,
    "KimNelson": bestarm.KimNelson,
}
every_algorithm = pytest.mark.parametrize("name", ALGORITHMS)


def refused(message: str, error: type[Exception] = ValueError) -> Any:
    """Expect this error; the message is plain text, and starts there."""
    return pytest.raises(error, match="^" + re.escape(message))


# Settings.


@every_algorithm
@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 1.5, NAN, INF])
def test_delta_outside_the_open_unit_interval(name: str, delta: float) -> None:
    with refused(f"delta must lie strictly between 0 and 1, got {delta!r}"):
        ALGORITHMS[name](delta=delta)


@every_algorithm
@pytest.mark.parametrize("n_arms", [1, 0, -3, 2.5, True])
def test_fewer_than_two_arms(name: str, n_arms: Any) -> None:
    with refused(f"there must be at least two arms to compare, got n_arms={n_arms!r}"):
        ALGORITHMS[name](delta=0.1).start(n_arms)


@pytest.mark.parametrize("keep", [0.0, 0.99, -1.0, INF, NAN])
def test_keep_below_one_or_not_finite(keep: float) -> None:
    with refused(f"keep must be a finite number of at least 1, got {keep!r}"):
        bestarm.PairwiseBAI(keep=keep)


@pytest.mark.parametrize("limit", ["max_rounds", "max_queries"])
@pytest.mark.parametrize("value", [0, -1, 2.5, True])
def test_limits_that_are_no_positive_whole_numbers(limit: str, value: Any) -> None:
    with refused(f"{limit} must be a whole number of at least 1, got {value!r}"):
        bestarm.PairwiseBAI(**{limit: value})


def test_unknown_inflation() -> None:
    with refused("f must be one of 'proved', 'published', got 'guessed'"):
        bestarm.GaussianBernstein("guessed")  # type: ignore[arg-type]


def test_unknown_kind_of_rewards() -> None:
    with refused("rewards must be one of 'gaussian', 'bounded', got 'bernoulli'"):
        bestarm.VarianceRace(0.1, rewards="bernoulli")  # type: ignore[arg-type]


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
        ((1.0,), "there must be at least two arms to compare, got n_arms=1"),
    ],
)
def test_variances_that_no_arm_has(name: str, variances: Any, message: str) -> None:
    with refused(message):
        ALGORITHMS[name](0.1, variances)


@pytest.mark.parametrize("name", ["HoeffdingRace", "LUCB"])
def test_variances_of_another_number_of_arms(name: str) -> None:
    with refused("variances has 2 entries, the game has 3 arms"):
        ALGORITHMS[name](0.1, (1.0, 2.0)).start(3)


@pytest.mark.parametrize("zone", [0.0, -0.1, INF, NAN])
def test_indifference_zone_that_is_not_positive(zone: float) -> None:
    with refused(f"indifference_zone must be a finite number above 0, got {zone!r}"):
        bestarm.KimNelson(0.1, zone)


@pytest.mark.parametrize("first_rounds", [1, 0, 2.5])
def test_first_rounds_that_have_no_variance(first_rounds: Any) -> None:
    with refused(f"first_rounds must be a whole number of at least 2, got {first_rounds!r}"):
        bestarm.KimNelson(0.1, 0.1, first_rounds)


@pytest.mark.parametrize("delta", [0.5, 0.9])
def test_kim_nelson_with_two_arms_needs_delta_below_one_half(delta: float) -> None:
    assert bestarm.KimNelson(delta, 0.1).start(3).n_arms == 3
    with refused(f"delta must be below (K - 1) / 2 = 0.5 for KN, got {delta!r}"):
        bestarm.KimNelson(delta, 0.1).start(2)


# Arms.


@pytest.mark.parametrize(
    ("means", "covariance", "message"),
    [
        ([1.0], [[1.0]], "there must be at least two arms to compare, got n_arms=1"),
        ([], [], "there must be at least two arms to compare, got n_arms=0"),
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
        bestarm.GaussianArms(means, covariance)


def test_the_smallest_eigenvalue_is_named() -> None:
    with pytest.raises(ValueError, match=r"smallest eigenvalue is -(1\.0|0\.9999999)"):
        bestarm.GaussianArms([0.0, 1.0], [[1.0, 2.0], [2.0, 1.0]])


@pytest.mark.parametrize(
    ("means", "variances", "message"),
    [
        ([0.0, 0.5], [0.1, 0.0], "means must lie strictly between 0 and 1, got means[0] = 0.0"),
        ([0.5, 1.0], [0.1, 0.0], "means must lie strictly between 0 and 1, got means[1] = 1.0"),
        ([0.5, -0.2], [0.1, 0.0], "means must lie strictly between 0 and 1, got means[1] = -0.2"),
        ([0.5, NAN], [0.1, 0.0], "means must be finite, got means[1] = nan"),
        ([0.5], [0.0], "there must be at least two arms to compare, got n_arms=1"),
        ([0.5, 0.5], [0.1, 0.0], "means must have one largest entry, 0.5 is there more than once"),
        ([0.5, 0.7], [0.1, 0.0], "difference_variances[0] = 0.1 is impossible for Bernoulli arms with means 0.5 and"),
        ([0.5, 0.7], [0.8, 0.0], "difference_variances[0] = 0.8 is impossible for Bernoulli arms with means 0.5 and"),
        ([0.5, 0.7], [0.2, 0.2], "difference_variances[1] = 0.2 is impossible for Bernoulli arms with means 0.7 and"),
        ([0.5, 0.7], [0.2, 0.0, 0.1], "difference_variances must have 2 entries as means has, got 3"),
        ([0.5, 0.7], [NAN, 0.0], "difference_variances must be finite, got difference_variances[0] = nan"),
    ],
)
def test_bernoulli_arms(means: Any, variances: Any, message: str) -> None:
    with refused(message):
        bestarm.BernoulliArms(means, variances)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([], "scores must be a table with at least one row, got shape (0,)"),
        (np.empty((0, 3)), "scores must be a table with at least one row, got shape (0, 3)"),
        ([1.0, 2.0], "scores must be a table with at least one row, got shape (2,)"),
        ([[1.0], [2.0]], "there must be at least two arms to compare, got n_arms=1"),
        ([[1.0, 2.0], [NAN, 0.0]], "scores must be finite, got scores[1, 0] = nan"),
        ([[1.0, -INF]], "scores must be finite, got scores[0, 1] = -inf"),
    ],
)
def test_table_arms(scores: Any, message: str) -> None:
    with refused(message):
        bestarm.TableArms(scores)


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
        bestarm.gaussian_worst_case_arms([0.1, 0.2, 0.3], variances)


def test_families_of_figure_1() -> None:
    with refused("there must be at least two arms to compare, got n_arms=1"):
        bestarm.equicorrelated_arms(1)
    with refused("covariance must be positive semi-definite"):
        bestarm.equicorrelated_arms(3, correlation=-0.6)
    with refused("covariance must be finite, got covariance[0, 1] = nan"):
        bestarm.equicorrelated_arms(3, correlation=NAN)
    with refused("n_clusters must divide n_arms, got 3 clusters for 16 arms"):
        bestarm.clustered_arms(16, 3)
    with refused("n_clusters must be a whole number of at least 1, got 0"):
        bestarm.clustered_arms(16, 0)
    with refused("covariance must be positive semi-definite"):
        bestarm.clustered_arms(4, 2, correlation=1.5)


# Simulation.


@pytest.mark.parametrize("repetitions", [0, -5, 1.5])
def test_simulate_without_repetitions(repetitions: Any) -> None:
    with refused(f"repetitions must be a whole number of at least 1, got {repetitions!r}"):
        bestarm.simulate(GAUSSIAN, bestarm.equicorrelated_arms(3), repetitions=repetitions)


@pytest.mark.parametrize("seed", [-1, 0.5])
def test_simulate_with_a_seed_that_is_no_whole_number(seed: Any) -> None:
    with refused(f"seed must be a whole number of at least 0, got {seed!r}"):
        bestarm.simulate(GAUSSIAN, bestarm.equicorrelated_arms(3), repetitions=2, seed=seed)


@pytest.mark.parametrize("algorithm", [BOUNDED, bestarm.VarianceRace(0.1, rewards="bounded")])
def test_gaussian_arms_under_a_bounded_comparison(algorithm: Algorithm) -> None:
    with refused("rewards must be finite and lie in [0, 1], got "):
        bestarm.simulate(algorithm, bestarm.equicorrelated_arms(3), repetitions=4)


@pytest.mark.parametrize("confidence", [0.0, 1.0, NAN])
def test_confidence_outside_the_open_unit_interval(confidence: float) -> None:
    sim = bestarm.simulate(GAUSSIAN, bestarm.clustered_arms(2, 1), repetitions=2)
    with refused(f"confidence must lie strictly between 0 and 1, got {confidence!r}"):
        sim.error_interval(confidence)


# Games: each is stopped in the middle, with some arms gone or kept, told something bad, and then played to the end.


def gaussian_rows() -> NDArray[np.float64]:
    means, rng = np.array([0.0, -4.0, 1.0, 0.5]), np.random.default_rng(8)
    rows: NDArray[np.float64] = rng.standard_normal((4000, 4)) * 0.5 + rng.standard_normal((4000, 1)) + means
    return rows


def bounded_rows() -> NDArray[np.float64]:
    return np.array([0.3, 0.0, 0.7, 0.5]) + 0.3 * np.random.default_rng(9).random((4000, 4))


GAMES: dict[str, tuple[Algorithm, NDArray[np.float64]]] = {
    "PairwiseBAI": (GAUSSIAN, gaussian_rows()),
    "PairwiseBAI, kept arms": (bestarm.PairwiseBAI(0.1, bestarm.GaussianBernstein(), keep=3.0), gaussian_rows()),
    "PairwiseBAI, bounded": (BOUNDED, bounded_rows()),
    "HoeffdingRace": (bestarm.HoeffdingRace(0.1, (1.25, 1.25, 1.25, 1.25)), gaussian_rows()),
    "LUCB": (bestarm.LUCB(0.1, 1.25), gaussian_rows()),
    "VarianceRace": (bestarm.VarianceRace(0.1), gaussian_rows()),
    "VarianceRace, bounded": (bestarm.VarianceRace(0.1, rewards="bounded"), bounded_rows()),
    "KimNelson": (bestarm.KimNelson(0.1, 0.2), gaussian_rows()),
}
every_game = pytest.mark.parametrize("case", GAMES)
State = tuple[Any, ...]


def in_the_middle(case: str) -> bestarm.Game:
    """The game shortly before its end, all but LUCB with at least one arm beaten."""
    algorithm, rows = GAMES[case]
    whole = algorithm.start(rows.shape[1])
    used = whole.play(rows)
    assert whole.finished
    game = algorithm.start(rows.shape[1])
    game.play(rows[: 9 * used // 10])
    assert not game.finished
    assert game.eliminations or case == "LUCB"
    return game


def state(game: bestarm.Game) -> State:
    return (
        game.means.tolist(),
        game.counts.tolist(),
        game.n_rounds,
        game.n_queries,
        game.candidates,
        game.eliminations,
        game.contradiction,
        game.finished,
        game.reason,
        game.best,
    )


def finish(game: bestarm.Game, rows: NDArray[np.float64]) -> State:
    while not game.finished:
        asked = game.ask()
        game.tell(rows[game.n_rounds, asked])
    return state(game)


def bad_rewards(case: str, good: NDArray[np.float64]) -> list[tuple[Any, str]]:
    """What must not be told in the place of these rewards, and why."""
    rule = "be finite and lie in [0, 1]" if "bounded" in case else "be finite"
    last = good.size - 1
    bad: list[tuple[Any, str]] = [
        (good[:-1], f"rewards must hold one number for each of the {good.size} arms asked"),
        (np.append(good, 0.5), f"rewards must hold one number for each of the {good.size} arms asked"),
        (good[None, :], f"rewards must hold one number for each of the {good.size} arms asked"),
        (good[:, None], f"rewards must hold one number for each of the {good.size} arms asked"),
        (0.5, f"rewards must hold one number for each of the {good.size} arms asked"),
        ([], f"rewards must hold one number for each of the {good.size} arms asked"),
    ]
    values = [NAN, INF, -INF, *([-1e-9, 1.0000001] if "bounded" in case else [])]
    for place in (0, last):
        for value in values:
            broken = good.copy()
            broken[place] = value
            bad.append((broken, f"rewards must {rule}, got {value!r} for arm "))
    return bad


@every_game
def test_a_refused_tell_changes_nothing(case: str) -> None:
    game, rows = in_the_middle(case), GAMES[case][1]
    asked = game.ask()
    before = state(game)
    for rewards, message in bad_rewards(case, rows[game.n_rounds, asked]):
        with refused(message):
            game.tell(rewards)
        assert state(game) == before
        assert game.ask().tolist() == asked.tolist()
    assert finish(game, rows) == finish(in_the_middle(case), rows)


@every_game
def test_after_a_refused_tell_the_same_question_is_still_open(case: str) -> None:
    game, rows = in_the_middle(case), GAMES[case][1]
    row = rows[game.n_rounds, game.ask()]
    with refused("rewards must be finite" if "bounded" not in case else "rewards must be finite and lie in [0, 1]"):
        game.tell(np.full_like(row, NAN))
    game.tell(row)
    assert finish(game, rows) == finish(in_the_middle(case), rows)


@every_game
def test_a_refused_tell_names_arm_and_round(case: str) -> None:
    game = in_the_middle(case)
    asked = game.ask()
    rewards = np.full(asked.size, 0.5)
    rewards[-1] = NAN
    with pytest.raises(ValueError, match=f"got nan for arm {asked[-1]} in round {game.n_rounds + 1}$"):
        game.tell(rewards)


@every_game
def test_a_refused_play_changes_nothing(case: str) -> None:
    game, rows = in_the_middle(case), GAMES[case][1]
    before, ahead = state(game), rows[game.n_rounds : game.n_rounds + 5]
    broken = ahead.copy()
    broken[3, 2] = NAN
    for bad, message in [
        (broken, "rewards must be finite"),
        (ahead[:, :-1], "rows must have shape (n_rounds, 4), got (5, 3)"),
        (ahead[0], "rows must have shape (n_rounds, 4), got (4,)"),
        (ahead[None], "rows must have shape (n_rounds, 4), got (1, 5, 4)"),
    ]:
        with refused(message):
            game.play(bad)
        assert state(game) == before
    assert finish(game, rows) == finish(in_the_middle(case), rows)


@every_game
def test_playing_no_rows_changes_nothing(case: str) -> None:
    game = in_the_middle(case)
    before = state(game)
    assert game.play(np.empty((0, 4))) == 0
    assert state(game) == before


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_rewards_at_the_bounds_are_accepted(value: float) -> None:
    game = BOUNDED.start(2)
    game.ask()
    game.tell([value, 0.5])
    assert game.means.tolist() == [value, 0.5]


@every_game
def test_tell_before_ask(case: str) -> None:
    algorithm, rows = GAMES[case]
    game = algorithm.start(4)
    with refused("tell() needs the arms of this round: call ask() first", RuntimeError):
        game.tell(rows[0])
    assert (game.n_rounds, game.n_queries, game.counts.tolist()) == (0, 0, [0, 0, 0, 0])
    game.ask()
    game.tell(rows[0])
    after_one = state(game)
    with refused("tell() needs the arms of this round: call ask() first", RuntimeError):
        game.tell(rows[1])
    assert state(game) == after_one


@every_game
def test_ask_twice_is_the_same_set_and_the_callers_copy(case: str) -> None:
    game = in_the_middle(case)
    first = game.ask()
    expected = first.tolist()
    first[:] = 99
    assert game.ask().tolist() == expected


@every_game
def test_nothing_to_ask_tell_or_play_after_the_end(case: str) -> None:
    game, rows = in_the_middle(case), GAMES[case][1]
    end = finish(game, rows)
    where = f"the game has ended (decided) after round {game.n_rounds}: nothing to "
    with refused(where + "ask", RuntimeError):
        game.ask()
    with refused(where + "tell", RuntimeError):
        game.tell(rows[0])
    with refused(where + "play", RuntimeError):
        game.play(rows)
    assert state(game) == end


def test_nothing_to_ask_after_the_budget() -> None:
    game = bestarm.PairwiseBAI(0.1, bestarm.GaussianBernstein(), max_rounds=2).start(2)
    game.play([[0.0, 1.0], [1.0, 0.0]])
    with refused("the game has ended (budget) after round 2: nothing to ask", RuntimeError):
        game.ask()


@every_game
def test_nobody_is_best_before_the_first_round(case: str) -> None:
    game = GAMES[case][0].start(4)
    with refused("no arm leads before the first round", RuntimeError):
        _ = game.best
    assert np.isnan(game.means).all()
    game.ask()
    with refused("no arm leads before the first round", RuntimeError):
        _ = game.best
