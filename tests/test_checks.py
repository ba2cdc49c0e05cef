"""Every entry point refuses what makes no sense, names the parameter and the value, and changes nothing.

The full sentences are in test_messages.py.
"""

import random
import re
import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm import EvaluationError, Race, ScoreTable, complexity, race, race_commands, race_table, simulate
from bestarm.algorithms import LUCB, Algorithm, Game, HoeffdingRace, KimNelson, PairwiseBAI, VarianceRace
from bestarm.arms import (
    BernoulliArms,
    GaussianArms,
    TableArms,
    clustered_arms,
    equicorrelated_arms,
    gaussian_worst_case_arms,
)
from bestarm.comparisons import Betting, EmpiricalBernstein, GaussianBernstein, StudentMixture
from small_race import run
from subjects import KINDS

INF, NAN, HUGE = float("inf"), float("nan"), 10**5000
BOUNDED = PairwiseBAI(0.1, comparison=EmpiricalBernstein())
GAUSSIAN = PairwiseBAI(0.1, comparison=GaussianBernstein())
Call = Callable[[Any], Any]


def refused(parameter: str, value: str = "", kind: type[Exception] = ValueError) -> Any:
    """Expect an error that begins with a parameter and holds a value."""
    return pytest.raises(kind, match=rf"^{re.escape(parameter)}(?!\w).*{re.escape(value)}")


def value_cases(cases: list[tuple[Call, str, list[Any]]]) -> list[Any]:
    """One case for each value; its place, as some values are not the same in two processes."""
    return [
        pytest.param(call, parameter, value, id=f"{parameter}-{n}-{k}")
        for n, (call, parameter, values) in enumerate(cases)
        for k, value in enumerate(values)
    ]


# --- settings --------------------------------------------------------------------------------------------------------

NO_COUNTS = [0, -1, 2.5, True, 10**30]
SETTINGS: list[tuple[Call, str, list[Any]]] = [
    (lambda value: PairwiseBAI(keep=value), "keep", [0.0, 0.99, -1.0, INF, NAN]),
    (lambda value: PairwiseBAI(max_rounds=value), "max_rounds", NO_COUNTS),
    (lambda value: PairwiseBAI(max_queries=value), "max_queries", NO_COUNTS),
    (lambda value: PairwiseBAI(epsilon=value), "epsilon", [1e-320]),
    (lambda value: StudentMixture(min_rounds=value), "min_rounds", [10**30]),
    (lambda value: VarianceRace(0.1, rewards=value), "rewards", ["bernoulli"]),
    (lambda value: HoeffdingRace(0.1, variances=value), "variances", [-1.0, NAN, INF, 1e-320]),
    (lambda value: LUCB(0.1, variances=value), "variances", [-1.0, NAN, INF, 1e-320]),
    (lambda value: KimNelson(0.1, indifference_zone=value), "indifference_zone", [0.0, -0.1, INF, NAN, 1e-320]),
    (lambda value: KimNelson(0.1, indifference_zone=0.1, min_rounds=value), "min_rounds", [1, 0, 2.5]),
    (lambda value: KimNelson(value, indifference_zone=0.1).start(2), "delta", [0.5, 0.9]),
    (lambda value: simulate(GAUSSIAN, equicorrelated_arms(3), repetitions=value), "repetitions", [0, -5, 1.5]),
    (lambda value: simulate(GAUSSIAN, equicorrelated_arms(3), repetitions=2, seed=value), "seed", [-1, 0.5]),
    (equicorrelated_arms, "n_arms", [1]),
    (lambda value: equicorrelated_arms(3, correlation=value), "correlation", [NAN]),
    (lambda value: clustered_arms(4, 2, correlation=value), "correlation", [1.5]),
    (lambda value: clustered_arms(16, value), "n_clusters", [0, 3]),
    (lambda value: complexity.convex_cost(equicorrelated_arms(3), value), "arm", [3]),
    (lambda value: complexity.bound_convex(equicorrelated_arms(3), 0.1, arm=value), "arm", [2]),
    (lambda value: run(epsilon=value), "epsilon", [1e-320, Decimal("0.1")]),
    (lambda value: run(indifference_zone=value), "indifference_zone", [1e200]),
    (lambda value: run(rounds_in_flight=value), "rounds_in_flight", [10**9]),
    (lambda value: run(seed=value), "seed", [-1]),
]


