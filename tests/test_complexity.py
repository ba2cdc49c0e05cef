from collections.abc import Callable
from math import inf, log, log1p
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from bestarm import complexity
from bestarm.arms import Arms, BernoulliArms, gaussian_worst_case_arms

Floats = NDArray[np.float64]

# Three arms: leads 0.1 (0 over 1), 0.4 (0 over 2) and 0.3 (1 over 2).
# Variances of the differences: V01 = 1 + 2 - 2 * 0.5 = 2, V02 = 1 + 3 - 2 * 1.9 = 0.2, V12 = 2 + 3 - 2 * 0.25 = 4.5.
COVARIANCE = [[1.0, 0.5, 1.9], [0.5, 2.0, 0.25], [1.9, 0.25, 3.0]]
COVARIANCE_OF_NEAR_TWINS = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.99], [0.0, 0.99, 1.0]]


class Described:
    """Arms that only know their means and covariance: what the theory needs, whatever is drawn."""

    def __init__(self, means: ArrayLike, covariance: ArrayLike) -> None:
        self.means = np.array(means, dtype=np.float64)
        self.covariance = np.array(covariance, dtype=np.float64)
        self.n_arms = self.means.size
        self.best = int(np.argmax(self.means))

    def draw(self, n_rounds: int, rng: np.random.Generator) -> Floats:
        raise AssertionError("the theory draws nothing")


@pytest.fixture
def three_arms() -> Described:
    return Described([0.75, 0.65, 0.35], COVARIANCE)


@pytest.fixture
def twins() -> Described:
    """Arm 2 is shown to be worse by its near twin 1 at a cost far below that of the best arm, 0."""
    return Described([0.5, 0.25, 0.0], COVARIANCE_OF_NEAR_TWINS)


def close(value: Any, expected: Any) -> None:
    np.testing.assert_allclose(value, expected, rtol=1e-10)


def test_bounded_costs_with_and_without_log_factor_and_those_of_the_appendix(three_arms: Described) -> None:
    expected = [[inf, inf, inf], [2.0 / 0.01 + 10.0, inf, inf], [0.2 / 0.16 + 2.5, 4.5 / 0.09 + 1 / 0.3, inf]]
    close(complexity.bounded_costs(three_arms), expected)
    factors = [[1.0] * 3, [log(3 / (0.1 * 0.05)), 1.0, 1.0], [log(3 / (0.4 * 0.05)), log(3 / (0.3 * 0.05)), 1.0]]
    close(complexity.bounded_rounds(three_arms, 0.05), np.multiply(expected, factors))
    appendix = [[inf, inf, inf], [200.0 + 30.0, inf, inf], [1.25 + 7.5, 50.0 + 10.0, inf]]  # three over the lead
    close(complexity.bounded_costs_appendix(three_arms), appendix)


def test_gaussian_costs_are_at_least_one_and_those_of_the_appendix_may_be_below() -> None:
    arms = Described([0.5, 0.25, 0.0], [[1.0, 0.99, 0.9], [0.99, 1.0, 0.9], [0.9, 0.9, 1.0]])
    # V01 / 0.25^2 = 0.02 / 0.0625 = 0.32, V02 / 0.5^2 = 0.2 / 0.25 = 0.8, V12 / 0.25^2 = 0.2 / 0.0625 = 3.2
    close(complexity.gaussian_costs(arms), [[inf, inf, inf], [1.0, inf, inf], [1.0, 3.2, inf]])
    close(complexity.gaussian_costs_appendix(arms), [[inf, inf, inf], [0.32, inf, inf], [0.8, 3.2, inf]])


@pytest.mark.parametrize(
    "costs",
    [
        complexity.bounded_costs,
        lambda arms: complexity.bounded_rounds(arms, 0.1),
        complexity.bounded_costs_appendix,
        complexity.gaussian_costs,
        complexity.gaussian_costs_appendix,
    ],
)
def test_costs_are_infinite_between_arms_of_equal_means(costs: Callable[[Described], Floats]) -> None:
    table = costs(Described([0.5, 0.5, 0.2], np.eye(3)))
    assert np.isinf(table[:2]).all()
    assert np.isfinite(table[2]).tolist() == [True, True, False]


