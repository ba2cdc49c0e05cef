"""What is possible: the Gaussian lower bound and the oracle of bets, against closed forms and brute force."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from math import log, log1p
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar

from bestarm import BestarmError, limits
from bestarm.arms import GaussianArms, TableArms, clustered_arms, equicorrelated_arms
from bestarm.limits import gaussian_lower_bound, growth_rates, nested_sets, oracle_queries

Floats = NDArray[np.float64]
DELTA = 0.05
KL = 0.9 * log(19)  # kl(0.05, 0.95)


def below(value: float, optimum: float, gap: float = 1e-4) -> None:
    """The bound is certified, so it is never above the optimum, and hardly below."""
    assert (1 - gap) * optimum <= value <= (1 + 1e-9) * optimum


def sets_of(n_arms: int) -> list[tuple[int, ...]]:
    return [subset for size in range(1, n_arms + 1) for subset in combinations(range(n_arms), size)]


def random_arms(n_arms: int, seed: int) -> GaussianArms:
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n_arms, n_arms + 2))
    return GaussianArms(rng.random(n_arms), root @ root.T / n_arms)


# --- the Gaussian lower bound: closed forms --------------------------------------------------------------------------


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.9, 0.999])
def test_two_correlated_arms_are_queried_together(correlation: float) -> None:
    lead, variance = 0.25, 2.0
    arms = GaussianArms([0.0, lead], variance * np.array([[1.0, correlation], [correlation, 1.0]]))
    below(gaussian_lower_bound(arms, DELTA), KL * 8 * variance * (1 - correlation) / lead**2)


@pytest.mark.parametrize("correlation", [-0.9, -0.1])
def test_two_arms_that_move_apart_are_queried_alone(correlation: float) -> None:
    below(gaussian_lower_bound(equicorrelated_arms(2, correlation), DELTA), KL * 8 / 0.1**2)


def test_two_independent_arms_are_queried_by_their_standard_deviations() -> None:
    arms = GaussianArms([1.0, 0.5], [[4.0, 0.0], [0.0, 0.25]])
    below(gaussian_lower_bound(arms, DELTA), KL * 2 * (2.0 + 0.5) ** 2 / 0.5**2)


def characteristic_time(means: Floats, variances: Floats) -> float:
    """Independent arms (Garivier, Kaufmann 2016): s_1 / w_1 + s_i / w_i <= D_i^2 / 2, one number to search for."""
    best = int(means.argmax())
    half = np.delete((means[best] - means) ** 2 / 2, best)
    s, others = variances[best], np.delete(variances, best)

    def cost(logarithm: float) -> float:
        w = s / half.min() * (1 + np.exp(logarithm))
        return float(w + np.sum(others / (half - s / w)))

    return float(minimize_scalar(cost, bounds=(-20, 20), method="bounded", options={"xatol": 1e-10}).fun)


@pytest.mark.parametrize("n_arms", [2, 3, 10])
def test_independent_arms_have_the_characteristic_time(n_arms: int) -> None:
    rng = np.random.default_rng(n_arms)
    means, variances = rng.random(n_arms), 0.2 + rng.random(n_arms)
    bound = gaussian_lower_bound(GaussianArms(means, np.diag(variances)), DELTA)
    below(bound, KL * characteristic_time(means, variances))


@pytest.mark.parametrize("lead", [1e-4, 1e-3, 0.1])
def test_leads_may_differ_by_much(lead: float) -> None:
    means = np.array([0.0, 1.0 - lead, 1.0])
    bound = gaussian_lower_bound(GaussianArms(means, np.eye(3)), DELTA)
    below(bound, KL * characteristic_time(means, np.ones(3)))


@pytest.mark.parametrize(("correlation", "queries"), [(0.0, 2430), (0.5, 1253), (0.7, 756), (0.9, 253)])
def test_figure1_left(correlation: float, queries: int) -> None:
    assert round(gaussian_lower_bound(equicorrelated_arms(10, correlation), DELTA)) == queries


# --- brute force -----------------------------------------------------------------------------------------------------


def brute_force(arms: GaussianArms, subsets: Sequence[Sequence[int]]) -> float:
    """The program as it stands, by a solver for any smooth problem; what it finds is scaled to meet the constraints."""
    best, sizes = arms.best, np.array([len(subset) for subset in subsets])
    others = [arm for arm in range(arms.n_arms) if arm != best]
    informations = np.zeros((len(subsets), arms.n_arms, arms.n_arms))
    for information, subset in zip(informations, subsets, strict=True):
        information[np.ix_(subset, subset)] = np.linalg.inv(arms.covariance[np.ix_(subset, subset)])

    def shares(weights: Floats) -> Floats:
        """Of what each constraint allows for."""
        spread = np.linalg.inv(np.tensordot(weights, informations, axes=1))
        used = [spread[best, best] + spread[i, i] - 2 * spread[best, i] for i in others]
        return np.array(2 * np.array(used) / (arms.means[best] - arms.means[others]) ** 2)

    def solved(start: Floats) -> float:
        start = start * shares(start).max()
        unit = float(start @ sizes)
        search: Any = partial(minimize, method="SLSQP", options={"maxiter": 1000, "ftol": 1e-14})
        met = {"type": "ineq", "fun": lambda weights: 1 - shares(weights * unit)}
        bounds = [(1e-9, None)] * len(subsets)
        found = search(lambda weights: weights @ sizes, start / unit, bounds=bounds, constraints=met).x
        return float(found @ sizes * unit * shares(found * unit).max())

    return min(solved(start) for start in 0.1 + np.random.default_rng(0).random((5, len(subsets))))


@pytest.mark.parametrize("seed", range(4))
def test_three_arms_by_brute_force(seed: int) -> None:
    arms = random_arms(3, seed)
    below(gaussian_lower_bound(arms, DELTA), KL * brute_force(arms, sets_of(3)))


def test_nested_sets_by_brute_force() -> None:
    arms = random_arms(4, 0)
    nested = nested_sets(arms.means)
    below(gaussian_lower_bound(arms, DELTA, nested), KL * brute_force(arms, nested))


@pytest.mark.parametrize(
    "arms", [random_arms(6, 1), random_arms(7, 2), clustered_arms(8, 2), equicorrelated_arms(6, 0.5)]
)
def test_adding_sets_one_after_the_other_is_solving_with_all(arms: GaussianArms) -> None:
    one_by_one, at_once = (gaussian_lower_bound(arms, DELTA, subsets) for subsets in (None, sets_of(arms.n_arms)))
    assert one_by_one == pytest.approx(at_once, rel=1e-4)


# --- what must hold --------------------------------------------------------------------------------------------------


def test_fewer_sets_never_make_it_cheaper() -> None:
    arms = equicorrelated_arms(5, 0.5)
    alone = [[arm] for arm in range(5)]
    families: list[list[Any]] = [alone, [*alone, *combinations(range(5), 2)], sets_of(5)]
    bounds = [gaussian_lower_bound(arms, DELTA, family) for family in families]
    assert bounds[0] * (1 + 1e-4) >= bounds[1] >= bounds[2] * (1 - 1e-4)
    assert gaussian_lower_bound(arms, DELTA, nested_sets(arms.means)) >= bounds[2] * (1 - 1e-4)
    assert bounds[0] > 1.5 * bounds[2]  # these arms move together


def test_units_and_places_do_not_matter() -> None:
    arms = random_arms(4, 5)
    order = [2, 0, 3, 1]
    moved = GaussianArms(1e3 * arms.means[order] + 7, 1e6 * arms.covariance[np.ix_(order, order)])
    assert gaussian_lower_bound(moved, DELTA) == pytest.approx(gaussian_lower_bound(arms, DELTA), rel=1e-4)
    louder = GaussianArms(arms.means, 3 * arms.covariance)
    assert gaussian_lower_bound(louder, DELTA) == pytest.approx(3 * gaussian_lower_bound(arms, DELTA), rel=1e-4)


def test_it_falls_with_correlation_and_with_delta() -> None:
    bounds = [gaussian_lower_bound(equicorrelated_arms(5, rho), DELTA) for rho in (0.0, 0.2, 0.5, 0.9)]
    assert bounds == sorted(bounds, reverse=True)
    arms = equicorrelated_arms(3, 0.5)
    bounds = [gaussian_lower_bound(arms, delta) for delta in (0.001, 0.01, 0.1, 0.4, 0.5, 0.9)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[3] > 0.0
    assert bounds[4:] == [0.0, 0.0]


def test_nested_sets_follow_the_means() -> None:
    assert nested_sets([0.1, 0.9, 0.5]) == [[1], [1, 2], [0, 1, 2]]


def bound_for(n_arms: int, subsets: Any = None) -> float:
    return gaussian_lower_bound(equicorrelated_arms(n_arms), 0.1, subsets)


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "ties": (lambda: gaussian_lower_bound(GaussianArms([1, 1], np.eye(2)), 0.1), "the bounds need one best arm"),
    "singular": (lambda: gaussian_lower_bound(equicorrelated_arms(3, 1.0), 0.1), "covariance must be regular"),
    "delta": (lambda: gaussian_lower_bound(equicorrelated_arms(3), 1.0), "delta must lie strictly between 0 and 1"),
    "no law": (lambda: gaussian_lower_bound([0.1, 0.2], 0.1), "arms must be a law"),  # type: ignore[arg-type]
    "many arms": (lambda: bound_for(17), "subsets must be given for more than 16 arms"),
    "more arms": (lambda: bound_for(31, [[0]]), "for at most 30 arms, got 31"),
    "no such arm": (lambda: bound_for(3, [[0, 3]]), r"from 0 to 2, got \[0, 3\]"),
    "arm twice": (lambda: bound_for(3, [[1, 1]]), r"from 0 to 2, got \[1, 1\]"),
    "empty set": (lambda: bound_for(3, [[]]), r"from 0 to 2, got \[\]"),
    "no set": (lambda: bound_for(3, []), "none contains arm 0"),
    "arm left out": (lambda: bound_for(3, [[0, 1]]), "none contains arm 2"),
    "oracle of ties": (lambda: oracle_queries(growth_rates(np.eye(2)), 0.1, union=True), "needs one best arm"),
    "out of bounds": (lambda: growth_rates([[0.0, 2.0], [1.0, 1.0]]), r"in \[0, 1\], got scores\[0, 1\] = 2.0"),
    "delta of the oracle": (lambda: oracle_queries(np.array([0, 0.1]), 0.0, union=True), "delta must lie strictly"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises((ValueError, TypeError), match=message):
        call()


@pytest.mark.parametrize(
    "arms",
    [
        equicorrelated_arms(5, 1 - 1e-10),
        GaussianArms([1e6, 1e6 - 1e-5, 0.0], 1e4 * np.eye(3)),
        GaussianArms([0.0, 1e-160], np.eye(2)),
    ],
)
def test_what_cannot_be_certified_is_an_error(arms: GaussianArms) -> None:
    with pytest.raises(BestarmError, match="the lower bound cannot be computed: the covariance is nearly singular"):
        gaussian_lower_bound(arms, DELTA)


def test_a_solver_that_gives_up_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SOLVED", ())
    with pytest.raises(BestarmError, match=r"\(clarabel ends with Solved\)"):
        gaussian_lower_bound(equicorrelated_arms(2), DELTA)


def test_a_solver_that_is_wrong_is_never_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever weights and prices it returns, the value is a lower bound, or an error."""
    arms = equicorrelated_arms(4, 0.5)
    true = gaussian_lower_bound(arms, DELTA)

    right = limits.cheapest_design

    def wrong(*problem: Any) -> tuple[Floats, Floats]:
        weights, prices = right(*problem)
        return 0.9 * weights + 1e-4, prices * by

    monkeypatch.setattr(limits, "cheapest_design", wrong)
    by = np.array([5.0, 5.0, 5.001])
    assert gaussian_lower_bound(arms, DELTA) <= true * (1 + 1e-5)
    by = np.array([5.0, 1.0, 1.0])
    with pytest.raises(BestarmError, match="the lower bound cannot be computed"):
        gaussian_lower_bound(arms, DELTA)