@pytest.mark.parametrize(("call", "parameter", "value"), value_cases(SETTINGS))
def test_a_setting_is_refused_with_its_value(call: Call, parameter: str, value: Any) -> None:
    with refused(parameter, str(value) if not isinstance(value, int) or value < 10**30 else "a number of more than"):
        call(value)


WITHIN: dict[str, tuple[Callable[[], Any], str, str]] = {
    "entry of variances": (lambda: LUCB(0.1, variances=(1.0, -0.5)), "variances", "variances[1] = -0.5"),
    "no variance": (lambda: HoeffdingRace(0.1, variances=(1.0, NAN)), "variances", "variances[1] = nan"),
    "matrix of variances": (lambda: LUCB(0.1, variances=np.eye(2)), "variances", "(2, 2)"),  # type: ignore[arg-type]
    "one variance": (lambda: LUCB(0.1, variances=(1.0,)), "variances", "1"),
    "other variances": (lambda: HoeffdingRace(0.1, variances=(1.0, 2.0)).start(3), "variances", "2 entries"),
    "no means": (lambda: GaussianArms([], []), "means", "0"),
    "matrix of means": (lambda: GaussianArms([[0.0, 1.0]], np.eye(2)), "means", "(1, 2)"),
    "infinite mean": (lambda: GaussianArms([INF, 0.0], np.eye(2)), "means", "means[0] = inf"),
    "large covariance": (lambda: GaussianArms([0.0, 1.0], np.eye(3)), "covariance", "(3, 3)"),
    "vector": (lambda: GaussianArms([0.0, 1.0], [1.0, 1.0]), "covariance", "(2,)"),
    "NaN": (lambda: GaussianArms([0.0, 1.0], [[1, NAN], [NAN, 1]]), "covariance", "covariance[0, 1] = nan"),
    "infinite": (lambda: GaussianArms([0.0, 1.0], [[1.0, 0.0], [0.0, INF]]), "covariance", "covariance[1, 1] = inf"),
    "asymmetric": (lambda: GaussianArms([0.0, 1.0], [[1, 0.5], [0.4, 1]]), "covariance", "covariance[1, 0] = 0.4"),
    "indefinite": (lambda: GaussianArms([0.0, 1.0], [[1, 2], [2, 1]]), "covariance", "eigenvalue is -"),
    "negative": (lambda: GaussianArms([0.0, 1.0], [[-1, 0], [0, 1]]), "covariance", "eigenvalue is -"),
    "all negative": (lambda: GaussianArms([0.0, 1.0], [[-1, -1], [-1, -1]]), "covariance", "eigenvalue is -"),
    "correlated too little": (lambda: equicorrelated_arms(3, correlation=-0.6), "covariance", "eigenvalue is -"),
    "chance of 0": (lambda: BernoulliArms([0.0, 0.5], [0.1, 0.0]), "means", "means[0] = 0.0"),
    "chance of 1": (lambda: BernoulliArms([0.5, 1.0], [0.1, 0.0]), "means", "means[1] = 1.0"),
    "negative chance": (lambda: BernoulliArms([0.5, -0.2], [0.1, 0.0]), "means", "means[1] = -0.2"),
    "no chance": (lambda: BernoulliArms([0.5, NAN], [0.1, 0.0]), "means", "means[1] = nan"),
    "one chance": (lambda: BernoulliArms([0.5], [0.0]), "means", "1"),
    "two best": (lambda: BernoulliArms([0.5, 0.5], [0.1, 0.0]), "means", "0.5"),
    "too small": (lambda: BernoulliArms([0.5, 0.7], [0.1, 0.0]), "difference_variances[0]", "= 0.1"),
    "too large": (lambda: BernoulliArms([0.5, 0.7], [0.8, 0.0]), "difference_variances[0]", "= 0.8"),
    "of the best": (lambda: BernoulliArms([0.5, 0.7], [0.2, 0.2]), "difference_variances[1]", "= 0.2"),
    "too many": (lambda: BernoulliArms([0.5, 0.7], [0.2, 0.0, 0.1]), "difference_variances", "3"),
    "no number": (lambda: BernoulliArms([0.5, 0.7], [NAN, 0.0]), "difference_variances", "[0] = nan"),
    "below 0": (
        lambda: gaussian_worst_case_arms([0.1, 0.2, 0.3], [0.1, -0.1, 0]),
        "difference_variances",
        "[1] = -0.1",
    ),
    "best arm": (lambda: gaussian_worst_case_arms([0.1, 0.2, 0.3], [0.1, 0.1, 0.3]), "difference_variances[2]", "0.3"),
    "too few": (lambda: gaussian_worst_case_arms([0.1, 0.2, 0.3], [0.1, 0.0]), "difference_variances", "2"),
    "endless": (lambda: gaussian_worst_case_arms([0.1, 0.2, 0.3], [0.1, INF, 0]), "difference_variances", "[1] = inf"),
    "no rows": (lambda: TableArms([]), "scores", "(0,)"),
    "no rows of three": (lambda: TableArms(np.empty((0, 3))), "scores", "(0, 3)"),
    "one row": (lambda: TableArms([1.0, 2.0]), "scores", "(2,)"),
    "one column": (lambda: TableArms([[1.0], [2.0]]), "n_arms", "1"),
    "no score": (lambda: TableArms([[1.0, 2.0], [NAN, 0.0]]), "scores", "scores[1, 0] = nan"),
    "infinite score": (lambda: TableArms([[1.0, -INF]]), "scores", "scores[0, 1] = -inf"),
    "weights": (lambda: Betting(bets=[0.1, 0.2], weights=[1e-100, 1e100]), "weights", "weights[0] = 1e-100"),
    "huge bet": (lambda: Betting(bets=[HUGE]), "bets", "without a text"),
    "huge game": (lambda: KimNelson(0.05, indifference_zone=0.1).start(10**400), "n_arms", "a number of more than"),
    "huge epsilon": (lambda: run(epsilon=HUGE), "epsilon", "a number of more than 100 digits"),
    "long delta": (lambda: run(delta=np.longdouble(0.1)), "delta", "np.longdouble("),
    "wide bounds": (lambda: run(bounds=(0, 1e308)), "bounds", "(0, 1e+308)"),
    "widest bounds": (lambda: run(bounds=(-1e308, 1e308)), "bounds", "(-1e+308, 1e+308)"),
    "narrow bounds": (lambda: run(bounds=(0, 1e-320)), "bounds", "(0.0, 1e-320)"),
    "huge bounds": (lambda: run(bounds=(0, HUGE)), "bounds", "<tuple without a text"),
    "huge budget": (lambda: run(max_evaluations=HUGE), "max_evaluations", "a number of more"),
    "huge seed": (lambda: run(seed=HUGE), "seed", "a number of more than 100 digits"),
    "many retries": (lambda: run(retries=10**30), "retries", "a number of more than"),
}


