"""The paper's bounds on the number of queries, as functions of the arms.

Costs are matrices: entry ``(i, j)`` is what it takes arm ``j`` to show that arm ``i`` is not the best, infinite unless
``mu_j > mu_i``. The paper has several versions of them, named apart here. Upper bounds hold up to a numerical constant
that the paper does not give; they are returned with that constant equal to one. Lower bounds are returned with their
constants; they hold for the worst law of a class (`bestarm.arms.BernoulliArms`,
`bestarm.arms.gaussian_worst_case_arms`), not for each instance.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bestarm.arms import Arms, check_law, difference_variances
from bestarm.checks import check_arm, check_open_unit, finite_vector, refuse_first
from bestarm.values import Array

__all__ = [
    "bound_b1",
    "bound_b2",
    "bound_convex",
    "bound_g1",
    "bound_g2",
    "bounded_costs",
    "bounded_costs_appendix",
    "bounded_rounds",
    "convex_cost",
    "gaussian_costs",
    "gaussian_costs_appendix",
    "lower_bound_bernoulli",
    "lower_bound_gaussian",
]


def _gaps_and_variances(arms: Arms) -> tuple[Array, Array]:
    """``D_ij = mu_j - mu_i`` where positive, NaN elsewhere, and ``V_ij``."""
    check_law(arms, "covariance")
    D = arms.means[None, :] - arms.means[:, None]
    return np.where(D > 0, D, np.nan), difference_variances(arms.covariance)


def _infinite_where_undefined(costs: Array) -> Array:
    return np.where(np.isnan(costs), np.inf, costs)


def bounded_costs(arms: Arms) -> Array:
    """``V_ij / D^2 + 1 / D``: the cost in (3) and in the bounds (5) and (6), for bounded rewards."""
    D, V = _gaps_and_variances(arms)
    return _infinite_where_undefined(V / D**2 + 1.0 / D)


def bounded_rounds(arms: Arms, delta: float) -> Array:
    """``Lambda_ij`` of (4): the cost with its log factor, ``(V_ij / D^2 + 1 / D) log(K / (D delta))``.

    Proportional to the rounds after which the bounded test of ``j`` against ``i`` is sure to have crossed.
    """
    check_open_unit("delta", delta)
    D, _ = _gaps_and_variances(arms)
    return _infinite_where_undefined(bounded_costs(arms) * np.log(arms.n_arms / (D * delta)))


def bounded_costs_appendix(arms: Arms) -> Array:
    """``Lambda_ij`` of appendix A: ``V_ij / D^2 + 3 / D``, the version of the proofs."""
    D, V = _gaps_and_variances(arms)
    return _infinite_where_undefined(V / D**2 + 3.0 / D)


def gaussian_costs(arms: Arms) -> Array:
    """``max(V_ij / D^2, 1)``: the cost in the bound (8), for Gaussian rewards."""
    return np.maximum(gaussian_costs_appendix(arms), 1.0)


def gaussian_costs_appendix(arms: Arms) -> Array:
    """``Lambda'_ij`` of appendix A: ``V_ij / D^2``, the version of the proofs."""
    D, V = _gaps_and_variances(arms)
    return _infinite_where_undefined(V / D**2)


def suboptimal_arms(arms: Arms) -> NDArray[np.bool_]:
    """Every arm but the best; the sums and maxima of the bounds run over these (at the best arm they are infinite)."""
    check_law(arms, "covariance", "best")
    if np.count_nonzero(arms.means == arms.means.max()) > 1:
        raise ValueError("the bounds need one best arm, the largest mean is shared by several")
    others: NDArray[np.bool_] = np.arange(arms.n_arms) != arms.best
    return others


def _sum_with_log(costs: Array, largest: float, n_arms: int, delta: float) -> float:
    """``log(K Lambda / delta) * sum of the costs``."""
    check_open_unit("delta", delta)
    return float(np.log(n_arms * largest / delta) * costs.sum())