# --- the oracle ------------------------------------------------------------------------------------------------------


def test_the_best_bet_on_a_coin() -> None:
    """Won on 5 items, lost on 3, the same on 2: the best bet is (p - q) / (p + q)."""
    scores = np.array(5 * [[1, 0]] + 3 * [[0, 1]] + 2 * [[1, 1]])
    rate = 0.5 * log1p(0.25) + 0.3 * log1p(-0.25)
    np.testing.assert_allclose(growth_rates(scores), [0.0, rate], rtol=1e-10)


def test_an_arm_that_never_wins_is_bet_against_with_everything() -> None:
    scores = np.array([[0.5, 0.25], [0.75, 0.75]])
    np.testing.assert_allclose(growth_rates(scores), [0.0, log1p(0.25) / 2], rtol=1e-10)


def test_rates_by_brute_force() -> None:
    """The opponent that is best to bet on is not always the best arm: the first arm is nearly a copy of the second."""
    scores = np.array([[0.8 * second, second, best] for second in (0.0, 1.0) for best in (0.0, 0.0, 1.0, 1.0, 1.0)])
    bets = np.linspace(0, 1, 20_001)[:-1]
    rates = [
        [np.log1p(bets[:, None] * (scores[:, j] - scores[:, i])).mean(axis=1).max() for j in range(3)] for i in range(3)
    ]
    assert np.argmax(rates, axis=1).tolist() == [1, 2, 0]
    np.testing.assert_allclose(growth_rates(scores), np.max(rates, axis=1), rtol=1e-4, atol=1e-12)