@pytest.mark.parametrize("case", WITHIN)
def test_what_is_wrong_inside_of_a_value_is_named(case: str) -> None:
    call, parameter, value = WITHIN[case]
    with refused(parameter, value):
        call()


@pytest.mark.parametrize("name", KINDS)
def test_every_algorithm_refuses_other_deltas_and_numbers_of_arms(name: str) -> None:
    for delta in (0.0, 1.0, -0.1, 1.5, NAN, INF):
        with refused("delta", repr(delta)):
            KINDS[name](delta=delta)
    n_arms: Any
    for n_arms in (1, 0, -3, 2.5, True):
        with refused("n_arms", repr(n_arms)):
            KINDS[name](delta=0.1).start(n_arms)


def test_kim_nelson_with_three_arms_takes_any_delta() -> None:
    assert [KimNelson(delta, indifference_zone=0.1).start(3).n_arms for delta in (0.5, 0.9)] == [3, 3]


@pytest.mark.parametrize("name", [name for name in complexity.__all__ if name.startswith(("bound", "gaussian"))])
@pytest.mark.parametrize("arms", [None, 5, "arms", bestarm.arms.GaussianArms])
def test_what_is_no_law_is_refused(name: str, arms: Any) -> None:
    more = {"delta": 0.1} if name in ("bounded_rounds", *[one for one in complexity.__all__ if "bound_" in one]) else {}
    with refused("arms", kind=TypeError):
        getattr(complexity, name)(arms, **more)