def bound_b1(arms: Arms, delta: float) -> float:
    """Bound (5), Theorem 4.1: queries of bounded Pairwise-BAI with kept arms, up to a constant.

    ``log(K Lambda / delta) * sum_{i != i*} min_j cost_ij``, ``Lambda`` the largest of the minima over ``i != i*``.
    """
    cheapest = bounded_costs(arms)[suboptimal_arms(arms)].min(axis=1)
    return _sum_with_log(cheapest, cheapest.max(), arms.n_arms, delta)


def bound_b2(arms: Arms, delta: float) -> float:
    """Bound (6), Theorem 4.1: queries of bounded Pairwise-BAI without kept arms, up to a constant.

    ``log(K Lambda / delta) * sum_{i != i*} cost_ii*``, ``Lambda`` as in (5).
    """
    costs = bounded_costs(arms)[suboptimal_arms(arms)]
    return _sum_with_log(costs[:, arms.best], costs.min(axis=1).max(), arms.n_arms, delta)


def bound_g1(arms: Arms, delta: float) -> float:
    """Bound (8), Theorem 5.1: queries of Gaussian Pairwise-BAI with kept arms, up to a constant.

    ``log(K Lambda / delta) * sum_{i != i*} min_j max(V_ij / D^2, 1)``, ``Lambda`` the largest of the minima.
    """
    cheapest = gaussian_costs(arms)[suboptimal_arms(arms)].min(axis=1)
    return _sum_with_log(cheapest, cheapest.max(), arms.n_arms, delta)


def bound_g2(arms: Arms, delta: float) -> float:
    """Bound (9), Theorem 5.1: queries of Gaussian Pairwise-BAI without kept arms, up to a constant.

    ``3 K + log(K / (delta log(1 + 1 / Lambda))) * sum_{i != i*} 1 / log(1 + D^2 / V_ii*)`` with
    ``Lambda = max_{i != i*} V_ii* / D^2``.
    """
    check_open_unit("delta", delta)
    costs = gaussian_costs_appendix(arms)[suboptimal_arms(arms), arms.best]
    with np.errstate(divide="ignore"):  # V_ii* = 0 costs nothing but the first rounds
        terms = 1.0 / np.log1p(1.0 / costs)
    first_rounds = 3.0 * arms.n_arms
    if not terms.any():
        return first_rounds
    return float(first_rounds + np.log(arms.n_arms / delta * terms.max()) * terms.sum())


def convex_cost(arms: Arms, arm: int) -> float:
    """``min_w Var(X_i - <w, X>) / D^2 + |w - e_i|_1 / D`` with ``D = <w, mu> - mu_i > 0``: the cost in Theorem B.1.

    With ``w_i = 0`` and ``v = w / D`` it is the minimum of ``v' A v + 2 sum(v)`` over ``v >= 0`` with
    ``sum_j v_j (mu_j - mu_i) = 1``, ``A`` the covariance of the differences to arm ``i``: a convex quadratic program.
    """
    from bestarm.kernels.convex import nonnegative_minimum

    check_law(arms, "covariance")
    arm = check_arm(arm, arms.n_arms)
    others = np.arange(arms.n_arms) != arm
    D = (arms.means - arms.means[arm])[others]
    if D.max() <= 0:
        return float("inf")
    V = difference_variances(arms.covariance)
    A = (V[arm][others][:, None] + V[arm][others][None, :] - V[np.ix_(others, others)]) / 2.0
    ahead = D > 0
    cost = float(np.min(np.diag(A)[ahead] / D[ahead] ** 2 + 2.0 / D[ahead]))  # single arms
    # With a multiplier for the constraint v is a nonnegative minimum, and <v, D> increases in the multiplier.
    low, high = 0.0, 4.0 / float(D.max())
    for _ in range(100):
        multiplier = high if low == 0.0 else (low + high) / 2.0
        v = np.zeros(D.size)
        nonnegative_minimum(multiplier * D - 2.0, 2.0 * A, v, 10 * D.size)
        reached = float(v @ D)
        if reached > 0:  # scaled to meet the constraint it is a combination, and costs what it costs
            cost = min(cost, float(v @ A @ v) / reached**2 + 2.0 * float(v.sum()) / reached)
        if reached < 1.0 and low == 0.0:
            high *= 2.0
        elif reached < 1.0:
            low = multiplier
        else:
            low, high = low or multiplier / 2.0, multiplier
    return cost