def test_the_best_arm_stays_as_long_as_the_last_of_the_others() -> None:
    rates = np.array([0.1, 0.0, 0.4])
    log_level = log(2 / 0.05)
    assert oracle_queries(rates, 0.05, union=True) == pytest.approx(log_level * (10 + 2.5 + 10), rel=1e-12)
    assert oracle_queries(rates, 0.05, union=False) == pytest.approx(log(20) * 22.5, rel=1e-12)
    two = np.array([0.0, 0.3])  # there is no union
    assert oracle_queries(two, 0.05, union=True) == oracle_queries(two, 0.05, union=False)


def test_the_oracle_itself_needs_a_little_more() -> None:
    """Wald: its rounds are at least log(1/delta) / rate, and more by at most the overshoot of one bet."""
    scores = np.array(5 * [[1, 0]] + 3 * [[0, 1]] + 2 * [[1, 1]])
    rate, bet, rng = growth_rates(scores)[1], 0.25, np.random.default_rng(1)
    rounds = []
    for _ in range(400):
        rows = TableArms(scores).draw(4000, rng)
        wealth = np.cumsum(np.log1p(bet * (rows[:, 0] - rows[:, 1])))
        assert wealth.max() >= log(20)
        rounds.append(int(np.argmax(wealth >= log(20))) + 1)
    noise = 3 * float(np.std(rounds)) / 20
    assert log(20) / rate - noise <= np.mean(rounds) <= (log(20) + log1p(bet)) / rate + noise