def test_simulate_refuses_what_it_cannot_play() -> None:
    with refused("algorithm", "PairwiseBAI", TypeError):
        simulate(PairwiseBAI, equicorrelated_arms(3))  # type: ignore[arg-type]
    with refused("arms", "3", TypeError):
        simulate(GAUSSIAN, 3)  # type: ignore[arg-type]
    with refused("repetitions", "np.timedelta64"):
        simulate(GAUSSIAN, equicorrelated_arms(3), repetitions=np.timedelta64(5, "s"))  # type: ignore[arg-type]
    algorithms: list[Algorithm] = [BOUNDED, VarianceRace(0.1, rewards="bounded")]
    for algorithm in algorithms:
        with refused("rewards"):
            simulate(algorithm, equicorrelated_arms(3), repetitions=4)
    sim = simulate(GAUSSIAN, clustered_arms(2, 1), repetitions=2)
    for confidence in (0.0, 1.0, NAN):
        with refused("confidence", repr(confidence)):
            sim.error_interval(confidence)


# --- games: that all of them refuse, and that a refusal changes nothing, is checked by the kit -----------------------

GAMES: dict[str, Algorithm] = {"any numbers": GAUSSIAN, "bounded": BOUNDED}
GOOD = np.array([0.3, 0.1, 0.7, 0.5])
every_game = pytest.mark.parametrize("case", GAMES)


def asked(case: str) -> Game:
    """A game of four arms after two rounds, with a question open."""
    game = GAMES[case].start(4)
    game.play([GOOD, GOOD[::-1]])
    game.ask()
    return game


@every_game
def test_rewards_of_another_shape_are_refused(case: str) -> None:
    bad: Any
    for bad in (GOOD[:-1], np.append(GOOD, 0.5), GOOD[None, :], GOOD[:, None], 0.5, []):
        with refused("rewards", f"the 4 arms asked (0, 1, 2, 3), got shape {np.shape(bad)}"):
            asked(case).tell(bad)
    for shape in ((5, 3), (4,), (1, 5, 4)):
        with refused("rows", f"(n_rounds, 4), got {shape}"):
            asked(case).play(np.full(shape, 0.5))


@every_game
@pytest.mark.parametrize("place", [0, 3])
@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_a_refused_reward_is_named_with_its_arm_and_round(case: str, place: int, value: float) -> None:
    broken = GOOD.copy()
    broken[place] = value
    with refused("rewards", f"got {value!r} for arm {place} in round 3"):
        asked(case).tell(broken)
    with refused("rewards", f"got {value!r} for arm {place} in round 5"):
        asked(case).play([GOOD, GOOD, broken, GOOD])


def test_rewards_out_of_bounds_are_named_and_those_at_the_bounds_are_taken() -> None:
    for value in (-1e-9, 1.0000001):
        with refused("rewards", f"[0, 1], got {value!r} for arm 3 in round 3"):
            asked("bounded").tell([0.5, 0.5, 0.5, value])
    for value in (0.0, 1.0):
        game = BOUNDED.start(2)
        game.ask()
        game.tell([value, 0.5])
        assert game.means.tolist() == [value, 0.5]


@every_game
def test_what_is_told_without_a_question_or_for_other_arms_is_refused(case: str) -> None:
    with refused("tell", kind=RuntimeError):
        GAMES[case].start(4).tell(GOOD)
    with refused("the arms of this round are [0, 1, 2, 3]", "[0, 1]"):
        asked(case).tell([0.5, 0.5], arms=[0, 1])
    with refused("no arm leads before the first round", kind=RuntimeError):
        _ = GAMES[case].start(4).best


def test_nothing_to_ask_tell_or_play_after_the_end() -> None:
    game: Any = PairwiseBAI(0.1, comparison=GaussianBernstein()).start(2)
    game.play([[0.0, 1.0]] * 5)
    calls = {
        "nothing to ask": game.ask,
        "nothing to tell": lambda: game.tell([0.0, 1.0]),
        "nothing to play": lambda: game.play([[0.0, 1.0]]),
        "nobody to disqualify": lambda: game.disqualify(1),
    }
    for words, call in calls.items():
        with refused("the game has ended (decided) after round 3", words, RuntimeError):
            call()
    game = PairwiseBAI(0.1, comparison=GaussianBernstein(), max_rounds=2).start(2)
    game.play([[0.0, 1.0], [1.0, 0.0]])
    with refused("the game has ended (budget) after round 2", "nothing to ask", RuntimeError):
        game.ask()