def bound_convex(arms: Arms, delta: float, arm: int | None = None) -> float:
    """Theorem B.1: queries of Convex-BAI, up to a constant: ``log(K Lambda / delta) K sum_{i != i*} convex_cost_i``.

    ``Lambda`` is the largest of the costs (the paper does not say what it is there). With ``arm`` only its term.
    """
    check_open_unit("delta", delta)
    suboptimal = suboptimal_arms(arms)
    if arm is not None and not suboptimal[check_arm(arm, arms.n_arms)]:
        raise ValueError(f"arm must be another than the best one, got {arm}: no term of the bound belongs to it")
    costs = {int(i): convex_cost(arms, int(i)) for i in np.flatnonzero(suboptimal)}
    log_factor = np.log(arms.n_arms * max(costs.values()) / delta)
    return float(log_factor * arms.n_arms * (sum(costs.values()) if arm is None else costs[arm]))


def _gaps_to_best(means: ArrayLike, variances: ArrayLike) -> tuple[Array, Array]:
    """``D_i = mu_best - mu_i`` and ``V_i`` of the arms that are not the best."""
    mu = finite_vector("means", means)
    V = finite_vector("variances", variances)
    if V.shape != mu.shape:
        raise ValueError(f"variances must have {mu.size} entries as means has, got {V.size}")
    refuse_first("variances", V, V < 0, "must be at least 0")
    others = np.arange(mu.size) != mu.argmax()
    D = mu.max() - mu[others]
    if D.min() == 0:
        raise ValueError(f"means must have one largest entry, {float(mu.max())!r} appears more than once")
    return D, V[others]


def lower_bound_bernoulli(means: ArrayLike, variances: ArrayLike, delta: float) -> float:
    """Theorem 6.1: expected queries of any delta-sound algorithm on the worst Bernoulli law of the class.

    ``(1/8) log(1 / (4 delta)) * sum_{i != i*} max(V_ii* / D_i^2, 1 / D_i)``, 0 for delta above 1/4, over laws with
    these means in [1/4, 3/4] and ``Var(X_i - X_i*) <= V_ii*``. As stated; the proof gives the sum of the two in place
    of their maximum.

    Parameters
    ----------
    means : mean of each arm, in [1/4, 3/4]
    variances : ``V_ii*`` of each arm, 0 for the best
    delta : accepted probability of a wrong answer

    """
    check_open_unit("delta", delta)
    mu = finite_vector("means", means)
    refuse_first("means", mu, (mu < 0.25) | (mu > 0.75), "must lie in [1/4, 3/4] for Theorem 6.1")
    D, V = _gaps_to_best(mu, variances)
    return float(max(0.0, -np.log(4.0 * delta)) / 8.0 * np.maximum(V / D**2, 1.0 / D).sum())


def lower_bound_gaussian(means: ArrayLike, variances: ArrayLike, delta: float) -> float:
    """Theorem 6.2: expected queries of any delta-sound algorithm on the worst Gaussian law of the class.

    ``2 log(1 / (4 delta)) * sum_{i != i*} 1 / log(1 + D_i^2 / V_ii*)``, 0 for delta above 1/4, over laws with these
    means, ``Var(X_i - X_i*) = V_ii*`` and ``Var(X_i) >= 1``. The statement in the paper has ``V_ii*^2``; the proof
    gives ``V_ii*``.

    Parameters
    ----------
    means : mean of each arm
    variances : ``V_ii*`` of each arm, 0 for the best
    delta : accepted probability of a wrong answer

    """
    check_open_unit("delta", delta)
    D, V = _gaps_to_best(means, variances)
    with np.errstate(divide="ignore"):  # V_ii* = 0: nothing to learn about this arm
        terms = 1.0 / np.log1p(D**2 / V)
    return float(max(0.0, -2.0 * np.log(4.0 * delta)) * terms.sum())