def test_costs_of_a_difference_that_never_varies() -> None:
    arms = Described([0.5, 0.1], [[1.0, 1.0], [1.0, 1.0]])
    close(complexity.bounded_costs(arms)[1, 0], 2.5)
    close(complexity.bounded_costs_appendix(arms)[1, 0], 7.5)
    close(complexity.gaussian_costs(arms)[1, 0], 1.0)
    assert complexity.gaussian_costs_appendix(arms)[1, 0] == 0.0


def test_bound_b1_sums_the_cheapest_costs_and_b2_those_of_the_best(three_arms: Described, twins: Described) -> None:
    close(complexity.bound_b1(three_arms, 0.05), log(3 * 210.0 / 0.05) * (210.0 + 3.75))
    # arm 1: 2 / 0.0625 + 4 = 36; arm 2: min(2 / 0.25 + 2, 0.02 / 0.0625 + 4) = 4.32
    close(complexity.bound_b1(twins, 0.1), log(3 * 36.0 / 0.1) * (36.0 + 4.32))
    close(complexity.bound_b2(twins, 0.1), log(3 * 36.0 / 0.1) * (36.0 + 10.0))


def test_bound_b2_keeps_the_lambda_of_b1() -> None:
    # Arm 2 costs 2 / 0.16 + 2.5 = 15 against the best and 0.01 / 0.04 + 5 = 5.25 against arm 1, which itself costs
    # 0.02 / 0.04 + 5 = 5.5: Lambda is 5.5, not 15.
    arms = Described([0.7, 0.5, 0.3], [[1.0, 0.99, 0.0], [0.99, 1.0, 0.995], [0.0, 0.995, 1.0]])
    close(complexity.bound_b1(arms, 0.1), log(3 * 5.5 / 0.1) * (5.5 + 5.25))
    close(complexity.bound_b2(arms, 0.1), log(3 * 5.5 / 0.1) * (5.5 + 15.0))


def test_bound_g1_sums_the_cheapest_costs_and_at_least_one(twins: Described) -> None:
    # arm 1: 2 / 0.0625 = 32; arm 2: min(2 / 0.25, max(0.02 / 0.0625, 1)) = 1
    close(complexity.bound_g1(twins, 0.1), log(3 * 32.0 / 0.1) * (32.0 + 1.0))


def test_bound_g2_sums_logarithmic_costs_against_the_best(twins: Described) -> None:
    # V_01 / D^2 = 32, V_02 / D^2 = 8, Lambda = 32
    terms = 1 / log(1 + 0.0625 / 2.0) + 1 / log(1 + 0.25 / 2.0)
    close(complexity.bound_g2(twins, 0.1), 3 * 3 + log(3 / (0.1 * log(1 + 1 / 32.0))) * terms)


def test_bound_g2_counts_nothing_for_arms_without_variance() -> None:
    arms = Described([1.0, 0.5, 0.0], [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    term = 1 / log(1 + 1.0 / 2.0)
    close(complexity.bound_g2(arms, 0.05), 9 + log(3 / 0.05 * term) * term)
    assert complexity.bound_g2(Described([0.5, 0.1], np.ones((2, 2))), 0.1) == 6.0  # the first rounds alone


BOUNDS = [complexity.bound_b1, complexity.bound_b2, complexity.bound_g1, complexity.bound_g2]


@pytest.mark.parametrize("bound", BOUNDS)
def test_bounds_refuse_a_shared_largest_mean_and_do_not_mind_other_ties(bound: Callable[[Arms, float], float]) -> None:
    with pytest.raises(ValueError, match="the bounds need one best arm, the largest mean is shared"):
        bound(Described([0.5, 0.5, 0.2], np.eye(3)), 0.1)
    assert 0 < bound(Described([0.2, 0.5, 0.2], np.eye(3)), 0.1) < inf


@pytest.mark.parametrize("bound", [*BOUNDS, complexity.bounded_rounds])
@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, float("nan")])
def test_bounds_refuse_delta_outside_the_unit_interval(bound: Any, delta: float, refused: Any) -> None:
    with refused("delta", delta):
        bound(Described([0.5, 0.2], np.eye(2)), delta)
    for lower in (complexity.lower_bound_bernoulli, complexity.lower_bound_gaussian):
        with refused("delta", delta):
            lower([0.5, 0.7], [0.1, 0.0], delta)