@pytest.mark.parametrize("arm", [1.0, np.float64(1), True, None, "1", -1, 7])
def test_arms_of_games_are_whole_numbers(arm: Any) -> None:
    game: Any = PairwiseBAI(0.05).start(4)
    game.play(np.random.default_rng(0).random((20, 4)))
    for ask in (game.disqualify, game.withdraw):
        with pytest.raises(ValueError, match=r"^(arm must be a whole number|only an arm that is)"):
            ask(arm)
    for ask in (game.lead, game.lead_bound, game.lead_seen):
        with refused("arm", repr(arm)):
            ask(0, arm)
    assert game.lead(np.int64(0), np.uint8(1)) == game.lead(0, 1)
    game.disqualify(np.int64(1))
    assert 1 not in game.candidates


# --- numbers at the ends of floating point ---------------------------------------------------------------------------


def test_numbers_that_are_large_and_harmless_are_taken() -> None:
    expected = run(items=range(60))
    options: dict[str, Any]
    for options in (
        {"max_evaluations": 10**30},
        {"delta": np.float32(0.05)},
        {"bounds": np.array([0.0, 1.0])},
        {"seed": 10**299},
        {"rounds_in_flight": np.int64(10_000)},
    ):
        assert run(items=range(60), **options).best == expected.best


@pytest.mark.parametrize("timeout", [1e308, 3e6, NAN, INF, 10**400, True, 0])
def test_a_timeout_is_one_that_a_system_can_wait_for(timeout: Any) -> None:
    with refused("timeout"):
        race_commands(["true", "false"], timeout=timeout)


@pytest.mark.parametrize("value", [1e151, -1e155, 1e308])
def test_scores_whose_squares_overflow_are_failures(value: float) -> None:
    with refused(
        "evaluate('low', 2147327825) returned", f"{value!r}: a score must lie within ±1e+150", EvaluationError
    ):
        run(lambda arm, item: value, items=None, bounds=None)
    with refused("rewards", f"{value!r} for arm 0 in round 1"):
        PairwiseBAI(0.05).start(2).play([[value, 0.0]])
    with refused("scores", f"{value} in row 1 (1), column '0'"):
        race_table([[value, 0.0], [0.0, 1.0]])
    with refused("scores", "scores[0, 0] = "):
        TableArms([[value, 0.0]])
    contest = Race(["a", "b"])
    [todo] = contest.ask()
    with pytest.raises(EvaluationError, match="a score must lie within"):
        contest.tell(todo, {"a": value})


@pytest.mark.parametrize("unit", [1e-140, 1e-100, 1e100, 1e149])
@pytest.mark.filterwarnings("error")
def test_a_race_does_not_depend_on_the_unit_of_its_scores(unit: float) -> None:
    def noisy(arm: str, item: int) -> float:
        common = random.Random(item).gauss(0, 0.05) + 0.1 * {"a": 0, "b": 1, "c": 2}[arm]  # noqa: S311
        return common + random.Random(f"{arm} {item}").gauss(0, 0.1)  # noqa: S311

    call: dict[str, Any] = {"arms": ["a", "b", "c"], "progress": False, "max_evaluations": 3000}
    expected = race(noisy, **call)
    result = race(lambda arm, item: unit * noisy(arm, item), **call)
    assert (result.best, result.n_rounds, expected.answered) == (expected.best, expected.n_rounds, True)
    assert [shape.problem for shape in result.shapes] == [shape.problem for shape in expected.shapes]
    assert str(result)


TABLE = np.random.default_rng(0).random((200, 2)) * [0.4, 1.0]


def test_no_warning_of_numpy_reaches_users() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", bestarm.AssumptionWarning)
        for unit in (1e-140, 1e140, 1e149):
            assert str(race_table(unit * (TABLE - 0.5), arms=["a", "b"], comparison=StudentMixture()))
            assert str(race_table(unit * (TABLE - 0.5), arms=["a", "b"]))


# --- names of columns ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arms", "best"),
    [
        ([1000, 2000], "2000"),
        ([0.5, 1.5], "1.5"),
        (np.array([1, 2]), "2"),
        (np.array(["x", "y"]), "y"),
        ([(1, 2), (3, 4)], "(3, 4)"),
        ({"p": 1, "q": 2}, "q"),
        ((len, max), "max"),
    ],
)
def test_columns_may_be_called_by_anything_with_a_name(arms: Any, best: str) -> None:
    result = race_table(TABLE, arms=arms)
    assert result.best == best
    assert all(type(arm) is str for arm in result.arms)
    assert race_table(ScoreTable(tuple(arms), range(200), TABLE)).best == best  # type: ignore[arg-type]
