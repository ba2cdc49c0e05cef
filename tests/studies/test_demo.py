"""The problems of the demo, what a score means there, and that every method gets what it is said to get."""

import math
import warnings

import numpy as np
import pytest

from bestarm.studies import demo
from bestarm.studies.demo import OPTIMIZERS, SHAPES, Budgeted, Problem, SpentError, Watch, digits_gained, random_problem

SEEDS = range(60)


def test_problems_are_a_function_of_their_seed_and_differ() -> None:
    for seed in SEEDS:
        one, again, other = random_problem(seed), random_problem(seed), random_problem(seed + 1)
        assert one.start.tolist() == again.start.tolist()
        assert one.value(one.low) == again.value(one.low)
        assert one.start.tolist() != other.start.tolist()


def test_the_start_lies_anywhere_in_the_box_and_so_does_the_minimum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the least value is does not depend on the box: its middle is no better than chance."""
    monkeypatch.setattr(demo, "SHAPES", (demo.bowl,))
    starts, minima = [], []
    for seed in range(400):
        problem = random_problem(seed)
        starts += ((problem.start - problem.low) / (problem.high - problem.low)).tolist()
        found = least_of_bowl(problem)
        assert problem.value(found) == pytest.approx(0.0, abs=1e-12)
        minima += ((found - problem.low) / (problem.high - problem.low)).tolist()
    for places in (starts, minima):
        assert 0 <= min(places) <= max(places) <= 1
        error = 4 * math.sqrt(1 / 12 / len(places))
        assert abs(np.mean(places) - 1 / 2) < error
        assert abs(np.mean(np.square(places)) - 1 / 3) < error


def least_of_bowl(problem: Problem) -> demo.Point:
    """Where a quadratic function is least, from its values alone."""
    n, value = problem.start.size, problem.value
    steps, origin = np.eye(n), value(np.zeros(n))
    gradient = np.array([(value(e) - value(-e)) / 2 for e in steps])
    ends = np.array([[value(e + f) - value(e) - value(f) + origin for f in steps] for e in steps])
    return np.asarray(np.linalg.solve(ends, -gradient))


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_every_shape_is_least_at_its_minimum(shape: object) -> None:
    assert callable(shape)
    rng = np.random.default_rng(0)
    for n in range(2, 9):
        scales = 10.0 ** rng.uniform(0, 3, n)
        assert shape(np.zeros(n), scales) == 0.0
        assert all(shape(rng.normal(size=n), scales) > 0 for _ in range(20))


def test_all_shapes_and_numbers_of_variables_occur() -> None:
    sizes = {random_problem(seed).start.size for seed in SEEDS}
    assert sizes == set(range(2, 9))


def test_a_function_remembers_its_least_value_and_ends_when_its_evaluations_are_spent() -> None:
    function = Budgeted(lambda x: float(x[0]), 3)
    for value in (3.0, math.nan, 4.0):
        function(np.array([value]))
    assert function.least == 3.0
    with pytest.raises(SpentError):
        function(np.array([1.0]))
    assert function.least == 3.0


@pytest.mark.parametrize(("least", "score"), [(1.0, 0.0), (1e-4, 0.5), (1e-8, 1.0), (0.0, 1.0), (5.0, 0.0)])
def test_the_score_is_the_share_of_eight_digits(least: float, score: float, monkeypatch: pytest.MonkeyPatch) -> None:
    def find(function: demo.Function, problem: Problem, random: object) -> None:
        function(np.array([least]))

    one = np.array([1.0])
    monkeypatch.setattr(demo, "random_problem", lambda seed: Problem(lambda x: float(x[0]), one, one, one))
    monkeypatch.setitem(OPTIMIZERS, "random search", find)
    assert digits_gained("random search", 0) == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_method_keeps_its_budget_and_is_repeated_to_the_last_bit(
    optimizer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Budgeted] = []

    class Noted(Budgeted):
        def __init__(self, function: demo.Function, evaluations: int) -> None:
            super().__init__(function, evaluations)
            made.append(self)

    monkeypatch.setattr(demo, "Budgeted", Noted)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of methods that lose their way: nobody sees them
        scores = [digits_gained(optimizer, seed) for seed in range(5)]
        assert scores == [digits_gained(optimizer, seed) for seed in range(5)]
    assert all(0 <= score <= 1 for score in scores)
    assert max(scores) > 0
    assert all(0 <= function.left < demo.EVALUATIONS for function in made)


def test_a_method_of_scipy_gets_as_far_as_scipy_itself() -> None:
    from scipy.optimize import minimize

    problem = random_problem(3)
    found = minimize(problem.value, problem.start, method="Nelder-Mead", options={"maxfev": demo.EVALUATIONS})
    gained = math.log10(problem.value(problem.start) / found.fun) / 8
    assert digits_gained("Nelder-Mead", 3) == pytest.approx(min(1.0, gained), abs=1e-12)


def test_the_time_of_a_benchmark_is_that_of_all_methods_on_all_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, *[time for k in range(2 * len(OPTIMIZERS)) for time in (k, k + 0.01)], 42.0])
    monkeypatch.setattr(demo, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(demo, "digits_gained", lambda optimizer, seed: 0.5)
    watch = Watch()
    assert watch.comparison() is None
    for seed in range(2):
        assert {watch(optimizer, seed) for optimizer in OPTIMIZERS} == {0.5}
    assert watch.comparison() == ("This race took 42 s; all 13 methods on 1,000 such problems take about 2 min.")
    assert [demo.in_words(seconds) for seconds in (0.4, 99.4, 100.0, 540.0)] == ["0 s", "99 s", "2 min", "9 min"]