# Lower bounds. Means 0.5, 0.7, 0.4: leads of the best over the others 0.2 and 0.3.


def test_lower_bound_bernoulli_takes_the_larger_term_of_each_arm() -> None:
    # max(0.1 / 0.04, 1 / 0.2) = 5 and max(0.9 / 0.09, 1 / 0.3) = 10
    value = complexity.lower_bound_bernoulli([0.5, 0.7, 0.4], [0.1, 0.0, 0.9], 0.05)
    close(value, log(1 / 0.2) / 8 * 15.0)


def test_lower_bound_gaussian_uses_the_variance_and_not_its_square() -> None:
    value = complexity.lower_bound_gaussian([0.5, 0.7, 0.4], [0.1, 0.0, 0.9], 0.05)
    close(value, 2 * log(1 / 0.2) * (1 / log1p(0.4) + 1 / log1p(0.1)))


def test_lower_bounds_without_variance() -> None:
    assert complexity.lower_bound_gaussian([0.5, 0.7], [0.0, 0.0], 0.05) == 0.0
    close(complexity.lower_bound_bernoulli([0.5, 0.7], [0.0, 0.0], 0.05), log(5.0) / 8 * 5.0)


LOWER_BOUNDS = [complexity.lower_bound_bernoulli, complexity.lower_bound_gaussian]
lower_bounds = pytest.mark.parametrize("bound", LOWER_BOUNDS)
LowerBound = Callable[[ArrayLike, ArrayLike, float], float]


@lower_bounds
def test_lower_bounds_are_zero_just_where_the_logarithm_is_not_positive(bound: LowerBound) -> None:
    values = [bound([0.5, 0.7, 0.4], [0.1, 0.0, 0.9], delta) for delta in (0.2499, 0.25, 0.3, 0.9)]
    assert values[0] > 0.0
    assert values[1:] == [0.0, 0.0, 0.0]


@lower_bounds
def test_lower_bounds_ignore_the_variance_of_the_best_against_itself(bound: LowerBound) -> None:
    assert bound([0.5, 0.7], [0.1, 0.0], 0.05) == bound([0.5, 0.7], [0.1, 3.0], 0.05)


@lower_bounds
def test_lower_bounds_refuse_a_shared_largest_mean(bound: LowerBound) -> None:
    with pytest.raises(ValueError, match=r"means must have one largest entry, 0\.7 appears more than once"):
        bound([0.7, 0.7, 0.4], [0.1, 0.0, 0.9], 0.05)


@lower_bounds
@pytest.mark.parametrize("variances", [[0.1, 0.0], [0.1, 0.0, -0.5], [0.1, 0.0, float("nan")]])
def test_lower_bounds_refuse_impossible_variances(bound: LowerBound, variances: list[float]) -> None:
    wrong = variances[2] if len(variances) == 3 else len(variances)
    with pytest.raises(ValueError, match=rf"^variances must .* {wrong}$"):
        bound([0.5, 0.7, 0.4], variances, 0.05)


@pytest.mark.parametrize("mean", [0.2499, 0.7501])
def test_bernoulli_lower_bound_refuses_means_outside_its_class(mean: float, refused: Any) -> None:
    close(complexity.lower_bound_bernoulli([0.25, 0.75], [0.25, 0.0], 0.05), log(5.0) / 8 * 2.0)  # its edges
    with refused("means", mean):
        complexity.lower_bound_bernoulli([0.5, mean], [0.1, 0.1], 0.05)


def test_lower_bounds_lie_below_the_upper_bounds_for_their_worst_case_arms() -> None:
    # The upper bounds hold up to a constant; with it equal to one they are still above on these instances.
    means, V = [0.7, 0.6, 0.5, 0.3], [0.0, 0.1, 0.2, 0.3]
    bernoulli = BernoulliArms(means, V)
    gaussian = gaussian_worst_case_arms(means, V)
    assert complexity.lower_bound_bernoulli(means, V, 0.05) < complexity.bound_b1(bernoulli, 0.05)
    assert complexity.lower_bound_gaussian(means, V, 0.05) < complexity.bound_g2(gaussian, 0.05)
